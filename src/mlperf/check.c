/* SPDX-License-Identifier: Apache-2.0 */
/* A session judged twice: by the public checker of its round, followed to the letter, and by our rules. */
#include "mlperf/judge.h"
#include "mlperf/rule_metric.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define LISTED 4

__attribute__((format(printf, 5, 0))) static void add(struct jm_judge *j, const char *id, int v,
                                                      const char *evidence, const char *fmt, va_list ap)
{
    const struct jm_mlperf_rule *rule = jm_mlperf_rule_find(id);
    if (j->rc || (rule && !jm_mlperf_rule_applies(rule, j->s->round.name)))
        return;
    struct jm_str t;
    jm_str_init(&t);
    jm_str_addv(&t, fmt, ap);
    j->rc = jm_str_ok(&t, "what a rule says", j->err);
    if (!j->rc)
        j->rc = jm_mlperf_outcome_add(j->out, id, v < 0 && rule ? rule->severity : v, evidence, j->err, "%s",
                                      t.buf);
    jm_str_release(&t);
}

void jm_judge_pass(struct jm_judge *j, const char *id, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(j, id, JM_MLPERF_PASS, NULL, fmt, ap);
    va_end(ap);
}

void jm_judge_breach(struct jm_judge *j, const char *id, const char *evidence, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(j, id, -1, evidence, fmt, ap);
    va_end(ap);
}

void jm_judge_say(struct jm_judge *j, const char *id, enum jm_mlperf_verdict v, const char *evidence,
                  const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(j, id, v, evidence, fmt, ap);
    va_end(ap);
}

void jm_judge_absent(struct jm_judge *j, const char *id, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(j, id, JM_MLPERF_ABSENT, NULL, fmt, ap);
    va_end(ap);
}

int jm_judge_round(const struct jm_judge *j)
{
    const char *n = j->s->round.name;
    if (n[0] == 'v' && n[1] >= '0' && n[1] <= '9' && n[2] == '.' && n[3] >= '0' && n[3] <= '9')
        return (n[1] - '0') * 10 + n[3] - '0';
    return 99;
}

void jm_judge_list(struct jm_str *out, size_t *n, const char *word)
{
    if ((*n)++ < LISTED)
        jm_str_addf(out, "%s%s", *n > 1 ? ", " : "", word);
}

void jm_judge_list_end(struct jm_str *out, size_t n)
{
    if (n > LISTED)
        jm_str_addf(out, " and %zu more", n - LISTED);
}

int jm_mlperf_check(const struct jm_mlperf_session *s, const struct jm_mlperf_result *r, const char *revision,
                    struct jm_mlperf_checked *out, struct jm_err *err)
{
    memset(out, 0, sizeof *out);
    const struct jm_mlperf_revision *rev =
        revision ? jm_mlperf_revision_find(revision) : jm_mlperf_revision_of(s->round.name);
    if (!rev) {
        struct jm_str names;
        jm_str_init(&names);
        for (rev = jm_mlperf_revision_table; rev->name; rev++)
            jm_str_addf(&names, "%s%s", names.len ? ", " : "", rev->name);
        int rc = jm_err_set(err, JM_EUSAGE, "No revision of the public checker is called %s; known are %s.",
                            revision, names.buf);
        jm_str_release(&names);
        return rc;
    }
    int rc = jm_mlperf_official_follow(s, rev, &out->official, err);
    if (rc) {
        jm_mlperf_checked_release(out);
        return rc;
    }
    struct jm_judge j = {.s = s,
                         .r = r,
                         .rev = jm_mlperf_revision_of(s->round.name),
                         .out = out,
                         .err = err,
                         .name = s->server.session_name ? s->server.session_name : s->client.session_name,
                         .analyzers = s->server.n_config > 1 ? (int)s->server.n_config : 1};
    if (s->power[JM_MLPERF_TESTING].analyzers > j.analyzers)
        j.analyzers = s->power[JM_MLPERF_TESTING].analyzers;
    for (int m = 0; m < JM_MLPERF_MODES; m++)
        j.load[m] =
            jm_mlperf_window(s, (enum jm_mlperf_mode)m, &j.begin[m], &j.end[m]) && j.end[m] > j.begin[m];
    jm_judge_samples(&j);
    jm_judge_load(&j);
    jm_judge_ranging(&j);
    jm_judge_log(&j);
    jm_judge_files(&j);
    jm_judge_ptd(&j);
    jm_judge_clocks(&j);
    jm_judge_messages(&j);
    if (!j.rc && r)
        j.rc = jm_mlperf_rules_of_metric(s, r, out, err);
    if (j.rc)
        jm_mlperf_checked_release(out);
    return j.rc;
}
