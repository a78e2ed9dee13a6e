/* SPDX-License-Identifier: Apache-2.0 */
/* What stands beside a verdict: other figures of the same pairs, and the errors that a figure alone hides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/compare_impl.h"

#include "base/banned.h"

static int note(struct jm_cmp *x, struct jm_candidate *k, const char *id, bool warning, const char *text)
{
    if (!text)
        return jm_cmp_memory(x);
    k->note[k->n_note++] = (struct jm_compare_note){id, warning, text};
    return 0;
}

/* --- figures beside */
static int metric(struct jm_cmp *x, struct jm_candidate *k, const char *id, enum jm_boundary b,
                  double quantile, const char *slice)
{
    const struct jm_metric *m = jm_metric_find(id);
    const struct jm_compare_side *sa = &x->c->side[0], *sb = &x->c->side[k->side];
    double *d = malloc((k->n_pair + 1) * sizeof *d), a = 0, bb = 0;
    size_t n = 0;
    int rc = 0;
    if (!d)
        return jm_cmp_memory(x);
    for (size_t i = 0; m && i < k->n_pair; i++) {
        const struct jm_compare_trial *p = &sa->trial[k->pair[i].a], *q = &sb->trial[k->pair[i].b];
        double va = jm_cmp_value(&x->in[0].run[p->run], p->trial, id, b, quantile, slice, NULL, NULL),
               vb = jm_cmp_value(&x->in[k->side].run[q->run], q->trial, id, b, quantile, slice, NULL, NULL);
        if (!(va > 0) || !(vb > 0) || !isfinite(va) || !isfinite(vb))
            continue;
        a += va;
        bb += vb;
        d[n++] = log(vb / va);
    }
    if (n) {
        struct jm_paired p = {.ratio = exp(jm_stats_mean(d, n)), .interval = {NAN, NAN, NAN, NAN}};
        if (n >= 2)
            rc = jm_stat_paired(d, n, x->c->decide.level, &p, x->err);
        k->metric[k->n_metric++] = (struct jm_compare_metric){.id = m->id,
                                                              .unit = m->unit,
                                                              .slice = slice,
                                                              .boundary = b,
                                                              .quantile = quantile,
                                                              .a = a / (double)n,
                                                              .b = bb / (double)n,
                                                              .ratio = p.ratio,
                                                              .lo = p.interval.lo,
                                                              .hi = p.interval.hi,
                                                              .n = n};
    }
    free(d);
    return rc;
}

#define MOST_SLICES 32

int jm_cmp_metrics(struct jm_cmp *x, struct jm_candidate *k)
{
    static const char *const energy[] = {"j_per.output_token", "j_per.qualified_token", "j_per.total_token",
                                         "j_per.request_ok", "power.mean"};
    static const char *const plain[] = {"tokens_per_s", "requests_per_s"};
    static const char *const latency[] = {"ttft", "tpot.excl_first", "e2e"};
    enum jm_boundary b = x->c->boundary;
    int rc = 0;
    if (!(k->metric = jm_report_alloc(x->mem, (16 + MOST_SLICES) * sizeof *k->metric)))
        return jm_cmp_memory(x);
    rc = metric(x, k, x->c->unit, b, NAN, NULL);
    for (size_t i = 0; !rc && i < 5; i++)
        if (strcmp(energy[i], x->c->unit) != 0)
            rc = metric(x, k, energy[i], b, NAN, NULL);
    for (size_t i = 0; !rc && i < 2; i++)
        rc = metric(x, k, plain[i], JM_B_NONE, NAN, NULL);
    for (size_t i = 0; !rc && i < 3; i++)
        rc = metric(x, k, latency[i], JM_B_NONE, 0.99, NULL);
    const struct jm_report *r = x->in[k->side].run[0].report;
    for (size_t i = 0, n = 0; !rc && i < r->n_slices && n < MOST_SLICES; i++) {
        bool seen = !r->slices[i].alone;
        for (size_t q = 0; q < i; q++)
            seen |= strcmp(r->slices[q].name, r->slices[i].name) == 0;
        if (seen)
            continue;
        n++;
        rc = metric(x, k, x->c->unit, b, NAN, r->slices[i].name);
    }
    return rc;
}

static const struct jm_compare_metric *figure(const struct jm_candidate *k, const char *id)
{
    for (size_t i = 0; i < k->n_metric; i++)
        if (!k->metric[i].slice && strcmp(k->metric[i].id, id) == 0)
            return &k->metric[i];
    return NULL;
}

/* --- watts are no joules */
static int watts(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_compare_metric *p = figure(k, "power.mean"), *e = figure(k, x->c->unit);
    if (!p || !e || !(p->ratio < 0.99) || (p->n >= 2 && !(p->hi < 1)) || e->ratio < p->ratio * 1.005 ||
        e->ratio < 0.995)
        return 0;
    return note(x, k, "watts", true,
                JM_CMP_TEXT(x,
                            "%c draws %.3g %% less power and takes %.3g %% longer for the same work, so that "
                            "its energy per %s is %.3g %% %s: watts are no joules",
                            jm_cmp_letter(k), 100 * (1 - p->ratio), 100 * (e->ratio / p->ratio - 1),
                            x->c->unit_title, 100 * fabs(e->ratio - 1), e->ratio >= 1 ? "higher" : "lower"));
}

/* --- tokens of failures */
static int failures(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[k->side];
    int rc = 0;
    if (!a->requests || !b->requests)
        return 0;
    double sa = (double)a->failed / (double)a->requests, sb = (double)b->failed / (double)b->requests;
    if (a->failed || b->failed)
        rc = note(x, k, "failures", sb > sa && b->failed_share.lo > a->failed_share.hi,
                  JM_CMP_TEXT(x,
                              "%.3g %% of A's requests failed or were cut, %.3g %% of %c's; their joules are "
                              "in both figures, their tokens in none",
                              100 * sa, 100 * sb, jm_cmp_letter(k)));
    static const char *const hides[] = {"requests.left_out", "requests.cut_ok", "load.unsent"};
    for (int side = 0; !rc && side < 2; side++) {
        const struct jm_compare_side_in *in = &x->in[side ? k->side : 0];
        bool told = false;
        for (size_t i = 0; i < in->n_run && !told; i++)
            for (size_t f = 0; f < in->run[i].report->n_findings && !told; f++)
                for (size_t h = 0; h < 3 && !told; h++)
                    if (strcmp(in->run[i].report->findings[f].id, hides[h]) == 0) {
                        told = true;
                        rc =
                            note(x, k, "failures.hidden", true,
                                 JM_CMP_TEXT(x, "%c may hide failures: %.400s", side ? jm_cmp_letter(k) : 'A',
                                             in->run[i].report->findings[f].text));
                    }
    }
    return rc;
}

/* --- what may have been chosen */
static int chosen(struct jm_cmp *x, struct jm_candidate *k)
{
    const char *beside = jm_cmp_beside_contract(x), *few = jm_cmp_few_scores(x, k->side);
    int rc = beside ? note(x, k, "differs", true, beside) : 0;
    if (!rc && few)
        rc = note(x, k, "quality", true, few);
    for (int side = 0; !rc && side < 2; side++) {
        const char *text = jm_cmp_chosen(x, side ? k->side : 0),
                   *twice = jm_cmp_resent(x, side ? k->side : 0);
        if (text)
            rc = note(x, k, "trials.chosen", true, text);
        if (!rc && twice)
            rc = note(x, k, "failures.resent", true, twice);
    }
    return rc;
}

/* --- "up to", from elsewhere or of the best slice */
static int up_to(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_contract *c = x->o->contract;
    const struct jm_decision *d = &k->decision;
    int rc = 0;
    const struct jm_compare_metric *best = NULL, *worst = NULL;
    for (size_t i = 0; i < k->n_metric; i++)
        if (k->metric[i].slice) {
            best = !best || k->metric[i].ratio < best->ratio ? &k->metric[i] : best;
            worst = !worst || k->metric[i].ratio > worst->ratio ? &k->metric[i] : worst;
        }
    if (best && best != worst && 1 - best->ratio > fmax(d->hi, d->saving))
        rc = note(x, k, "up-to.slice", false,
                  JM_CMP_TEXT(x,
                              "slice %s alone saves %.3g %%, slice %s %.3g %%; over all it is %.3g %%, and "
                              "that is the figure",
                              best->slice, 100 * (1 - best->ratio), worst->slice, 100 * (1 - worst->ratio),
                              100 * d->saving));
    if (rc || !c || !c->expected || !d->n)
        return rc;
    double e = c->expected_saving, hi = isfinite(d->hi) ? d->hi : d->saving;
    const struct jm_compare_fact *f = jm_cmp_fact(x->c, "accelerators");
    const char *elsewhere =
        c->expected_accelerator && f && f->value[k->side] &&
                !strstr(f->value[k->side], c->expected_accelerator)
            ? JM_CMP_TEXT(x, ", on %.60s and not on %.120s", c->expected_accelerator, f->value[k->side])
            : "";
    const char *part = c->expected_slice ? JM_CMP_TEXT(x, ", of slice %.60s alone", c->expected_slice) : "";
    return note(x, k, "up-to", e > hi,
                JM_CMP_TEXT(x, "the %.6g %% expected (%.160s%s%s) decide nothing here: measured is %.3g %%%s",
                            100 * e, c->expected_source, elsewhere ? elsewhere : "", part ? part : "",
                            100 * d->saving,
                            e > hi ? ", and even the upper end of the interval is below it" : ""));
}

/* --- how it was measured */
static bool finds(const struct jm_report *r, const char *id)
{
    for (size_t f = 0; f < r->n_findings; f++)
        if (strcmp(r->findings[f].id, id) == 0)
            return true;
    return false;
}

static int order(struct jm_cmp *x, struct jm_candidate *k)
{
    const char me = jm_cmp_letter(k);
    if (!k->order)
        return note(
            x, k, "order", false,
            JM_CMP_TEXT(
                x,
                "the order of the trials is not known: a drift between A and %c cannot be told from a "
                "difference",
                me));
    if (k->turned && k->decision.n)
        return note(
            x, k, "quads", false,
            JM_CMP_TEXT(x,
                        "the trials come in quads (A %c %c A): a linear drift, here %+.2g %% from one "
                        "trial to the next, is taken out of the difference and of its interval",
                        me, me, 100 * expm1(k->decision.paired.drift)));
    const char *first_b = strchr(k->order, me), *last_a = strrchr(k->order, 'A'),
               *first_a = strchr(k->order, 'A'), *last_b = strrchr(k->order, me);
    bool steady = x->c->side[0].n_value >= 4 && x->c->side[k->side].n_value >= 4;
    for (size_t i = 0; i < 2; i++)
        for (size_t r = 0; r < x->in[i ? k->side : 0].n_run; r++)
            steady &= !finds(x->in[i ? k->side : 0].run[r].report, "trials.drift");
    if (first_b && last_a && (last_a < first_b || last_b < first_a) && k->n_pair > 1)
        return note(x, k, "order", !steady,
                    JM_CMP_TEXT(x,
                                "all trials of %c were made before those of %c%s: a change of the machine or "
                                "the room between them is in the difference; alternating them (A %c %c A) "
                                "keeps it out",
                                last_a < first_b ? 'A' : me, last_a < first_b ? me : 'A',
                                steady ? ", and neither drifts over its own" : "", me, me));
    return 0;
}

/* Something was changed, and no file tells. */
static int untold(struct jm_cmp *x, struct jm_candidate *k)
{
    for (size_t i = 0; i < x->c->n_fact; i++)
        if (x->c->fact[i].state >= JM_CF_DECLARED && x->c->fact[i].state != JM_CF_IDLE)
            return 0;
    return note(
        x, k, "untold", false,
        JM_CMP_TEXT(
            x, "nothing that is compared differs: what was changed from A to %c does not stand in the files",
            jm_cmp_letter(k)));
}

static int gain(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_compare_fact *driver = jm_cmp_fact(x->c, "driver");
    if (k->gain_cancels)
        return note(
            x, k, "gain", false,
            driver && driver->state == JM_CF_DECLARED
                ? "the same instruments measured both sides, but under another driver: that their gain "
                  "is the same, and cancels, is not shown"
                : "the same instruments measured both sides: their gain cancels in the ratio, which is "
                  "surer than either figure");
    double g = x->c->decide.gain;
    return note(x, k, "gain", true,
                JM_CMP_TEXT(x,
                            "A and %c were measured by different instruments, whose gains do not cancel: the "
                            "interval holds ± %.3g %% for them%s",
                            jm_cmp_letter(k), 100 * (exp(k->decision.n ? g : 0) - 1),
                            g > 0.2
                                ? " (gains unknown; published boards differ from 0.87 to 1.15); use the same "
                                  "devices in turn, passports, or a meter at the wall"
                                : ""));
}

static int passed_on(struct jm_cmp *x, struct jm_candidate *k)
{
    static const char *const ids[] = {"trials.drift",  "gpu.throttle",    "record.changed",
                                      "client.limit",  "engine.cotenant", "engine.others",
                                      "load.unsteady", "run.open",        "run.cut"};
    int rc = 0;
    for (int side = 0; !rc && side < 2; side++) {
        const struct jm_compare_side_in *in = &x->in[side ? k->side : 0];
        for (size_t id = 0; !rc && id < sizeof ids / sizeof ids[0]; id++) {
            bool told = false;
            for (size_t i = 0; i < in->n_run && !told && !rc; i++)
                for (size_t f = 0; f < in->run[i].report->n_findings && !told && !rc; f++) {
                    const struct jm_finding *g = &in->run[i].report->findings[f];
                    if (g->severity == JM_SEV_INFO || strcmp(g->id, ids[id]) != 0)
                        continue;
                    told = true;
                    rc = note(x, k, ids[id], true,
                              JM_CMP_TEXT(x, "%c: %.500s", side ? jm_cmp_letter(k) : 'A', g->text));
                }
        }
    }
    return rc;
}

static int unpaired(struct jm_cmp *x, struct jm_candidate *k)
{
    const struct jm_compare_side *a = &x->c->side[0], *b = &x->c->side[k->side];
    int rc = 0;
    if (a->n_value != b->n_value)
        rc = note(x, k, "pairs", false,
                  JM_CMP_TEXT(x,
                              "A has %zu trials with a value and %c %zu: %zu pairs, the rest has no partner",
                              a->n_value, jm_cmp_letter(k), b->n_value, k->n_pair));
    for (int side = 0; !rc && side < 2; side++) {
        const struct jm_compare_side *s = side ? b : a;
        if (s->n_value < s->n_trial)
            rc = note(x, k, "trials", true,
                      JM_CMP_TEXT(x, "%zu of %zu trials of %c have no value (%s)", s->n_trial - s->n_value,
                                  s->n_trial, side ? jm_cmp_letter(k) : 'A',
                                  s->no_value ? s->no_value : "not told"));
    }
    for (size_t i = 0; !rc && i < x->c->n_fact; i++)
        if (x->c->fact[i].state == JM_CF_IDLE && strchr("cle", x->c->fact[i].id[0]))
            rc = note(x, k, "declared", false,
                      JM_CMP_TEXT(x, "%s was declared to differ and does not: did the change take effect?",
                                  x->c->fact[i].title));
    return rc;
}

int jm_cmp_notes(struct jm_cmp *x, struct jm_candidate *k)
{
    if (!(k->note = jm_report_alloc(x->mem, (40 + x->c->n_fact) * sizeof *k->note)))
        return jm_cmp_memory(x);
    int rc = watts(x, k);
    if (!rc)
        rc = failures(x, k);
    if (!rc)
        rc = chosen(x, k);
    if (!rc)
        rc = up_to(x, k);
    if (!rc)
        rc = order(x, k);
    if (!rc && k->n_pair)
        rc = gain(x, k);
    if (!rc)
        rc = unpaired(x, k);
    if (!rc && k->n_pair)
        rc = untold(x, k);
    if (!rc)
        rc = passed_on(x, k);
    return rc;
}
