/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/compare_impl.h"
#include "compute/reconcile.h"

#include "base/banned.h"

void jm_comparison_free(struct jm_comparison *c)
{
    if (c)
        jm_report_free(c->mem);
}

/* --- the same run twice */
static int same_run(const struct jm_compare_run *a, const struct jm_compare_run *b)
{
    const struct jm_run_info *p = jm_run_info(a->run), *q = jm_run_info(b->run);
    return a->run == b->run || (p->id[0] && strcmp(p->id, q->id) == 0) ||
           (p->sha256[0] && strcmp(p->sha256, q->sha256) == 0);
}

static int distinct(const struct jm_compare_side_in *side, size_t n, struct jm_err *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < side[i].n_run; k++)
            for (size_t j = 0; j <= i; j++)
                for (size_t q = 0; q < side[j].n_run && (j < i || q < k); q++)
                    if (same_run(&side[i].run[k], &side[j].run[q])) {
                        const char *a = jm_run_path(side[j].run[q].run), *b = jm_run_path(side[i].run[k].run);
                        bool names = strcmp(a, b) != 0;
                        return jm_err_set(err, JM_EUSAGE,
                                          "%s%s%s %s the same run%s: there is nothing to compare it with", a,
                                          names ? " and " : "", names ? b : "", names ? "are" : "is",
                                          i == j  ? " twice on one side"
                                          : names ? ""
                                                  : ", given on both sides");
                    }
    return 0;
}

/* A candidate's own runs, or one twice, tell nothing of A against A. */
static int distinct_aa(const struct jm_compare_side_in *side, size_t n, const struct jm_compare_opts *o,
                       struct jm_err *err)
{
    for (size_t i = 0; i < o->n_aa; i++) {
        for (size_t k = 0; k < i; k++)
            if (same_run(&o->aa[i], &o->aa[k]))
                return jm_err_set(err, JM_EUSAGE, "--aa: %s is there twice", jm_run_path(o->aa[i].run));
        for (size_t k = 1; k < n; k++)
            for (size_t j = 0; j < side[k].n_run; j++)
                if (same_run(&o->aa[i], &side[k].run[j]))
                    return jm_err_set(err, JM_EUSAGE,
                                      "--aa: %s is a run of %c, a candidate; the detection floor takes runs "
                                      "of A against A",
                                      jm_run_path(o->aa[i].run), (char)('A' + k));
    }
    return 0;
}

/* --- pairs */
struct event {
    int64_t at;
    char side;
};

static int by_at(const void *a, const void *b)
{
    const struct event *p = a, *q = b;
    return p->at != q->at ? (p->at > q->at) - (p->at < q->at) : (p->side > q->side) - (p->side < q->side);
}

static int make_order(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_compare_side *s[2] = {&x->c->side[0], &x->c->side[k->side]};
    size_t n = 0, most = s[0]->n_trial + s[1]->n_trial;
    struct event *e = malloc((most + 1) * sizeof *e);
    char *text = jm_report_alloc(x->mem, most + 1);
    bool known = true;
    if (!e || !text) {
        free(e);
        return jm_cmp_memory(x);
    }
    for (int i = 0; i < 2; i++)
        for (size_t t = 0; t < s[i]->n_trial; t++) {
            known &= s[i]->trial[t].at != INT64_MIN;
            e[n++] = (struct event){s[i]->trial[t].at, i ? jm_cmp_letter(k) : 'A'};
        }
    qsort(e, n, sizeof *e, by_at);
    for (size_t i = 0; i < n; i++)
        text[i] = e[i].side;
    free(e);
    k->order = known ? text : NULL;
    return 0;
}

/* Are they quads A B B A (or B A A B), two at least and without a hole? */
static int quads(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[k->side];
    size_t n = k->n_pair;
    if (!k->order || n < 4 || n % 2 || a->n_trial != n || b->n_trial != n)
        return 0;
    for (const char *p = k->order; *p; p += 4)
        if (p[0] == p[1] || p[1] != p[2] || p[0] != p[3])
            return 0;
    if (!(k->turned = jm_report_alloc(x->mem, n * sizeof *k->turned)))
        return jm_cmp_memory(x);
    for (size_t i = 0; i < n; i++)
        k->turned[i] = b->trial[k->pair[i].b].at < a->trial[k->pair[i].a].at;
    return 0;
}

/* The k-th trial of A that has a value with the k-th of B: in order of time they are neighbours. */
static int pairs(struct jm_cmp *x, struct jm_candidate *k, double **d)
{
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[k->side];
    size_t most = a->n_value < b->n_value ? a->n_value : b->n_value;
    k->pair = jm_report_alloc(x->mem, (most + 1) * sizeof *k->pair);
    *d = jm_report_alloc(x->mem, (most + 1) * sizeof **d);
    if (!k->pair || !*d)
        return jm_cmp_memory(x);
    for (size_t i = 0, j = 0; k->n_pair < most; i++, j++) {
        while (i < a->n_trial && isnan(a->trial[i].value))
            i++;
        while (j < b->n_trial && isnan(b->trial[j].value))
            j++;
        if (i == a->n_trial || j == b->n_trial)
            break;
        double v = log(b->trial[j].value / a->trial[i].value);
        (*d)[k->n_pair] = v;
        k->pair[k->n_pair++] = (struct jm_compare_pair){i, j, v};
    }
    int rc = make_order(x, k);
    return rc ? rc : quads(x, k);
}

/* --- instruments */

/* Largest known gain tolerance of what a side counts; NAN: one of them is not known. *boards: there are GPU
 * boards among them. */
static double tolerance(const struct jm_cmp *x, size_t side, bool *boards)
{
    double most = 0;
    for (size_t i = 0; i < x->in[side].n_run; i++) {
        const struct jm_report *r = x->in[side].run[i].report;
        const struct jm_result *row = jm_cmp_row(&x->in[side].run[i], x->c->unit, x->c->boundary);
        for (size_t k = 0; row && k < r->n_energy; k++) {
            const struct jm_energy_row *e = &r->energy[k];
            bool counted = false;
            for (size_t d = 0; d < row->n_domain; d++)
                counted |= row->domain[d] == e->domain;
            if (!counted || !e->counted || e->window != row->window)
                continue;
            enum jm_domain_kind kind = r->tree->d[e->domain].kind;
            *boards |= kind == JM_D_GPU || kind == JM_D_MODULE;
            double g = r->channels[e->channel].gain_tol;
            most = e->passport ? most : isnan(g) ? NAN : isnan(most) ? NAN : fmax(most, g);
        }
    }
    return most;
}

static bool agrees(const struct jm_cmp *x, const char *id)
{
    const struct jm_compare_fact *f = jm_cmp_fact(x->c, id);
    return f && f->state != JM_CF_DECLARED && f->state != JM_CF_DIFFERS && f->state != JM_CF_NEVER &&
           f->state != JM_CF_PARTLY;
}

/* Log half-width that the instruments of the sides may differ by. */
static double gain_doubt(const struct jm_cmp *x, size_t side, bool *cancels)
{
    bool boards = false;
    const struct jm_compare_fact *which = jm_cmp_fact(x->c, "devices.identity");
    *cancels = which && which->state != JM_CF_UNKNOWN && agrees(x, "instrument") &&
               agrees(x, "devices.identity") && agrees(x, "passport.files") && agrees(x, "placement.host");
    if (*cancels)
        return 0;
    double a = tolerance(x, 0, &boards), b = tolerance(x, side, &boards),
           prior = boards ? JM_RECONCILE_GAIN_BOARD : JM_RECONCILE_GAIN;
    return log1p(isnan(a) ? prior : a) + log1p(isnan(b) ? prior : b);
}

/* --- A against A */
static int aa_pairs(struct jm_cmp *x, double **d, size_t *n)
{
    size_t most = 0, trials = 0;
    *n = 0;
    for (size_t i = 0; i < x->o->n_aa; i++)
        most += x->o->aa[i].report->n_windows;
    struct jm_compare_trial *t = jm_report_alloc(x->mem, (most + 1) * sizeof *t);
    *d = jm_report_alloc(x->mem, (most / 2 + 1) * sizeof **d);
    if (!t || !*d)
        return jm_cmp_memory(x);
    for (size_t i = 0; i < x->o->n_aa; i++) {
        const struct jm_report *r = x->o->aa[i].report;
        for (size_t w = 0; w < r->n_windows; w++) {
            bool seen = r->windows[w].role != JM_R_MEASURE;
            for (size_t k = 0; k < trials && !seen; k++)
                seen = t[k].run == i && t[k].trial == r->windows[w].trial;
            if (seen)
                continue;
            struct jm_compare_trial *one = &t[trials];
            *one = (struct jm_compare_trial){.run = i, .trial = r->windows[w].trial, .at = INT64_MIN};
            one->value =
                jm_cmp_value(&x->o->aa[i], one->trial, x->c->unit, x->c->boundary, NAN, NULL, NULL, NULL);
            if (!jm_run_to_real(x->o->aa[i].run, r->windows[w].t0, &one->at))
                one->at = INT64_MIN;
            trials += one->value > 0 && isfinite(one->value);
        }
    }
    qsort(t, trials, sizeof *t, jm_cmp_by_time);
    for (size_t i = 0; i + 1 < trials; i += 2)
        (*d)[(*n)++] = log(t[i + 1].value / t[i].value);
    if (x->o->n_aa && *n < 3)
        return jm_err_set(x->err, JM_EUSAGE,
                          "--aa: %zu trials with %s at the %s boundary make %zu pairs of A against A; a "
                          "detection floor takes at least 3, six trials",
                          trials, x->c->unit, jm_boundary_name((int)x->c->boundary), *n);
    return 0;
}

static int say(struct jm_cmp *x, struct jm_candidate *k, enum jm_verdict v, const char *sentence)
{
    k->verdict = v;
    k->sentence = sentence;
    return sentence ? 0 : jm_cmp_memory(x);
}

/* Before any statistics: is there something to compare? *done: the verdict is there. */
static int without_value(struct jm_cmp *x, struct jm_candidate *k, bool *done)
{
    *done = true;
    for (int i = 0; i < 2; i++) {
        const struct jm_compare_side *s = &x->c->side[i ? k->side : 0];
        char letter = (char)('A' + (i ? k->side : 0));
        const char *why = s->no_value ? s->no_value : s->n_trial ? "no value" : "no measured window";
        const char *unresolved = jm_verdict_name(JM_VERDICT_UNRESOLVED);
        if (s->n_value)
            continue;
        if (s->requests && s->failed == s->requests)
            return say(x, k, x->o->contract && i ? JM_VERDICT_REJECT : JM_VERDICT_UNRESOLVED,
                       JM_CMP_TEXT(x, "%s: all %llu requests of %c failed, so its joules did no useful work",
                                   x->o->contract && i ? "reject" : unresolved,
                                   (unsigned long long)s->requests, letter));
        if (strstr(why, "no-tokens") || strstr(why, "no-requests") || (!s->requests && s->n_trial))
            return say(x, k, JM_VERDICT_UNRESOLVED,
                       JM_CMP_TEXT(x, "%s: %c did no work that counts (%s), so there is no energy per %s",
                                   unresolved, letter,
                                   !s->requests               ? "no request was measured"
                                   : strstr(why, "no-tokens") ? "zero tokens"
                                                              : "no request succeeded",
                                   x->c->unit_title));
        const struct jm_contract *c = x->o->contract;
        return say(
            x, k, JM_VERDICT_UNRESOLVED,
            c && c->expected
                ? JM_CMP_TEXT(x,
                              "%s: %c has no measured energy per %s (%s), and the %.6g %% of %.120s are "
                              "no measurement of this system",
                              unresolved, letter, x->c->unit_title, why, 100 * c->expected_saving,
                              c->expected_source)
                : JM_CMP_TEXT(x, "%s: %c has no energy per %s at the %s boundary (%s)", unresolved, letter,
                              x->c->unit_title, jm_boundary_name((int)x->c->boundary), why));
    }
    *done = false;
    return 0;
}

/* The first clause that is broken, else the first that is open, decides. */
static int by_clauses(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_clause *worst = NULL;
    for (size_t i = 0; i < k->n_clause; i++)
        if (k->clause[i].state != JM_CLAUSE_MET && (!worst || k->clause[i].state > worst->state))
            worst = &k->clause[i];
    if (!worst || strcmp(worst->id, "saving") == 0)
        return 0;
    enum jm_verdict v = worst->state == JM_CLAUSE_BROKEN ? JM_VERDICT_REJECT : JM_VERDICT_UNRESOLVED;
    return say(
        x, k, v,
        JM_CMP_TEXT(x, "%s: %s%s", jm_verdict_name((int)v), worst->sentence,
                    k->decision.verdict == JM_VERDICT_ACCEPT ? "; the energy alone would be accepted" : ""));
}

/* Two candidates with the very same pairs. */
static int same_numbers(struct jm_cmp *x)
{
    for (size_t i = 0; i < x->c->n_candidate; i++)
        for (size_t j = 0; j < i; j++) {
            const struct jm_candidate *a = &x->c->candidate[j], *b = &x->c->candidate[i];
            size_t same = 0;
            while (same < a->n_pair && same < b->n_pair && a->pair[same].d == b->pair[same].d)
                same++;
            if (a->n_pair >= 2 && a->n_pair == b->n_pair && same == a->n_pair)
                return jm_err_set(x->err, JM_EUSAGE,
                                  "%c and %c hold the very same numbers, which no two measurements give: one "
                                  "is a copy of the other",
                                  jm_cmp_letter(a), jm_cmp_letter(b));
        }
    return 0;
}

static int candidates(struct jm_cmp *x)
{
    struct jm_comparison *c = x->c;
    double *own = NULL, *aa = NULL, *d = NULL;
    size_t n_own = 0, n_aa = 0, ready = 0;
    const char *differs = NULL;
    const struct jm_compare_side *a = &c->side[0];
    c->n_candidate = c->n_side - 1;
    c->candidate = jm_report_alloc(x->mem, c->n_candidate * sizeof *c->candidate);
    own = jm_report_alloc(x->mem, (a->n_trial + 1) * sizeof *own);
    struct jm_decision *v = jm_report_alloc(x->mem, c->n_candidate * sizeof *v);
    size_t *of = jm_report_alloc(x->mem, c->n_candidate * sizeof *of);
    if (!c->candidate || !own || !v || !of)
        return jm_cmp_memory(x);
    for (size_t i = 0; i < a->n_trial; i++)
        if (isfinite(a->trial[i].value))
            own[n_own++] = a->trial[i].value;
    int rc = aa_pairs(x, &aa, &n_aa);
    if (!rc)
        rc = jm_cmp_incomparable(x, &differs);
    for (size_t i = 0; !rc && i < c->n_candidate; i++) {
        struct jm_candidate *k = &c->candidate[i];
        bool done = false;
        k->side = i + 1;
        if ((rc = pairs(x, k, &d)) || (rc = without_value(x, k, &done)))
            break;
        const char *invalid = a->invalid ? a->invalid : c->side[k->side].invalid;
        if (done) {
            rc = jm_cmp_metrics(x, k);
            if (!rc)
                rc = jm_cmp_notes(x, k);
            continue;
        }
        struct jm_decide_opts o = c->decide;
        o.gain = gain_doubt(x, k->side, &k->gain_cancels);
        o.turned = k->turned;
        c->decide.gain = fmax(c->decide.gain, o.gain);
        if ((rc = jm_decide(d, k->n_pair, aa, n_aa, own, n_own, &o, &k->decision, x->err)))
            break;
        if (k->decision.paired.identical)
            return jm_err_set(
                x->err, JM_EUSAGE,
                "A and %c hold the very same numbers, which no two measurements give: one is a copy "
                "of the other",
                (char)('A' + k->side));
        if (invalid) {
            k->invalid = true;
            rc = say(x, k, JM_VERDICT_INCOMPARABLE,
                     JM_CMP_TEXT(x, "not comparable: the measurement of %c is invalid (%.300s)",
                                 a->invalid ? 'A' : (char)('A' + k->side), invalid));
        } else if (differs) {
            k->verdict = JM_VERDICT_INCOMPARABLE;
            k->sentence = differs;
        } else {
            v[ready] = k->decision;
            of[ready++] = i;
        }
    }
    if (!rc)
        rc = same_numbers(x);
    size_t best = 0;
    if (!rc && ready)
        rc = jm_decide_many(v, ready, &c->decide, &best, x->err);
    for (size_t i = 0; !rc && i < ready; i++) {
        struct jm_candidate *k = &c->candidate[of[i]];
        k->decision = v[i];
        k->verdict = v[i].verdict;
        if (k->verdict == JM_VERDICT_UNRESOLVED)
            jm_decide_plan(&k->decision, &c->decide);
        rc = say(x, k, v[i].verdict, jm_cmp_sentence(x, k));
    }
    c->best = ready ? of[best] : 0;
    for (size_t i = 0; !rc && i < c->n_candidate; i++) {
        struct jm_candidate *k = &c->candidate[i];
        if (!k->decision.n)
            continue;
        rc = jm_cmp_metrics(x, k);
        if (!rc)
            rc = jm_cmp_notes(x, k);
        if (!rc && x->o->contract)
            rc = jm_cmp_clauses(x, k);
        if (!rc && x->o->contract && k->verdict != JM_VERDICT_INCOMPARABLE)
            rc = by_clauses(x, k);
    }
    /* a clause may have taken the best away */
    for (size_t i = 0; !rc && i < c->n_candidate; i++)
        if (c->candidate[i].verdict == JM_VERDICT_ACCEPT &&
            (c->candidate[c->best].verdict != JM_VERDICT_ACCEPT ||
             c->candidate[i].decision.saving > c->candidate[c->best].decision.saving))
            c->best = i;
    return rc;
}

static const char *title_of(const char *unit)
{
    static const char *const title[][2] = {{"j_per.output_token", "output token"},
                                           {"j_per.qualified_token", "qualified token"},
                                           {"j_per.total_token", "token, in and out"},
                                           {"j_per.input_token", "input token"},
                                           {"j_per.input_token_uncached", "uncached input token"},
                                           {"j_per.visible_token", "visible token"},
                                           {"j_per.reasoning_token", "reasoning token"},
                                           {"j_per.request_ok", "successful request"}};
    for (size_t i = 0; i < sizeof title / sizeof title[0]; i++)
        if (strcmp(title[i][0], unit) == 0)
            return title[i][1];
    return unit;
}

static void options(struct jm_comparison *c, const struct jm_compare_opts *o)
{
    const struct jm_contract *k = o->contract;
    struct jm_decide_opts *d = &c->decide;
    jm_decide_defaults(d);
    c->contract = k;
    c->unit = k ? k->unit : o->unit ? o->unit : "j_per.output_token";
    c->unit_title = title_of(c->unit);
    if (o->level > 0)
        d->level = o->level;
    if (o->margin > 0)
        d->margin = o->margin;
    if (!k)
        return;
    d->contract = true;
    d->minimum = k->minimum_saving;
    if (!isnan(k->level))
        d->level = k->level;
    if (!isnan(k->margin))
        d->margin = k->margin;
    if (!isnan(k->power))
        d->power = k->power;
    if (k->pairs)
        d->least = (size_t)k->pairs;
}

/* Which boundaries a side has: "gpu, wall". */
static const char *has_at(struct jm_cmp *x, size_t side)
{
    const char *text = NULL;
    for (enum jm_boundary b = JM_B_GPU; b <= JM_B_WALL; b++)
        if (jm_cmp_has(&x->in[side], x->c->unit, b))
            text = text ? JM_CMP_TEXT(x, "%s, %s", text, jm_boundary_name((int)b)) : jm_boundary_name((int)b);
    return text ? text : "none";
}

/* No boundary in common: the whole comparison ends here. */
static int no_boundary(struct jm_cmp *x, size_t n, bool asked)
{
    struct jm_comparison *c = x->c;
    enum jm_boundary b = c->boundary;
    c->n_candidate = 1;
    c->candidate = jm_report_alloc(x->mem, sizeof *c->candidate);
    if (!c->candidate)
        return jm_cmp_memory(x);
    size_t k = 1;
    for (size_t i = 1; asked && i < n; i++)
        if (!jm_cmp_has(&x->in[i], c->unit, b))
            k = i;
    c->candidate->side = k;
    return say(
        x, c->candidate, JM_VERDICT_INCOMPARABLE,
        JM_CMP_TEXT(x,
                    "not comparable: energy per %s is measured at %s on A and at %s on %c%s%s; sides are "
                    "never compared across boundaries",
                    c->unit_title, has_at(x, 0), has_at(x, k), (char)('A' + k),
                    asked ? ", and wanted at " : "", asked ? jm_boundary_name((int)b) : ""));
}

/* The boundary that was asked for, else the widest that all have. True: some side has values, and none there.
 */
static bool pick_boundary(struct jm_cmp *x, size_t n, int asked)
{
    struct jm_comparison *c = x->c;
    bool across = false, lone = false;
    enum jm_boundary widest = JM_B_GPU;
    for (size_t i = 0; i < n; i++) {
        bool any = false;
        for (enum jm_boundary b = JM_B_GPU; b <= JM_B_WALL; b++)
            if (jm_cmp_has(&x->in[i], c->unit, b)) {
                any = true;
                widest = b > widest ? b : widest;
            }
        lone |= !any; /* without any value it is no question of boundaries: it has a sentence of its own */
        across |= any && asked > 0 && !jm_cmp_has(&x->in[i], c->unit, (enum jm_boundary)asked);
    }
    c->boundary = asked > 0 ? (enum jm_boundary)asked : jm_cmp_boundary(x, n);
    if (c->boundary != JM_B_NONE)
        return across;
    if (lone)
        c->boundary = widest;
    return !lone;
}

int jm_compare(const struct jm_compare_side_in *side, size_t n, const struct jm_compare_opts *o,
               struct jm_comparison **out, struct jm_err *err)
{
    struct jm_report *mem = NULL;
    if (n < 2 || n > JM_COMPARE_SIDES)
        return jm_err_set(err, JM_EUSAGE, "a comparison has 2 to %d sides, not %zu", JM_COMPARE_SIDES, n);
    for (size_t i = 0; i < n; i++)
        if (!side[i].n_run)
            return jm_err_set(err, JM_EUSAGE, "%s has no run file", side[i].name);
    int rc = distinct(side, n, err);
    if (!rc)
        rc = distinct_aa(side, n, o, err);
    if (!rc)
        rc = jm_report_new(&mem, err);
    if (rc)
        return rc;
    struct jm_cmp x = {.in = side, .o = o, .mem = mem, .err = err};
    struct jm_comparison *c = x.c = jm_report_alloc(mem, sizeof *c);
    x.sums = jm_report_alloc(mem, n * sizeof *x.sums);
    if (!c || !x.sums || !(c->side = jm_report_alloc(mem, n * sizeof *c->side))) {
        jm_report_free(mem);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the comparison");
    }
    c->mem = mem;
    c->n_side = n;
    options(c, o);
    rc = jm_cmp_declared(&x);
    if (!rc)
        rc = jm_cmp_aa(&x);
    if (!rc)
        rc = jm_cmp_copies(&x);
    int asked = o->contract ? o->contract->boundary : o->boundary;
    bool across = pick_boundary(&x, n, asked);
    for (size_t i = 0; !rc && i < n; i++)
        rc = jm_cmp_side(&x, i);
    if (!rc && across) {
        rc = no_boundary(&x, n, asked > 0);
    } else if (!rc) {
        rc = jm_cmp_facts(&x);
        if (!rc)
            rc = candidates(&x);
    }
    if (!rc && x.failed)
        rc = jm_cmp_memory(&x);
    if (rc) {
        jm_report_free(mem);
        return rc;
    }
    c->verdict = c->candidate[c->best].verdict;
    c->sentence = c->candidate[c->best].sentence;
    *out = c;
    return 0;
}
