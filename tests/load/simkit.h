/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated engine as a child, and a load on it whose every request is kept. */
#ifndef TESTS_LOAD_SIMKIT_H
#define TESTS_LOAD_SIMKIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "load/load.h"

#define MS JM_NS_PER_MS

struct simkit {
    pid_t pid;
    char url[64], truth[64];
};

struct simkit_book {
    struct jm_request r[512];
    int n;
    unsigned flags; /* of all token events together */
    int64_t known;  /* tokens that events told */
    char facts[8192];
};

/* Options end with NULL. */
void simkit_start(struct simkit *e, ...);
void simkit_stop(struct simkit *e);
/* 60 requests of 100 and 24 tokens, four at a time. */
struct jm_load_cfg simkit_cfg(const struct simkit *e);
void simkit_run(const struct jm_load_cfg *cfg, struct simkit_book *b);
/* Runs the tests, and leaves no engine behind; 77 where the engine was not built. */
struct CMUnitTest;
int simkit_main(const struct CMUnitTest *tests, size_t n);

#endif
