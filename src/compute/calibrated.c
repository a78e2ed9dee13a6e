/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration and a run: gathering the points that one is fitted to, and carrying GPU energy to the node
 * and the wall by one. What is carried is named calibrated, has its own interval, and never stands where the
 * same is measured. */
#include "compute/calibrated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/ratio.h"

#include "base/banned.h"

static bool whole(const struct jm_cut *k)
{
    return k->usable && k->have == k->of && k->have > 0;
}

/* Energy of every GPU of the machine, serving or not: that is what its wall sees. */
static int all_gpus(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *gpu,
                    struct jm_energy *out, enum jm_provenance *p, bool *have)
{
    struct jm_cut other = {0};
    struct jm_energy both[2] = {gpu->e};
    int rc = c->tree.sut_known ? jm_cut_make(c, w, JM_B_GPU, JM_CUT_OTHER_GPUS, &other) : 0;
    if (rc)
        return rc;
    *have = whole(gpu) && (!other.usable || whole(&other));
    *p = other.usable ? jm_provenance_worse(gpu->provenance, other.provenance) : gpu->provenance;
    both[1] = other.e;
    jm_energy_sum(both, other.usable ? 2 : 1, out);
    return 0;
}

static int collect(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *gpu,
                   const struct jm_cut *cut, struct jm_cal_points *to)
{
    struct jm_energy g;
    enum jm_provenance p;
    bool have = false;
    int rc = whole(cut) ? all_gpus(c, w, gpu, &g, &p, &have) : 0;
    if (rc || !have)
        return rc;
    if ((cut->provenance != JM_P_MEASURED && cut->provenance != JM_P_SIMULATED) ||
        (p != JM_P_MEASURED && p != JM_P_SIMULATED)) {
        to->not_measured++;
        return 0;
    }
    if (to->n && strcmp(to->set, cut->set) != 0) { /* an AC inlet and the supplies' outlets are no one line */
        to->mixed++;
        return 0;
    }
    struct jm_cal_point *v = realloc(to->v, (to->n + 1) * sizeof *v);
    if (!v)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the calibration");
    to->v = v;
    v[to->n++] = (struct jm_cal_point){.gpu_w = g.joules / w->seconds,
                                       .u_gpu = g.u / w->seconds,
                                       .w = cut->e.joules / w->seconds,
                                       .u = cut->e.u / w->seconds,
                                       .idle = w->w->role == JM_R_IDLE,
                                       .window = w->index};
    double gain = cut->e.gain_bound / cut->e.joules; /* NAN stays */
    to->gain = to->n == 1 ? gain : isnan(gain) || isnan(to->gain) ? NAN : fmax(gain, to->gain);
    snprintf(to->set, sizeof to->set, "%s", cut->set);
    snprintf(to->instrument, sizeof to->instrument, "%s", cut->instrument ? cut->instrument : "");
    snprintf(to->gpu_instrument, sizeof to->gpu_instrument, "%s", gpu->instrument ? gpu->instrument : "");
    return 0;
}

/* What the relation says of the window; a measurement is held against it. */
static int carry(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *gpu,
                 const struct jm_cut *cut, const struct jm_cal_relation *r, struct jm_cut *made)
{
    struct jm_energy g;
    struct jm_cal_power power;
    struct jm_err why = {0};
    enum jm_provenance p;
    bool have;
    int rc = all_gpus(c, w, gpu, &g, &p, &have);
    *made = *cut;
    if (rc || !gpu->usable)
        return rc;
    const char *reason = !have ? gpu->reasons ? gpu->reasons : "absent" : NULL;
    if (!reason &&
        jm_cal_predict(r, g.joules / w->seconds, g.u / w->seconds, jm_calc_level(c), &power, &why)) {
        reason = "calibration-range";
        struct jm_finding *f =
            jm_report_finding(c->r, "calibration.range", cut->usable ? JM_SEV_INFO : JM_SEV_ERROR,
                              "the calibration does not reach window %s: %s; %s has no value by it",
                              w->w->name, why.text, jm_boundary_name((int)r->boundary));
        if (!f)
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the findings");
        f->window = w->index;
        f->boundary = r->boundary;
    }
    if (cut->usable) { /* measured: the relation is held against it and takes no place */
        if (!reason && whole(cut)) {
            double off = cut->e.joules / w->seconds - power.w;
            bool in = fabs(off) <= power.half + 2 * cut->e.u / w->seconds;
            struct jm_finding *f = jm_report_finding(
                c->r, "calibration.check", in ? JM_SEV_INFO : JM_SEV_WARNING,
                "%s in window %s: measured %.6g W, the calibration says %.6g W ± %.3g: %s",
                jm_boundary_name((int)r->boundary), w->w->name, cut->e.joules / w->seconds, power.w,
                power.half, in ? "it holds" : "it does not hold any more; calibrate again");
            if (!f)
                return jm_err_set(c->err, JM_ENOMEM, "out of memory for the findings");
            f->window = w->index;
            f->boundary = r->boundary;
        }
        return 0;
    }
    bool foreign = c->o->calibration_note && c->o->calibration_note[0];
    *made = (struct jm_cut){.boundary = r->boundary,
                            .usable = true,
                            .provenance = jm_provenance_worse(p, JM_P_CALIBRATED),
                            .have = reason ? 0 : 1,
                            .of = 1,
                            .domain = gpu->domain,
                            .n_domain = gpu->n_domain,
                            .reasons = reason};
    if (c->o->calibration->simulated && !c->r->simulated)
        made->provenance = jm_provenance_worse(made->provenance, JM_P_SIMULATED);
    made->e = (struct jm_energy){.status = reason ? JM_S_ABSENT : JM_S_OK,
                                 .joules = reason ? NAN : power.w * w->seconds,
                                 .u = reason ? NAN : power.u * w->seconds,
                                 .dof = reason ? NAN : power.dof,
                                 .gain_bound = reason ? NAN : power.gain * w->seconds,
                                 .lower_bound = NAN};
    made->set = jm_report_text(c->r, "%s by calibration of %.10s", r->set, c->o->calibration->created);
    made->instrument =
        jm_report_text(c->r, "%s, carried to %s as a calibrated estimate: calibration against %s%s",
                       gpu->instrument ? gpu->instrument : "?", jm_boundary_name((int)r->boundary),
                       r->instrument, c->o->calibration_note ? c->o->calibration_note : "");
    if (!made->set || !made->instrument)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the calibration");
    size_t first = c->r->n_results;
    rc = jm_results_boundary(c, w, made);
    for (size_t i = first; !rc && i < c->r->n_results; i++) {
        struct jm_quantity *q = &c->r->results[i].q;
        q->u.includes = "relation (fit, scatter of the levels, left-out levels), GPU energy";
        q->u.excludes = jm_report_text(
            c->r,
            "%s%sload that swings inside the window where the relation bends, what did not differ "
            "between the levels",
            foreign ? "all that differs between machines (gain of boards, fans, supplies), " : "",
            isnan(r->gain) ? "gain of the meter calibrated against (not stated), " : "");
        if (!q->u.excludes)
            rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the calibration");
    }
    if (!rc && foreign && !reason) {
        struct jm_finding *f =
            jm_report_finding(c->r, "calibration.foreign", JM_SEV_WARNING,
                              "%s in window %s is carried by a calibration that is not of this machine as it "
                              "is%s; its interval "
                              "knows nothing of the difference",
                              jm_boundary_name((int)r->boundary), w->w->name, c->o->calibration_note);
        if (!f)
            return jm_err_set(c->err, JM_ENOMEM, "out of memory for the findings");
        f->window = w->index;
        f->boundary = r->boundary;
    }
    return rc;
}

int jm_calibrated_window(struct jm_calc *c, const struct jm_calc_window *w, const struct jm_cut *gpu,
                         const struct jm_cut *node, struct jm_cut *wall)
{
    const struct jm_calibration *cal = c->o->calibration;
    int rc = 0;
    if (c->o->collect && (w->w->role == JM_R_MEASURE || w->w->role == JM_R_IDLE)) {
        rc = collect(c, w, gpu, node, &c->o->collect[0]);
        if (!rc)
            rc = collect(c, w, gpu, wall, &c->o->collect[1]);
    }
    for (size_t i = 0; !rc && cal && i < cal->n_relation; i++) {
        const struct jm_cal_relation *r = &cal->relation[i];
        struct jm_cut made;
        rc = carry(c, w, gpu, r->boundary == JM_B_NODE ? node : wall, r, &made);
        if (!rc && r->boundary == JM_B_WALL)
            *wall = made;
    }
    return rc;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* GPUs with an energy channel, or with a place among the serving ones. */
int jm_cal_machine_of(const struct jm_run *run, struct jm_cal_machine *m, struct jm_err *err)
{
    const struct jm_domain_tree *t = jm_run_domains(run);
    size_t n, k = 0;
    const struct jm_channel *ch = jm_run_channels(run, &n);
    static const char *const host[] = {"host.name", "sut.system_name"},
                             *const driver[] = {"nvml.driver", "sut.driver"},
                             *const ambient[] = {"ambient.celsius", "host.ambient"};
    *m = (struct jm_cal_machine){.gpu = calloc(t->n + 1, sizeof *m->gpu)};
    if (!m->gpu)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the GPUs");
    for (size_t i = 0; i < t->n && k < JM_CAL_GPUS; i++) {
        bool read = false;
        if (t->d[i].kind != JM_D_GPU && t->d[i].kind != JM_D_APU)
            continue;
        for (size_t c = 0; c < n && !read; c++)
            read = ch[c].domain == (int)i && jm_energy_channel(&ch[c]);
        if (read)
            snprintf(m->gpu[k++], sizeof m->gpu[0], "%s", t->d[i].key);
    }
    m->n_gpu = k;
    qsort(m->gpu, k, sizeof *m->gpu, by_key);
    for (int i = 1; i >= 0; i--) {
        const char *h = jm_run_env(run, host[i]), *d = jm_run_env(run, driver[i]),
                   *a = jm_run_env(run, ambient[i]);
        if (h)
            snprintf(m->host, sizeof m->host, "%s", h);
        if (d)
            snprintf(m->driver, sizeof m->driver, "%s", d);
        if (a)
            snprintf(m->ambient, sizeof m->ambient, "%s", a);
    }
    int supplies = 0;
    for (size_t i = 0; i < t->n; i++)
        supplies += t->d[i].kind == JM_D_PSU;
    const char *said = jm_run_env(run, "supplies");
    if (said)
        snprintf(m->supplies, sizeof m->supplies, "%s", said);
    else if (supplies)
        snprintf(m->supplies, sizeof m->supplies, "%d seen", supplies);
    return 0;
}

bool jm_cal_same_gpus(const struct jm_cal_machine *a, const struct jm_cal_machine *b)
{
    bool same = a->n_gpu == b->n_gpu;
    for (size_t i = 0; same && i < a->n_gpu; i++)
        same = strcmp(a->gpu[i], b->gpu[i]) == 0;
    return same;
}

static bool differ(const char *a, const char *b)
{
    return a[0] && b[0] && strcmp(a, b) != 0;
}

/* node7 and node7.example.com are one. */
static bool another_host(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
    return differ(a, b) && (strncmp(a, b, least) != 0 || (n < m ? b : a)[least] != '.');
}

/* Hosts that have GPUs. */
static int hosts_of(const struct jm_run *run)
{
    const struct jm_domain_tree *t = jm_run_domains(run);
    int n = 0;
    for (size_t i = 0; i < t->n; i++) {
        bool gpu = false;
        for (size_t k = i + 1; t->d[i].kind == JM_D_NODE && k < t->n && !gpu; k++)
            gpu = (t->d[k].kind == JM_D_GPU || t->d[k].kind == JM_D_APU) &&
                  jm_domain_contains(t, (int)i, (int)k);
        n += gpu;
    }
    return n;
}

/* What is wrong with the GPUs, in words that tell how to mend it. */
static void other_gpus(const struct jm_run *run, const struct jm_cal_machine *m,
                       const struct jm_cal_machine *of, char *out, size_t room)
{
    size_t common = 0;
    int hosts = hosts_of(run);
    for (size_t i = 0; i < m->n_gpu; i++)
        for (size_t k = 0; k < of->n_gpu; k++)
            common += strcmp(m->gpu[i], of->gpu[k]) == 0;
    if (common == of->n_gpu && hosts > 1)
        snprintf(out, room,
                 "its %zu GPUs are among the %zu of %d hosts here; ask for the series of that host alone "
                 "({Hostname=\"%.60s\"})",
                 common, m->n_gpu, hosts, of->host[0] ? of->host : "...");
    else if (common)
        snprintf(out, room, "only %zu of its %zu GPUs are here, and the wall feeds all of them", common,
                 of->n_gpu);
    else
        snprintf(out, room, "none of its %zu GPUs is here (it knows them by UUID)", of->n_gpu);
}

int jm_calibration_fits(const struct jm_calibration *c, const struct jm_run *run, bool any_machine,
                        bool any_driver, char note[JM_CAL_NOTE], struct jm_err *err)
{
    struct jm_cal_machine m;
    int rc = jm_cal_machine_of(run, &m, err);
    note[0] = '\0';
    if (rc)
        return rc;
    bool gpus = jm_cal_same_gpus(&m, &c->machine), host = !another_host(m.host, c->machine.host);
    char why[256];
    if (!host)
        snprintf(why, sizeof why, "the host is %.80s, not %.80s", m.host, c->machine.host);
    else
        other_gpus(run, &m, &c->machine, why, sizeof why);
    if (!m.n_gpu)
        rc = jm_err_set(err, JM_EUSAGE,
                        "--calibration: this run has no energy of any GPU, which is what the calibration "
                        "carries to the wall");
    else if ((!gpus || !host) && !any_machine)
        rc = jm_err_set(err, JM_EUSAGE,
                        "--calibration: it is of another machine: %s. Supplies, fans and hosts differ from "
                        "machine to machine; calibrate this one, or say --allow-machine and it stands in the "
                        "evidence",
                        why);
    else if (differ(m.driver, c->machine.driver) && !any_driver)
        rc = jm_err_set(
            err, JM_EUSAGE,
            "--calibration: made with driver %s, and this run has %s; what GPU power means changes "
            "between drivers. Calibrate again, or say --allow-driver and it stands in the evidence",
            c->machine.driver, m.driver);
    else
        snprintf(note, JM_CAL_NOTE, "%s%s", !gpus || !host ? "; ANOTHER MACHINE, allowed" : "",
                 differ(m.driver, c->machine.driver) ? "; another driver, allowed" : "");
    free(m.gpu);
    return rc;
}
