/* SPDX-License-Identifier: Apache-2.0 */
#include "wall/wall.h"

#include "simgpu_open.h"
#include "simgpu_text.h"
#include "simgpu_truth.h"
#include "simgpu_wave.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PI         3.14159265358979323846
#define NS         1e9
#define MAX_POINTS ((size_t)4 << 20)

/* Straight lines between points; two points at one time are a step. */
struct point {
    int64_t t_ns; /* from the start of the waveform */
    double w, before_j;
};

struct simwall {
    char spec[512];
    int64_t start_ns;
    enum { W_LINES, W_SINE, W_STATE } kind;
    struct point *p;
    size_t n, room;
    bool repeats;
    double mean_w, swing_w, period_s, phase; /* sine */
    struct simgpu *state;
    double base_w, gain;
    int64_t to_state_ns; /* state's clock = Unix time + this */
};

struct maker {
    struct simwall *w;
    char *why;
    size_t n;
};

static int fail(struct maker *m, const char *what)
{
    snprintf(m->why, m->n, "waveform \"%.200s\": %s.", m->w->spec, what);
    return -EINVAL;
}

static int point(struct maker *m, int64_t t_ns, double w)
{
    struct simwall *x = m->w;
    if (!(w >= 0 && w <= 1e7))
        return fail(m, "power must lie between 0 W and 10 MW");
    if (x->n && t_ns < x->p[x->n - 1].t_ns)
        return fail(m, "time goes backwards");
    if (x->n == MAX_POINTS)
        return fail(m, "it has too many points");
    if (x->n == x->room) {
        size_t room = x->room ? x->room * 2 : 64;
        struct point *p = realloc(x->p, room * sizeof *p);
        if (!p) {
            snprintf(m->why, m->n, "no memory for the waveform.");
            return -ENOMEM;
        }
        x->p = p;
        x->room = room;
    }
    double before = 0;
    if (x->n) {
        const struct point *q = &x->p[x->n - 1];
        before = q->before_j + (q->w + w) / 2 * ((double)(t_ns - q->t_ns) / NS);
    }
    x->p[x->n++] = (struct point){.t_ns = t_ns, .w = w, .before_j = before};
    return 0;
}

struct param {
    const char *name;
    const struct simgpu_unit *unit;
    int64_t value;
};

static int params(struct maker *m, const char *args, struct param *list)
{
    size_t n;
    if (!*args)
        return 0;
    for (const char *p; (p = simgpu_item(&args, ',', &n));) {
        const char *k, *v;
        size_t kn, vn;
        struct param *x = list;
        if (!simgpu_pair(p, n, &k, &kn, &v, &vn))
            return fail(m, "parameters are written name=value");
        while (x->name && !simgpu_is(k, kn, x->name))
            x++;
        if (!x->name)
            return fail(m, "it has no such parameter; see --help");
        if (!simgpu_quantity(v, vn, x->unit, &x->value) || x->value < 0)
            return fail(m, "a value is negative or lacks its unit (W, ms, s)");
    }
    return 0;
}

static double watt(const struct param *p)
{
    return (double)p->value / 1e6;
}

/* Idle, a load, idle for good: what a benchmark does. */
static int make_load(struct maker *m, const char *args)
{
    struct param p[] = {{"idle", simgpu_units_power, 120000000},
                        {"load", simgpu_units_power, 600000000},
                        {"before", simgpu_units_time, 20000000000},
                        {"length", simgpu_units_time, 600000000000},
                        {NULL, NULL, 0}};
    int e = params(m, args, p);
    int64_t t = p[2].value;
    if (!e)
        e = point(m, 0, watt(&p[0]));
    if (!e)
        e = point(m, t, watt(&p[0]));
    if (!e)
        e = point(m, t, watt(&p[1]));
    t += p[3].value;
    if (!e)
        e = point(m, t, watt(&p[1]));
    if (!e)
        e = point(m, t, watt(&p[0]));
    return e;
}

static int make_trapezoid(struct maker *m, const char *args)
{
    struct param p[] = {{"lo", simgpu_units_power, 120000000},
                        {"hi", simgpu_units_power, 600000000},
                        {"bottom", simgpu_units_time, 5000000000},
                        {"rise", simgpu_units_time, 2000000000},
                        {"top", simgpu_units_time, 10000000000},
                        {"fall", simgpu_units_time, 3000000000},
                        {NULL, NULL, 0}};
    int e = params(m, args, p);
    int64_t t = 0;
    const int at[] = {0, 0, 1, 1, 0};
    for (int i = 0; !e && i < 5; i++) {
        e = point(m, t, watt(&p[at[i]]));
        t += i < 4 ? p[2 + i].value : 0;
    }
    m->w->repeats = true;
    return e;
}

static int make_sine(struct maker *m, const char *args)
{
    struct param p[] = {{"mean", simgpu_units_power, 400000000},
                        {"swing", simgpu_units_power, 150000000},
                        {"period", simgpu_units_time, 10000000000},
                        {NULL, NULL, 0}};
    int e = params(m, args, p);
    if (e)
        return e;
    if (p[1].value > p[0].value || p[2].value == 0)
        return fail(m, "the swing is larger than the mean, or the period is 0");
    m->w->kind = W_SINE;
    m->w->mean_w = watt(&p[0]);
    m->w->swing_w = watt(&p[1]);
    m->w->period_s = (double)p[2].value / NS;
    return 0;
}

/* "seconds,watts" a line, straight lines between; a line that begins with no digit is a heading. */
static int make_csv(struct maker *m, const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f) {
        int e = errno;
        snprintf(m->why, m->n, "cannot open the waveform file %.300s: %s.", path, strerror(e));
        return -e;
    }
    char line[256];
    int e = 0;
    unsigned no = 0;
    while (!e && fgets(line, sizeof line, f)) {
        no++;
        bool whole = strchr(line, '\n') || feof(f);
        line[strcspn(line, "#\r\n")] = 0;
        char *comma = strchr(line, ',');
        if (whole && (!line[0] || (no == 1 && !(line[0] >= '0' && line[0] <= '9'))))
            continue;
        char t[64], w[64];
        int64_t ns, uw;
        if (whole && comma && comma - line < 60 && strlen(comma + 1) < 60) {
            snprintf(t, sizeof t, "%.*ss", (int)(comma - line), line);
            snprintf(w, sizeof w, "%sW", comma + 1);
            if (simgpu_quantity_z(t, simgpu_units_time, &ns) &&
                simgpu_quantity_z(w, simgpu_units_power, &uw)) {
                e = point(m, ns, (double)uw / 1e6);
                continue;
            }
        }
        snprintf(m->why, m->n, "%.300s:%u: a line is seconds and watts, as in \"4.5,700\".", path, no);
        e = -EINVAL;
    }
    fclose(f);
    return e;
}

/* PATH[,base=150W][,gain=1.1]: what the GPUs of a state file really draw, and the rest of the system. */
static int make_state(struct maker *m, const char *args)
{
    struct simwall *w = m->w;
    char path[512];
    size_t n = strcspn(args, ",");
    if (n >= sizeof path)
        return fail(m, "the path is too long");
    memcpy(path, args, n);
    path[n] = 0;
    struct param p[] = {
        {"base", simgpu_units_power, 0}, {"gain", simgpu_units_gain, SIMGPU_PPB}, {NULL, NULL, 0}};
    int e = params(m, args[n] ? args + n + 1 : "", p);
    if (e)
        return e;
    w->kind = W_STATE;
    w->base_w = watt(&p[0]);
    w->gain = (double)p[1].value / SIMGPU_PPB;
    e = simgpu_open(&w->state, path, m->why, m->n);
    if (e)
        return e;
    int64_t now = simgpu_now(w->state);
    w->to_state_ns = now - simgpu_realtime(w->state, now);
    return 0;
}

/* Waveforms of simulated GPUs are pieces of constant power, repeated. */
static int make_pieces(struct maker *m, const char *spec, uint64_t seed)
{
    struct simgpu_wave g;
    int e = simgpu_wave_make(&g, spec, seed, 0, m->why, m->n);
    if (e)
        return e;
    if (g.driven)
        e = fail(m, "nobody drives a wall: use state:PATH");
    int64_t t = 0;
    for (uint32_t i = 0; !e && i < g.count; i++) {
        double w = (double)g.seg[i].uw / 1e6;
        e = point(m, t, w);
        t = g.seg[i].end_ns;
        if (!e)
            e = point(m, t, w);
    }
    m->w->repeats = true;
    simgpu_wave_release(&g);
    return e;
}

static const struct {
    const char *name;
    int (*make)(struct maker *m, const char *args);
    struct simwall_help help;
} waves[] = {
    {"load", make_load, {"load:idle=120W,load=600W,before=20s,length=600s", "idle, one load, idle for good"}},
    {"trapezoid",
     make_trapezoid,
     {"trapezoid:lo=120W,hi=600W,bottom=5s,rise=2s,top=10s,fall=3s", "straight edges, repeated"}},
    {"sine", make_sine, {"sine:mean=400W,swing=150W,period=10s", "a sine about a mean"}},
    {"csv", make_csv, {"csv:PATH", "lines \"seconds,watts\", straight between; then its last value"}},
    {"state",
     make_state,
     {"state:PATH[,base=150W][,gain=1.1]", "the GPUs of a simulated node, and the rest of it"}},
};

const struct simwall_help *simwall_help(int i)
{
    return i >= 0 && (size_t)i < sizeof waves / sizeof *waves ? &waves[i].help : NULL;
}

int simwall_open(struct simwall **out, const char *spec, uint64_t seed, int64_t start_ns, char *why, size_t n)
{
    struct simwall *w = calloc(1, sizeof *w);
    struct maker m = {w, why, n};
    int e = -EINVAL;
    if (!w) {
        snprintf(why, n, "no memory for the waveform.");
        return -ENOMEM;
    }
    w->start_ns = start_ns;
    if (strlen(spec) >= sizeof w->spec) {
        snprintf(why, n, "the waveform is longer than %zu characters.", sizeof w->spec - 1);
        free(w);
        return -EINVAL;
    }
    memcpy(w->spec, spec, strlen(spec) + 1);
    size_t len = strcspn(spec, ":"), i = 0;
    while (i < sizeof waves / sizeof *waves && !simgpu_is(spec, len, waves[i].name))
        i++;
    if (i < sizeof waves / sizeof *waves)
        e = waves[i].make(&m, spec[len] ? spec + len + 1 : "");
    else
        e = make_pieces(&m, spec, seed);
    if (!e && w->kind == W_LINES && (w->n == 0 || (w->repeats && w->p[w->n - 1].t_ns <= 0)))
        e = fail(&m, "it has no length");
    if (e) {
        simwall_close(w);
        return e;
    }
    *out = w;
    return 0;
}

void simwall_close(struct simwall *w)
{
    if (!w)
        return;
    simgpu_close(w->state);
    free(w->p);
    free(w);
}

/* The last point at or before t. */
static size_t find(const struct simwall *w, int64_t t)
{
    size_t lo = 0, hi = w->n;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (w->p[mid].t_ns <= t)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static double line_w(const struct simwall *w, int64_t t)
{
    size_t i = find(w, t);
    const struct point *p = &w->p[i];
    if (i + 1 >= w->n || t <= p->t_ns || p[1].t_ns == p->t_ns)
        return p->w;
    return p->w + (p[1].w - p->w) * ((double)(t - p->t_ns) / (double)(p[1].t_ns - p->t_ns));
}

/* Energy from the start of the waveform to t (negative before it). */
static double lines_j(const struct simwall *w, int64_t t)
{
    double j = 0;
    if (t < 0)
        return w->p[0].w * ((double)t / NS);
    if (w->repeats) {
        const struct point *end = &w->p[w->n - 1];
        j = (double)(t / end->t_ns) * end->before_j;
        t %= end->t_ns;
    }
    size_t i = find(w, t);
    const struct point *p = &w->p[i];
    double s = (double)(t - p->t_ns) / NS;
    return j + p->before_j + (p->w + line_w(w, t)) / 2 * s;
}

double simwall_energy_j(const struct simwall *w, int64_t t0, int64_t t1)
{
    if (t1 < t0)
        return NAN;
    if (w->kind == W_STATE)
        return w->base_w * ((double)(t1 - t0) / NS) +
               w->gain * simgpu_true_total_j(w->state, t0 + w->to_state_ns, t1 + w->to_state_ns);
    t0 -= w->start_ns;
    t1 -= w->start_ns;
    if (w->kind == W_LINES)
        return lines_j(w, t1) - lines_j(w, t0);
    /* a sine stands at its mean before its start; cos a - cos b as a product keeps its digits */
    double before = t0 < 0 ? (double)((t1 < 0 ? t1 : 0) - t0) / NS : 0;
    double a = t0 < 0 ? 0 : (double)t0 / NS, b = t1 < 0 ? 0 : (double)t1 / NS, k = 2 * PI / w->period_s;
    return w->mean_w * (before + (b - a)) + w->swing_w / k * 2 * sin(k * (a + b) / 2) * sin(k * (b - a) / 2);
}

double simwall_power_w(const struct simwall *w, int64_t t)
{
    if (w->kind == W_STATE) {
        double sum = w->base_w;
        for (uint32_t g = 0; g < w->state->h->gpu_count; g++)
            sum += w->gain * simgpu_true_power_w(w->state, (int)g, t + w->to_state_ns);
        return sum;
    }
    t -= w->start_ns;
    if (w->kind == W_SINE)
        return w->mean_w + (t < 0 ? 0 : w->swing_w * sin(2 * PI * ((double)t / NS) / w->period_s));
    if (t < 0)
        return w->p[0].w;
    return line_w(w, w->repeats ? t % w->p[w->n - 1].t_ns : t);
}

const char *simwall_spec(const struct simwall *w)
{
    return w->spec;
}

int64_t simwall_start(const struct simwall *w)
{
    return w->start_ns;
}

bool simwall_is_state(const struct simwall *w)
{
    return w->kind == W_STATE;
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void simclock_init(struct simclock *c, double speed)
{
    c->speed = speed;
    c->mono0 = clock_ns(CLOCK_MONOTONIC);
    c->real0 = clock_ns(CLOCK_REALTIME);
}

int64_t simclock_now(const struct simclock *c)
{
    int64_t d = clock_ns(CLOCK_MONOTONIC) - c->mono0;
    return c->real0 + (c->speed == 1 ? d : (int64_t)((double)d * c->speed));
}

int simclock_wait_ms(const struct simclock *c, int64_t t_ns, int max)
{
    int64_t d = t_ns - simclock_now(c);
    if (d <= 0)
        return 0;
    double ms = ceil((double)d / c->speed / 1e6);
    return ms < max ? (int)ms : max;
}
