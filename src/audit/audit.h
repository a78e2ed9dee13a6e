/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: checks over a run and its report, one const table. Each check adds findings; afterwards every result
 * has its validity against the profile. */
#ifndef JM_AUDIT_AUDIT_H
#define JM_AUDIT_AUDIT_H

#include "base/err.h"
#include "model/report.h"
#include "run/run.h"

struct jm_check {
    const char *id;    /* "counter.reset" */
    const char *title; /* one line */
    const char *why;   /* why it matters, with the public source of threshold or report */
    int (*run)(const struct jm_run *run, struct jm_report *report, struct jm_err *err);
};
extern const struct jm_check jm_check_table[]; /* ends with id == NULL */

/* What a finding says something about. */
enum jm_concerns {
    JM_CONCERNS_ALL,
    JM_CONCERNS_ENERGY, /* results at a boundary */
    JM_CONCERNS_RATIO,  /* results at a boundary that rest on tokens or requests */
    JM_CONCERNS_TOKENS, /* results that rest on token counts */
    JM_CONCERNS_LOAD,   /* everything but plain energy and power */
    JM_CONCERNS_ENGINE  /* what rests on the engine's own metrics */
};

/* Every finding that exists. Several may come from one check. */
struct jm_finding_kind {
    const char *id, *check; /* id of the finding, id of the check that makes it */
    enum jm_concerns concerns;
    const char *severity; /* "error", "error, warning": error first */
    const char *means;    /* what was found */
};
extern const struct jm_finding_kind jm_finding_table[]; /* ends with id == NULL */

/* Checks of what another tool wrote: they ask its claims and requests, and run over imported files only. */
extern const struct jm_check jm_foreign_check_table[];          /* ends with id == NULL */
extern const struct jm_finding_kind jm_foreign_finding_table[]; /* ends with id == NULL */

/* Runs every check and sets the validity of the report and of each result. */
int jm_audit(const struct jm_run *run, struct jm_report *report, struct jm_err *err);

/* Facts that no instrument tells and a person declares: --fact KEY=VALUE of record, run, bench and idle (kept
 * in the run as "fact.KEY"), and of audit and export (declared later, in the report alone). */
struct jm_fact {
    const char *key, *what, *example;
};
extern const struct jm_fact jm_fact_table[]; /* ends with key == NULL */
#define JM_FACT_MAX 400
/* "precision=FP8" → its row and the value (a pointer into text). JM_EUSAGE with the nearest key. */
int jm_fact_parse(const char *text, const struct jm_fact **fact, const char **value, struct jm_err *err);
/* What was declared of key, later before earlier; NULL: nothing. */
const char *jm_fact_of(const struct jm_run *run, const struct jm_report *report, const char *key);
/* Puts a fact that is declared now into the report. JM_EUSAGE, JM_ENOMEM. */
int jm_fact_declare(struct jm_report *report, const char *text, struct jm_err *err);

/* The disclosure: what must be published beside the number, as key/value rows with "not known" where the run
 * does not say. rows are allocated in the report's arena. */
enum jm_disclosed {
    JM_DISCLOSED,          /* observed, or computed from what was */
    JM_DISCLOSED_DECLARED, /* a person says so, in the run */
    JM_DISCLOSED_LATER,    /* a person says so now, the run does not */
    JM_DISCLOSED_NOT,      /* missing */
    JM_DISCLOSED_NA        /* does not apply: value says why */
};
const char *
jm_disclosed_name(int v); /* "recorded", "declared", "declared later", "missing", "not applicable" */

struct jm_disclosure_row {
    const char *key, *value; /* value: "not known" where it is missing */
    bool known;
    const char *id; /* stable: "boundary", "isl" */
    bool required;  /* a reader needs it; else it helps */
    enum jm_disclosed state;
    const char *mend;   /* what to do where it is missing */
    const char *source; /* the published checklist that asks for it */
};
int jm_disclosure(const struct jm_run *run, struct jm_report *report, const struct jm_disclosure_row **rows,
                  size_t *n, struct jm_err *err);
/* Required rows that are missing. */
size_t jm_disclosure_missing(const struct jm_disclosure_row *rows, size_t n);

/* What a result may claim to be (audit/levels.c; docs/disclosure.md). All is allocated in the report's arena.
 */
enum jm_gate_state { JM_GATE_MET, JM_GATE_NOT, JM_GATE_UNKNOWN, JM_GATE_NA };
const char *jm_gate_name(int v); /* "met", "not met", "not known", "not applicable" */
struct jm_gate {
    const char *id, *rule; /* "window", "measured for 25 s and longer" */
    enum jm_gate_state state;
    const char *evidence; /* what was found */
    const char *mend;     /* what to do; NULL where it is met */
    const char *source;
};
#define JM_LEVELS      5
#define JM_LEVEL_GATES 5
#define JM_ASPECTS     7
#define JM_MLPERF_LIKE 10
struct jm_claim_level {
    const char *id, *title;
    bool reached; /* all of its gates and those below are met */
    struct jm_gate gate[JM_LEVEL_GATES];
    size_t n_gate;
};
/* An aspect of the EE HPC WG methodology: the level that it reaches, 0 none. */
struct jm_aspect {
    const char *id, *title;
    int level;
    const char *evidence, *lacks; /* lacks: what the next level needs; NULL at 3 */
};
struct jm_levels {
    struct jm_claim_level claim[JM_LEVELS];
    int claim_reached; /* index; -1: none */
    struct jm_aspect aspect[JM_ASPECTS];
    int eehpc;       /* 0 none, 1 to 3 */
    bool eehpc_like; /* of a calibrated relation, not of a measurement: "L1-like" */
    const char *eehpc_boundary, *eehpc_text;
    struct jm_gate mlperf[JM_MLPERF_LIKE];
    size_t n_mlperf;
};
int jm_levels(const struct jm_run *run, struct jm_report *report, const struct jm_levels **out,
              struct jm_err *err);

#endif
