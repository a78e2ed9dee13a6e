/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of energy in MLPerf Tiny over one run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "mlperf/tiny.h"

#include "base/banned.h"

#define WINDOWS    5
#define SECONDS    10.0
#define INFERENCES 10
#define LOST       0.1 /* % */

struct work {
    const struct jm_tiny_result *t;
    struct jm_mlperf_checked *c;
    struct jm_err *err;
    int rc;
};

#define SAY(k, id, v, evidence, ...)                                                                         \
    do {                                                                                                     \
        if (!(k)->rc)                                                                                        \
            (k)->rc = jm_mlperf_outcome_add((k)->c, id, v, evidence, (k)->err, __VA_ARGS__);                 \
    } while (0)

static void windows(struct work *k)
{
    const struct jm_tiny_result *t = k->t;
    const struct jm_tiny_window *shortest = NULL, *fewest = NULL;
    char at[160];
    bool streaming = strncasecmp(t->model, "sww", 3) == 0; /* one long recording is played to the device */
    size_t asked = streaming ? 1 : WINDOWS;
    if (t->n_window != asked || (t->n_commands && t->n_commands != t->n_window))
        SAY(k, "tiny.windows", JM_MLPERF_FAIL, NULL,
            t->trials && !t->has_samples
                ? "results.txt has %zu window%s, the log has %zu inference commands; %zu asked for."
                : "The edges bound %zu window%s, the log has %zu inference commands; %zu asked for.",
            t->n_window, t->n_window == 1 ? "" : "s", t->n_commands, asked);
    else
        SAY(k, "tiny.windows", JM_MLPERF_PASS, NULL, "%zu window%s for %zu input%s.", asked,
            asked == 1 ? "" : "s", asked, asked == 1 ? "" : "s");
    for (size_t i = 0; i < t->n_window; i++) {
        const struct jm_tiny_window *w = &t->window[i];
        if (!shortest || w->end_s - w->start_s < shortest->end_s - shortest->start_s)
            shortest = w;
        if (!isnan(w->inferences) && (!fewest || w->inferences < fewest->inferences))
            fewest = w;
    }
    if (shortest && !isnan(shortest->end_s)) {
        double s = shortest->end_s - shortest->start_s;
        snprintf(at, sizeof at, "%s window %d", shortest->trace, shortest->number);
        SAY(k, "tiny.duration", s >= SECONDS ? JM_MLPERF_PASS : JM_MLPERF_FAIL, at,
            "The shortest window lasts %.3f s.", s);
    }
    if (fewest && streaming) {
        SAY(k, "tiny.inferences", JM_MLPERF_NOTE, NULL,
            "The inferences of a streaming run are not counted: %.0f.", fewest->inferences);
    } else if (fewest) {
        snprintf(at, sizeof at, "%s window %d", fewest->trace, fewest->number);
        SAY(k, "tiny.inferences", fewest->inferences >= INFERENCES ? JM_MLPERF_PASS : JM_MLPERF_FAIL, at,
            "The fewest inferences of a window are %.0f.", fewest->inferences);
    } else {
        SAY(k, "tiny.inferences", JM_MLPERF_NOTE, NULL,
            "How many inferences ran is not said by log.txt or results.txt.");
    }
    if (t->trials && !t->has_samples)
        SAY(k, "tiny.edges", JM_MLPERF_NOTE, NULL, "The edges were not submitted.");
    else if (t->trials)
        SAY(k, "tiny.edges", t->lost_edge || t->n_edges < 2 * t->n_window ? JM_MLPERF_FAIL : JM_MLPERF_PASS,
            NULL,
            t->lost_edge ? "Of %zu edges of %zu trials one was lost: their counters do not follow each other."
                         : "%zu edges in %zu trials; the last two of each count.",
            t->n_edges, t->n_window);
    else if (t->n_edges == 2 * t->n_window + 1)
        SAY(k, "tiny.edges", JM_MLPERF_PASS, NULL,
            "%zu edges: the start of the device and two for each window.", t->n_edges);
    else
        SAY(k, "tiny.edges", t->n_edges == 2 * t->n_window && t->n_window ? JM_MLPERF_WARN : JM_MLPERF_FAIL,
            NULL,
            "%zu edges for %zu windows, where %zu are expected: an edge was missed, or one too many was "
            "seen.",
            t->n_edges, t->n_window, 2 * t->n_window + 1);
}

static void lost(struct work *k)
{
    const struct jm_tiny_result *t = k->t;
    double share = t->samples ? 100.0 * (double)t->dropped / (double)t->samples : NAN;
    if (t->samples)
        SAY(k, "tiny.dropped", share > LOST || t->bad_percent > LOST ? JM_MLPERF_FAIL : JM_MLPERF_PASS, NULL,
            "%lld of %lld samples (%.3g %%) are no number.", (long long)t->dropped, (long long)t->samples,
            share);
    if (t->drop_limit > LOST)
        SAY(k, "tiny.limit", JM_MLPERF_FAIL, NULL, "The limit of lost samples was set to %.3g %%.",
            t->drop_limit);
    else if (!isnan(t->drop_limit))
        SAY(k, "tiny.limit", JM_MLPERF_PASS, NULL, "The limit of lost samples was %.3g %%.", t->drop_limit);
}

/* Half a unit of the third decimal, and what single samples in binary32 leave open. */
static bool same(double a, double claimed)
{
    return fabs(a - claimed) <= 0.001 + 1e-9 * fabs(claimed);
}

static void agrees(struct work *k)
{
    const struct jm_tiny_result *t = k->t;
    size_t n = 0, wrong = 0, mute = 0;
    double most = 0;
    char at[256] = "";
    for (size_t i = 0; i < t->n_window; i++) {
        const struct jm_tiny_window *w = &t->window[i];
        if (isnan(w->claimed_uj)) {
            mute++;
            continue;
        }
        n++;
        if (!same(w->published_uj, w->claimed_uj) ||
            (!isnan(w->claimed_per) && !same(w->published_per, w->claimed_per))) {
            if (!wrong++)
                snprintf(
                    at, sizeof at,
                    "%s window %d: %.3f uJ claimed, %.3f uJ in the trace; %.3f and %.3f uJ per inference",
                    w->trace, w->number, w->claimed_uj, w->published_uj, w->claimed_per, w->published_per);
        }
        most = fmax(most, fabs(w->published_uj - w->claimed_uj));
    }
    if (t->trials && !t->has_samples)
        SAY(k, "tiny.agrees", JM_MLPERF_NOTE, NULL, "%.250s", t->why);
    else if (!n)
        SAY(k, "tiny.agrees", t->has_results ? JM_MLPERF_WARN : JM_MLPERF_NOTE, NULL,
            "%s no energy of a window to compare with.",
            t->has_results ? "results.txt has" : "There is no results.txt, so there is");
    else if (wrong)
        SAY(k, "tiny.agrees", JM_MLPERF_FAIL, at,
            "%zu of %zu windows of results.txt differ from the samples.", wrong, n);
    else if (!isnan(t->claimed_median) && !same(t->median_published, t->claimed_median))
        SAY(k, "tiny.agrees", JM_MLPERF_FAIL, NULL,
            "results.txt claims a median of %.3f uJ per inference, its windows give %.3f.", t->claimed_median,
            t->median_published);
    else
        SAY(k, "tiny.agrees", mute ? JM_MLPERF_WARN : JM_MLPERF_PASS, NULL,
            "%zu window%s of results.txt %s the trace to %.4f uJ%s.", n, n == 1 ? "" : "s",
            n == 1 ? "agrees with" : "agree with", most, mute ? "; the others are not in it" : "");
    if (!t->trials && !isnan(t->median_published) && !isnan(t->median_proper))
        SAY(k, "tiny.resolution", JM_MLPERF_NOTE, NULL,
            "Median %.3f uJ per inference with whole samples, %.3f with those at the edges in proportion "
            "(%+.4f %%).",
            t->median_published, t->median_proper, 100 * (t->median_proper / t->median_published - 1));
}

int jm_tiny_check(const struct jm_tiny_result *t, struct jm_mlperf_checked *c, struct jm_err *err)
{
    static const char *const known[] = {"lpm01a", "js110", "js220", "n6705"};
    struct work k = {.t = t, .c = c, .err = err};
    windows(&k);
    lost(&k);
    agrees(&k);
    if (t->energy_mode)
        SAY(&k, "tiny.mode", JM_MLPERF_PASS, NULL, "The device ran in energy mode.");
    else
        SAY(&k, "tiny.mode", t->has_log ? JM_MLPERF_WARN : JM_MLPERF_NOTE, NULL, "%s",
            t->has_log ? "log.txt does not say that the device ran in energy mode."
                       : "There is no log.txt, so the mode of the device is not known.");
    if (t->errors)
        SAY(&k, "tiny.errors", JM_MLPERF_FAIL, t->error, "The runner reported %lld error%s.",
            (long long)t->errors, t->errors == 1 ? "" : "s");
    else if (t->has_log)
        SAY(&k, "tiny.errors", JM_MLPERF_PASS, NULL, "log.txt has no error.");
    bool ok = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        ok |= strncasecmp(t->instrument, known[i], strlen(known[i])) == 0;
    if (t->instrument[0])
        SAY(&k, "tiny.instrument", ok ? JM_MLPERF_PASS : JM_MLPERF_WARN, NULL, "The energy monitor is %s.",
            t->instrument);
    else
        SAY(&k, "tiny.instrument", JM_MLPERF_NOTE, NULL, "The energy monitor is not named.");
    SAY(&k, "tiny.hookup", JM_MLPERF_NOTE, NULL,
        "The drawing of how the device was connected cannot be judged by a program; it belongs to the "
        "submission.");
    return k.rc;
}
