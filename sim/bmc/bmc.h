/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated BMC or rack PDU that speaks Redfish over plain HTTP, about a load whose true power is known.
 * What it shows is late and averaged: refresh k, at k x period since its start, holds gain x the mean power
 * over the window that ended then, in whole quanta, and can be read a lag later. */
#ifndef SIM_BMC_H
#define SIM_BMC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/http.h"
#include "wall/wall.h"

struct sim_bmc_options {
    bool pdu, help, pass;
    const char *waveform, *bind, *user, *password;
    int port, outlets;
    int64_t period_ns, window_ns, lag_ns, offset_ns, seed;
    double quantum_w, gain, efficiency; /* efficiency: AC input = power / efficiency */
};

struct sim_bmc {
    struct sim_bmc_options o;
    struct simwall *wall;
    struct sim_http http;
    struct simclock clock;
    int64_t start_ns; /* Unix time */
    char auth[256];   /* what Authorization must be; "" none */
};

void sim_bmc_options_init(struct sim_bmc_options *o, bool pdu);
/* 0, or -1 with one sentence in why. */
int sim_bmc_options_read(struct sim_bmc_options *o, int argc, char **argv, char *why, size_t n);
void sim_bmc_help(bool pdu);
/* Whole power as it is shown to a read at t (Unix time, ns), W, and when that was refreshed. */
double sim_bmc_power(const struct sim_bmc *b, int64_t t, int64_t *refreshed);
/* Energy since the start up to that refresh, J. */
double sim_bmc_energy(const struct sim_bmc *b, int64_t t);
/* The body of a resource; false: there is none of this path. */
bool sim_bmc_resource(const struct sim_bmc *b, const char *path, int64_t now, struct sim_buf *out);
/* Serves until a signal; the exit status. */
int sim_bmc_serve(const struct sim_bmc_options *o);
/* The PDU for net-snmp's agent, as its pass_persist: until the end of standard input. */
int sim_bmc_pass(const struct sim_bmc_options *o);

#endif
