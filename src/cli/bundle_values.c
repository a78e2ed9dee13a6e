/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a bundle that another version made: words may differ, values may not. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/bundle.h"

#include "base/banned.h"

#define AGREE 0.002    /* as recompute.py takes them */
#define LOOKS 20000000 /* at figures of the other side, in all */

static bool same_member(const struct jm_json *a, const struct jm_json *b, const char *key)
{
    const struct jm_json *p = jm_json_get(a, key), *q = jm_json_get(b, key);
    struct jm_span s, t;
    double x, y;
    if (jm_json_str(p, &s))
        return jm_json_str(q, &t) && jm_span_eq(s, t);
    if (jm_json_num(p, &x))
        return jm_json_num(q, &y) && !(x < y) && !(x > y);
    return !jm_json_str(q, &t) && !jm_json_num(q, &y);
}

static bool same_figure(const struct jm_json *a, const struct jm_json *b)
{
    static const char *const key[] = {"metric", "boundary", "set",   "window",
                                      "trial",  "slice",    "phase", "quantile"};
    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++)
        if (!same_member(a, b, key[i]))
            return false;
    return true;
}

int jm_bundle_values(struct jm_span stated, struct jm_span again, char *note, size_t cap, struct jm_err *err)
{
    struct jm_json *a = NULL, *b = NULL;
    struct jm_err why = {0};
    int other = 0;
    note[0] = '\0';
    int rc = jm_json_parse(again, &b, err);
    if (!rc && jm_json_parse(stated, &a, &why)) {
        snprintf(note, cap, "%.200s", why.text);
        other = 1;
    }
    const struct jm_json *of = jm_json_get(a, "results"), *to = jm_json_get(b, "results");
    size_t n = jm_json_len(to), at = 0, looks = 0; /* both are in nearly the same order */
    for (size_t i = 0; !rc && !other && i < jm_json_len(of); i++) {
        const struct jm_json *one = jm_json_at(of, i), *found = NULL;
        struct jm_span metric = {0};
        double x, y;
        if (!jm_json_num(jm_json_get(one, "value"), &x))
            continue;
        for (size_t k = 0; !found && k < n && looks < LOOKS; k++, looks++)
            if (same_figure(one, jm_json_at(to, (at + k) % n))) {
                at = (at + k) % n;
                found = jm_json_at(to, at);
            }
        if (looks >= LOOKS) {
            snprintf(note, cap, "it has too many figures that the run does not give");
            other = 1;
        }
        if (!found)
            continue; /* a figure that this version has not, or calls otherwise */
        bool none = !jm_json_num(jm_json_get(found, "value"), &y);
        char gives[40] = "none";
        if (!none)
            snprintf(gives, sizeof gives, "%.6g", y);
        if (none || fabs(x - y) > AGREE * fabs(y)) {
            jm_json_str(jm_json_get(one, "metric"), &metric);
            snprintf(note, cap, "it states %.6g for %.*s where the run gives %s", x,
                     (int)(metric.n > 60 ? 60 : metric.n), metric.n ? metric.p : "", gives);
            other = 1;
        }
    }
    jm_json_free(a);
    jm_json_free(b);
    return rc ? rc : other;
}
