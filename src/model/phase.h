/* SPDX-License-Identifier: Apache-2.0 */
/* What an allocation of energy to prefill, decode and requests says (docs/phases.md). Everything in it is
 * allocated, nothing of it measured but the totals. */
#ifndef JM_MODEL_PHASE_H
#define JM_MODEL_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/words.h"

/* From best to worst. */
enum jm_phase_method {
    JM_PHASE_NONE,
    JM_PHASE_D2,         /* regression with the idle power pinned */
    JM_PHASE_TIME_SHARE, /* equally to the requests that are active */
    JM_PHASE_PER_TOKEN,  /* the window's joules per output token: no phases */
    JM_PHASE_METHODS
};
const char *jm_phase_method_name(int m); /* "D2", "time-share", "J/token", NULL for none */

enum jm_phase_weight { JM_PW_STEP, JM_PW_PREFILL, JM_PW_DECODE, JM_PW_CONTEXT, JM_PW_COUNT };
const char *jm_phase_weight_name(int w); /* "step", "prefill token", ... */

struct jm_phase_interval {
    double lo, hi; /* NAN: none */
};

struct jm_phase_fit {
    enum jm_phase_method method;
    char why[320];         /* a sentence: why not D2; "" */
    char no_interval[160]; /* why there are no intervals; "" */
    double w[JM_PW_COUNT]; /* J each; 0 where it was not fitted */
    bool fitted[JM_PW_COUNT];
    struct jm_phase_interval w_interval[JM_PW_COUNT], share_offset; /* of the share: beside its value */
    double idle_w;
    double late_s;    /* that energies were found to come behind the tokens, and were moved by; 0 */
    double residual;  /* root mean square / mean energy of a window; NAN: no fit */
    double condition; /* of the columns fitted; NAN */
    double cv_prefill, cv_decode;
    size_t windows, blocks;
    double window_s;
    bool bursts;        /* calibration bursts told the coefficients */
    bool counted_steps; /* by the engine; else from tokens */
};

/* A pool or replica of its own. */
struct jm_phase_unit {
    const char *name; /* NULL: all of it */
    const char *role; /* "serve", "prefill", "decode" */
    struct jm_phase_fit fit;
    const char *idle_from; /* "idle window", ...; NULL: none */
};

struct jm_phase_split {
    int window;                                       /* of the report; -1: all measure windows */
    int64_t total_mj, prefill_mj, decode_mj, idle_mj; /* mJ; phases -1 where the method knows none */
    double marginal_prefill, marginal_decode;         /* J; NAN */
    double prefill_tokens, decode_tokens;
    double share;                   /* of prefill in what requests got; NAN */
    struct jm_phase_interval range; /* of share */
};

/* Energy of one request, in one measure window or over its life. */
struct jm_request_energy {
    int64_t id;
    uint32_t request; /* index in the run */
    int window;       /* of the report */
    int64_t prefill_mj,
        decode_mj; /* in the window; where the method knows no phases, all of it is decode_mj */
    double joules, prefill, marginal; /* over its life, J; NAN: readings do not hold all of it */
    bool ended;                       /* in this window: counts in the distributions */
    bool no_tokens;                   /* never gave one: gets nothing */
};

struct jm_request_dist {
    const char *slice, *tenant; /* NULL: all */
    int64_t n, left_out;        /* successful ones; of them without a whole life in the readings */
    double mean, p50, p90, p99; /* J */
    double joules;              /* in the windows, of all requests of it */
    double failed;              /* of them of requests that did not succeed */
};

struct jm_phases {
    const char *why; /* a sentence: why there is nothing; NULL */
    enum jm_boundary boundary;
    enum jm_provenance provenance;        /* at best allocated */
    const char *set, *instrument, *label; /* "allocation, not measurement; ..." */
    enum jm_phase_method method;          /* the worst of the units */
    double residual;                      /* the largest; NAN */
    struct jm_phase_unit *unit;
    size_t n_units;
    struct jm_phase_split *split; /* the first is of all measure windows */
    size_t n_splits;
    int64_t closure_mj; /* what is left when all parts are taken from the total: 0 */
    struct jm_request_energy *request;
    size_t n_requests;
    struct jm_request_dist *dist; /* the first is of all */
    size_t n_dists;
    int64_t no_tokens;       /* requests that never gave a token, and get nothing */
    int64_t guessed_prompts; /* whose prompt tokens nobody counted: by their bytes, or as asked */
    double cached_tokens;    /* prompt tokens that were not computed */
    bool cached_known;
    double engine_cached; /* share of the prompt tokens that the engine had in a cache, where no answer tells
                             whose; NAN */
    int64_t aborted;      /* requests that did not succeed and got energy */
    bool speculative;     /* decode is counted in verified draft steps */
    const char *queue_from; /* how the beginning of a prefill is known: "engine", "client" */
    const char *note;       /* NULL */
};

#endif
