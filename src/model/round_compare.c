/* SPDX-License-Identifier: Apache-2.0 */
#include "model/round_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static bool word(const char *a, const char *b)
{
    return a && b && strcasecmp(a, b) == 0;
}

const char *jm_round_incomparable(const struct jm_round_row *r, char buf[JM_ROUND_WHY])
{
    const struct jm_round_pair *p = jm_round_efficiency(r);
    if (r->error)
        snprintf(buf, JM_ROUND_WHY, "not read: %.120s", r->error);
    else if (!p || !isfinite(p->published))
        snprintf(buf, JM_ROUND_WHY, "no performance result to divide by");
    else if (r->unofficial)
        snprintf(buf, JM_ROUND_WHY, "not official: %.120s", r->unofficial);
    else if (r->checked && r->official == JM_RV_FAIL)
        snprintf(buf, JM_ROUND_WHY, "fails the official checker");
    else if (!word(r->division, "closed"))
        snprintf(buf, JM_ROUND_WHY, r->division ? "%.40s division" : "division unknown", r->division);
    else if (!word(r->availability, "available"))
        snprintf(buf, JM_ROUND_WHY, r->availability ? "%.40s, not available" : "availability unknown",
                 r->availability);
    else
        return NULL;
    return buf;
}

static bool same_system(const struct jm_round_row *a, const struct jm_round_row *b)
{
    return word(a->submitter, b->submitter) &&
           (word(a->system, b->system) || word(a->system_name, b->system_name));
}

/* Both by tokens, else both by samples. */
static bool unit(const struct jm_round_row *a, const struct jm_round_row *b, bool *tokens)
{
    *tokens = isfinite(a->tokens_per_j.published) && isfinite(b->tokens_per_j.published);
    return *tokens || (isfinite(a->samples_per_j.published) && isfinite(b->samples_per_j.published));
}

static const struct jm_round_pair *figure(const struct jm_round_row *r, bool tokens)
{
    return tokens ? &r->tokens_per_j : &r->samples_per_j;
}

static bool add(struct jm_round_comparison *c, const struct jm_round_row *a, const struct jm_round_row *b,
                bool tokens, bool same, size_t of_a, size_t of_b)
{
    struct jm_round_match *more = realloc(c->match, (c->n_match + 1) * sizeof *more);
    if (!more)
        return false;
    c->match = more;
    const struct jm_round_pair *x = figure(a, tokens), *y = figure(b, tokens);
    c->match[c->n_match++] = (struct jm_round_match){.a = a,
                                                     .b = b,
                                                     .same_system = same,
                                                     .of_a = of_a,
                                                     .of_b = of_b,
                                                     .tokens = tokens,
                                                     .va = x->published,
                                                     .vb = y->published,
                                                     .ratio = y->published / x->published,
                                                     .proper = y->proper / x->proper,
                                                     .lo = y->lo / x->hi,
                                                     .hi = y->hi / x->lo};
    return true;
}

static bool leave(struct jm_round_comparison *c, const struct jm_round_row *r, int side, const char *why)
{
    struct jm_round_left *more = realloc(c->left, (c->n_left + 1) * sizeof *more);
    if (!more)
        return false;
    c->left = more;
    struct jm_round_left *l = &c->left[c->n_left++];
    *l = (struct jm_round_left){.row = r, .side = side};
    snprintf(l->why, sizeof l->why, "%s", why);
    return true;
}

struct set {
    const struct jm_round_row **row;
    size_t n;
};

static int by_key(const void *x, const void *y)
{
    const struct jm_round_row *a = *(const struct jm_round_row *const *)x,
                              *b = *(const struct jm_round_row *const *)y;
    int c = jm_round_key(a, b);
    return c ? c : jm_round_compare(a, b);
}

/* What may be compared, ordered by benchmark and scenario; the rest is left with its reason. */
static bool select_rows(const struct jm_round_row *const *row, size_t n, int side,
                        struct jm_round_comparison *c, struct set *out)
{
    char why[JM_ROUND_WHY];
    out->row = calloc(n + 1, sizeof *out->row);
    bool ok = out->row != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        if (row[i]->kind != JM_ROUND_SESSION)
            continue;
        c->n[side]++;
        const struct jm_round_pair *p = jm_round_efficiency(row[i]);
        bool figure_there =
            !row[i]->error && p && isfinite(p->published) && row[i]->benchmark && row[i]->scenario;
        const char *no = jm_round_incomparable(row[i], why);
        if (!figure_there && !no)
            no = "benchmark or scenario unknown";
        if (no && (!c->all || !figure_there))
            ok = leave(c, row[i], side, no);
        else
            out->row[out->n++] = row[i];
    }
    if (ok && out->n)
        qsort(out->row, out->n, sizeof *out->row, by_key);
    c->comparable[side] = out->n;
    return ok;
}

static size_t run_of(const struct set *s, size_t from)
{
    size_t n = from;
    while (n < s->n && jm_round_key(s->row[from], s->row[n]) == 0)
        n++;
    return n - from;
}

static const struct jm_round_row *best(const struct jm_round_row *const *v, size_t n, bool tokens)
{
    const struct jm_round_row *b = NULL;
    for (size_t i = 0; i < n; i++) {
        double x = figure(v[i], tokens)->published;
        if (isfinite(x) && (!b || x > figure(b, tokens)->published))
            b = v[i];
    }
    return b;
}

/* All rows of one benchmark and scenario. */
static bool pair(struct jm_round_comparison *c, const struct jm_round_row *const *a, size_t n,
                 const struct jm_round_row *const *b, size_t m)
{
    bool tokens = best(a, n, true) && best(b, m, true), ok = true, by;
    const struct jm_round_row *x = best(a, n, tokens), *y = best(b, m, tokens);
    if (!x || !y) {
        for (size_t i = 0; ok && i < n; i++)
            ok = leave(c, a[i], 0, "the other side has it in another unit only");
        for (size_t i = 0; ok && i < m; i++)
            ok = leave(c, b[i], 1, "the other side has it in another unit only");
        return ok;
    }
    bool same = same_system(x, y);
    ok = add(c, x, y, tokens, same, n, m);
    for (size_t i = 0; ok && i < n; i++)
        for (size_t k = 0; ok && k < m; k++)
            if (same_system(a[i], b[k]) && (a[i] != x || b[k] != y) && unit(a[i], b[k], &by))
                ok = add(c, a[i], b[k], by, true, n, m);
    return ok;
}

int jm_round_compare_sets(const struct jm_round_row *const *a, size_t n_a,
                          const struct jm_round_row *const *b, size_t n_b, bool all,
                          struct jm_round_comparison *out, struct jm_err *err)
{
    struct set x = {0}, y = {0};
    *out = (struct jm_round_comparison){.all = all};
    bool ok = select_rows(a, n_a, 0, out, &x) && select_rows(b, n_b, 1, out, &y);
    for (size_t i = 0, k = 0; ok && (i < x.n || k < y.n);) {
        int c = i == x.n ? 1 : k == y.n ? -1 : jm_round_key(x.row[i], y.row[k]);
        size_t n = c <= 0 ? run_of(&x, i) : 0, m = c >= 0 ? run_of(&y, k) : 0;
        if (!c)
            ok = pair(out, x.row + i, n, y.row + k, m);
        for (size_t j = 0; ok && c && j < n + m; j++)
            ok = leave(out, c < 0 ? x.row[i + j] : y.row[k + j], c > 0,
                       "the other side has no comparable result of this benchmark and scenario");
        i += n;
        k += m;
    }
    free(x.row);
    free(y.row);
    return ok ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the comparison");
}

void jm_round_comparison_release(struct jm_round_comparison *c)
{
    free(c->match);
    free(c->left);
    *c = (struct jm_round_comparison){0};
}
