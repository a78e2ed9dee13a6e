/* SPDX-License-Identifier: Apache-2.0 */
/* Samples: each is the mean of the true power over its block, as the analyzer's range can show it. */
#include "ptd/ptd.h"
#include "simgpu_power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STOP_NS  350000000 /* from Stop to "Completed test" */
#define STATE_NS 150000000 /* the drivers of a state file write a little behind */

static double noise(struct simptd *p)
{
    double u = 0; /* sum of uniform ones: near enough to a normal */
    for (int i = 0; i < 12; i++)
        u += (double)(simgpu_hash(p->o->seed ^ 0x505444u, 7, p->draws++) >> 11) * 0x1p-53;
    return u - 6;
}

int simptd_go(struct simptd *p, int64_t interval_ms, int64_t rampup, const char *mark)
{
    int64_t now = simclock_now(&p->clock);
    struct simptd_span *span = NULL;
    if (p->spans == p->span_room) {
        size_t room = p->span_room ? 2 * p->span_room : 8;
        span = realloc(p->span, room * sizeof *span);
        if (!span)
            return -1;
        p->span = span;
        p->span_room = room;
    }
    span = &p->span[p->spans++];
    *span = (struct simptd_span){.go_ns = now};
    snprintf(span->mark, sizeof span->mark, "%s", mark);
    snprintf(p->mark, sizeof p->mark, "%s", mark);
    size_t len = strlen(mark);
    p->phase = len > 8 && strcmp(mark + len - 8, "_ranging") == 0   ? PHASE_RANGING
               : len > 8 && strcmp(mark + len - 8, "_testing") == 0 ? PHASE_TESTING
                                                                    : PHASE_ANY;
    p->running = p->ran = true;
    p->stopping = false;
    p->go_ns = now;
    p->rampup = rampup;
    p->interval_ns = interval_ms * 1000000;
    /* The analyzer's own beat does not know of Go: the first whole block that ends after it. */
    int64_t beat = p->start_ns - p->start_ns % 1000000000 + p->o->phase_ns;
    int64_t k = (now - beat) / p->interval_ns;
    p->next_ns = beat + (k + 1) * p->interval_ns;
    p->n = 0;
    memset(&p->watts, 0, sizeof p->watts);
    memset(&p->unc, 0, sizeof p->unc);
    return 0;
}

static bool grow(struct simptd *p)
{
    if (p->n < p->room)
        return true;
    size_t room = p->room ? 2 * p->room : 1024;
    struct simptd_sample *s = realloc(p->s, room * sizeof *s);
    if (!s)
        return false;
    p->s = s;
    p->room = room;
    return true;
}

int simptd_line(const struct simptd *p, const struct simptd_sample *s, bool mark, char *out, size_t n)
{
    char stamp[32];
    simptd_stamp(s->t_ns, stamp);
    int k = snprintf(out, n, "Time,%s,Watts,%.6f,Volts,%.6f,Amps,%.6f,PF,%.6f", stamp, s->ch[0].w, s->ch[0].v,
                     s->ch[0].a, s->ch[0].pf);
    if (mark)
        k += snprintf(out + k, n - (size_t)k, ",Mark,%s", p->mark);
    for (int c = 1; p->multi && c <= p->channels; c++) {
        if (mark)
            k += snprintf(out + k, n - (size_t)k, ",Ch%d", p->first + c - 1);
        k += snprintf(out + k, n - (size_t)k, ",Watts,%.6f,Volts,%.6f,Amps,%.6f,PF,%.6f", s->ch[c].w,
                      s->ch[c].v, s->ch[c].a, s->ch[c].pf);
    }
    return k;
}

static void count_watts(struct simptd *p, double w)
{
    p->watts.total++;
    if (w < 0) {
        p->watts.errors++;
        return;
    }
    p->watts.valid++;
    p->watts.sum += w;
    if (p->watts.valid == 1 || w < p->watts.min)
        p->watts.min = w;
    if (w > p->watts.max)
        p->watts.max = w;
}

static void count_uncertainty(struct simptd *p, double percent)
{
    double u = percent / 100;
    p->unc.total++;
    if (!isfinite(u)) {
        p->unc.unknown++;
        return;
    }
    if (percent > 1)
        p->unc.above++;
    else
        p->unc.ok++;
    p->unc.sum += u;
    if (p->unc.above + p->unc.ok == 1 || u < p->unc.min)
        p->unc.min = u;
    if (u > p->unc.max)
        p->unc.max = u;
}

static void put(struct simptd *p, const struct simptd_sample *s)
{
    char line[2048];
    if (!grow(p))
        return;
    p->s[p->n++] = *s;
    count_watts(p, s->ch[0].w);
    if (p->log) {
        simptd_line(p, s, true, line, sizeof line);
        fprintf(p->log, "%s\n", line);
        fflush(p->log);
    }
}

/* Auto-ranging: a step takes the sample in which it happens. */
static bool ranges(struct simptd *p, double watts)
{
    double v = p->v_range, a = p->a_range, amps = 0;
    for (int e = 0; e < SIMWT_ELEMENTS; e++)
        amps = fmax(amps, simwt_amps(&p->o->load, watts, e));
    if (p->v_auto)
        p->v_range = simwt_auto(p->m->volts, v, p->o->load.volts);
    if (p->a_auto && isfinite(amps))
        p->a_range = simwt_auto(p->m->amps, a, amps);
    return p->v_range != v || p->a_range != a;
}

/* One element into the sample, with what is said about it. Returns its uncertainty in percent. */
static double element(struct simptd *p, const struct simwt_load *l, double watts, int e, bool none, bool inf,
                      struct simptd_sample *s, int c)
{
    struct simwt_value v;
    simwt_read(p->m, l, watts, e, p->v_range, p->a_range, &v);
    if (none)
        v.flags |= SIMWT_NONE;
    if (inf)
        v.flags |= SIMWT_OVER;
    s->ch[c].w = v.w;
    s->ch[c].v = v.v;
    s->ch[c].a = v.a;
    s->ch[c].pf = v.pf;
    if (v.flags & SIMWT_NONE) {
        bool volts = strncmp(p->m->name, "WT210", 5) == 0 && v.v > 0; /* a WT210 keeps its volts */
        simptd_say_bad(p, "watts", "nan");
        simptd_say_bad(p, "amps", "nan");
        simptd_say_bad(p, "pf", "nan");
        s->ch[c].w = s->ch[c].a = s->ch[c].pf = -1;
        if (!volts) {
            simptd_say_bad(p, "volts", "nan");
            s->ch[c].v = -1;
        }
    } else if (v.flags & SIMWT_OVER) {
        simptd_say(p, "ERROR: Current appears to be too high for set range");
        simptd_say_bad(p, "watts", "inf");
        simptd_say_bad(p, "amps", "inf");
        simptd_say_bad(p, "pf", "inf");
        s->ch[c].w = s->ch[c].a = s->ch[c].pf = -1;
    } else if (v.flags & SIMWT_PEAK) {
        simptd_say(p, "ERROR: Current exceeds peak value allowed for range %.2fA and CF 3.", p->a_range);
        s->ch[c].w = -(3 + v.w);
        s->ch[c].a = -(3 + v.a);
    }
    if (l->split[e] == 0)
        return 0;
    double u = p->v_auto || p->a_auto ? NAN : simwt_uncertainty(p->m, &v, p->v_range, p->a_range);
    if (!isfinite(u)) {
        simptd_say(p, "ERROR: Can't evaluate uncertainty of this sample!");
        simptd_say_unknown(p, p->multi ? c : 0);
    } else if (u > 1) {
        simptd_say_above(p, u, p->multi ? c : 0);
    }
    return u;
}

/* The sum of the elements as a sample's first part. */
static void sum(struct simptd *p, struct simptd_sample *s)
{
    double w = 0, v = 0, a = 0, va = 0, q = 0;
    bool over = false, bad = false;
    int live = 0;
    for (int c = 1; c <= p->channels; c++) {
        double cw = s->ch[c].w, ca = s->ch[c].a;
        if (cw == -1) {
            bad = true;
            continue;
        }
        if (cw < -2) {
            over = true;
            cw = -cw - 3;
            ca = -ca - 3;
        }
        live += s->ch[c].v > 0;
        w += cw;
        v += s->ch[c].v;
        a += ca;
        va = s->ch[c].v * ca;
        q += sqrt(fmax(0, va * va - cw * cw));
    }
    bool one_nine = p->o->version <= PTD_1_9_2;
    if (bad) {
        s->ch[0].w = s->ch[0].v = s->ch[0].a = s->ch[0].pf = -1;
        return;
    }
    s->ch[0].w = w;
    s->ch[0].v = one_nine || !live ? -1 : v / live;
    s->ch[0].a = one_nine || !live ? -1 : a / live;
    s->ch[0].pf = one_nine || w <= 0 ? -1 : w / sqrt(w * w + q * q);
    if (over) {
        s->ch[0].w = -(3 + w);
        if (!one_nine)
            s->ch[0].a = -(3 + s->ch[0].a);
    }
}

static void sample(struct simptd *p, int64_t end)
{
    int64_t now = end;
    double seconds = (double)p->interval_ns / 1e9;
    double joules = simwall_energy_j(p->wall, end - p->interval_ns, end), watts = joules / seconds;
    struct simwt_load load = p->o->load;
    struct simptd_span *span = &p->span[p->spans - 1];
    struct simptd_fault *f = simptd_fault(p, F_OVER, now);
    if (p->rampup > 0) {
        p->rampup--;
        return;
    }
    if (f)
        load.crest = f->number;
    watts *= p->o->gain * (1 + (p->o->noise > 0 ? p->o->noise * noise(p) : 0));
    if ((f = simptd_fault(p, F_JUMP, now))) {
        p->offset_ns += (int64_t)(f->number * 1e9);
        f->done = true;
    }
    struct simptd_sample s = {.t_ns = end + p->offset_ns};
    if (p->o->jitter_ns > 0)
        s.t_ns += (int64_t)(noise(p) / 6 * (double)p->o->jitter_ns);
    if (p->n && simptd_fault(p, F_DUP, now))
        s.t_ns = p->s[p->n - 1].t_ns;
    bool none = ranges(p, watts) || simptd_fault(p, F_NAN, now), inf = simptd_fault(p, F_INF, now);
    double u = 0;
    int from = p->multi ? 1 : 0;
    for (int c = from; c < from + p->channels; c++) {
        int e = p->multi ? p->first - 1 + c - 1 : 0;
        double one = element(p, &load, watts, e, none, inf, &s, c);
        u += one * load.split[e];
    }
    if (p->multi) {
        sum(p, &s);
        if (!isfinite(u))
            simptd_say_unknown(p, 0);
        else if (u > 1)
            simptd_say_above(p, u, 0);
    }
    put(p, &s);
    count_uncertainty(p, u);
    if (span->samples++ == 0)
        span->first_ns = end - p->interval_ns;
    span->last_ns = end;
    if (s.ch[0].w >= 0)
        span->said_j += s.ch[0].w * seconds;
    else
        span->errors++;
}

/* After the late one: a row of -2 for each missed sample, with the stamp of the row before it. */
static void missed(struct simptd *p, int n)
{
    struct simptd_sample s = {.t_ns = p->n ? p->s[p->n - 1].t_ns : p->go_ns};
    for (int c = 0; c <= p->channels && c < SIMPTD_CHAN; c++)
        s.ch[c].w = s.ch[c].v = s.ch[c].a = s.ch[c].pf = -2;
    simptd_say(p, "WARNING: Missed %d samples", n);
    for (int i = 0; i < n && p->n < SIMPTD_SAMPLES; i++) {
        put(p, &s);
        count_uncertainty(p, NAN);
    }
}

void simptd_tick(struct simptd *p)
{
    int64_t now = simclock_now(&p->clock), late = simwall_is_state(p->wall) ? STATE_NS : 0;
    while (p->running && now >= p->next_ns + late && !(p->stopping && p->next_ns > p->end_ns)) {
        struct simptd_fault *f = simptd_fault(p, F_LOSE, p->next_ns);
        int n = 0;
        if (f) {
            n = (int)fmin(f->number, 1e6);
            f->done = true;
            p->next_ns += n * p->interval_ns;
            if (now < p->next_ns + late) { /* the next reading is yet to come: say it then */
                f->done = false;
                p->next_ns -= n * p->interval_ns;
                return;
            }
        }
        if (p->n < SIMPTD_SAMPLES)
            sample(p, p->next_ns);
        if (n)
            missed(p, n);
        p->next_ns += p->interval_ns;
    }
}

void simptd_stop(struct simptd *p)
{
    p->stopping = true;
    p->end_ns = simclock_now(&p->clock) + STOP_NS;
}

void simptd_complete(struct simptd *p)
{
    p->running = p->stopping = false;
    p->span[p->spans - 1].stop_ns = p->end_ns - STOP_NS;
    simptd_say(p, "Completed test");
    simptd_say(p, "Avg watts %.6f, min watts %.6f, max watts %.6f, samples %lld, errors %lld, valid %lld",
               p->watts.valid ? p->watts.sum / (double)p->watts.valid : -1, p->watts.min, p->watts.max,
               (long long)p->watts.total, (long long)p->watts.errors, (long long)p->watts.valid);
}

int64_t simptd_next(const struct simptd *p)
{
    int64_t late = simwall_is_state(p->wall) ? STATE_NS : 0, t = INT64_MAX;
    if (p->running)
        t = p->next_ns + late;
    if (p->stopping && p->end_ns + late < t)
        t = p->end_ns + late;
    return t;
}

static void json_text(FILE *f, const char *text)
{
    putc('"', f);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', f);
        putc(*text, f);
    }
    putc('"', f);
}

int simptd_write_truth(const struct simptd *p, char *why, size_t n)
{
    FILE *f = p->o->truth ? fopen(p->o->truth, "we") : NULL;
    if (!p->o->truth)
        return 0;
    if (!f) {
        snprintf(why, n, "cannot write the truth to %.300s.", p->o->truth);
        return -1;
    }
    fprintf(f, "{\n \"schema\": \"joulemark-sim.wall-truth/1\",\n \"simulated\": true,\n \"waveform\": ");
    json_text(f, simwall_spec(p->wall));
    fprintf(f,
            ",\n \"seed\": %llu,\n \"start_unix_ns\": %lld,\n \"end_unix_ns\": %lld,\n \"measurements\": [",
            (unsigned long long)p->o->seed, (long long)simwall_start(p->wall),
            (long long)simclock_now(&p->clock));
    for (size_t i = 0; i < p->spans; i++) {
        const struct simptd_span *s = &p->span[i];
        fprintf(f, "%s\n  {\"mark\": ", i ? "," : "");
        json_text(f, s->mark);
        fprintf(f,
                ", \"go_unix_ns\": %lld, \"stop_unix_ns\": %lld, \"first_unix_ns\": %lld, "
                "\"last_unix_ns\": %lld,\n   \"samples\": %lld, \"errors\": %lld, ",
                (long long)s->go_ns, (long long)s->stop_ns, (long long)s->first_ns, (long long)s->last_ns,
                (long long)s->samples, (long long)s->errors);
        double j = simwall_energy_j(p->wall, s->first_ns, s->last_ns);
        fprintf(f, isfinite(j) ? "\"true_joules\": %.9f, " : "\"true_joules\": null, ", j);
        fprintf(f, "\"said_joules\": %.9f}", s->said_j);
    }
    fprintf(f, "\n ]\n}\n");
    if (fclose(f) != 0) {
        snprintf(why, n, "cannot write the truth to %.300s.", p->o->truth);
        return -1;
    }
    return 0;
}
