/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cmds.h"
#include "cli/path.h"
#include "compute/calibrated.h"
#include "show/fmt.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *output;
};

/* The machine must be one through all runs. */
static int same_machine(struct jm_calibration *c, const struct jm_run *run, const char *path,
                        struct jm_err *err)
{
    struct jm_cal_machine m;
    int rc = jm_cal_machine_of(run, &m, err);
    if (rc)
        return rc;
    if (!c->machine.gpu) {
        c->machine = m;
        if (!m.n_gpu)
            return jm_err_set(err, JM_EUSAGE,
                              "%s has no energy of any GPU, so that there is nothing to relate", path);
        return 0;
    }
    if (!jm_cal_same_gpus(&m, &c->machine) || strcmp(m.host, c->machine.host) != 0)
        rc = jm_err_set(
            err, JM_EUSAGE,
            "%s is of another machine than the runs before it (host or GPUs differ); a calibration "
            "is of one",
            path);
    else if (strcmp(m.driver, c->machine.driver) != 0)
        rc = jm_err_set(err, JM_EUSAGE, "%s was recorded with driver %s, the runs before it with %s", path,
                        m.driver[0] ? m.driver : "not known",
                        c->machine.driver[0] ? c->machine.driver : "not known");
    free(m.gpu);
    return rc;
}

/* Points that the audit calls invalid (a supply not metered, a counter reset) are no measurements of the
 * machine: which and why is said. */
static void drop_invalid(struct jm_cli *cli, const struct jm_report *r, const char *path, enum jm_boundary b,
                         struct jm_cal_points *p, size_t from)
{
    size_t k = from;
    for (size_t i = from; i < p->n; i++) {
        const char *why = NULL;
        for (size_t x = 0; x < r->n_results && !why; x++) {
            const struct jm_result *e = &r->results[x];
            if (strcmp(e->metric, "energy") == 0 && e->window == p->v[i].window &&
                (e->q.boundary == b || e->q.boundary == JM_B_GPU) && e->q.validity == JM_V_INVALID)
                why = e->q.reasons ? e->q.reasons : "it is invalid";
        }
        if (why)
            jm_cli_say(cli, "%s, window %s: not used for %s: %s", path, r->windows[p->v[i].window].name,
                       jm_boundary_name((int)b), why);
        else
            p->v[k++] = p->v[i];
    }
    p->n = k;
}

static bool taken(const struct jm_calibration *c, const char *sha256)
{
    for (size_t i = 0; i < c->n_run; i++)
        if (strcmp(c->run[i].sha256, sha256) == 0)
            return true;
    return false;
}

static int take_run(struct jm_cli *cli, const char *path, struct jm_calibration *c,
                    struct jm_cal_points to[2], struct jm_err *err)
{
    struct jm_run *run = NULL;
    struct jm_report *report = NULL;
    struct jm_compute_opts o;
    size_t had[2] = {to[0].n, to[1].n};
    int rc = jm_run_open(path, &run, err);
    if (rc)
        return rc;
    jm_compute_defaults(&o);
    o.collect = to;
    rc = same_machine(c, run, path, err);
    if (!rc && !jm_run_info(run)->sealed)
        rc = jm_err_set(err, JM_EUSAGE,
                        "%s is not sealed, so that it has no hash to be named by; "
                        "\"joulemark recover\" finishes it",
                        path);
    if (!rc && taken(c, jm_run_info(run)->sha256)) {
        jm_cli_say(cli, "%s is among the runs already; it counts once", path);
        jm_run_close(run);
        return 0;
    }
    if (!rc)
        rc = jm_compute(run, &o, &report, err);
    if (!rc)
        rc = jm_audit(run, report, err);
    if (!rc) {
        drop_invalid(cli, report, path, JM_B_NODE, &to[0], had[0]);
        drop_invalid(cli, report, path, JM_B_WALL, &to[1], had[1]);
        struct jm_cal_run *x = &c->run[c->n_run++];
        const char *slash = strrchr(path, '/');
        snprintf(x->file, sizeof x->file, "%s", slash ? slash + 1 : path);
        snprintf(x->sha256, sizeof x->sha256, "%s", jm_run_info(run)->sha256);
        snprintf(x->label, sizeof x->label, "%s", jm_run_info(run)->label);
        if (strcmp(report->created, c->created) > 0)
            snprintf(c->created, sizeof c->created, "%s", report->created);
        c->simulated |= report->simulated;
    }
    jm_report_free(report);
    jm_run_close(run);
    return rc;
}

static int fit(struct jm_cli *cli, struct jm_calibration *c, struct jm_cal_points p[2], struct jm_err *err)
{
    static const enum jm_boundary b[2] = {JM_B_NODE, JM_B_WALL};
    struct jm_err why[2] = {{0}, {0}};
    for (int i = 1; i >= 0; i--) {
        struct jm_cal_relation *r = &c->relation[c->n_relation];
        if (!p[i].n)
            continue;
        *r = (struct jm_cal_relation){.boundary = b[i], .gain = p[i].gain, .knee = NAN};
        snprintf(r->set, sizeof r->set, "%s", p[i].set);
        snprintf(r->instrument, sizeof r->instrument, "%s", p[i].instrument);
        snprintf(c->machine.gpu_instrument, sizeof c->machine.gpu_instrument, "%s", p[i].gpu_instrument);
        if (p[i].mixed)
            jm_cli_say(cli, "%s: %zu window%s measured by something else than %s %s left out",
                       jm_boundary_name((int)b[i]), p[i].mixed, p[i].mixed == 1 ? "" : "s", p[i].set,
                       p[i].mixed == 1 ? "is" : "are");
        if (jm_cal_fit(p[i].v, p[i].n, r, &why[i]) == 0)
            c->n_relation++;
    }
    for (int i = 1; i >= 0 && c->n_relation; i--)
        if (why[i].text[0]) /* the other one stands; say why this one does not */
            jm_cli_say(cli, "%s", why[i].text);
    if (c->n_relation)
        return 0;
    if (why[1].text[0] || why[0].text[0])
        return jm_err_set(err, JM_EUSAGE, "%s", why[1].text[0] ? why[1].text : why[0].text);
    return jm_err_set(
        err, JM_EUSAGE,
        "no window of these runs has both the energy of all GPUs and that of the wall or node%s; "
        "\"joulemark show RUN --reconcile\" says what each instrument gave",
        p[0].not_measured + p[1].not_measured ? " as measurements (estimates do not count)" : "");
}

static void say(struct jm_str *s, const struct jm_calibration *c)
{
    jm_str_addf(s, "%zu run%s of %s, %zu GPU%s, driver %s%s\n", c->n_run, c->n_run == 1 ? "" : "s",
                c->machine.host[0] ? c->machine.host : "a host not named", c->machine.n_gpu,
                c->machine.n_gpu == 1 ? "" : "s", c->machine.driver[0] ? c->machine.driver : "not known",
                c->simulated ? "   SIMULATED" : "");
    for (size_t i = 0; i < c->n_relation; i++) {
        const struct jm_cal_relation *r = &c->relation[i];
        bool idle = false;
        jm_str_addf(s, "\nP_%s = %.5g W %c %.4f x P_gpu", jm_boundary_name((int)r->boundary), r->beta[0],
                    r->beta[1] < 0 ? '-' : '+', fabs(r->beta[1]));
        if (r->cube)
            jm_str_addf(s, " %c %.4f x P_gpu^3 / (%.5g W)^2", r->beta[2] < 0 ? '-' : '+', fabs(r->beta[2]),
                        r->knee);
        else if (r->bend)
            jm_str_addf(s, " %c %.4f x (P_gpu above %.5g W)", r->beta[2] < 0 ? '-' : '+', fabs(r->beta[2]),
                        r->knee);
        jm_str_addf(s, "\n  %.5g to %.5g W of GPU power, against %.60s\n", r->lo, r->hi, r->instrument);
        jm_str_adds(s, "\n        P_gpu     measured          fit   difference   left out, 95 %\n");
        for (size_t k = 0; k < r->n_level; k++) {
            const struct jm_cal_level *l = &r->level[k];
            idle |= l->idle;
            jm_str_addf(s, "  %9.1f W  %9.1f W  %9.1f W  %+8.2f W  ", l->gpu_w, l->w, l->w + l->residual,
                        l->residual);
            if (isfinite(l->left_out))
                jm_str_addf(s, "%9.1f ± %.1f W\n", l->left_out, r->widen * l->left_out_half);
            else
                jm_str_addf(s, "%s\n",
                            l->idle ? "   the low end, idle"
                            : k     ? "   the high end"
                                    : "   the low end");
        }
        for (int end = 0; end < 2; end++) {
            struct jm_cal_power p;
            double x = end ? r->hi : r->lo;
            if (jm_cal_predict(r, x, 0, 0.95, &p, NULL) == 0)
                jm_str_addf(s, "  at %.5g W of GPU power: %.5g ± %.3g W (%.2f %%)\n", x, p.w, p.half,
                            100 * p.half / p.w);
        }
        if (!isfinite(r->gain))
            jm_str_adds(s, "  without the gain of the outer meter, which nobody stated\n");
        if (r->widen > 1)
            jm_str_addf(s, "  widened by %.2f, so that every level left out lies inside\n", r->widen);
        for (size_t k = 1; k < r->n_level; k++)
            if (r->level[k].gpu_w - r->level[k - 1].gpu_w > JM_CAL_HOLE * (r->hi - r->lo))
                jm_str_addf(s, "  no level between %.5g and %.5g W: nothing is said inside; add one there\n",
                            r->level[k - 1].gpu_w, r->level[k].gpu_w);
        if (!r->bend && r->beta[0] < 0)
            jm_str_addf(s,
                        "  its fixed part is negative, which no machine has: only the range itself holds\n");
        if (!idle)
            jm_str_addf(s, "  no idle window: nothing is said below %.5g W of GPU power\n", r->lo);
    }
}

static int calibrate(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_cal_points p[2] = {{0}, {0}};
    struct jm_calibration *c = calloc(1, sizeof *c);
    struct jm_str file, out;
    int rc = c ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the calibration");
    jm_str_init(&file);
    jm_str_init(&out);
    if (!rc && !o->output)
        rc = jm_err_set(err, JM_EUSAGE, "-o FILE is needed: where the calibration goes, out/node.jmcal");
    if (!rc && cli->n_operands > JM_CAL_RUNS)
        rc = jm_err_set(err, JM_EUSAGE, "more than %d runs", JM_CAL_RUNS);
    if (!rc) {
        c->run = calloc(cli->n_operands, sizeof *c->run);
        snprintf(c->joulemark, sizeof c->joulemark, "%s", JM_VERSION);
        rc = c->run ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the calibration");
    }
    for (size_t i = 0; !rc && i < cli->n_operands; i++)
        rc = take_run(cli, cli->operand[i], c, p, err);
    if (!rc)
        rc = fit(cli, c, p, err);
    if (!rc)
        rc = jm_calibration_write(c, &file, err);
    if (!rc)
        rc = jm_path_spare_run(o->output, err);
    if (!rc)
        rc = jm_file_mkparents(o->output, err);
    if (!rc)
        rc = jm_file_write(o->output, jm_str_span(&file), err);
    if (!rc && cli->common->json)
        jm_cli_out(cli, jm_str_span(&file));
    else if (!rc) {
        say(&out, c);
        rc = jm_str_ok(&out, "the summary", err);
        if (!rc)
            jm_cli_out(cli, jm_str_span(&out));
    }
    if (c)
        jm_calibration_release(c);
    free(c);
    free(p[0].v);
    free(p[1].v);
    jm_str_release(&file);
    jm_str_release(&out);
    return rc;
}

static const struct jm_opt table[] = {{"output", 'o', JM_OPT_STR, offsetof(struct opts, output),
                                       .arg = "FILE",
                                       .help = "The calibration, a small text file (*.jmcal)."},
                                      JM_OPT_JSON,
                                      JM_OPTS_COMMON,
                                      {NULL}};

const struct jm_cmd jm_cmd_calibrate = {
    .name = "calibrate",
    .group = "Look at a run",
    .summary = "Relate the power at the wall to that of the GPUs",
    .usage = "[OPTIONS] -o FILE RUN...",
    .description =
        "From runs that measured both the GPUs and the wall (or node) of one machine, at several load "
        "levels: "
        "a fixed part, a slope, and a bend where the levels ask for one, with an interval that holds every "
        "level left out. At least four levels are needed, idle among them, the highest with twice the GPU "
        "power "
        "of the lowest. Every measured and idle window of the runs is a point.\n\n"
        "\"joulemark show RUN --calibration FILE\" carries the relation to runs that know only their GPUs: "
        "node "
        "and wall, named calibrated, with their own interval; refused for another machine or driver and "
        "outside "
        "the range.",
    .examples =
        "joulemark calibrate out/idle.jmr out/level*.jmr -o out/node.jmcal\n"
        "joulemark show fleet.jmr --calibration out/node.jmcal # the wall of a run without a meter there",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .min_operands = 1,
    .max_operands = JM_CAL_RUNS,
    .fn = calibrate,
};
