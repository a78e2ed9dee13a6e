/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of MLPerf Training and Tiny. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "mlperf/round_row.h"

#include "base/banned.h"

static bool take(char **at, const char *text)
{
    return !text[0] || jm_round_set(at, text);
}

static const char *energy(char buf[48], double j)
{
    if (isfinite(j))
        snprintf(buf, 48, "%.6g J", j);
    else
        snprintf(buf, 48, "no value");
    return buf;
}

static bool run(struct jm_round_row *r, const struct jm_training_run *x)
{
    char a[48], b[48], c[48];
    bool ok =
        jm_round_part_add(r, x->name, x->published_j, x->proper_j, x->seconds, x->why[0] ? x->why : NULL);
    if (!x->has_power)
        return ok && jm_round_fact_add(r, "Runs", x->name, "%.400s", x->why[0] ? x->why : "without power");
    return ok &&
           jm_round_fact_add(
               r, "Runs", x->name,
               "%s published, %s proper (%s of it in the switches), %.6g s, nodes: %d, switches: %d%s%s",
               energy(a, x->published_j), energy(b, x->proper_j), energy(c, x->switches_j), x->seconds,
               x->nodes, x->switches, x->why[0] ? "; " : "", x->why);
}

static bool parts(struct jm_round_row *r, const struct jm_training_run *x)
{
    char a[48], b[48];
    bool ok = true;
    for (size_t i = 0; ok && i < x->n_part; i++) {
        const struct jm_training_part *p = &x->part[i];
        char key[400];
        snprintf(key, sizeof key, "%s %s", x->name, p->name);
        if (!p->readings && p->has_estimate)
            ok = jm_round_fact_add(r, "Nodes and switches", key,
                                   "%s published, %s proper, estimated at %.6g W%s%s",
                                   energy(a, p->published_j), energy(b, p->proper_j), p->estimate_w,
                                   p->why[0] ? "; " : "", p->why);
        else if (isnan(p->max_gap_s))
            ok = jm_round_fact_add(r, "Nodes and switches", key, "%s published, %s proper, %lld readings%s%s",
                                   energy(a, p->published_j), energy(b, p->proper_j), (long long)p->readings,
                                   p->why[0] ? "; " : "", p->why);
        else
            ok = jm_round_fact_add(r, "Nodes and switches", key,
                                   "%s published, %s proper, %lld readings, longest gap %.4g s%s%s",
                                   energy(a, p->published_j), energy(b, p->proper_j), (long long)p->readings,
                                   p->max_gap_s, p->why[0] ? "; " : "", p->why);
    }
    return ok;
}

int jm_mlperf_row_training(struct jm_round_row *r, const struct jm_training_result *x,
                           const struct jm_mlperf_checked *c, struct jm_err *err)
{
    bool ok = take(&r->system, x->system) && take(&r->benchmark, x->benchmark) &&
              take(&r->submitter, x->submitter) && take(&r->division, x->division) &&
              take(&r->round, x->round) && jm_round_set(&r->scenario, NULL);
    r->metric = x->published_j;
    r->metric_proper = x->proper_j;
    snprintf(r->metric_unit, sizeof r->metric_unit, "J");
    r->seconds = 60 * x->minutes;
    if (isfinite(x->nodes_declared))
        r->nodes = x->nodes_declared;
    if (x->why[0])
        ok = ok && jm_round_set(&r->accuracy, x->why);
    else
        ok = ok && jm_round_fact_add(r, "Mean over the runs", "runs",
                                     "%zu with power of %zu; %d left out at each end, scaling %.6g",
                                     x->n_power, x->n_run, x->left_out, x->scaling);
    for (size_t i = 0; ok && i < x->n_run; i++)
        ok = run(r, &x->run[i]);
    for (size_t i = 0; ok && i < x->n_run; i++)
        ok = parts(r, &x->run[i]);
    if (c)
        ok = ok && jm_mlperf_row_judged(r, c);
    return ok ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the row of %s", x->dir);
}

int jm_mlperf_row_tiny(struct jm_round_row *r, const struct jm_tiny_result *x,
                       const struct jm_mlperf_checked *c, struct jm_err *err)
{
    bool ok = take(&r->system, x->system) && take(&r->benchmark, x->benchmark[0] ? x->benchmark : x->model) &&
              jm_round_set(&r->scenario, NULL) && take(&r->submitter, x->submitter) &&
              take(&r->analyzer, x->instrument) && take(&r->accelerator, x->device);
    r->metric = x->median_published / 1e6;
    r->metric_proper = x->median_proper / 1e6;
    snprintf(r->metric_unit, sizeof r->metric_unit, "J");
    r->performance = x->throughput;
    snprintf(r->performance_unit, sizeof r->performance_unit, "inferences/s");
    if (x->why[0])
        ok = ok && jm_round_set(&r->accuracy, x->why);
    for (size_t i = 0; ok && i < x->n_window; i++) {
        const struct jm_tiny_window *w = &x->window[i];
        char key[96];
        snprintf(key, sizeof key, "%s, %d", w->trace, w->number);
        ok =
            jm_round_part_add(r, key, w->published_uj / 1e6, w->proper_uj / 1e6, w->end_s - w->start_s, NULL);
        if (isnan(w->published_uj) && isnan(w->claimed_uj))
            ok = ok && jm_round_fact_add(r, "Windows", key, "no energy");
        else if (isnan(w->published_uj))
            ok = ok && jm_round_fact_add(r, "Windows", key,
                                         "%.8g uJ claimed by results.txt, %.8g inferences in %.6g s",
                                         w->claimed_uj, w->inferences, w->end_s - w->start_s);
        else
            ok = ok && jm_round_fact_add(
                           r, "Windows", key,
                           "%.8g uJ published, %.8g uJ proper, %.8g inferences in %.6g s, %.6g uJ each%s",
                           w->published_uj, w->proper_uj, w->inferences, w->end_s - w->start_s,
                           w->published_per, w->dropped ? "; samples without a number" : "");
    }
    if (isfinite(x->claimed_median))
        ok = ok && jm_round_fact_add(r, "Windows", "results.txt", "%.8g uJ per inference", x->claimed_median);
    if (c)
        ok = ok && jm_mlperf_row_judged(r, c);
    return ok ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the row of %s", x->dir);
}

/* …/<division>/<submitter>/systems/<system>_power.yaml */
int jm_mlperf_row_nameplate(struct jm_round_row *r, const char *path, struct jm_err *err)
{
    enum { MOST = 1 << 20 };
    struct jm_str text;
    struct jm_mlperf_nameplate n = {.watts = NAN};
    struct jm_err failed = {0};
    char why[256] = "", part[4][256] = {"", "", "", ""};
    size_t end = strlen(r->place);
    for (int i = 0; i < 4; i++) { /* file, "systems", submitter, division */
        size_t from = end;
        while (from && r->place[from - 1] != '/')
            from--;
        snprintf(part[i], sizeof part[i], "%.*s", (int)(end - from < 255 ? end - from : 255),
                 r->place + from);
        end = from ? from - 1 : 0;
    }
    char *cut = strstr(part[0], "_power.y");
    if (cut)
        *cut = '\0';
    jm_str_init(&text);
    int rc = jm_file_read_regular(r->place, MOST, &text, &failed);
    if (!rc)
        jm_mlperf_nameplate_read(jm_str_span(&text), &n, why);
    jm_str_release(&text);
    bool division = strcmp(part[3], "closed") == 0 || strcmp(part[3], "open") == 0;
    r->design_power_w = n.watts;
    bool ok = rc != JM_ENOMEM && jm_round_set(&r->path, path) && jm_round_set(&r->system, part[0]) &&
              jm_round_set(&r->submitter, part[2][0] ? part[2] : NULL) &&
              jm_round_set(&r->division, division ? part[3] : NULL) &&
              jm_round_set(&r->error, rc       ? failed.text
                                      : why[0] ? why
                                               : NULL);
    if (ok && !rc)
        ok = jm_round_fact_add(r, "Nameplate, declared and not measured", "supplies",
                               "%d in %d parts, %d beyond what is needed", n.supplies, n.components,
                               n.redundant);
    return ok ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the row of %s", path);
}
