/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between the units in which the energy of tokens is quoted. NAN in, or a denominator that is not
 * positive: NAN out, never 0. */
#ifndef JM_COMPUTE_CONVERT_H
#define JM_COMPUTE_CONVERT_H

double jm_j_per_token(double joules, double tokens);
double jm_kwh_per_mtok(double j_per_token); /* kWh per million tokens = J/token / 3.6 */
double jm_j_per_token_from_kwh_per_mtok(double kwh);
double jm_tokens_per_j(double j_per_token);
double jm_requests_per_kwh(double j_per_request); /* 3.6e6 / J */
double jm_kwh(double joules);
double jm_joules_from_wh(double wh);
/* J/token of a result quoted in J per sample (MLPerf) with this many tokens in a sample on average. */
double jm_j_per_token_from_sample(double j_per_sample, double tokens_per_sample);
/* Energy without the idle power over the same window; the net figure is always a second one. */
double jm_net_of_idle(double joules, double idle_watts, double seconds);
/* Facility energy: PUE times the energy at the IT point that PUE was measured at. pue >= 1. */
double jm_facility(double joules, double pue);

#endif
