/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of a claim: what a run is evidence for, and what each level still lacks. The levels are those of the
 * public LLM energy claim protocol (trace, GPU telemetry, calibrated, whole server, facility). */
#include "audit/levels.h"

#include <math.h>
#include <string.h>

#include "audit/checks.h"
#include "audit/threshold.h"

#include "base/banned.h"

#define PROTOCOL "llm-energy-claim-protocol, required gates 1.2.0"
/* The protocol's screen for a continuous measurement. */
#define CONTINUOUS_S 25.0

const char *jm_gate_name(int v)
{
    static const char *const name[] = {"met", "not met", "not known", "not applicable"};
    return v >= 0 && v <= JM_GATE_NA ? name[v] : NULL;
}

static bool measure(const struct jm_report *r, const struct jm_result *x)
{
    return x->window >= 0 && r->windows[x->window].role == JM_R_MEASURE;
}

/* The energy at a boundary in the first measure window; measured before carried. */
static const struct jm_result *at(const struct jm_report *r, enum jm_boundary b, bool carried)
{
    for (size_t i = 0; i < r->n_results; i++) {
        const struct jm_result *x = &r->results[i];
        bool moved = x->instrument && strstr(x->instrument, " as a calibrated estimate") != NULL;
        if (x->q.have && !x->slice && x->q.boundary == b && strcmp(x->metric, "energy") == 0 &&
            measure(r, x) && moved == carried && x->q.validity != JM_V_INVALID &&
            x->q.provenance != JM_P_ESTIMATED)
            return x;
    }
    return NULL;
}

static bool counts(const struct jm_result *x, int domain)
{
    for (size_t i = 0; i < x->n_domain; i++)
        if (x->domain[i] == domain)
            return true;
    return false;
}

/* Distance of two readings inside the window as a moment drawn from it sees it, so that a burst at an edge
 * does not make up for what is sparse between; NAN: none. *inside: how many there are. */
static double apart(const struct jm_seen *s, int channel, double *inside)
{
    struct jm_readings v = {0};
    struct jm_err none = {0};
    int64_t last = 0, from = s->window->t0, to = s->window->t1;
    double sum = 0, square = 0;
    bool any = false;
    *inside = 0;
    int rc = jm_run_readings(s->run, channel, from, to, &v, &none);
    for (size_t i = 0; !rc && i < v.n; i++) {
        int64_t t = v.v[i].t1;
        if (v.v[i].status != JM_S_OK)
            continue;
        *inside += t >= from && t <= to;
        int64_t a = last > from ? last : from, b = t < to ? t : to;
        if (any && b > a) {
            sum += jm_seconds_apart(b, a);
            square += jm_seconds_apart(b, a) * jm_seconds_apart(t, last);
        }
        any = true;
        last = t;
    }
    jm_readings_release(&v);
    return sum > 0 ? square / sum : NAN;
}

static void instrument(struct jm_seen *s, const struct jm_energy_row *e)
{
    const struct jm_channel *c = &s->r->channels[e->channel];
    const struct jm_report *r = s->r;
    int64_t first, last, n;
    s->rows++;
    s->counters += c->kind == JM_CH_COUNTER;
    s->gap_s = e->gap_s > s->gap_s ? e->gap_s : s->gap_s;
    if (s->seconds > 0 && e->covered_s / s->seconds < s->covered)
        s->covered = e->covered_s / s->seconds;
    if (!isnan(s->accuracy) && !(c->gain_tol <= s->accuracy)) /* one that is not stated stays so */
        s->accuracy = c->gain_tol;
    if (!jm_run_channel_span(s->run, e->channel, &first, &last, &n) || n < 2)
        return;
    double inside, spacing = apart(s, e->channel, &inside);
    if (!(spacing <= s->spacing_s))
        s->spacing_s = spacing;
    if (!(inside >= s->fewest))
        s->fewest = inside;
    for (size_t i = 0; i < r->n_windows; i++)
        s->full_run &= first <= r->windows[i].t0 && last >= r->windows[i].t1;
}

void jm_seen_make(const struct jm_run *run, struct jm_report *r, struct jm_seen *s)
{
    *s = (struct jm_seen){.run = run,
                          .r = r,
                          .gpu = at(r, JM_B_GPU, false),
                          .device = at(r, JM_B_DEVICE, false),
                          .node = at(r, JM_B_NODE, false),
                          .wall = at(r, JM_B_WALL, false),
                          .facility = at(r, JM_B_FACILITY, false),
                          .spacing_s = -1,
                          .fewest = INFINITY,
                          .covered = 1,
                          .accuracy = 0,
                          .full_run = true};
    s->carried = at(r, JM_B_WALL, true);
    if (!s->carried)
        s->carried = at(r, JM_B_NODE, true);
    s->best = s->wall ? s->wall : s->node ? s->node : s->device ? s->device : s->gpu;
    for (size_t i = 0; i < r->n_windows; i++) {
        s->idle |= r->windows[i].role == JM_R_IDLE;
        if (!s->window && r->windows[i].role == JM_R_MEASURE)
            s->window = &r->windows[i];
    }
    if (s->best)
        s->window = &r->windows[s->best->window];
    s->seconds = s->window ? jm_seconds_apart(s->window->t1, s->window->t0) : NAN;
    for (size_t i = 0; s->best && i < r->n_energy; i++)
        if (r->energy[i].window == s->best->window && r->energy[i].counted &&
            counts(s->best, r->energy[i].domain))
            instrument(s, &r->energy[i]);
    if (!s->rows) {
        s->accuracy = s->fewest = NAN;
        s->full_run = false;
    }
    if (s->spacing_s < 0)
        s->spacing_s = NAN;
    for (int d = jm_domain_next(r->tree, JM_D_NODE, -1); d >= 0; d = jm_domain_next(r->tree, JM_D_NODE, d))
        s->hosts++;
}

bool jm_seen_finding(const struct jm_seen *s, const char *id)
{
    for (size_t i = 0; i < s->r->n_findings; i++) {
        const struct jm_finding *f = &s->r->findings[i];
        size_t n = strlen(id);
        if (f->severity != JM_SEV_INFO && strncmp(f->id, id, n) == 0 && (f->id[n] == '\0' || f->id[n] == '.'))
            return true;
    }
    return false;
}

static void gate(struct jm_claim_level *l, const char *id, const char *rule, int met, const char *evidence,
                 const char *mend)
{
    if (l->n_gate < JM_LEVEL_GATES)
        l->gate[l->n_gate++] = (struct jm_gate){id,
                                                rule,
                                                met > 0   ? JM_GATE_MET
                                                : met < 0 ? JM_GATE_UNKNOWN
                                                          : JM_GATE_NOT,
                                                evidence ? evidence : "not known",
                                                met > 0 ? NULL : mend,
                                                PROTOCOL};
}

static void trace(struct jm_seen *s, struct jm_claim_level *l)
{
    struct jm_report *r = s->r;
    gate(l, "sealed", "the raw record is complete and sealed", r->sealed && !r->cut,
         r->cut      ? "the recording was cut"
         : r->sealed ? "sealed"
                     : "still being recorded",
         r->cut ? "record again; a cut run lacks up to 10 s" : "end the recording, or joulemark recover");
    gate(l, "window", "there is a measured window", s->window != NULL,
         s->window ? jm_report_text(r, "%.4g s", s->seconds) : "none", "joulemark bench, or run -- COMMAND");
    gate(l, "work", "the work of the window is counted",
         r->has_requests || jm_run_env(s->run, "import.kind") != NULL,
         r->has_requests ? jm_report_text(r, "%lld requests ok", (long long)r->requests.ok) : "no requests",
         "joulemark bench, or import the load generator's file");
}

static void telemetry(struct jm_seen *s, struct jm_claim_level *l)
{
    struct jm_report *r = s->r;
    const struct jm_result *x = s->best;
    gate(l, "energy", "an instrument measured energy in the window", x != NULL,
         x ? x->set : "no valid energy in a measured window",
         "joulemark meters says what can be read, and how to mend it");
    gate(l, "duration", "measured for 25 s or longer without a break", s->seconds >= CONTINUOUS_S,
         s->window ? jm_report_text(r, "%.4g s", s->seconds) : "no window", "bench --duration 60s");
    gate(l, "gaps", "no gap in the telemetry", !x ? -1 : !(s->gap_s > 0),
         x ? jm_report_text(r, "%.3g s without data", s->gap_s) : NULL,
         "record again; record --sample-rate, or another meter");
    gate(l, "edges", "readings on both sides of the window's edges", !x ? -1 : s->covered >= 0.9,
         x ? jm_report_text(r, "%.4g %% covered by the instrument's own refreshes", 100 * s->covered) : NULL,
         "a longer window; record begins before and ends behind it");
    gate(l, "agreement", "a second look at the same energy agrees (counter and gauge)",
         !x ? -1 : !jm_seen_finding(s, "energy.conflict"),
         x ? jm_seen_finding(s, "energy.conflict") ? "they disagree" : "no conflict was found" : NULL,
         "joulemark audit says which; trust neither before it is known why");
}

static void calibrated(struct jm_seen *s, struct jm_claim_level *l)
{
    struct jm_report *r = s->r;
    const char *said = jm_fact_of(s->run, r, "calibration"), *text = NULL;
    bool known = s->best && s->rows && !isnan(s->accuracy) && s->accuracy > 0;
    if (s->carried)
        text = s->carried->set;
    else if (r->n_passports)
        text = jm_report_text(r, "%zu passports of instruments", r->n_passports);
    else if (known && (s->wall || s->node))
        text = jm_report_text(r, "the outer meter states %.3g %%", 100 * s->accuracy);
    /* what is only declared is no evidence */
    gate(l, "calibration", "checked against an external meter", !text && said ? -1 : text != NULL,
         text   ? text
         : said ? jm_report_text(r, "declared, and not in the run: %s", said)
                : "gain of the boards not known (published cards: 0.87 to 1.15)",
         "joulemark calibrate beside a wall meter, then --calibration FILE; or a passport (joulemark "
         "characterize)");
    bool stepped = jm_seen_finding(s, "clock.step") || jm_seen_finding(s, "merge.clock");
    gate(l, "clocks", "meter and load share one clock",
         !s->window ? -1 : !stepped && !jm_seen_finding(s, "sut.conflict"),
         stepped ? "a clock stepped" : "one monotonic clock, paired with UTC",
         "hold the clocks by NTP or PTP, and record again");
    bool whole = s->best && s->best->of > 0 && s->best->have_of == s->best->of;
    gate(l, "complete", "every device that it should hold is in it",
         !s->best ? -1 : whole || s->best->of == 0,
         s->best ? jm_report_text(r, "%d of %d", s->best->have_of, s->best->of) : NULL,
         "joulemark meters says why one is missing");
}

static void server(struct jm_seen *s, struct jm_claim_level *l)
{
    struct jm_report *r = s->r;
    gate(l, "wall", "the whole server is metered at its inlet", s->wall != NULL,
         s->wall      ? s->wall->instrument
         : s->carried ? "carried by a calibration, not measured in this run"
         : s->node    ? "the node behind its supplies (BMC), without their losses"
                      : "GPU boards and what software reads alone",
         "a metered PDU outlet, an analyzer or the supplies' input by Redfish (docs/pdus-meters-bmcs.md)");
    bool slo = r->requests.qualified >= 0;
    gate(l, "slo", "the latency contract is stated, and how much met it", slo && r->requests.ok > 0,
         slo ? jm_report_text(r, "%lld of %lld requests inside it", (long long)r->requests.qualified,
                              (long long)r->requests.ok)
             : "no contract",
         "--slo-ttft and --slo-tpot");
    gate(l, "trials", "repeated, so that the scatter is known", r->trials >= JM_TH_CLAIM_TRIALS,
         jm_report_text(r, "%d trial%s", r->trials, r->trials == 1 ? "" : "s"), "bench --trials 3");
}

static void facility(struct jm_seen *s, struct jm_claim_level *l)
{
    const struct jm_pue *p = &s->r->pue;
    bool site = s->facility && !(p->value > 0);
    gate(l, "boundary", "there is a facility figure", s->facility != NULL,
         s->facility ? s->facility->set : "none",
         "--pue VALUE,period=2025 over an energy at the wall, or a meter of the site");
    gate(l, "provenance", "PUE with its period and category, or a site meter",
         site || (p->value > 0 && p->period[0] && p->category[0]),
         site           ? "a meter of the site"
         : p->value > 0 ? jm_report_text(s->r, "PUE %.4g, period %s, category %s", p->value,
                                         p->period[0] ? p->period : "not given",
                                         p->category[0] ? p->category : "not given")
                        : "no PUE",
         "--pue VALUE,period=2025,category=2,source=TEXT (ISO/IEC 30134-2)");
}

int jm_levels(const struct jm_run *run, struct jm_report *r, const struct jm_levels **out, struct jm_err *err)
{
    static const struct {
        const char *id, *title;
        void (*fn)(struct jm_seen *, struct jm_claim_level *);
    } level[JM_LEVELS] = {{"trace", "Trace", trace},
                          {"gpu-telemetry", "GPU telemetry", telemetry},
                          {"calibrated", "Calibrated", calibrated},
                          {"whole-server", "Whole server", server},
                          {"facility", "Facility", facility}};
    struct jm_levels *l = jm_report_alloc(r, sizeof *l);
    struct jm_seen s;
    if (!l)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the levels of the claim");
    jm_seen_make(run, r, &s);
    l->claim_reached = -1;
    bool below = true;
    for (int i = 0; i < JM_LEVELS; i++) {
        struct jm_claim_level *c = &l->claim[i];
        c->id = level[i].id;
        c->title = level[i].title;
        level[i].fn(&s, c);
        for (size_t k = 0; k < c->n_gate; k++)
            below &= c->gate[k].state == JM_GATE_MET;
        c->reached = below;
        if (below)
            l->claim_reached = i;
    }
    jm_levels_eehpc(&s, l);
    jm_levels_mlperf(&s, l);
    *out = l;
    return 0;
}
