/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's VXI-11 (TCP/IP Instrument Protocol 1.0): its core channel, and a portmapper that knows where
 * it is. */
#ifndef SIM_ANALYZER_VXI11_H
#define SIM_ANALYZER_VXI11_H

#include "analyzer/analyzer.h"

#include <poll.h>

#define SIMVXI_CLIENTS 4
#define SIMVXI_FDS     (SIMVXI_CLIENTS + 3)

struct simvxi_client {
    int fd;
    bool map; /* asks the portmapper */
    bool linked;
    uint8_t in[8192];
    size_t n;
    char line[SIMAN_LINE + 1]; /* a message that is not complete */
    size_t line_n;
    bool too_long;
    char out[SIMAN_OUT + 2];
    size_t out_at, out_n;
};

struct simvxi {
    int core, map, map_udp; /* listening; -1: none */
    int core_port;
    struct simvxi_client client[SIMVXI_CLIENTS];
};

/* 0, or a status with why. A port of -1 is none, 0 a free one. Prints where it is. */
int simvxi_listen(struct simvxi *v, const char *bind, int core_port, int map_port, char *why, size_t n);
void simvxi_close(struct simvxi *v);
void simvxi_drop(struct simvxi *v); /* the connections */
void simvxi_poll(const struct simvxi *v, struct pollfd p[SIMVXI_FDS]);
void simvxi_serve(struct simvxi *v, struct siman *a, const struct pollfd p[SIMVXI_FDS]);

#endif
