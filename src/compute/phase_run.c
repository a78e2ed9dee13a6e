/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/phase_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/engine.h"
#include "compute/observe.h"
#include "compute/ratio.h"

#include "base/banned.h"

#define OVERLAPS 2000 /* windows that are held against each other */

#define ENGINES_MAX  64
#define BESIDE_NS    (10 * JM_NS_PER_S) /* around the load, where the engine idles */
#define QUIET_S      0.5                /* after a request, until power has settled */
#define QUIET_LONG   2.0                /* of pauses, least that an idle power is taken from */
#define GAUGE_LATE_S 1.0                /* of a gauge whose averaging is not all known */
#define DOUBT        0.05               /* share of requests that may lack what a phase split needs */

static int no_memory(struct jm_calc *c)
{
    return jm_err_set(c->err, JM_ENOMEM, "out of memory for the phases");
}

static int why(struct jm_phase_work *w, const char *text)
{
    w->out->why = text;
    return text ? 0 : no_memory(w->c);
}

static bool measured(const struct jm_calc_window *w)
{
    return w->w->role == JM_R_MEASURE;
}

/* 0: none, 1: of prefill, 2: of decode. Named by the load (docs/phases.md). */
static int burst_of(const struct jm_window *w)
{
    static const char *const name[] = {"burst prefill", "burst decode"};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(name[i]);
        if (w->role == JM_R_WARMUP && strncmp(w->name, name[i], n) == 0 &&
            (!w->name[n] || w->name[n] == ' ') && w->t1 > w->t0)
            return i + 1;
    }
    return 0;
}

/* ---- where: the narrowest boundary that has an energy in the first measure window */

static int boundary(struct jm_phase_work *w, const struct jm_calc_window *first, struct jm_cut *cut)
{
    static const enum jm_boundary order[] = {JM_B_GPU, JM_B_DEVICE, JM_B_NODE, JM_B_WALL};
    const char *reason = NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int rc = jm_cut_make(w->c, first, order[i], JM_CUT_MEASURED, cut);
        if (rc)
            return rc;
        if (cut->usable && cut->have == cut->of && isfinite(cut->e.joules)) {
            w->out->boundary = order[i];
            w->out->set = cut->set;
            w->out->instrument = cut->instrument;
            w->out->provenance = jm_provenance_worse(cut->provenance, JM_P_ALLOCATED);
            return 0;
        }
        reason = !reason && cut->usable ? cut->reasons : reason;
    }
    return why(w, reason ? jm_report_text(w->c->r,
                                          "no boundary has a whole energy in the window (%s), so there is "
                                          "nothing to share out",
                                          reason)
                         : "no energy was measured, so there is nothing to share out");
}

/* ---- of whom: replicas and pools of a merged run */

#define GROUPS_MOST 64 /* as many as a recording makes */

static const char *group(const struct jm_calc *c, size_t k, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "group.%zu.%s", k, what);
    return jm_run_env(c->run, key);
}

/* Is it known of every request which group served it, and did each group serve some? */
static bool all_served(const struct jm_phase_work *w, const char *const *name, size_t groups)
{
    bool some[GROUPS_MOST] = {false};
    size_t served = 0;
    for (size_t i = 0; i < w->n_q; i++) {
        if (i && strcmp(w->q[i].slice, w->q[i - 1].slice) == 0)
            continue;
        const char *by = jm_phase_replica(w->c->run, w->q[i].slice);
        size_t k = 0;
        while (k < groups && strcmp(name[k], by) != 0)
            k++;
        if (k == groups)
            return false;
        served += !some[k];
        some[k] = true;
    }
    return served == groups;
}

/* Pools of prefill and decode: two units. Replicas: one each, where slices of the load bear their names or
 * say which replica serves them, so that it is known who served whom; else all are one. */
static int units(struct jm_phase_work *w)
{
    const struct jm_calc *c = w->c;
    const char *name[GROUPS_MOST], *next = NULL;
    size_t n = 0, prefill = 0, decode = 0, serve = 0;
    while ((next = group(c, n, "name")) && n < GROUPS_MOST) {
        const char *role = group(c, n, "role");
        name[n] = next;
        prefill += role && strcmp(role, "prefill") == 0;
        decode += role && strcmp(role, "decode") == 0;
        serve += role && strcmp(role, "serve") == 0;
        n++;
    }
    if (next) /* more than a recording makes: all are one */
        n = prefill = decode = serve = 0;
    bool gpu = w->out->boundary == JM_B_GPU, pools = gpu && prefill && decode && prefill + decode == n,
         replicas = gpu && n > 1 && serve == n && all_served(w, name, n);
    w->n_units = pools ? 2 : replicas ? n : 1;
    w->unit = calloc(w->n_units, sizeof *w->unit);
    w->out->unit = jm_report_alloc(c->r, w->n_units * sizeof *w->out->unit);
    if (!w->unit || !w->out->unit)
        return no_memory(w->c);
    w->out->n_units = w->n_units;
    for (size_t i = 0; i < w->n_units; i++) {
        struct jm_phase_of_run *u = &w->unit[i];
        u->role = pools ? (i ? "decode" : "prefill") : replicas ? "serve" : NULL;
        u->name = pools ? u->role : replicas ? name[i] : NULL;
        w->out->unit[i].name = u->name;
        w->out->unit[i].role = u->role ? u->role : "serve";
    }
    return 0;
}

/* ---- what: cells of energy */

static int cut_of(struct jm_phase_work *w, const struct jm_phase_of_run *u, const struct jm_calc_window *k,
                  struct jm_cut *cut)
{
    struct jm_groups_kept kept;
    if (!u->role)
        return jm_cut_make(w->c, k, w->out->boundary, JM_CUT_MEASURED, cut);
    int rc = jm_groups_select(w->c, u->role, strcmp(u->role, "serve") == 0 ? u->name : NULL, &kept);
    if (!rc)
        rc = jm_cut_make(w->c, k, w->out->boundary, JM_CUT_MEASURED, cut);
    jm_groups_restore(w->c, &kept);
    return rc;
}

static bool has(const struct jm_cut *cut)
{
    return cut->usable && cut->have == cut->of && isfinite(cut->e.joules) && cut->e.joules > 0;
}

static int edges(struct jm_phase_work *w, int64_t **out, size_t *n)
{
    const struct jm_calc *c = w->c;
    int64_t *v = malloc(2 * (c->r->n_windows + 1) * sizeof *v);
    *n = 0;
    *out = v;
    if (!v)
        return no_memory(w->c);
    for (size_t i = 0; i < c->r->n_windows; i++)
        if (c->r->windows[i].role == JM_R_MEASURE || burst_of(&c->r->windows[i])) {
            v[(*n)++] = c->r->windows[i].t0;
            v[(*n)++] = c->r->windows[i].t1;
        }
    return 0;
}

/* Cells hold what the instruments' readings say; what a window holds is known better (edges, corrections):
 * they are scaled to it. */
static int scale(struct jm_phase_work *w, struct jm_phase_of_run *u)
{
    struct jm_calc *c = w->c;
    struct jm_grid *g = &u->grid;
    unsigned char *done = calloc(g->n + 1, 1);
    double have = 0, want = 0;
    int rc = done && (u->cell = calloc(2 * c->n_win + 1, sizeof *u->cell)) ? 0 : no_memory(c);
    for (size_t k = 0; !rc && k < c->n_win && !w->out->why; k++) {
        struct jm_cut cut;
        double from = jm_seconds_between(c->win[k].w->t0, g->origin),
               to = jm_seconds_between(c->win[k].w->t1, g->origin), sum = 0;
        if (!measured(&c->win[k]))
            continue;
        rc = cut_of(w, u, &c->win[k], &cut);
        size_t a = jm_grid_at(g, from), b = to >= g->t[g->n] ? g->n : jm_grid_at(g, to);
        if (rc)
            break;
        if (!has(&cut) || from < g->t[0] || to > g->t[g->n] || b <= a) {
            rc = why(w, jm_report_text(c->r, "%s in window %s, so there is nothing to share out in it",
                                       has(&cut) ? "the readings do not reach both edges"
                                                 : "not every instrument has an energy",
                                       c->win[k].w->name));
            break;
        }
        for (size_t i = a; i < b; i++)
            sum += g->joules[i];
        double by = cut.e.joules / sum;
        if (!(by > 0.5 && by < 2)) {
            rc = why(
                w, jm_report_text(c->r,
                                  "the readings inside window %s add up to %.0f J and the window to %.0f J: "
                                  "they cannot be shared out",
                                  c->win[k].w->name, sum, cut.e.joules));
            break;
        }
        u->cell[2 * k] = a;
        u->cell[2 * k + 1] = b;
        for (size_t i = a; i < b; i++)
            if (!done[i]) {
                have += g->joules[i];
                g->joules[i] *= by;
                want += g->joules[i];
                done[i] = 1;
            }
    }
    for (size_t i = 0; !rc && i < g->n && have > 0; i++)
        if (!done[i])
            g->joules[i] *= want / have;
    free(done);
    return rc;
}

static int grid(struct jm_phase_work *w, struct jm_phase_of_run *u, const struct jm_calc_window *first)
{
    struct jm_calc *c = w->c;
    struct jm_cut cut;
    int64_t *edge = NULL;
    size_t n = 0;
    int rc = cut_of(w, u, first, &cut);
    int *channel = rc ? NULL : malloc((cut.n_part + 1) * sizeof *channel);
    if (!rc && !channel)
        rc = no_memory(c);
    u->late = 0;
    for (size_t i = 0; !rc && i < cut.n_part; i++) {
        const struct jm_channel *ch = &c->r->channels[c->r->energy[cut.part[i]].channel];
        channel[i] = ch->id;
        u->late = fmax(u->late, ch->kind == JM_CH_GAUGE && ch->sem != JM_G_BLOCK_MEAN ? GAUGE_LATE_S : 0);
    }
    if (!rc)
        rc = edges(w, &edge, &n);
    if (!rc)
        rc = jm_grid_make(c, channel, cut.n_part, w->from, w->to, edge, n, &u->grid);
    if (rc == JM_EABSENT)
        rc = why(w, "the instruments were read too seldom to share their energy out");
    else if (!rc)
        rc = scale(w, u);
    u->late = fmax(u->late, u->grid.cell);
    free(channel);
    free(edge);
    if (rc || w->out->why)
        return rc;
    u->of = calloc(w->n_q + 1, sizeof *u->of);
    return u->of ? jm_phase_new(u->grid.t, u->grid.joules, u->grid.n, &u->p, c->err) : no_memory(c);
}

/* ---- what the engine says, all its sources added up, at the texts of the first */

static int64_t middle(const struct jm_engine_point *p)
{
    return p->t0 / 2 + p->t1 / 2;
}

/* A counter of one source at t, by straight lines between its texts; *at goes with rising t. NAN: none. */
static double counter_at(const struct jm_engine_line *l, enum jm_eq q, int64_t t, size_t *at)
{
    const struct jm_engine_point *a = NULL, *b = NULL;
    while (*at + 1 < l->n && middle(&l->p[*at + 1]) <= t)
        ++*at;
    for (size_t i = *at + 1; i-- > 0 && !a;)
        a = l->p[i].ok && middle(&l->p[i]) <= t ? &l->p[i] : NULL;
    for (size_t i = *at; i < l->n && !b; i++)
        b = l->p[i].ok && middle(&l->p[i]) >= t ? &l->p[i] : NULL;
    if (!a || !b)
        return NAN;
    double span = jm_seconds_between(middle(b), middle(a)),
           part = span > 0 ? jm_seconds_between(t, middle(a)) / span : 0;
    return a->sum[q] + (b->sum[q] - a->sum[q]) * part;
}

static bool says(const struct jm_engine_line *l, enum jm_eq q)
{
    return l->has[q] && l->source && !l->source->host;
}

static size_t series(struct jm_phase_work *w, enum jm_eq q, double *t, double *v)
{
    const struct jm_engine_run *e = w->c->engine;
    const struct jm_engine_line *first = NULL;
    size_t n = 0, at[ENGINES_MAX] = {0};
    for (size_t i = 0; e && i < e->n && !first; i++)
        first = says(&e->line[i], q) ? &e->line[i] : NULL;
    for (size_t k = 0; first && e->n <= ENGINES_MAX && k < first->n; k++) {
        int64_t now = middle(&first->p[k]);
        double sum = 0, s = jm_seconds_between(now, w->origin);
        for (size_t i = 0; i < e->n && first->p[k].ok; i++)
            sum += says(&e->line[i], q) ? counter_at(&e->line[i], q, now, &at[i]) : 0;
        if (!first->p[k].ok || !isfinite(sum) || (n && (!(s > t[n - 1]) || sum < v[n - 1])))
            continue;
        t[n] = s;
        v[n++] = sum;
    }
    return n;
}

static int engine(struct jm_phase_work *w)
{
    const struct jm_engine_run *e = w->c->engine;
    size_t most = 1;
    for (size_t i = 0; e && i < e->n; i++)
        most = e->line[i].n > most ? e->line[i].n : most;
    w->engine_room = malloc(6 * most * sizeof *w->engine_room);
    if (!w->engine_room)
        return no_memory(w->c);
    double *v = w->engine_room, *t = v, *prefill = v + most, *t2 = v + 2 * most, *prompt = v + 3 * most;
    w->step_t = v + 4 * most;
    w->step_v = v + 5 * most;
    w->n_steps = series(w, JM_EQ_STEPS, w->step_t, w->step_v);
    size_t n = series(w, JM_EQ_PREFILL_S, t, prefill), m = series(w, JM_EQ_PROMPT, t2, prompt);
    if (n == m && n >= 2 && memcmp(t, t2, n * sizeof *t) == 0)
        w->engine = (struct jm_phase_engine){t, prefill, NULL, prompt, n};
    w->out->queue_from = w->engine.n ? "engine" : "client";
    for (size_t i = 0; e && i < w->c->n_win; i++)
        for (size_t k = 0; k < e->n && measured(&w->c->win[i]); k++) {
            struct jm_engine_moved x;
            const struct jm_window *win = w->c->win[i].w;
            w->out->speculative |= e->line[k].has[JM_EQ_DRAFT] &&
                                   jm_engine_moved(&e->line[k], JM_EQ_DRAFT, win->t0, win->t1, &x) &&
                                   x.value > 0;
        }
    return 0;
}

static void cached(struct jm_phase_work *w)
{
    double asked = 0, had = 0;
    for (size_t i = 0; i < w->c->r->n_engine_windows; i++) {
        const struct jm_engine_window *x = &w->c->r->engine_windows[i];
        if (w->c->r->windows[x->window].role == JM_R_MEASURE && x->prompt > 0 && x->cached >= 0) {
            asked += x->prompt;
            had += x->cached;
        }
    }
    w->out->engine_cached = asked > 0 ? had / asked : NAN;
}

/* ---- loaded idle */

static int idle(struct jm_phase_work *w, struct jm_phase_of_run *u, double *watts, const char **from)
{
    struct jm_calc *c = w->c;
    double joules = 0, seconds = 0;
    int rc = 0;
    *watts = NAN;
    *from = NULL;
    for (size_t k = 0; !rc && k < c->n_win; k++) {
        const struct jm_calc_window *win = &c->win[k];
        struct jm_cut cut;
        char key[64];
        snprintf(key, sizeof key, "idle.%d.class", win->w->id);
        const char *class = win->w->role == JM_R_IDLE ? jm_run_env(c->run, key) : NULL;
        if (!class || strcmp(class, "loaded") != 0)
            continue;
        rc = cut_of(w, u, win, &cut);
        if (!rc && has(&cut)) {
            joules += cut.e.joules;
            seconds += win->seconds;
        }
    }
    if (rc)
        return rc;
    if (seconds > 0) {
        *watts = joules / seconds;
        *from = "idle window";
        return 0;
    }
    if (isfinite(c->o->idle_w) && (w->out->boundary == JM_B_WALL || w->out->boundary == JM_B_NODE)) {
        *watts = c->o->idle_w;
        *from = "as given";
        return 0;
    }
    rc = jm_phase_quiet(u->p, QUIET_S, watts, &seconds, c->err);
    if (seconds >= QUIET_LONG)
        *from = "pauses of the load";
    else
        *watts = NAN;
    return rc;
}

/* ---- all of it */

static bool span(struct jm_phase_work *w)
{
    struct jm_calc *c = w->c;
    bool any = false;
    w->from = INT64_MAX;
    w->to = INT64_MIN;
    for (size_t i = 0; i < c->r->n_windows; i++) {
        const struct jm_window *x = &c->r->windows[i];
        if ((x->role != JM_R_MEASURE || x->t1 <= x->t0) && !burst_of(x))
            continue;
        any |= x->role == JM_R_MEASURE;
        w->from = x->t0 < w->from ? x->t0 : w->from;
        w->to = x->t1 > w->to ? x->t1 : w->to;
    }
    int64_t from = w->from, to = w->to;
    for (size_t i = 0; any && i < w->n_q; i++) { /* the whole life of what touches them */
        int64_t a = jm_request_start(&w->q[i]), b = jm_request_end(&w->q[i]);
        if (a < 0 || b < from || a > to)
            continue;
        w->from = a < w->from ? a : w->from;
        w->to = b > w->to ? b : w->to;
    }
    w->from = jm_add_ns(w->from, -BESIDE_NS);
    w->to = jm_add_ns(w->to, BESIDE_NS);
    w->origin = w->from;
    return any;
}

static int solve(struct jm_phase_work *w, struct jm_phase_of_run *u, struct jm_phase_unit *shown,
                 bool only_time, const char *reason)
{
    struct jm_calc *c = w->c;
    struct jm_phase_opts o = {
        .seed = jm_run_info(c->run)->seed, .level = jm_calc_level(c), .only_time = only_time};
    unsigned char *use = calloc(u->grid.n + 1, 1);
    int rc = use ? idle(w, u, &o.idle_w, &shown->idle_from) : no_memory(c);
    for (size_t i = 0, k = 0; !rc && i < c->r->n_windows; i++) {
        const struct jm_window *x = &c->r->windows[i];
        int b = burst_of(x);
        if ((x->role != JM_R_MEASURE || x->t1 <= x->t0) && !b)
            continue;
        double to = jm_seconds_between(x->t1, u->grid.origin);
        size_t at = jm_grid_at(&u->grid, jm_seconds_between(x->t0, u->grid.origin)),
               end = to >= u->grid.t[u->grid.n] ? u->grid.n : jm_grid_at(&u->grid, to);
        k++;
        for (; at < end; at++)
            if (!use[at])
                use[at] = (unsigned char)(b ? JM_PHASE_BURST + k % 127 : 1 + k % 127);
    }
    o.use = use;
    o.shift_s = u->late;
    if (!rc && w->n_steps >= 2 && w->n_units == 1)
        rc = jm_phase_steps(u->p, w->step_t, w->step_v, w->n_steps, c->err);
    if (!rc)
        rc = jm_phase_solve(u->p, &o, &u->fit, c->err);
    if (!rc && reason && !u->fit.why[0])
        snprintf(u->fit.why, sizeof u->fit.why, "%s", reason);
    free(use);
    shown->fit = u->fit;
    return rc;
}

static int label(struct jm_phase_work *w, bool phases)
{
    struct jm_phases *o = w->out;
    char residual[48] = "not known";
    o->residual = NAN;
    for (size_t i = 0; i < o->n_units; i++) {
        const struct jm_phase_fit *f = &o->unit[i].fit;
        o->method = f->method > o->method ? f->method : o->method;
        o->residual = !(o->residual >= f->residual) ? f->residual : o->residual;
    }
    if (isfinite(o->residual) && o->method == JM_PHASE_D2)
        snprintf(residual, sizeof residual, "%.1f %%", 100 * o->residual);
    else
        snprintf(residual, sizeof residual, "none, nothing is fitted");
    o->label =
        jm_report_text(w->c->r, "allocation, not measurement; method %s%s; residual %s",
                       jm_phase_method_name((int)o->method), phases ? "" : ", without phases", residual);
    return o->label ? 0 : no_memory(w->c);
}

static int per_token(struct jm_phase_work *w, const char *reason)
{
    struct jm_calc *c = w->c;
    double *total = malloc((c->n_win + 1) * sizeof *total);
    int rc = total ? 0 : no_memory(c);
    for (size_t k = 0; !rc && k < c->n_win; k++) {
        struct jm_cut cut;
        total[k] = NAN;
        if (!measured(&c->win[k]))
            continue;
        rc = jm_cut_make(c, &c->win[k], w->out->boundary, JM_CUT_MEASURED, &cut);
        if (!rc && has(&cut))
            total[k] = cut.e.joules;
    }
    struct jm_phase_fit *f = &w->out->unit[0].fit;
    *f =
        (struct jm_phase_fit){.method = JM_PHASE_PER_TOKEN, .idle_w = NAN, .residual = NAN, .condition = NAN};
    snprintf(f->why, sizeof f->why, "%s", reason);
    w->out->n_units = 1;
    if (!rc)
        rc = jm_request_per_token(c, total);
    if (!rc)
        rc = label(w, false);
    free(total);
    return rc;
}

static int allocate(struct jm_phase_work *w)
{
    struct jm_phases *o = w->out;
    size_t n = w->taken;
    bool phases = (double)w->untimed <= DOUBT * (double)n,
         counted = (double)w->unknown_prompts <= DOUBT * (double)n &&
                   (double)w->unknown_outputs <= DOUBT * (double)n;
    const char *reason = !phases
                             ? "answers came whole, or their first event held what was made long before, so "
                               "that no first token parts prefill from decode"
                         : !counted ? "nobody counted the tokens of more than one request in twenty"
                                    : NULL;
    int rc = 0;
    if (!n)
        return why(w, "no request got a token, so there is nobody to give the energy to");
    for (size_t i = 0; !rc && i < w->n_units; i++)
        rc = solve(w, &w->unit[i], &o->unit[i], reason != NULL, reason);
    if (!rc)
        rc = label(w, phases);
    return rc ? rc : jm_request_energies(w->c, w->unit, w->n_units, phases);
}

static int make(struct jm_phase_work *w)
{
    struct jm_calc *c = w->c;
    const struct jm_calc_window *first = NULL;
    const char *conflict = jm_run_env(c->run, "conflict.sut");
    struct jm_cut cut;
    for (size_t k = 0; k < c->n_win && !first; k++)
        first = measured(&c->win[k]) ? &c->win[k] : NULL;
    if (!first || !span(w))
        return why(w, "there is no measure window whose energy could be shared out");
    if (conflict)
        return why(w, jm_report_text(c->r, "the meters are not at the endpoint (%s)", conflict));
    int rc = boundary(w, first, &cut);
    if (!rc && !w->out->why)
        rc = units(w);
    if (rc || w->out->why)
        return rc;
    if (jm_run_env(c->run, "import.placed"))
        return per_token(w,
                         "the file does not say when its requests ran, so that only the window's joules per "
                         "output token can be told");
    for (size_t i = 0; !rc && i < w->n_units && !w->out->why; i++)
        rc = grid(w, &w->unit[i], first);
    if (!rc && !w->out->why)
        rc = engine(w);
    if (!rc && !w->out->why)
        rc = jm_phase_take_begin(w);
    return rc;
}

/* Of an import or by hand; what a recorder writes never does. */
static bool overlap(const struct jm_calc *c)
{
    for (size_t k = 1; k < c->n_win && k < OVERLAPS; k++)
        for (size_t i = 0; i < k && measured(&c->win[k]); i++)
            if (measured(&c->win[i]) && c->win[i].w->t0 < c->win[k].w->t1 &&
                c->win[k].w->t0 < c->win[i].w->t1)
                return true;
    return false;
}

int jm_phases_begin(struct jm_calc *c, struct jm_phase_work *w)
{
    bool any = false;
    *w = (struct jm_phase_work){.c = c};
    w->q = jm_run_requests(c->run, &w->n_q);
    for (size_t k = 0; k < c->n_win; k++)
        any |= measured(&c->win[k]);
    if (!w->n_q || !any || c->o->no_phases)
        return 0;
    w->out = c->r->phases = jm_report_alloc(c->r, sizeof *w->out);
    if (!w->out)
        return no_memory(c);
    w->out->residual = NAN;
    if (overlap(c))
        w->out->note = "measure windows overlap: what lies in two of them is in the total twice";
    return make(w);
}

int jm_phases_end(struct jm_phase_work *w)
{
    if (!w->had)
        return 0;
    cached(w);
    int rc = jm_phase_take_rest(w);
    return rc ? rc : allocate(w);
}

void jm_phases_release(struct jm_phase_work *w)
{
    for (size_t i = 0; i < w->n_units && w->unit; i++) {
        jm_grid_release(&w->unit[i].grid);
        jm_phase_free(w->unit[i].p);
        free(w->unit[i].of);
        free(w->unit[i].cell);
    }
    free(w->unit);
    free(w->engine_room);
    free(w->had);
    free(w->tok);
}
