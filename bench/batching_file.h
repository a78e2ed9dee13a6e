/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated run (batching.h) as a run file, as the recorder would have written it. */
#ifndef BENCH_BATCHING_FILE_H
#define BENCH_BATCHING_FILE_H

#include "base/err.h"

#include "batching.h"

struct batching_file {
    bool no_idle;   /* no idle window */
    bool no_engine; /* no metrics of the engine */
    bool groups;    /* pools are named as groups */
    bool slices;    /* requests belong to two slices, of two tenants */
    int idle_w;     /* 0 */
};
int batching_write(const struct batching *b, const char *path, const struct batching_file *o,
                   struct jm_err *err);

#endif
