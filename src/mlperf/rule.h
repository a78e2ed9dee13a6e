/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of MLPerf Power, one row a rule in one table; docs/mlperf-rules.md is made from it. */
#ifndef JM_MLPERF_RULE_H
#define JM_MLPERF_RULE_H

#include "base/str.h"
#include "mlperf/result.h"

enum jm_mlperf_verdict {
    JM_MLPERF_PASS,
    JM_MLPERF_NOTE, /* cannot be decided by a program, or worth a look */
    JM_MLPERF_WARN,
    JM_MLPERF_FAIL,
    JM_MLPERF_ABSENT /* what the rule looks at is not there, and need not be */
};

struct jm_mlperf_rule {
    const char *id;     /* "ptd.commands", "samples.over_range", "submission.files" */
    const char *rounds; /* "v1.0-", "v3.1-v5.1" */
    int severity;       /* verdict of a breach: JM_MLPERF_NOTE, WARN or FAIL */
    int official;       /* number of the public power checker's check (1 to 11), 0: not one of them */
    const char *title, *text, *source;
};
extern const struct jm_mlperf_rule jm_mlperf_rule_table[];        /* ends with a NULL id */
const struct jm_mlperf_rule *jm_mlperf_rule_find(const char *id); /* NULL: no row has it */
/* Does it hold in a round ("v4.1")? Unknown rounds and rules without rounds: yes. */
bool jm_mlperf_rule_applies(const struct jm_mlperf_rule *r, const char *round);
const char *
jm_mlperf_verdict_name(enum jm_mlperf_verdict v); /* "pass", "note", "warning", "fail", "absent" */

struct jm_mlperf_outcome {
    const struct jm_mlperf_rule *rule;
    enum jm_mlperf_verdict verdict;
    char *text;     /* one sentence: what, where, how much */
    char *evidence; /* file, line, numbers; may be NULL */
};

/* What the public checker of the round says: one a check, in its order. */
struct jm_mlperf_official {
    const char *revision; /* checker that was followed: "r3.0", "c4b3ad8" */
    struct {
        const char *title;              /* "Check client sources checksum" */
        enum jm_mlperf_verdict verdict; /* PASS, WARN (passes with warnings) or FAIL */
        char *text;
    } check[11];
    enum jm_mlperf_verdict verdict; /* of all */
};

struct jm_mlperf_checked {
    struct jm_mlperf_official official;
    struct jm_mlperf_outcome *outcomes;
    size_t n_outcomes;
    enum jm_mlperf_verdict verdict; /* ours: the worst */
};

/* revision NULL: the one of the session's round. */
int jm_mlperf_check(const struct jm_mlperf_session *s, const struct jm_mlperf_result *r, const char *revision,
                    struct jm_mlperf_checked *out, struct jm_err *err);
/* Why a session is no official measurement, by its own words; NULL: nothing says so. *simulated: the analyzer
 * is a stand-in. */
const char *jm_mlperf_unofficial(const struct jm_mlperf_session *s, bool *simulated);
void jm_mlperf_checked_release(struct jm_mlperf_checked *c);
/* Adds what a rule says; control characters of foreign text become '?'. JM_EINVAL: no such rule; JM_ENOMEM.
 */
int jm_mlperf_outcome_add(struct jm_mlperf_checked *c, const char *rule_id, enum jm_mlperf_verdict v,
                          const char *evidence, struct jm_err *err, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

#endif
