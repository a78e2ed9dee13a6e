/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_wave.h"
#include "simgpu_power.h"
#include "simgpu_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_UW ((int64_t)100000 * 1000000) /* 100 kW */

struct maker {
    struct simgpu_wave *w;
    const char *spec; /* all of it, for messages */
    uint64_t seed, stream, draws;
    char *why;
    size_t n;
};

static int fail(struct maker *m, const char *what)
{
    snprintf(m->why, m->n, "waveform \"%s\": %s.", m->spec, what);
    return -EINVAL;
}

/* Uniform in (0, 1). */
static double draw(struct maker *m)
{
    return ((double)(simgpu_hash(m->seed ^ 0x5741564546u, m->stream, m->draws++) >> 11) + 0.5) * 0x1p-53;
}

static double draw_exp(struct maker *m, double mean)
{
    return -mean * log(draw(m));
}

static double draw_normal(struct maker *m)
{
    double r = sqrt(-2 * log(draw(m)));
    return r * cos(2 * 3.14159265358979323846 * draw(m));
}

static int add(struct maker *m, int64_t ns, int64_t uw)
{
    struct simgpu_wave *w = m->w;
    if (ns <= 0)
        return fail(m, "a piece must last longer than 0");
    if (uw < 0 || uw > MAX_UW)
        return fail(m, "power must lie between 0 W and 100 kW");
    if (w->length_ns > INT64_MAX / 4 - ns || w->count == SIMGPU_MAX_SEGS)
        return fail(m, "more than 1048576 pieces or too long; make the length shorter or the steps longer");
    if (w->count == w->room) {
        uint32_t room = w->room ? w->room * 2 : 64;
        struct simgpu_seg *p = realloc(w->seg, room * sizeof *p);
        if (!p) {
            snprintf(m->why, m->n, "no memory for the waveform \"%s\".", m->spec);
            return -ENOMEM;
        }
        w->seg = p;
        w->room = room;
    }
    w->length_ns += ns;
    w->seg[w->count++] = (struct simgpu_seg){.end_ns = w->length_ns, .uw = uw};
    return 0;
}

static int power_or_fail(struct maker *m, const char *p, size_t n, int64_t *uw)
{
    if (!simgpu_quantity(p, n, simgpu_units_power, uw))
        return fail(m, "a power needs its unit, as in 700W");
    return 0;
}

/* 700W */
static int make_const(struct maker *m, const char *args)
{
    int64_t uw;
    int e = power_or_fail(m, args, strlen(args), &uw);
    return e ? e : add(m, 1000000000, uw);
}

/* 700W@4s,300W@11s */
static int make_cycle(struct maker *m, const char *args)
{
    size_t n;
    if (!*args)
        args = "700W@4s,300W@11s";
    for (const char *p; (p = simgpu_item(&args, ',', &n));) {
        const char *at = memchr(p, '@', n);
        int64_t uw, ns;
        if (!at)
            return fail(m, "a piece is written power@time, as in 700W@4s");
        int e = power_or_fail(m, p, (size_t)(at - p), &uw);
        if (e)
            return e;
        if (!simgpu_quantity(at + 1, n - (size_t)(at + 1 - p), simgpu_units_time, &ns))
            return fail(m, "a time needs its unit, as in 4s");
        if ((e = add(m, ns, uw)))
            return e;
    }
    return 0;
}

/* Named parameters of a generator: powers and times. */
struct param {
    const char *name;
    bool power;
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
            return fail(m, "it has no such parameter; see joulemark-sim gpu --help");
        if (!simgpu_quantity(v, vn, x->power ? simgpu_units_power : simgpu_units_time, &x->value) ||
            x->value < 0)
            return fail(m, "a value is negative or lacks its unit (W, ms, s)");
        if (!x->power && x->value == 0)
            return fail(m, "a time must be longer than 0");
    }
    return 0;
}

/* Two powers with exponential dwell times: a random telegraph signal. */
static int make_telegraph(struct maker *m, const char *args)
{
    struct param p[] = {{"lo", true, 300000000},
                        {"hi", true, 650000000},
                        {"mean", false, 200000000},
                        {"length", false, 60000000000},
                        {NULL, false, 0}};
    int e = params(m, args, p);
    for (bool hi = draw(m) < 0.5; !e && m->w->length_ns < p[3].value; hi = !hi) {
        int64_t ns = (int64_t)draw_exp(m, (double)p[2].value) + 1, left = p[3].value - m->w->length_ns;
        e = add(m, ns < left ? ns : left, hi ? p[1].value : p[0].value);
    }
    return e;
}

/* Serving: a pause, a prefill of 20 to 60 ms, then decoding. */
static int make_burst(struct maker *m, const char *args)
{
    struct param p[] = {{"idle", true, 300000000},      {"decode", true, 420000000},
                        {"prefill", true, 650000000},   {"gap", false, 150000000},
                        {"length", false, 60000000000}, {NULL, false, 0}};
    int e = params(m, args, p);
    while (!e && m->w->length_ns < p[4].value) {
        double gap = draw_exp(m, (double)p[3].value);
        e = add(m, 1000000 + (int64_t)(gap < 8.0 * (double)p[3].value ? gap : 8.0 * (double)p[3].value),
                p[0].value);
        for (int i = 1 + (int)(draw(m) * 3); !e && i > 0; i--) {
            e = add(m, (int64_t)(20e6 + draw(m) * 40e6), p[2].value);
            if (!e)
                e = add(m, (int64_t)(50e6 + draw(m) * 550e6), p[1].value);
        }
    }
    return e;
}

/* Up from one power to the other in steps, and down again. */
static int make_ramp(struct maker *m, const char *args)
{
    struct param p[] = {{"from", true, 100000000},
                        {"to", true, 700000000},
                        {"up", false, 10000000000},
                        {"step", false, 10000000},
                        {NULL, false, 0}};
    int e = params(m, args, p);
    int64_t n = e ? 0 : p[2].value / p[3].value;
    if (!e && n < 1)
        return fail(m, "the step is longer than the ramp");
    for (int64_t i = 0; !e && i < 2 * n; i++) {
        int64_t k = i < n ? i : 2 * n - 1 - i;
        e = add(m, p[3].value,
                p[0].value + (int64_t)((simgpu_fj)(p[1].value - p[0].value) * (2 * k + 1) / (2 * n)));
    }
    return e;
}

/* Ornstein-Uhlenbeck: a mean, a spread, and a time over which power remembers itself; held for one step each.
 */
static int make_ou(struct maker *m, const char *args)
{
    struct param p[] = {{"mean", true, 450000000},      {"sd", true, 80000000},
                        {"tau", false, 500000000},      {"step", false, 10000000},
                        {"length", false, 60000000000}, {"min", true, 60000000},
                        {"max", true, 700000000},       {NULL, false, 0}};
    int e = params(m, args, p);
    if (e)
        return e;
    double a = exp(-(double)p[3].value / (double)p[2].value), sd = (double)p[1].value;
    double x = sd * draw_normal(m);
    while (!e && m->w->length_ns < p[4].value) {
        double v = (double)p[0].value + x;
        v = fmin(fmax(v, (double)p[5].value), (double)p[6].value);
        e = add(m, p[3].value, llround(v / 1000) * 1000); /* whole mW */
        x = a * x + sd * sqrt(1 - a * a) * draw_normal(m);
    }
    return e;
}

/* Lines "time power"; '#' starts a comment. */
static int make_file(struct maker *m, const char *args)
{
    FILE *f = fopen(args, "re");
    if (!f) {
        int e = errno;
        snprintf(m->why, m->n, "cannot open the waveform file %s: %s.", args, strerror(e));
        return -e;
    }
    char line[256];
    int e = 0;
    unsigned no = 0;
    while (!e && fgets(line, sizeof line, f)) {
        no++;
        if (!strchr(line, '\n') && !feof(f)) { /* no text, or something without an end such as /dev/zero */
            snprintf(m->why, m->n, "%s:%u: the line is longer than %zu characters.", args, no,
                     sizeof line - 2);
            e = -EINVAL;
            break;
        }
        line[strcspn(line, "#\r\n")] = 0;
        const char *text = line;
        size_t n;
        const char *p = simgpu_item(&text, '\0', &n);
        const char *gap = p ? memchr(p, ' ', n) : NULL;
        int64_t ns, uw;
        if (n == 0)
            continue;
        if (gap && simgpu_quantity(p, (size_t)(gap - p), simgpu_units_time, &ns)) {
            while (*gap == ' ')
                gap++;
            if (simgpu_quantity(gap, n - (size_t)(gap - p), simgpu_units_power, &uw)) {
                e = add(m, ns, uw);
                continue;
            }
        }
        snprintf(m->why, m->n, "%s:%u: a line is a time and a power, as in \"4s 700W\".", args, no);
        e = -EINVAL;
    }
    if (!e && ferror(f))
        e = fail(m, "the file cannot be read");
    fclose(f);
    return e;
}

static int make_drive(struct maker *m, const char *args)
{
    if (*args)
        return fail(m, "it takes no parameters");
    m->w->driven = true;
    return 0;
}

static const struct {
    const char *name;
    int (*make)(struct maker *m, const char *args);
    struct simgpu_wave_help help;
} waves[] = {
    {"const", make_const, {"const:350W", "one power"}},
    {"cycle", make_cycle, {"cycle:700W@4s,300W@11s", "pieces, repeated"}},
    {"square", make_cycle, {"square:700W@4s,300W@11s", "the same under its other name"}},
    {"telegraph",
     make_telegraph,
     {"telegraph:lo=300W,hi=650W,mean=200ms,length=60s", "two powers, random dwell"}},
    {"burst",
     make_burst,
     {"burst:idle=300W,decode=420W,prefill=650W,gap=150ms,length=60s",
      "pauses, prefills of 20-60 ms, decoding"}},
    {"ramp", make_ramp, {"ramp:from=100W,to=700W,up=10s,step=10ms", "up and down in steps"}},
    {"ou",
     make_ou,
     {"ou:mean=450W,sd=80W,tau=500ms,step=10ms,length=60s,min=60W,max=700W", "Ornstein-Uhlenbeck noise"}},
    {"file", make_file, {"file:PATH", "lines \"4s 700W\", repeated"}},
    {"drive", make_drive, {"drive", "a load drives it (joulemark-sim engine)"}},
};

const struct simgpu_wave_help *simgpu_wave_help(int i)
{
    return i >= 0 && (size_t)i < sizeof waves / sizeof *waves ? &waves[i].help : NULL;
}

int simgpu_wave_make(struct simgpu_wave *w, const char *spec, uint64_t seed, uint64_t stream, char *why,
                     size_t n)
{
    struct maker m = {.w = w, .spec = spec, .seed = seed, .stream = stream, .why = why, .n = n};
    size_t len = strcspn(spec, ":");
    *w = (struct simgpu_wave){0};
    for (size_t i = 0; i < sizeof waves / sizeof *waves; i++) {
        if (!simgpu_is(spec, len, waves[i].name))
            continue;
        int e = waves[i].make(&m, spec[len] ? spec + len + 1 : "");
        if (!e && !w->driven && w->count == 0)
            e = fail(&m, "it has no pieces");
        if (e) {
            simgpu_wave_release(w);
            return e;
        }
        simgpu_fj sum = 0;
        int64_t begin = 0;
        for (uint32_t k = 0; k < w->count; k++) {
            w->seg[k].before = simgpu_fj_put(sum);
            sum += (simgpu_fj)w->seg[k].uw * (w->seg[k].end_ns - begin);
            begin = w->seg[k].end_ns;
        }
        return 0;
    }
    return fail(&m, "no waveform has this name; see joulemark-sim gpu --help");
}

void simgpu_wave_release(struct simgpu_wave *w)
{
    free(w->seg);
    *w = (struct simgpu_wave){0};
}
