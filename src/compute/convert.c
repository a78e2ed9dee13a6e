/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/convert.h"

#include <math.h>

#include "base/banned.h"

#define J_PER_KWH 3.6e6

static double ratio(double a, double b)
{
    return b > 0 && isfinite(b) ? a / b : NAN;
}

double jm_j_per_token(double joules, double tokens)
{
    return ratio(joules, tokens);
}

double jm_kwh_per_mtok(double j_per_token)
{
    return j_per_token * 1e6 / J_PER_KWH;
}

double jm_j_per_token_from_kwh_per_mtok(double kwh)
{
    return kwh * J_PER_KWH / 1e6;
}

double jm_tokens_per_j(double j_per_token)
{
    return ratio(1, j_per_token);
}

double jm_requests_per_kwh(double j_per_request)
{
    return ratio(J_PER_KWH, j_per_request);
}

double jm_kwh(double joules)
{
    return joules / J_PER_KWH;
}

double jm_joules_from_wh(double wh)
{
    return wh * 3600;
}

double jm_j_per_token_from_sample(double j_per_sample, double tokens_per_sample)
{
    return ratio(j_per_sample, tokens_per_sample);
}

double jm_net_of_idle(double joules, double idle_watts, double seconds)
{
    return seconds > 0 ? joules - idle_watts * seconds : NAN;
}

double jm_facility(double joules, double pue)
{
    return pue >= 1 && isfinite(pue) ? joules * pue : NAN;
}
