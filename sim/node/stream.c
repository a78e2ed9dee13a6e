/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PER_LINE 500

struct out {
    FILE *f;
    const char *host;
    int channel, n;
};

/* Calls fn for every instrument of the node. */
static void each(const struct sim_readings *s, void (*fn)(void *self, const struct inst *in), void *self)
{
    const struct plant *pl = s->pl;
    for (int k = 0; k < INST_KINDS; k++) {
        const struct inst_kind *kind = &inst_kinds[k];
        int number = 0;
        /* one supply has no part of its own: its outlet is the inlet */
        const char *part = pl->first_psu < 0 && strcmp(kind->part, "psu") == 0 ? "inlet_ac" : kind->part;
        for (int i = 0; i < pl->parts && !(s->conf[k].off > 0); i++) {
            struct inst in;
            if (strcmp(pl->part[i].kind, part) != 0)
                continue;
            inst_init(&in, kind, &s->conf[k], pl, i, number++, (uint64_t)pl->conf.seed);
            fn(self, &in);
        }
    }
}

/* Boards of two hosts are different boards: a part of the UUID is the host's. */
static void uuid(const char *key, const char *host, char *out, size_t n)
{
    unsigned h = 2166136261u;
    for (const char *p = host; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619u;
    snprintf(out, n, "%.13s%04x%s", key, h & 0xffff, key + 17);
}

static void device(const struct inst *in, const char *host, char *out, size_t n)
{
    const char *kind = in->kind->part;
    if (strcmp(kind, "gpu") == 0)
        uuid(in->pl->part[in->part].key, host, out, n);
    else if (strcmp(kind, "gpu") == 0 || strcmp(kind, "package") == 0 || strcmp(kind, "dram") == 0)
        snprintf(out, n, "%s", in->pl->part[in->part].key);
    else if (strcmp(kind, "psu") == 0)
        snprintf(out, n, "pdu/outlet %d", in->number + 1);
    else
        snprintf(out, n, "%s", strcmp(in->kind->meter, "redfish") == 0 ? "bmc" : "analyzer");
}

static const char *meaning(const struct inst *in)
{
    if (in->kind->partial)
        return "partial";
    if (!(in->c.window_s > 0))
        return "instant";
    return in->c.window_s == in->c.period_s ? "block-mean" : "trailing-mean";
}

static void channel(void *self, const struct inst *in)
{
    struct out *o = self;
    char dev[96];
    device(in, o->host, dev, sizeof dev);
    fprintf(o->f,
            "{\"channel\":%d,\"instrument\":\"%s\",\"meter\":\"%s\",\"name\":\"%s\",\"device\":\"%s\","
            "\"kind\":\"%s\",\"unit\":\"%s\",\"scale10\":%d,\"scale2\":%d,\"modulus\":%" PRIu64
            ",\"period_ns\":%.0f,\"semantics\":\"%s\",\"window_ns\":%.0f,\"poll_ns\":%.0f,\"gain_tol\":%.17g,"
            "\"offset_tol\":%.17g,\"domain\":%d,\"stamped\":%s,\"source\":\"%s\",\"lag_ns\":%.0f,"
            "\"clock_offset_ns\":%.0f,\"clock_ppm\":%.17g,\"quantum\":%.17g}\n",
            o->channel, in->kind->name, in->kind->meter, in->kind->channel, dev,
            in->kind->counter ? "counter" : "gauge", in->kind->counter ? "J" : "W", in->kind->scale10,
            in->kind->scale2, in->kind->modulus, in->c.period_s * 1e9, meaning(in),
            in->kind->counter ? 0 : in->c.window_s * 1e9, in->c.poll_s * 1e9, in->c.tol,
            in->kind->counter ? in->c.quantum : in->c.quantum / 2, in->part,
            in->kind->stamped ? "true" : "false", in->kind->source, in->c.lag_s * 1e9, in->c.offset_s * 1e9,
            in->c.drift_ppm, in->c.quantum);
    o->channel++;
}

static int put(void *self, const struct inst_reading *r)
{
    struct out *o = self;
    if (o->n == PER_LINE) {
        fputs("]}\n", o->f);
        o->n = 0;
    }
    if (o->n == 0)
        fprintf(o->f, "{\"readings\":%d,\"v\":[", o->channel);
    fprintf(o->f, "%s%" PRId64 ",%" PRId64 ",%" PRId64, o->n ? "," : "", STREAM_MONO + r->t0,
            STREAM_MONO + r->t1, r->value);
    o->n++;
    return 0;
}

static void readings(void *self, const struct inst *in)
{
    struct out *o = self;
    o->n = 0;
    inst_read(in, put, o);
    if (o->n)
        fputs("]}\n", o->f);
    o->channel++;
}

struct telling {
    struct out *o;
    const struct inst *in;
};

static int tell(void *self, const struct inst_reading *r)
{
    struct telling *t = self;
    struct inst_reading c = *r;
    c.value = inst_clock(t->in, r->t0 + (r->t1 - r->t0) / 2);
    return put(t->o, &c);
}

/* The time that an instrument states when it is read, minus ours: a channel of its own behind the others. */
static void clock_channel(void *self, const struct inst *in)
{
    struct out *o = self;
    char dev[96];
    if (!in->kind->clock)
        return;
    device(in, o->host, dev, sizeof dev);
    fprintf(o->f,
            "{\"channel\":%d,\"instrument\":\"%s\",\"meter\":\"%s\",\"name\":\"clock.offset\",\"device\":"
            "\"%s\",\"kind\":\"gauge\",\"unit\":\"s\",\"scale10\":-9,\"domain\":%d,\"poll_ns\":%.0f,"
            "\"source\":\"its own time\"}\n",
            o->channel++, in->kind->name, in->kind->meter, dev, in->part, in->c.poll_s * 1e9);
}

static void clock_readings(void *self, const struct inst *in)
{
    struct out *o = self;
    struct telling t = {o, in};
    if (!in->kind->clock)
        return;
    o->n = 0;
    inst_read(in, tell, &t);
    if (o->n)
        fputs("]}\n", o->f);
    o->channel++;
}

int stream_readings(const struct sim_readings *s, FILE *f)
{
    const struct plant *pl = s->pl;
    const struct plant_conf *c = &pl->conf;
    struct out o = {.f = f, .host = s->host};
    fprintf(f,
            "{\"schema\":\"joulemark-sim.readings/"
            "1\",\"simulated\":true,\"host\":\"%s\",\"driver\":\"%s\",\"seed\":%.0f,"
            "\"real_ns\":%" PRId64 ",\"gpus\":%.0f,\"load\":%.17g,\"psus\":%.0f,\"grade\":\"%s\"",
            s->host, s->driver, c->seed, STREAM_REAL, c->gpus, c->load, c->psus,
            plant_grades[c->psu_grade].name);
    if (s->clock_bound_s >= 0)
        fprintf(f, ",\"clock_bound_s\":%.9g", s->clock_bound_s);
    fputs("}\n", f);
    int64_t end = (int64_t)pl->n * PLANT_STEP_NS, ahead = llround(s->clock_error_s * 1e9);
    for (int64_t t = 0; t <= end; t += 1000000000)
        fprintf(f, "{\"clock\":[%" PRId64 ",%" PRId64 ",%" PRId64 "]}\n", STREAM_MONO + t,
                STREAM_REAL + ahead + t, STREAM_MONO + t);
    for (int i = 0; i < pl->parts; i++) {
        const struct plant_part *p = &pl->part[i];
        bool host = strcmp(p->kind, "node") == 0 || strcmp(p->kind, "inlet_ac") == 0;
        char key[96];
        if (strcmp(p->kind, "gpu") == 0)
            uuid(p->key, s->host, key, sizeof key);
        else
            snprintf(key, sizeof key, "%s", host ? s->host : p->key);
        fprintf(f, "{\"domain\":%d,\"parent\":%d,\"kind\":\"%s\",\"key\":\"%s\",\"label\":\"%s\"}\n", i,
                p->parent, p->kind, key, host ? s->host : p->label);
    }
    each(s, channel, &o);
    each(s, clock_channel, &o);
    fprintf(f, "{\"window\":\"measure\",\"role\":\"%s\",\"t0\":%" PRId64 ",\"t1\":%" PRId64 "}\n",
            c->load > 0 ? "measure" : "idle", STREAM_MONO + pl->t0, STREAM_MONO + pl->t1);
    o.channel = 0;
    each(s, readings, &o);
    each(s, clock_readings, &o);
    for (size_t i = 0; i < pl->reqs; i++) {
        const struct plant_request *r = &pl->req[i];
        if (r->last < 0)
            continue; /* still in flight at the end of the simulation */
        fprintf(f, "{\"request\":[%" PRId64 ",%" PRId64 ",%" PRId64 "],\"prompt\":%u,\"output\":%u}\n",
                STREAM_MONO + r->arrive, STREAM_MONO + r->first, STREAM_MONO + r->last, r->prompt, r->output);
    }
    fputs("{\"end\":true}\n", f);
    return fflush(f) == 0 && !ferror(f) ? 0 : -1;
}

static void truth_instrument(void *self, const struct inst *in)
{
    struct out *o = self;
    char dev[96];
    device(in, o->host, dev, sizeof dev);
    fprintf(o->f,
            "%s\n    {\"instrument\":\"%s\",\"device\":\"%s\",\"part\":%d,\"gain\":%.17g,\"tol\":%.17g,"
            "\"period_s\":%.17g,\"window_s\":%.17g,\"lag_s\":%.17g,\"phase_s\":%.17g,\"jitter_s\":%.17g,"
            "\"clock_offset_s\":%.17g,\"clock_ppm\":%.17g,\"quantum\":%.17g}",
            o->n++ ? "," : "", in->kind->name, dev, in->part, in->gain, in->c.tol, in->c.period_s,
            in->c.window_s, in->c.lag_s, in->phase_s, in->c.jitter_s, in->c.offset_s, in->c.drift_ppm,
            in->c.quantum);
}

static void extremes(const struct plant *pl, int part, int64_t t0, int64_t t1, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = -INFINITY;
    for (int64_t i = t0 / PLANT_STEP_NS; i < (t1 + PLANT_STEP_NS - 1) / PLANT_STEP_NS && i < (int64_t)pl->n;
         i++) {
        double p = pl->part[part].p[i];
        *lo = p < *lo ? p : *lo;
        *hi = p > *hi ? p : *hi;
    }
}

static void parts(const struct sim_readings *s, int64_t t0, int64_t t1, bool steps, FILE *f)
{
    const struct plant *pl = s->pl;
    int64_t step = steps ? llround(s->truth_step_s * 1e9) : 0;
    fputs("  \"parts\": [", f);
    for (int i = 0; i < pl->parts; i++) {
        const struct plant_part *p = &pl->part[i];
        double lo, hi, e = plant_energy(pl, i, t0, t1);
        extremes(pl, i, t0, t1, &lo, &hi);
        fprintf(f,
                "%s\n    {\"part\":%d,\"parent\":%d,\"kind\":\"%s\",\"label\":\"%s\",\"joules\":%.17g,"
                "\"mean_w\":%.17g,\"min_w\":%.17g,\"max_w\":%.17g",
                i ? "," : "", i, p->parent, p->kind, p->label, e, e / ((double)(t1 - t0) * 1e-9), lo, hi);
        if (step > 0) {
            fputs(",\"joules_upto\":[", f);
            for (int64_t t = t0; t <= t1; t += step)
                fprintf(f, "%s%.17g", t > t0 ? "," : "", plant_energy(pl, i, t0, t));
            fputc(']', f);
        }
        fputc('}', f);
    }
    fputs("\n  ]", f);
}

static int truth(const struct sim_readings *s, int64_t t0, int64_t t1, bool whole, FILE *f)
{
    struct out o = {.f = f, .host = s->host};
    fprintf(f,
            "{\n  \"schema\": \"joulemark-sim.plant-truth/1\",\n  \"simulated\": true,\n  \"seed\": %.0f,\n"
            "  \"t0\": %" PRId64 ",\n  \"t1\": %" PRId64 ",\n  \"seconds\": %.17g,\n",
            s->pl->conf.seed, STREAM_MONO + t0, STREAM_MONO + t1, (double)(t1 - t0) * 1e-9);
    if (whole)
        fprintf(f, "  \"step_s\": %.17g,\n", s->truth_step_s);
    parts(s, t0, t1, whole, f);
    if (whole) {
        fputs(",\n  \"instruments\": [", f);
        each(s, truth_instrument, &o);
        fputs("\n  ]", f);
    }
    fputs("\n}\n", f);
    return fflush(f) == 0 && !ferror(f) ? 0 : -1;
}

int stream_truth(const struct sim_readings *s, FILE *f)
{
    return truth(s, s->pl->t0, s->pl->t1, true, f);
}

int stream_between(const struct sim_readings *s, double from_s, double to_s, FILE *f)
{
    return truth(s, s->pl->t0 + llround(from_s * 1e9), s->pl->t0 + llround(to_s * 1e9), false, f);
}
