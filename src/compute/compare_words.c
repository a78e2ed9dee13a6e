/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as sentences. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "compute/compare_impl.h"

#include "base/banned.h"

static const char *needed(struct jm_cmp *x, const struct jm_decision *d)
{
    if (d->pairs_needed == SIZE_MAX)
        return JM_CMP_TEXT(x, "more than 10,000 pairs would be needed");
    return JM_CMP_TEXT(x, "about %zu pairs are needed to tell %.2g %% at a scatter of %.2g %% a pair%s",
                       d->pairs_needed, 100 * fabs(expm1(d->effect)), 100 * d->sd,
                       d->sd_assumed ? " (assumed: one pair tells none)" : "");
}

static const char *amount(struct jm_cmp *x, const struct jm_decision *d, char letter)
{
    char range[80] = "";
    if (isfinite(d->lo)) {
        double lo = d->saving < 0 ? -d->hi : d->lo, hi = d->saving < 0 ? -d->lo : d->hi;
        snprintf(range, sizeof range, " (%.3g to %.3g %%)", 100 * lo, 100 * hi);
    }
    return JM_CMP_TEXT(x, "%c takes %.3g %% %s energy per %s than A%s", letter, 100 * fabs(d->saving),
                       d->saving < 0 ? "more" : "less", x->c->unit_title, range);
}

const char *jm_cmp_sentence(struct jm_cmp *x, const struct jm_candidate *k)
{
    const struct jm_decision *d = &k->decision;
    const struct jm_decide_opts *o = &x->c->decide;
    const char *name = jm_verdict_name((int)d->verdict), *what = amount(x, d, (char)('A' + k->side));
    char floor[120] = "";
    if (d->floor_source)
        snprintf(floor, sizeof floor, "%.2g %% that %s shows", 100 * d->floor.saving,
                 d->floor_source == JM_FLOOR_AA ? "A against A" : "the scatter of A's own repeats");
    if (!what)
        return NULL;
    switch (d->why) {
    case JM_WHY_SHOWN:
        if (o->contract && o->minimum > 0)
            return JM_CMP_TEXT(x, "%s: %s, more than the %.3g %% asked for and the %s", name, what,
                               100 * o->minimum, floor);
        return JM_CMP_TEXT(x, "%s: %s, more than the %s", name, what, floor);
    case JM_WHY_SHORT:
        if (d->saving < 0)
            return JM_CMP_TEXT(x, "%s: %s; nothing is saved", name, what);
        return JM_CMP_TEXT(x, "%s: %s, less than the %.3g %% asked for", name, what, 100 * o->minimum);
    case JM_WHY_SAME:
        return JM_CMP_TEXT(x, "%s: %s, within the margin of ± %.3g %%", name, what, 100 * o->margin);
    case JM_WHY_FEW: {
        if (d->pairs_needed == o->least) /* not what the scatter asks for */
            return JM_CMP_TEXT(x, "%s: %zu pair%s, and at least %zu are asked for", name, d->n,
                               d->n == 1 ? "" : "s", o->least);
        const char *n = needed(x, d);
        return n ? JM_CMP_TEXT(x, "%s: %zu pair%s say%s too little; %s", name, d->n, d->n == 1 ? "" : "s",
                               d->n == 1 ? "s" : "", n)
                 : NULL;
    }
    case JM_WHY_FLOOR: {
        const char *n = needed(x, d);
        if (!d->floor_source)
            return JM_CMP_TEXT(x,
                               "%s: %s, and nothing says what A against A would show; give six trials of A "
                               "with --aa",
                               name, what);
        if (d->floor_source == JM_FLOOR_AA)
            return JM_CMP_TEXT(x, "%s: %s, no more than the %s in %zu pairs; more of them lower it", name,
                               what, floor, d->floor.n);
        return n ? JM_CMP_TEXT(x, "%s: %s, no more than the %s; %s", name, what, floor, n) : NULL;
    }
    case JM_WHY_STRADDLES: {
        const char *n = needed(x, d);
        char asked[40] = "no difference";
        if (o->contract)
            snprintf(asked, sizeof asked, "the %.3g %% asked for", 100 * o->minimum);
        return n ? JM_CMP_TEXT(x, "%s: %s, which leaves open whether it is %s; %s", name, what, asked, n)
                 : NULL;
    }
    case JM_WHY_WINNER:
        return JM_CMP_TEXT(x,
                           "%s: %s, but it is the best of %zu, and corrected for that %.3g %% (%.3g to %.3g "
                           "%%); measure it again, on its own",
                           name, what, d->corrected.k, 100 * (1 - exp(-d->corrected.value)),
                           100 * (1 - exp(-d->corrected.interval.lo)),
                           100 * (1 - exp(-d->corrected.interval.hi)));
    case JM_WHY_HOLM:
        return JM_CMP_TEXT(x, "%s: %s, but %zu candidates were tried, and corrected for that p is %.2g", name,
                           what, x->c->n_candidate, d->p_holm);
    }
    return NULL;
}

/* What differs and must not: "SM clock (1980 MHz, 1410 MHz), driver (...)". */
int jm_cmp_incomparable(struct jm_cmp *x, const char **text)
{
    size_t n = 0, more = 0;
    bool never = false;
    const char *list = NULL;
    *text = NULL;
    for (size_t i = 0; i < x->c->n_fact; i++) {
        const struct jm_compare_fact *f = &x->c->fact[i];
        if (f->state != JM_CF_DIFFERS && f->state != JM_CF_NEVER)
            continue;
        if (never && f->state != JM_CF_NEVER)
            break;
        never |= f->state == JM_CF_NEVER;
        if (n == 4) {
            more++;
            continue;
        }
        const char *b = NULL;
        for (size_t k = 1; k < x->c->n_side && (!b || (f->value[0] && strcmp(b, f->value[0]) == 0)); k++)
            b = f->value[k];
        list = JM_CMP_TEXT(x, "%s%s%s (%.60s, %.60s)", list ? list : "", list ? ", " : "", f->title,
                           f->value[0] ? f->value[0] : "not known", b ? b : "not known");
        if (!list)
            return jm_cmp_memory(x);
        n++;
    }
    if (!n)
        return 0;
    char extra[32] = "";
    if (more)
        snprintf(extra, sizeof extra, " and %zu more", more);
    *text = never ? JM_CMP_TEXT(x, "not comparable: %s; no declaration makes up for that", list)
                  : JM_CMP_TEXT(x,
                                "not comparable: A and B differ in %s%s, which must agree or be declared "
                                "(--differs)",
                                list, extra);
    return *text ? 0 : jm_cmp_memory(x);
}
