/* SPDX-License-Identifier: Apache-2.0 */
/* How often and at which levels a plan is measured. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "load/plan.h"

#include "base/banned.h"

#define UNTIL_MOST 0.5
#define LEVEL_MOST 150

void jm_plan_run_init(struct jm_plan_run *r)
{
    *r = (struct jm_plan_run){.order = -1,
                              .cool_down = -1,
                              .cool_to = NAN,
                              .until = NAN,
                              .duration = -1,
                              .warmup = -1,
                              .probe = -1};
}

int jm_until_parse(double *out, const char *text, struct jm_err *err)
{
    struct jm_span s = jm_span_trim(jm_span_of(text));
    double v;
    if (s.n < 2 || s.p[s.n - 1] != '%' || jm_num_double(jm_span_trim(jm_span_sub(s, 0, s.n - 1)), &v) != 0 ||
        !(v > 0 && v <= 100 * UNTIL_MOST))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" is no half width: write a part of the mean above 0 and up to %.0f %%, "
                          "as in 2%%",
                          text, 100 * UNTIL_MOST);
    *out = v / 100;
    return 0;
}

static int level(struct jm_plan_run *r, struct jm_span s, const char *text, struct jm_err *err)
{
    double v;
    s = jm_span_trim(s);
    if (s.n && s.p[s.n - 1] == '%')
        s = jm_span_trim(jm_span_sub(s, 0, s.n - 1));
    if (jm_num_double(s, &v) != 0 || !(v >= 0 && v <= LEVEL_MOST) || (v > 0 && v < 0.1))
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.40s\" are no levels: write percent of the capacity from the highest to the "
                          "lowest, 0 for loaded idle, as in 100,75,50,25,0 (at most %d)",
                          text, LEVEL_MOST);
    for (size_t i = 0; i < r->levels; i++)
        if (r->level[i] == v)
            return jm_err_set(err, JM_EUSAGE, "the level %g stands in \"%.40s\" twice", v, text);
    if (r->levels == JM_LEVELS_MOST)
        return jm_err_set(err, JM_EUSAGE, "a ladder has at most %d levels", JM_LEVELS_MOST);
    r->level[r->levels++] = fabs(v); /* -0 */
    return 0;
}

int jm_levels_parse(struct jm_plan_run *out, const char *text, struct jm_err *err)
{
    struct jm_plan_run r = {.levels = 0};
    struct jm_span rest = jm_span_trim(jm_span_of(text)), one;
    int rc = 0;
    if (jm_span_is(rest, "true") || jm_span_is(rest, "default"))
        rest = JM_SPAN("100,90,80,70,60,50,40,30,20,10,0");
    bool any = false;
    if (!rest.n)
        rc = level(&r, rest, text, err);
    while (!rc && rest.n && jm_span_field(&rest, ',', &one))
        rc = level(&r, one, text, err);
    for (size_t i = 0; !rc && i < r.levels; i++)
        any |= r.level[i] > 0;
    if (!rc && !any)
        rc =
            jm_err_set(err, JM_EUSAGE, "a ladder of loaded idle alone has no load: add a level, as in 100,0");
    if (rc)
        return rc;
    memcpy(out->level, r.level, sizeof out->level);
    out->levels = r.levels;
    return 0;
}
