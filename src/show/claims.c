/* SPDX-License-Identifier: Apache-2.0 */
#include "show/claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/fmt.h"

#include "base/banned.h"

#define SHOWN 32 /* rows before those of minor statistics are left out */

/* How much a claim says at a glance: 2 a total or a mean, 1 its median or p99, 0 another statistic; -1:
 * nothing that is known here. A board's share of what stands above it, and a sum of latencies, are minor
 * ones. */
static int weight(const struct jm_claim *k)
{
    static const char *const per_request[] = {"ttf", "tpot", "itl", "e2e", "queue", "isl", "osl"};
    if (!k->metric[0])
        return -1;
    if (strstr(k->key, ".gpus."))
        return 0;
    if (!k->stat[0] || strcmp(k->stat, "mean") == 0)
        return 2;
    if (strcmp(k->stat, "p50") == 0 || strcmp(k->stat, "p99") == 0)
        return 1;
    if (strcmp(k->stat, "sum") != 0)
        return 0;
    for (size_t i = 0; i < sizeof per_request / sizeof per_request[0]; i++)
        if (strncmp(k->metric, per_request[i], strlen(per_request[i])) == 0)
            return 0;
    return 2;
}

struct jm_claims_pick jm_claims_pick(const struct jm_report *r, bool all)
{
    size_t known = 0, usual = 0;
    for (size_t i = 0; i < r->n_claims; i++) {
        int w = weight(&r->claims[i]);
        known += w >= 0;
        usual += w >= 1;
    }
    if (all)
        return (struct jm_claims_pick){-1, -1};
    if (known <= SHOWN)
        return (struct jm_claims_pick){0, -1};
    return (struct jm_claims_pick){usual <= SHOWN ? 1 : 2, 1};
}

bool jm_claims_shown(const struct jm_claim *k, struct jm_claims_pick pick)
{
    return weight(k) >= (k->differs ? pick.differing : pick.same);
}

/* Unit of what is compared: a claim's own, or that of its metric, which is the same up to a prefix. */
static const char *unit_of(const struct jm_claim *k)
{
    static const char *const seconds[] = {"ms", "us", "ns", "min"}, *const joules[] = {"uJ", "mJ", "kJ",
                                                                                       "MJ", "Wh", "kWh"};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++)
        if (strcmp(k->unit, seconds[i]) == 0)
            return "s";
    for (size_t i = 0; i < sizeof joules / sizeof joules[0]; i++)
        if (strcmp(k->unit, joules[i]) == 0)
            return "J";
    if (strcmp(k->unit, "uJ/inf.") == 0)
        return "J/request";
    return k->unit;
}

const char *jm_claims_value(char buf[JM_CLAIMS_FMT], const struct jm_claim *k, bool again)
{
    double v = again ? k->again : isfinite(k->claimed) ? k->claimed : k->value;
    bool own = isfinite(k->claimed);
    if (!isfinite(v))
        snprintf(buf, JM_CLAIMS_FMT, "–");
    else if (fabs(v) < 9e15 && v == round(v) && (!k->unit[0] || strcmp(k->unit, "tokens") == 0))
        snprintf(buf, JM_CLAIMS_FMT, "%.0f%s%s", v, k->unit[0] ? " " : "", k->unit);
    else
        jm_fmt_value(buf, v, own ? unit_of(k) : k->unit);
    return buf;
}

const char *jm_claims_verdict(char buf[JM_CLAIMS_FMT], const struct jm_claim *k)
{
    if (!isfinite(k->again))
        snprintf(buf, JM_CLAIMS_FMT, "%s", isfinite(k->claimed) ? "declared" : "");
    else if (!k->differs)
        snprintf(buf, JM_CLAIMS_FMT, "the same");
    else if (k->claimed != 0)
        snprintf(buf, JM_CLAIMS_FMT, "%+.3g %%", 100 * (k->again / k->claimed - 1));
    else
        snprintf(buf, JM_CLAIMS_FMT, "differs");
    return buf;
}

void jm_claims_text(struct jm_out *o)
{
    const struct jm_report *r = o->r;
    char a[JM_CLAIMS_FMT], b[JM_CLAIMS_FMT], v[JM_CLAIMS_FMT], line[400];
    bool declared = false, titled = false;
    int window = -2;
    size_t left = 0, differ = 0;
    const struct jm_claims_pick pick = jm_claims_pick(r, o->o->all);
    for (size_t i = 0; i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        if (!jm_claims_shown(k, pick)) {
            left++;
            differ += k->differs;
            continue;
        }
        if (!titled) {
            jm_out_section(o, "What the file says of itself");
            jm_str_adds(o->s, "  ");
            jm_out_cell(o, "", 30, false);
            jm_out_cell(o, "in the file", 17, true);
            jm_out_cell(o, "computed again", 17, true);
            jm_str_addc(o->s, '\n');
            titled = true;
        }
        if (k->window != window && r->n_windows > 1) {
            window = k->window;
            jm_str_adds(o->s, "  ");
            jm_out_style(o, JM_OUT_DIM);
            jm_out_wrap(o, window >= 0 ? r->windows[window].name : "the whole file", 4, 2);
            jm_out_style(o, JM_OUT_PLAIN);
        }
        jm_str_adds(o->s, "  ");
        if (jm_out_columns(k->key, strlen(k->key)) > 29) { /* a name is never cut */
            jm_out_wrap(o, k->key, 2, 2);
            jm_str_adds(o->s, "  ");
            jm_out_cell(o, "", 30, false);
        } else {
            jm_out_cell(o, k->key, 30, false);
        }
        jm_out_cell(o, jm_claims_value(a, k, false), 17, true);
        jm_out_cell(o, jm_claims_value(b, k, true), 17, true);
        jm_claims_verdict(v, k);
        jm_str_adds(o->s, v[0] ? "  " : "");
        jm_out_style(o, k->differs ? JM_OUT_YELLOW : JM_OUT_DIM);
        jm_out_add(o, v);
        jm_out_style(o, JM_OUT_PLAIN);
        jm_str_addc(o->s, '\n');
        declared |= strcmp(v, "declared") == 0;
        if (k->differs && k->why) {
            snprintf(line, sizeof line, "%s", k->why);
            jm_str_adds(o->s, "    ");
            jm_out_style(o, JM_OUT_DIM);
            jm_out_wrap(o, line, 4, 4);
            jm_out_style(o, JM_OUT_PLAIN);
        }
    }
    if (declared) {
        jm_str_adds(o->s, "  ");
        jm_out_style(o, JM_OUT_DIM);
        jm_out_wrap(o,
                    r->has_requests
                        ? "declared: the requests of the file do not hold what it would be computed from"
                        : "declared: the file holds no requests to compute it from",
                    2, 2);
        jm_out_style(o, JM_OUT_PLAIN);
    }
    if (left && differ)
        jm_str_addf(o->s, "  and %zu more, of which %zu differ: --all or --json has them\n", left, differ);
    else if (left)
        jm_str_addf(o->s, "  and %zu more: --all or --json has them\n", left);
}

void jm_claims_json(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->n_claims)
        return;
    jm_jsonw_key(w, "claims");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_claims; i++) {
        const struct jm_claim *k = &r->claims[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "key", k->key);
        jm_jsonw_kstr(w, "metric", k->metric[0] ? k->metric : NULL);
        if (k->stat[0])
            jm_jsonw_kstr(w, "stat", k->stat);
        if (k->boundary != JM_B_NONE)
            jm_jsonw_kstr(w, "boundary", jm_boundary_name((int)k->boundary));
        if (k->window >= 0)
            jm_jsonw_kstr(w, "window", r->windows[k->window].name);
        jm_jsonw_knum(w, "value", k->value);
        jm_jsonw_kstr(w, "unit", k->unit);
        jm_jsonw_knum(w, "claimed", k->claimed);
        jm_jsonw_knum(w, "again", k->again);
        if (isfinite(k->again))
            jm_jsonw_kbool(w, "differs", k->differs);
        if (k->why)
            jm_jsonw_kstr(w, "why", k->why);
        if (k->source[0])
            jm_jsonw_kstr(w, "source", k->source);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}
