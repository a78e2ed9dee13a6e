/* SPDX-License-Identifier: Apache-2.0 */
/* From scrapes to what the engine did: a timeline a source, on which counters only rise. A counter at the
 * edge of a window lies between the last text before it and the first one after it; it is interpolated
 * between them, and both are its bounds. */
#ifndef JM_COMPUTE_ENGINE_H
#define JM_COMPUTE_ENGINE_H

#include "compute/calc.h"
#include "engine/telemetry.h"

struct jm_engine_point {
    int64_t t0, t1;
    bool ok;                    /* else there was no answer */
    double sum[JM_EQ_COUNTERS]; /* since the first text; NAN: not there yet */
    double running, waiting, kv, kv_most, batch;
    int resets, vanished; /* since the text before */
    double start;         /* Unix s of its process, NAN */
    double lost, doubt;   /* tokens, since the first text; of this one */
};

struct jm_engine_full { /* a whole text, for its histograms */
    size_t point;
    struct jm_engine_reading r;
};

struct jm_engine_line {
    const char *url; /* in the report's arena */
    const struct jm_engine_dialect *dialect;
    struct jm_engine_point *p;
    size_t n, cap;
    struct jm_engine_full *full;
    size_t n_full, cap_full;
    struct jm_engine_reading last; /* of the pass over the texts */
    bool has_last;
    bool has[JM_EQ_COUNTERS];        /* some text says it */
    struct jm_engine_source *source; /* in the report */
    double joules0;
};

struct jm_engine_run {
    struct jm_engine_line *line;
    size_t n;
    int64_t *sent, *closed; /* of all requests, sorted: how many were in flight */
    size_t n_requests, n_closed;
};

/* A counter over [t0, t1] on one line: false where texts do not bracket both edges. */
struct jm_engine_moved {
    double value, lo, hi;
};
bool jm_engine_moved(const struct jm_engine_line *l, enum jm_eq q, int64_t t0, int64_t t1,
                     struct jm_engine_moved *out);

/* engine.c: reads all scrapes; fills report->engine. */
int jm_engine_collect(struct jm_calc *c);
void jm_engine_release(struct jm_calc *c);
/* engine_window.c: w->engine of each window, beside what the client counted: after jm_tally_requests. */
int jm_engine_windows(struct jm_calc *c);
/* engine_rows.c: the metrics engine.* of a window; the pictures. */
int jm_results_engine(struct jm_calc *c, const struct jm_calc_window *w);
int jm_engine_series_make(struct jm_calc *c, int64_t t0, int64_t t1, size_t columns);

#endif
