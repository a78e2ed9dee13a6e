/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/rule.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

const struct jm_mlperf_rule *jm_mlperf_rule_find(const char *id)
{
    for (const struct jm_mlperf_rule *r = jm_mlperf_rule_table; id && r->id; r++)
        if (strcmp(r->id, id) == 0)
            return r;
    return NULL;
}

/* "v3.1" -> 31; -1: no round. */
static int round_no(const char *p, const char **end)
{
    int v = 0, digits = 0;
    if (*p == 'v')
        p++;
    for (; (*p >= '0' && *p <= '9') || *p == '.'; p++)
        if (*p != '.') {
            if (digits++ > 3)
                return -1;
            v = v * 10 + (*p - '0');
        }
    *end = p;
    return digits == 2 ? v : -1;
}

bool jm_mlperf_rule_applies(const struct jm_mlperf_rule *r, const char *round)
{
    const char *end;
    if (!r->rounds || !*r->rounds || !round || !*round)
        return true;
    int at = round_no(round, &end), from = round_no(r->rounds, &end);
    if (at < 0 || from < 0)
        return true;
    if (*end != '-')
        return at == from;
    int to = end[1] ? round_no(end + 1, &end) : 9999;
    return at >= from && at <= to;
}

const char *jm_mlperf_verdict_name(enum jm_mlperf_verdict v)
{
    static const char *const names[] = {"pass", "note", "warning", "fail", "absent"};
    return (unsigned)v < sizeof(names) / sizeof(*names) ? names[v] : "?";
}

int jm_mlperf_outcome_add(struct jm_mlperf_checked *c, const char *rule_id, enum jm_mlperf_verdict v,
                          const char *evidence, struct jm_err *err, const char *fmt, ...)
{
    const struct jm_mlperf_rule *rule = jm_mlperf_rule_find(rule_id);
    if (!rule)
        return jm_err_set(err, JM_EINVAL, "The rule %s is in no row of the table of MLPerf rules.", rule_id);
    /* Room doubles at each power of two. */
    if ((c->n_outcomes & (c->n_outcomes - 1)) == 0) {
        size_t room = c->n_outcomes ? 2 * c->n_outcomes : 1;
        struct jm_mlperf_outcome *more = realloc(c->outcomes, room * sizeof(*more));
        if (!more)
            return jm_err_set(err, JM_ENOMEM, "Out of memory while collecting what the rules said.");
        c->outcomes = more;
    }
    struct jm_str text;
    jm_str_init(&text);
    va_list ap;
    va_start(ap, fmt);
    jm_str_addv(&text, fmt, ap);
    va_end(ap);
    int rc = jm_str_ok(&text, "what a rule said", err);
    char *copy = NULL;
    if (rc == 0 && evidence && !(copy = strdup(evidence)))
        rc = jm_err_set(err, JM_ENOMEM, "Out of memory while collecting what the rules said.");
    if (rc) {
        jm_str_release(&text);
        return rc;
    }
    jm_text_plain(text.buf, text.len, false);
    if (copy)
        jm_text_plain(copy, strlen(copy), true);
    struct jm_mlperf_outcome *o = &c->outcomes[c->n_outcomes++];
    *o = (struct jm_mlperf_outcome){.rule = rule, .verdict = v, .evidence = copy};
    if (!(o->text = jm_str_detach(&text))) {
        c->n_outcomes--;
        free(copy);
        return jm_err_set(err, JM_ENOMEM, "Out of memory while collecting what the rules said.");
    }
    if (v != JM_MLPERF_ABSENT && v > c->verdict)
        c->verdict = v;
    return 0;
}

void jm_mlperf_checked_release(struct jm_mlperf_checked *c)
{
    for (size_t i = 0; i < c->n_outcomes; i++) {
        free(c->outcomes[i].text);
        free(c->outcomes[i].evidence);
    }
    free(c->outcomes);
    for (size_t i = 0; i < sizeof(c->official.check) / sizeof(c->official.check[0]); i++)
        free(c->official.check[i].text);
    memset(c, 0, sizeof(*c));
}
