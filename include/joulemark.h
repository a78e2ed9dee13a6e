/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark: energy of LLM inference. The public C API: record windows around your own code, read run files,
 * get results.
 *
 *     joulemark_session *s;
 *     joulemark_error e;
 *     joulemark_options o = JOULEMARK_OPTIONS_INIT;
 *     o.file = "run.jmr";
 *     if (joulemark_session_open(&o, &s, &e)) { fprintf(stderr, "%s\n", e.text); return 1; }
 *     joulemark_window_begin(s, "batch 32", &e);
 *     work();
 *     joulemark_window_end(s, &e);
 *     joulemark_session_close(s, &e);               // seals run.jmr: joulemark show run.jmr
 *
 * Functions return 0 or a negative JOULEMARK_E*, and then fill the error (may be NULL) with one complete
 * sentence. Handles are opaque; one handle is used by one thread at a time (marks excepted). The library
 * never prints, never exits and installs no signal handler. Strings that are returned are borrowed until
 * their handle goes. Structs begin with their size, so that they can grow. */
#ifndef JOULEMARK_H
#define JOULEMARK_H

#include <stddef.h>
#include <stdint.h>

#define JOULEMARK_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library, "0.1.0". */
JOULEMARK_API const char *joulemark_version(void);

typedef struct joulemark_error {
    int code;        /* negative JOULEMARK_E*, the value that was returned */
    char text[1024]; /* what, on what, why, what to do */
} joulemark_error;

/* The values of the library's codes; more may follow. */
enum {
    JOULEMARK_EINVAL = -1,
    JOULEMARK_ENOMEM = -2,
    JOULEMARK_EIO = -3,
    JOULEMARK_EDENIED = -4,
    JOULEMARK_EABSENT = -5,
    JOULEMARK_EUNSUPPORTED = -6,
    JOULEMARK_EPARSE = -7,
    JOULEMARK_ERANGE = -8,
    JOULEMARK_EFULL = -9,
    JOULEMARK_ESTATE = -11,
    JOULEMARK_EVERSION = -12,
    JOULEMARK_ECORRUPT = -13,
    JOULEMARK_EUSAGE = -17,
    JOULEMARK_ECONFLICT = -18
};

/* ---- measuring
 * ------------------------------------------------------------------------------------------------------- */

typedef struct joulemark_session joulemark_session;

typedef struct joulemark_options {
    size_t size;      /* sizeof(joulemark_options) */
    const char *file; /* run file to write; must not exist unless overwrite */
    int overwrite;
    const char *label;      /* of the run, may be NULL */
    const char *meters;     /* "nvml,rapl"; NULL: all that can be read */
    const char *devices;    /* GPUs by CUDA's rules ("0,2", "GPU-8932f937"); NULL: all */
    int64_t period_ns;      /* sampling period; 0: each meter's own */
    const char *nvml_lib;   /* NULL: libnvidia-ml.so.1 */
    const char *sysfs_root; /* NULL: /sys */
} joulemark_options;
#define JOULEMARK_OPTIONS_INIT                                                                               \
    {                                                                                                        \
        sizeof(joulemark_options), NULL, 0, NULL, NULL, NULL, 0, NULL, NULL                                  \
    }

/* Opens the meters and starts sampling. It is no error when none can be read: see joulemark_session_channels.
 */
JOULEMARK_API int joulemark_session_open(const joulemark_options *o, joulemark_session **out,
                                         joulemark_error *e);
/* Number of channels that are read; 0: nothing, and joulemark_session_why says what was tried and what mends
 * it. */
JOULEMARK_API size_t joulemark_session_channels(const joulemark_session *s);
JOULEMARK_API const char *joulemark_session_why(const joulemark_session *s);
/* One window at a time. Beginning and ending take as long as the slowest counter needs to refresh twice or so
 * (a few 100 ms): that is what makes the edges exact. */
JOULEMARK_API int joulemark_window_begin(joulemark_session *s, const char *name, joulemark_error *e);
JOULEMARK_API int joulemark_window_end(joulemark_session *s, joulemark_error *e);
/* A named point in time; from any thread. */
JOULEMARK_API int joulemark_mark(joulemark_session *s, const char *name);
/* A fact that belongs to the run: joulemark_note(s, "plan.batch", "32"). */
JOULEMARK_API int joulemark_note(joulemark_session *s, const char *key, const char *value);
/* Ends an open window, seals the file and frees s, also on error. NULL is fine. */
JOULEMARK_API int joulemark_session_close(joulemark_session *s, joulemark_error *e);

/* ---- results
 * ---------------------------------------------------------------------------------------------------------
 */

typedef struct joulemark_report joulemark_report;

/* One number with everything that belongs to it. Text is never NULL ("" where there is none). */
typedef struct joulemark_result {
    size_t size;          /* set to sizeof(joulemark_result) before the call */
    const char *metric;   /* catalogue id: docs/metrics.md */
    const char *boundary; /* "gpu", "device", "node", "wall", "facility", "design"; "" where it has none */
    const char *set;      /* "gpu{gpu x 8}" */
    const char *window;   /* name; "" over all */
    int trial;            /* -1: over all */
    double quantile;      /* NAN: none */
    int have;             /* 0: there is no value, and reasons say why; value is NAN then */
    double value;
    const char *unit;
    double lo, hi, level;            /* interval; NAN: none */
    const char *includes, *excludes; /* what the interval holds and what it leaves out */
    const char *provenance;          /* "measured", ..., "simulated" */
    const char *validity;            /* "valid", "findings", "invalid" */
    const char *reasons;
    int devices, devices_of; /* counted and expected; 0, 0: does not apply */
    const char *instrument;
} joulemark_result;

/* Reads a run file and computes everything. */
JOULEMARK_API int joulemark_report_open(const char *file, joulemark_report **out, joulemark_error *e);
JOULEMARK_API void joulemark_report_close(joulemark_report *r);
JOULEMARK_API size_t joulemark_report_count(const joulemark_report *r);
JOULEMARK_API int joulemark_report_get(const joulemark_report *r, size_t i, joulemark_result *out);
/* First result of the metric at the boundary (NULL: any) in the window (NULL: any). JOULEMARK_EABSENT: there
 * is none. */
JOULEMARK_API int joulemark_report_find(const joulemark_report *r, const char *metric, const char *boundary,
                                        const char *window, joulemark_result *out);
/* "valid", "findings" or "invalid", and against which profile. */
JOULEMARK_API const char *joulemark_report_validity(const joulemark_report *r, const char **profile);
/* The whole report as "text", "json", "csv", "markdown" or "html"; free *text with joulemark_free. */
JOULEMARK_API int joulemark_report_render(const joulemark_report *r, const char *format, char **text,
                                          size_t *n, joulemark_error *e);
JOULEMARK_API void joulemark_free(void *p);

/* ---- comparing
 * -------------------------------------------------------------------------------------------------------- */

typedef struct joulemark_comparison joulemark_comparison;

/* The n_b run files of B against the n_a of A, the baseline, as `joulemark compare` does. contract: the text
 * of an acceptance contract (docs/compare.md), NULL: none. differs: what is meant to differ, names with
 * commas, NULL: nothing. JOULEMARK_EUSAGE: the contract is wrong, or both sides are the same run; what the
 * measurements do not give is a verdict. */
JOULEMARK_API int joulemark_compare(const char *const *a, size_t n_a, const char *const *b, size_t n_b,
                                    const char *contract, const char *differs, joulemark_comparison **out,
                                    joulemark_error *e);
JOULEMARK_API void joulemark_comparison_free(joulemark_comparison *c);
/* "accept", "reject", "lower", "higher", "equivalent", "not resolvable" or "not comparable"; and with its
 * reason. */
JOULEMARK_API const char *joulemark_comparison_verdict(const joulemark_comparison *c);
JOULEMARK_API const char *joulemark_comparison_sentence(const joulemark_comparison *c);
/* Share of energy per unit of work that B saves, and its interval; NAN where there is none. Returns the
 * pairs. */
JOULEMARK_API size_t joulemark_comparison_saving(const joulemark_comparison *c, double *saving, double *lo,
                                                 double *hi);
/* "text", "json", "markdown" or "html"; free *text with joulemark_free. */
JOULEMARK_API int joulemark_comparison_render(const joulemark_comparison *c, const char *format, char **text,
                                              size_t *n, joulemark_error *e);

#ifdef __cplusplus
}
#endif
#endif
