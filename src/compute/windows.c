/* SPDX-License-Identifier: Apache-2.0 */
/* The windows that get results, and which of them a stretch of time touches: found by their order, so that
 * thousands of windows and many requests meet only where they touch. */
#include <stdlib.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/observe.h"

#include "base/banned.h"

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the windows");
}

/* Where the data of a run end: for a window that was never closed. */
static int64_t end_of_data(struct jm_calc *c)
{
    int64_t end = INT64_MIN, first, last, count;
    size_t n;
    for (size_t i = 0; i < c->r->n_channels; i++)
        if (jm_run_channel_span(c->run, (int)i, &first, &last, &count) && last > end)
            end = last;
    const struct jm_request *q = jm_run_requests(c->run, &n);
    for (size_t i = 0; i < n; i++)
        end = jm_request_end(&q[i]) > end ? jm_request_end(&q[i]) : end;
    return end;
}

/* t1 == 0 marks a window that was never closed (a cut run): it ends where the data end. */
static int close_it(struct jm_calc *c, struct jm_window *w, int index)
{
    int64_t end = end_of_data(c);
    w->t1 = end > w->t0 ? end : w->t0;
    if (w->role != JM_R_MEASURE && w->role != JM_R_IDLE)
        return 0;
    struct jm_finding *f = jm_report_finding(
        c->r, "window.cut", JM_SEV_WARNING,
        "window %s was never closed; it is taken to end with the last data, %.1f s after its start", w->name,
        jm_seconds_between(w->t1, w->t0));
    if (!f)
        return no_memory(c);
    f->window = index;
    return 0;
}

static int by_t0(const void *a, const void *b)
{
    const struct jm_calc_window *x = *(const struct jm_calc_window *const *)a,
                                *y = *(const struct jm_calc_window *const *)b;
    if (x->w->t0 != y->w->t0)
        return x->w->t0 < y->w->t0 ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Indices of the windows by t0, with the latest end so far. */
static int order(struct jm_calc *c)
{
    size_t n = c->n_win + c->n_cover;
    const struct jm_calc_window **p = malloc((n ? n : 1) * sizeof *p);
    free(c->by_start);
    free(c->latest);
    c->by_start = malloc((n ? n : 1) * sizeof *c->by_start);
    c->latest = malloc((n ? n : 1) * sizeof *c->latest);
    if (!p || !c->by_start || !c->latest) {
        free(p);
        return no_memory(c);
    }
    for (size_t i = 0; i < n; i++)
        p[i] = &c->win[i];
    qsort(p, n, sizeof *p, by_t0);
    for (size_t i = 0; i < n; i++) {
        int64_t t1 = p[i]->w->t1;
        c->by_start[i] = (size_t)(p[i] - c->win);
        c->latest[i] = i && c->latest[i - 1] > t1 ? c->latest[i - 1] : t1;
    }
    free(p);
    return 0;
}

size_t jm_windows_upto(const struct jm_calc *c, int64_t t)
{
    size_t lo = 0, hi = c->n_win + c->n_cover;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (c->win[c->by_start[mid]].w->t0 <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct jm_calc_window *jm_windows_next(const struct jm_calc *c, size_t *at, int64_t from)
{
    while (*at > 0 && c->latest[*at - 1] >= from) {
        struct jm_calc_window *w = &c->win[c->by_start[--*at]];
        if (w->w->t1 >= from)
            return w;
    }
    return NULL;
}

/* Measure windows that overlap: totals of the run need their union, as windows of their own without results.
 */
static int cover(struct jm_calc *c)
{
    bool overlap = false, open = false;
    size_t n = 0;
    int64_t end = 0;
    for (size_t i = 0; i < c->n_win; i++) {
        const struct jm_window *w = c->win[c->by_start[i]].w;
        if (w->role != JM_R_MEASURE)
            continue;
        overlap |= open && w->t0 < end;
        end = !open || w->t1 > end ? w->t1 : end;
        open = true;
        n++;
    }
    if (!overlap)
        return 0;
    c->cover = calloc(n, sizeof *c->cover);
    if (!c->cover)
        return no_memory(c);
    for (size_t i = 0; i < c->n_win; i++) {
        const struct jm_window *w = c->win[c->by_start[i]].w;
        if (w->role != JM_R_MEASURE)
            continue;
        struct jm_window *last = c->n_cover ? &c->cover[c->n_cover - 1] : NULL;
        if (last && w->t0 < last->t1)
            last->t1 = w->t1 > last->t1 ? w->t1 : last->t1;
        else
            c->cover[c->n_cover++] = (struct jm_window){.role = JM_R_MEASURE, .t0 = w->t0, .t1 = w->t1};
    }
    for (size_t i = 0; i < c->n_cover; i++) {
        struct jm_calc_window *k = &c->win[c->n_win + i];
        k->index = -1;
        k->w = &c->cover[i];
        k->seconds = jm_seconds_between(k->w->t1, k->w->t0);
    }
    return order(c);
}

static int int_order(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Windows that share a trial number are parts of one repetition, not repetitions. */
static int count_trials(struct jm_calc *c)
{
    int *v = malloc((c->n_win ? c->n_win : 1) * sizeof *v);
    size_t n = 0;
    if (!v)
        return no_memory(c);
    for (size_t i = 0; i < c->n_win; i++)
        if (c->win[i].w->role == JM_R_MEASURE)
            v[n++] = c->win[i].w->trial;
    qsort(v, n, sizeof *v, int_order);
    c->repeats = n > 1;
    for (size_t i = 0; i < n; i++) {
        c->r->trials += i == 0 || v[i] != v[i - 1];
        c->repeats &= i == 0 || v[i] != v[i - 1];
    }
    free(v);
    return 0;
}

const struct jm_calc_window *jm_windows_of(const struct jm_calc *c, int index)
{
    size_t lo = 0, hi = c->n_win; /* in the order of their index */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->win[mid].index < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->n_win && c->win[lo].index == index ? &c->win[lo] : NULL;
}

int jm_windows_init(struct jm_calc *c)
{
    struct jm_report *r = c->r;
    c->win = calloc(2 * r->n_windows + 1, sizeof *c->win);
    if (!c->win)
        return no_memory(c);
    for (size_t i = 0; i < r->n_windows; i++) {
        struct jm_window *w = &r->windows[i];
        int rc = w->t1 == 0 && w->t0 != 0 ? close_it(c, w, (int)i) : 0;
        if (rc)
            return rc;
        /* one that ends before it begins is shown as empty; a check says so */
        if (w->t1 < w->t0)
            w->t1 = w->t0;
        if ((w->role != JM_R_MEASURE && w->role != JM_R_IDLE) || w->t1 == w->t0)
            continue;
        struct jm_calc_window *k = &c->win[c->n_win++];
        k->index = (int)i;
        k->w = w;
        k->seconds = jm_seconds_between(w->t1, w->t0);
    }
    int rc = count_trials(c);
    if (!rc)
        rc = order(c);
    return rc ? rc : cover(c);
}
