/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the EEMBC runner in energy mode (MLPerf Tiny):
 *
 *   trace<k>-energy.bin       0xF1, float32 LE samples per second, then float32 LE microjoules a sample (NaN:
 * lost) trace<k>-timestamps.json  [ seconds of each falling edge of the device's pin ] log.txt, results.txt
 * lines "00035.099 source: text"
 *
 * MLCommons' own runner (v1.3) writes "Energy data for trial 0", "Total Energy  : 61337.445 uJ" and so on;
 * its samples are in results.json (import/mlperf_tiny.h).
 *
 * Source: eembc/energyrunner, eembc js110 tracer (file_writer.cpp); mlcommons/tiny benchmark/runner main.py.
 */
#ifndef JM_WIRE_TINY_TRACE_H
#define JM_WIRE_TINY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define JM_TINY_HEAD  5
#define JM_TINY_EDGES ((size_t)1 << 16)

/* JM_EPARSE: no such file; err says why. */
int jm_tiny_head(struct jm_span file, double *rate_hz, struct jm_err *err);
/* The four bytes at p as a sample; NaN and infinities are NaN. */
double jm_tiny_sample(const char *p);
/* Times into out[0..cap). JM_ELIMIT: more than cap. They must be finite, not negative and in order. */
int jm_tiny_times(struct jm_span json, double *out, size_t cap, size_t *n, struct jm_err *err);

enum jm_tiny_said_kind {
    JM_TINY_OTHER,
    /* log.txt */
    JM_TINY_INFER_START, /* number: inferences; time_s: of the line */
    JM_TINY_INFER_DONE,
    JM_TINY_MODEL,       /* text "kws01" */
    JM_TINY_PROFILE,     /* text */
    JM_TINY_MODE,        /* text "energy", "performance" */
    JM_TINY_VOLTAGE,     /* number: mV */
    JM_TINY_INSTRUMENT,  /* text "lpm01a", of a registered energy trace */
    JM_TINY_DROP_LIMIT,  /* number: % */
    JM_TINY_BAD_SAMPLES, /* number: % */
    JM_TINY_ERROR,       /* text: of "e-[...]" */
    /* results.txt */
    JM_TINY_ENERGY_WINDOW, /* number: window, at: its time, seconds: its length */
    JM_TINY_ENERGY,        /* number: uJ */
    JM_TINY_PER_INFERENCE, /* number: uJ */
    JM_TINY_MEDIAN_ENERGY, /* number: uJ per inference */
    JM_TINY_SPEED_WINDOW,  /* number: window */
    JM_TINY_INFERENCES,    /* number */
    JM_TINY_SECONDS,       /* number: s, of a trial */
    JM_TINY_RUNTIME,       /* number: s */
    JM_TINY_MEDIAN_SPEED   /* number: per second */
};
struct jm_tiny_said {
    enum jm_tiny_said_kind kind;
    double time_s; /* of the line; NaN */
    double number, at, seconds;
    struct jm_span text;
};
void jm_tiny_line(struct jm_span line, struct jm_tiny_said *out);

#endif
