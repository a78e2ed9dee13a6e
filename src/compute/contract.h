/* SPDX-License-Identifier: Apache-2.0 */
/* An acceptance contract: what a change must show before it may go to production, written before the test.
 * A YAML file, described field by field in docs/compare.md. */
#ifndef JM_COMPUTE_CONTRACT_H
#define JM_COMPUTE_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/option.h"
#include "compute/compute.h"
#include "compute/decide.h"

#define JM_CONTRACT_SLOS  16
#define JM_CONTRACT_BYTES ((size_t)1 << 20)

struct jm_contract_slo {
    const char *slice;       /* NULL: every request */
    int64_t ttft, tpot, e2e; /* ns, 0: none */
    double attainment;       /* share of the requests that must be inside, NAN: not asked for */
};

struct jm_contract {
    const char *name, *unit;     /* unit: "j_per.output_token" */
    int boundary;                /* enum jm_boundary; -1: not said */
    double minimum_saving;       /* share; NAN: not said */
    double level, power, margin; /* NAN: the default */
    int64_t pairs;               /* fewest, 0: the default */
    struct jm_contract_slo slo[JM_CONTRACT_SLOS];
    size_t n_slo;
    double error_budget;     /* share of requests that may fail; NAN: no more than with A */
    bool quality;            /* the section is there */
    double quality_loss;     /* of the mean score of A, share; NAN */
    double quality_minimum;  /* mean score of B; NAN */
    double slice_regression; /* share by which one slice may rise; NAN: not asked for */
    bool slice_allocated;    /* of slices at the same time, what is allocated to their requests decides */
    struct jm_opt_list differs, known;
    /* what somebody else found: never a criterion */
    bool expected;
    double expected_saving;
    const char *expected_source, *expected_accelerator, *expected_slice;
    struct jm_opt_arena *arena;
    struct jm_slice_slo by_slice[JM_CONTRACT_SLOS]; /* slo of slices, as compute takes it */
    size_t n_by_slice;
};

/* file: its name, for what is said. JM_EUSAGE with line and column: unknown keys, wrong units, values out of
 * bounds, limits that contradict each other. Release in any case. */
int jm_contract_parse(struct jm_span text, const char *file, struct jm_contract *out, struct jm_err *err);
void jm_contract_release(struct jm_contract *c);
/* Its objectives become those that tokens qualify by; o borrows from c. */
void jm_contract_objectives(const struct jm_contract *c, struct jm_compute_opts *o);
/* Parser of a unit of useful work, "output_token" or "j_per.output_token"; at: const char *. Watts, and what
 * counts failures as work, are refused in a sentence that says why. */
int jm_contract_unit(void *at, const char *text, struct jm_err *err);
/* Parser of a share, "3 %"; at: double. A bare number is refused: 3 may be meant as 0.03. */
int jm_contract_share(void *at, const char *text, struct jm_err *err);
/* The rows of the file, for its documentation. */
extern const struct jm_opt jm_contract_table[];

#endif
