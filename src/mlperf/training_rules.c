/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of power in MLPerf Training over one result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "mlperf/training.h"

#include "base/banned.h"

#define RATE_MEAN_S 1.5 /* slower on average: readings were asked for less than once a second */
#define APART_S     5.0
#define SAMPLES     60
#define DIFFERS     0.01
#define SHOWN       4 /* places named in an evidence */

struct work {
    const struct jm_training_result *t;
    struct jm_mlperf_checked *c;
    struct jm_err *err;
    int rc;
    struct jm_str evidence;
    size_t n; /* places in it */
};

static void begin(struct work *k)
{
    jm_str_reset(&k->evidence);
    k->n = 0;
}

static void place(struct work *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void place(struct work *k, const char *fmt, ...)
{
    va_list ap;
    if (k->n++ >= SHOWN)
        return;
    if (k->n > 1)
        jm_str_adds(&k->evidence, "; ");
    va_start(ap, fmt);
    jm_str_addv(&k->evidence, fmt, ap);
    va_end(ap);
}

static const char *evidence(struct work *k)
{
    if (k->n > SHOWN)
        jm_str_addf(&k->evidence, "; and %zu more", k->n - SHOWN);
    return k->evidence.len ? k->evidence.buf : NULL;
}

#define SAY(k, id, v, ...)                                                                                   \
    do {                                                                                                     \
        if (!(k)->rc)                                                                                        \
            (k)->rc = jm_mlperf_outcome_add((k)->c, id, v, evidence(k), (k)->err, __VA_ARGS__);              \
    } while (0)

/* Parts of runs with power whose log of the run is known. */
#define EACH_PART(t, r, p)                                                                                   \
    for (const struct jm_training_run *r = (t)->run; (t)->n_run && r < (t)->run + (t)->n_run; r++)           \
        for (const struct jm_training_part *p = r->part; r->n_part && p < r->part + r->n_part; p++)

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void runs(struct work *k)
{
    begin(k);
    for (size_t i = 0; i < k->t->n_run; i++)
        if (!k->t->run[i].has_power)
            place(k, "%s", k->t->run[i].name);
    if (k->n)
        SAY(k, "training.runs", JM_MLPERF_FAIL, "%zu of %zu runs have no power.", k->n, k->t->n_run);
    else
        SAY(k, "training.runs", JM_MLPERF_PASS, "Each of %zu run%s has power.", k->t->n_run,
            plural(k->t->n_run));
}

static void names(struct work *k)
{
    const struct jm_training_run *first = NULL;
    begin(k);
    for (size_t i = 0; i < k->t->n_run; i++) {
        const struct jm_training_run *r = &k->t->run[i];
        int node = 0, sw = 0;
        if (!r->has_power || !r->n_part)
            continue;
        if (r->file_name)
            place(k, "power/%s.txt/ is called like a file, where the public code does not look", r->name);
        if (r->others)
            place(k, "power/%s/ has %zu file%s that %s neither node nor switch", r->name, r->others,
                  plural(r->others), r->others == 1 ? "is" : "are");
        for (size_t j = 0; j < r->n_part; j++) {
            int *want = r->part[j].is_switch ? &sw : &node;
            if (r->part[j].index != (*want)++)
                place(k, "power/%s/%s.txt stands where %s_%d.txt is expected", r->name, r->part[j].name,
                      r->part[j].is_switch ? "sw" : "node", *want - 1);
        }
        if (first && (first->nodes != r->nodes || first->switches != r->switches))
            place(k, "%s has %d nodes and %d switches, %s %d and %d", r->name, r->nodes, r->switches,
                  first->name, first->nodes, first->switches);
        if (!first)
            first = r;
    }
    if (k->n)
        SAY(k, "training.names", JM_MLPERF_FAIL,
            "%zu place%s of the power logs %s not as the layout has them.", k->n, plural(k->n),
            k->n == 1 ? "is" : "are");
    else if (first)
        SAY(k, "training.names", JM_MLPERF_PASS, "Each run has node_0 to node_%d%s.", first->nodes - 1,
            first->switches ? " and its switches" : "");
}

static void nodes(struct work *k)
{
    const struct jm_training_result *t = k->t;
    size_t empty = 0;
    int most = 0;
    begin(k);
    EACH_PART(t, r, p)
    if (!p->is_switch && !p->readings) {
        empty++;
        place(k, "%s %s: %s", r->name, p->name, p->why[0] ? p->why : "no reading");
    }
    for (size_t i = 0; i < t->n_run; i++) {
        const struct jm_training_run *r = &t->run[i];
        if (!r->n_part)
            continue;
        if (r->nodes > most)
            most = r->nodes;
        if (t->nodes_declared > r->nodes)
            place(k, "%s has %d of %.0f", r->name, r->nodes, t->nodes_declared);
    }
    if (k->n)
        SAY(k, "training.nodes", JM_MLPERF_FAIL, "Not every node was measured%s.",
            empty ? ": logs without readings" : "");
    else if (isnan(t->nodes_declared) && most)
        SAY(k, "training.nodes", JM_MLPERF_NOTE,
            "%d node%s %s measured in each run; how many the system has is not said here.", most,
            plural((size_t)most), most == 1 ? "was" : "were");
    else if (most)
        SAY(k, "training.nodes", JM_MLPERF_PASS, "All %d node%s were measured (%s).", most,
            plural((size_t)most), t->nodes_source);
}

static void interconnect(struct work *k)
{
    const struct jm_training_result *t = k->t;
    int most = 0, have = 0, measured = 0, estimated = 0;
    double left = 0, all = 0;
    begin(k);
    for (size_t i = 0; i < t->n_run; i++) {
        const struct jm_training_run *r = &t->run[i];
        if (r->nodes > most)
            most = r->nodes;
        have += r->switches;
        if (r->nodes > 1 && !r->switches)
            place(k, "%s has no sw_<k>.txt", r->name);
    }
    EACH_PART(t, r, p)
    {
        if (!p->is_switch)
            continue;
        measured += p->readings > 0;
        estimated += p->has_estimate;
        if (!p->readings && !p->has_estimate)
            place(k, "%s %s holds neither readings nor an estimate", r->name, p->name);
    }
    if (k->n)
        SAY(k, "training.interconnect", JM_MLPERF_FAIL, "The interconnect of %d nodes is not accounted for.",
            most);
    else if (most <= 1 && !have)
        SAY(k, "training.interconnect", JM_MLPERF_ABSENT, "One node trained alone.");
    else
        SAY(k, "training.interconnect", JM_MLPERF_PASS, "%d switch log%s: %d measured, %d estimated.", have,
            plural((size_t)have), measured, estimated);
    begin(k);
    for (size_t i = 0; i < t->n_run; i++)
        if (!isnan(t->run[i].proper_j)) {
            double sw = 0;
            for (size_t j = 0; j < t->run[i].n_part; j++)
                if (t->run[i].part[j].is_switch && t->run[i].part[j].readings &&
                    !t->run[i].part[j].has_estimate)
                    sw += t->run[i].part[j].proper_j;
            if (sw > 0)
                place(k, "%s: %.6g J", t->run[i].name, sw);
            left += sw;
            all += t->run[i].proper_j;
        }
    if (left > 0)
        SAY(k, "training.switches", JM_MLPERF_WARN,
            "Switches were measured, but the public code counts estimates only: %.2f %% of the energy is "
            "left out.",
            100 * left / all);
}

static void efficiency(struct work *k)
{
    double one = NAN;
    size_t parts = 0, mixed = 0;
    begin(k);
    EACH_PART(k->t, r, p)
    {
        if (!p->readings)
            continue;
        parts++;
        if (!(p->efficiency > 0 && p->efficiency <= 1))
            place(k, "%s %s: %.6g", r->name, p->name, p->efficiency);
        else if (strcasecmp(p->type, "AC") == 0 && p->efficiency == 1)
            place(k, "%s %s: AC, and no loss", r->name, p->name);
        mixed += !isnan(one) && p->efficiency != one;
        one = p->efficiency;
    }
    if (k->n)
        SAY(k, "training.efficiency", JM_MLPERF_FAIL, "conversion_eff is no share below 1 in %zu log%s.",
            k->n, plural(k->n));
    else if (parts && one == 1)
        SAY(k, "training.efficiency", JM_MLPERF_NOTE,
            "The logs name no conversion efficiency: they are taken as DC at the supplies' output.");
    else if (parts)
        SAY(k, "training.efficiency", JM_MLPERF_PASS,
            "conversion_eff is %.4g%s; its document is not part of the logs.", one,
            mixed ? " and others" : "");
}

static void rate(struct work *k)
{
    const struct jm_training_part *slowest = NULL, *longest = NULL;
    const char *slowest_run = "", *longest_run = "";
    size_t slow = 0, parts = 0;
    int64_t late = 0, repeats = 0;
    EACH_PART(k->t, r, p)
    {
        if (!p->readings || p->in_run < 2)
            continue;
        parts++;
        repeats += p->repeats;
        late += p->late;
        slow += p->mean_gap_s > RATE_MEAN_S;
        if (!slowest || p->mean_gap_s > slowest->mean_gap_s) {
            slowest = p;
            slowest_run = r->name;
        }
        if (!longest || p->max_gap_s > longest->max_gap_s) {
            longest = p;
            longest_run = r->name;
        }
    }
    begin(k);
    if (slowest)
        place(k, "%s %s: one in %.2f s, %lld of %lld gaps above 1.5 s", slowest_run, slowest->name,
              slowest->mean_gap_s, (long long)slowest->late, (long long)(slowest->in_run - 1));
    if (longest)
        place(k, "%s %s: the longest gap, %.1f s", longest_run, longest->name, longest->max_gap_s);
    if (slow)
        SAY(k, "training.rate", JM_MLPERF_FAIL, "%zu of %zu logs have one reading in %.1f s or less often.",
            slow, parts, RATE_MEAN_S);
    else if (late)
        SAY(k, "training.rate", JM_MLPERF_WARN,
            "The readings do not come evenly once a second: %lld gaps are above 1.5 s, the longest is %.1f "
            "s.",
            (long long)late, longest->max_gap_s);
    else if (parts)
        SAY(k, "training.rate", JM_MLPERF_PASS, "A reading a second in each of %zu logs.", parts);
    begin(k);
    if (repeats)
        SAY(k, "training.repeats", JM_MLPERF_NOTE, "%lld readings have the stamp of the one before.",
            (long long)repeats);
}

static void samples(struct work *k)
{
    size_t parts = 0;
    int64_t least = INT64_MAX;
    begin(k);
    EACH_PART(k->t, r, p)
    {
        if (p->is_switch && p->has_estimate)
            continue;
        parts++;
        if (p->in_run < least)
            least = p->in_run;
        if (p->in_run < SAMPLES)
            place(k, "%s %s: %lld", r->name, p->name, (long long)p->in_run);
    }
    if (k->n)
        SAY(k, "training.samples", JM_MLPERF_FAIL, "%zu log%s %s fewer than %d readings in the run.", k->n,
            plural(k->n), k->n == 1 ? "has" : "have", SAMPLES);
    else if (parts)
        SAY(k, "training.samples", JM_MLPERF_PASS, "At least %lld readings in each log.", (long long)least);
}

static void covers(struct work *k)
{
    size_t parts = 0, open = 0;
    double most = 0;
    begin(k);
    EACH_PART(k->t, r, p)
    {
        if (!p->readings)
            continue;
        parts++;
        most = fmax(most, p->extended_s);
        if (isnan(p->input_j)) {
            open++;
            place(k, "%s %s: %.1f s of %.1f s", r->name, p->name, p->covered_s, r->seconds);
        } else if (p->extended_s > 0) {
            place(k, "%s %s: %.3f s", r->name, p->name, p->extended_s);
        }
    }
    if (open)
        SAY(k, "training.covers", JM_MLPERF_FAIL, "%zu of %zu logs do not cover the timed part of the run.",
            open, parts);
    else if (k->n)
        SAY(k, "training.covers", JM_MLPERF_WARN,
            "%zu log%s end%s up to %.3f s inside the timed part; their nearest reading stands for that time.",
            k->n, plural(k->n), k->n == 1 ? "s" : "", most);
    else if (parts)
        SAY(k, "training.covers", JM_MLPERF_PASS, "All %zu logs cover the timed part of their run.", parts);
}

static void stop(struct work *k)
{
    size_t parts = 0;
    begin(k);
    EACH_PART(k->t, r, p)
    {
        if (p->is_switch && !p->readings)
            continue;
        parts++;
        if (!p->has_start || !p->has_stop)
            place(k, "%s %s: no power_measurement_%s", r->name, p->name, p->has_start ? "stop" : "start");
        else if (!(p->measured_s > 0))
            place(k, "%s %s: the stop is %.3f s after the start", r->name, p->name, p->measured_s);
    }
    if (k->n)
        SAY(k, "training.stop", JM_MLPERF_FAIL,
            "%zu log%s %s not say when the measurement began and ended, so the public code gives no energy, "
            "or a wrong "
            "one.",
            k->n, plural(k->n), k->n == 1 ? "does" : "do");
    else if (parts)
        SAY(k, "training.stop", JM_MLPERF_PASS, "All %zu logs have their start and a later stop.", parts);
}

static void clocks(struct work *k)
{
    size_t parts = 0;
    begin(k);
    EACH_PART(k->t, r, p)
    {
        parts += p->readings > 0;
        if (p->offset_s != 0)
            place(k, "%s %s: %+.0f s%s", r->name, p->name, p->offset_s,
                  p->offset_is_zone ? ", a whole number of quarter hours: a time zone" : "");
        else if (fabs(p->starts_apart_s) > APART_S)
            place(k, "%s %s begins %+.1f s from the others", r->name, p->name, p->starts_apart_s);
    }
    if (k->n)
        SAY(k, "training.clock", JM_MLPERF_WARN,
            "%zu log%s %s another clock than the run; the rules' energy is taken with their stamps moved.",
            k->n, plural(k->n), k->n == 1 ? "has" : "have");
    else if (parts)
        SAY(k, "training.clock", JM_MLPERF_PASS, "All %zu logs lie on the run's clock.", parts);
}

static void readings(struct work *k)
{
    int64_t bad = 0, broken = 0;
    begin(k);
    for (size_t i = 0; i < k->t->n_run; i++)
        broken += k->t->run[i].broken;
    EACH_PART(k->t, r, p)
    if (p->bad) {
        bad += p->bad;
        place(k, "%s %s: %lld", r->name, p->name, (long long)p->bad);
    }
    if (bad || broken)
        SAY(k, "training.readings", JM_MLPERF_WARN,
            "%lld readings have no number or time or are below 0, %lld lines begin as log lines and are "
            "none.",
            (long long)bad, (long long)broken);
    else
        SAY(k, "training.readings", JM_MLPERF_PASS, "Every log line can be used.");
}

static void energy(struct work *k)
{
    double most = 0;
    size_t n = 0;
    begin(k);
    for (size_t i = 0; i < k->t->n_run; i++) {
        const struct jm_training_run *r = &k->t->run[i];
        double d = r->published_j / r->proper_j - 1;
        if (isnan(d)) {
            if (r->has_power && r->why[0])
                place(k, "%s: %s", r->name, r->why);
            continue;
        }
        n++;
        if (fabs(d) > fabs(most))
            most = d;
        place(k, "%s: %.7g J published, %.7g J by the rules (%+.2f %%)", r->name, r->published_j, r->proper_j,
              100 * d);
    }
    if (!n)
        SAY(k, "training.energy", JM_MLPERF_NOTE, "No run has both energies.");
    else if (fabs(most) < 5e-5)
        SAY(k, "training.energy", JM_MLPERF_PASS,
            "The public code's energy is what the rules' text gives, over %zu run%s.", n, plural(n));
    else
        SAY(k, "training.energy", fabs(most) > DIFFERS ? JM_MLPERF_WARN : JM_MLPERF_PASS,
            "The public code's energy is up to %.2f %% %s what the rules' text gives, over %zu run%s.",
            100 * fabs(most), most < 0 ? "below" : "above", n, plural(n));
}

static void mean(struct work *k)
{
    const struct jm_training_result *t = k->t;
    begin(k);
    if (t->why[0])
        SAY(k, "training.olympic", JM_MLPERF_FAIL, "There is no mean over the runs. %s", t->why);
    else if (isnan(t->published_j))
        SAY(k, "training.olympic", JM_MLPERF_FAIL,
            "The public code gives no mean over the runs, as a run has no energy; by the rules it is %.7g J.",
            t->proper_j);
    else
        SAY(k, "training.olympic", JM_MLPERF_PASS,
            "%.7g J as published, %.7g J by the rules, over %zu of %zu runs (%.3f minutes).", t->published_j,
            t->proper_j, t->n_run - 2 * (size_t)t->left_out, t->n_run, t->minutes);
}

int jm_training_check(const struct jm_training_result *t, struct jm_mlperf_checked *c, struct jm_err *err)
{
    struct work k = {.t = t, .c = c, .err = err};
    jm_str_init(&k.evidence);
    runs(&k);
    names(&k);
    nodes(&k);
    interconnect(&k);
    efficiency(&k);
    rate(&k);
    samples(&k);
    covers(&k);
    stop(&k);
    clocks(&k);
    readings(&k);
    begin(&k);
    SAY(&k, "training.accuracy", JM_MLPERF_NOTE,
        "Whether the meter is accurate to 5 %% cannot be decided from the logs; it has to be declared.");
    energy(&k);
    mean(&k);
    jm_str_release(&k.evidence);
    return k.rc;
}
