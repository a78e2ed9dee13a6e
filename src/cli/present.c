/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/path.h"
#include "cli/present.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "compute/calibrated.h"
#include "compute/compute.h"
#include "compute/contract.h"
#include "compute/correct.h"
#include "factor/factor.h"
#include "record/record.h"
#include "show/explain.h"
#include "show/show.h"
#include "wire/diurnal.h"
#include "wire/factorfile.h"

#include "base/banned.h"

void jm_present_init(struct jm_present *p)
{
    *p = (struct jm_present){.profile = -1};
}

int jm_present_pue(void *at, const char *text, struct jm_err *err)
{
    return jm_pue_parse(text, at, err);
}

int jm_present_wue(void *at, const char *text, struct jm_err *err)
{
    return jm_wue_parse(text, at, err);
}

int jm_present_embodied(void *at, const char *text, struct jm_err *err)
{
    return jm_embodied_parse(text, at, err);
}

/* The contract that a run was recorded under holds until another one is given. */
static double objective(const struct jm_run *run, int64_t given, const char *key)
{
    return given ? (double)given / 1e9 : jm_run_number(run, key);
}

static void options(const struct jm_run *run, const struct jm_present *p, struct jm_compute_opts *c)
{
    const char *text;
    jm_compute_defaults(c);
    if (p->profile >= 0) {
        c->profile = (enum jm_profile)p->profile;
        c->profile_given = true;
    }
    c->slo.ttft_s = objective(run, p->slo_ttft, "contract.ttft_s");
    c->slo.tpot_s = objective(run, p->slo_tpot, "contract.tpot_s");
    c->slo.e2e_s = objective(run, p->slo_e2e, "contract.e2e_s");
    c->slo_given = p->slo_ttft || p->slo_tpot || p->slo_e2e;
    if (p->contract)
        jm_contract_objectives(p->contract, c);
    if (p->level > 0)
        c->level = p->level;
    c->pue = p->pue;
    c->wue = p->wue;
    c->embodied = p->embodied;
    /* what is declared of the site holds until something else is given; what cannot be read is as good as
     * absent */
    if (!(c->pue.value > 0) && (text = jm_run_env(run, "site.pue")))
        jm_pue_parse(text, &c->pue, NULL);
    if (!(c->embodied.grams > 0) && (text = jm_run_env(run, "site.embodied")))
        jm_embodied_parse(text, &c->embodied, NULL);
    if (!(c->wue.value > 0) && (text = jm_run_env(run, "site.wue")))
        jm_wue_parse(text, &c->wue, NULL);
    if (p->idle_w > 0)
        c->idle_w = p->idle_w;
}

int jm_cli_passport(const char *path, struct jm_passport_file *out, struct jm_str *text, struct jm_err *err)
{
    *out = (struct jm_passport_file){0};
    int rc = jm_file_read(path, JM_PASSPORT_MAX + 1, text, err);
    if (!rc && (rc = jm_passport_take(jm_str_span(text), path, out, err)))
        rc = jm_err_prefix(err, "--passport %s", path);
    return rc;
}

struct carried {
    struct jm_calibration *c;
    struct jm_passport_file *passport;
    size_t n;
    struct jm_factor_set factors;
    struct jm_diurnal diurnal;
    char note[JM_CAL_NOTE];
};

/* Passports that were given, held against the instruments of the run. */
static int passports(const struct jm_run *run, const struct jm_present *p, struct carried *x,
                     struct jm_compute_opts *o, struct jm_err *err)
{
    int rc = 0;
    x->passport = calloc(p->passports.n + 1, sizeof *x->passport);
    if (!x->passport)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the passports");
    for (; !rc && x->n < p->passports.n; x->n++) {
        struct jm_str text;
        struct jm_passport_file *f = &x->passport[x->n];
        jm_str_init(&text);
        rc = jm_cli_passport(p->passports.item[x->n], f, &text, err);
        f->any_driver = p->allow_driver;
        if (!rc && (rc = jm_passport_fits_run(f, run, err)))
            rc = jm_err_prefix(err, "--passport %s", p->passports.item[x->n]);
        jm_str_release(&text);
    }
    o->passport = x->passport;
    o->n_passport = rc ? 0 : x->n;
    return rc;
}

static int factors_given(const struct jm_present *p, struct jm_factor_set *set, struct jm_err *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < p->factors.n; i++)
        if ((rc = jm_factor_open(p->factors.item[i], p->zoneinfo, set, err)))
            jm_err_prefix(err, "--factors");
    for (size_t i = 0; !rc && i < p->carbon.n; i++)
        if ((rc = jm_factor_carbon_given(p->carbon.item[i], set, err)))
            jm_err_prefix(err, "--carbon");
    for (size_t i = 0; !rc && i < p->price.n; i++)
        if ((rc = jm_factor_price_given(p->price.item[i], set, err)))
            jm_err_prefix(err, "--price");
    return rc ? rc : jm_factor_check(set, err);
}

/* What the run keeps, unless one of its sort (price, carbon, water) is given now. */
static int factors_kept(const struct jm_run *run, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_str s;
    struct jm_factor_set kept = {0};
    bool given[JM_FACTOR_WHATS] = {false};
    jm_str_init(&s);
    for (size_t i = 0; i < set->n; i++)
        given[set->f[i].what] = true;
    int rc = jm_run_raw_data(run, JM_FACTOR_RAW, &s, NULL);
    if (rc == JM_EABSENT) {
        jm_str_release(&s);
        return 0;
    }
    if (!rc)
        rc = jm_factor_file(jm_str_span(&s), &kept, err);
    if (rc)
        rc = jm_err_set(err, rc, "the factors that the run keeps (%s) cannot be read", JM_FACTOR_RAW);
    for (size_t i = 0; !rc && i < kept.n; i++) {
        if (given[kept.f[i].what])
            continue;
        struct jm_factor *f = jm_factor_add(set, kept.f[i].what, jm_span_of(kept.f[i].zone));
        if (!f) {
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
            break;
        }
        *f = kept.f[i]; /* its steps go with it */
        kept.f[i].step = NULL;
        kept.f[i].n = kept.f[i].cap = 0;
    }
    jm_factor_set_release(&kept);
    jm_str_release(&s);
    return rc ? rc : jm_factor_check(set, err);
}

int jm_present_keep(const struct jm_present *p, struct jm_recorder *rec, struct jm_err *err)
{
    struct jm_factor_set set = {0};
    struct jm_str s;
    char number[32];
    jm_str_init(&s);
    int rc = factors_given(p, &set, err);
    if (!rc && rec && set.n) {
        jm_factor_store(&set, &s);
        rc = jm_str_ok(&s, "the factors", err);
        if (!rc && (rc = jm_recorder_raw(rec, JM_FACTOR_RAW, "given on the command line", jm_str_span(&s))))
            jm_err_set(err, rc, "the factors cannot be kept in the run");
        jm_str_reset(&s);
    }
    if (!rc && rec && p->pue.value > 0) {
        jm_json_fmt_double(number, p->pue.value);
        jm_str_adds(&s, number);
        if (p->pue.period[0])
            jm_str_addf(&s, ",period=%s", p->pue.period);
        if (p->pue.category[0])
            jm_str_addf(&s, ",category=%s", p->pue.category);
        if (p->pue.source[0])
            jm_str_addf(&s, ",source=%s", p->pue.source);
        rc = jm_str_ok(&s, "the PUE", err);
        if (!rc)
            jm_recorder_env(rec, "site.pue", s.buf);
        jm_str_reset(&s);
    }
    if (!rc && rec && p->wue.value > 0) {
        jm_wue_text(&p->wue, &s);
        rc = jm_str_ok(&s, "the WUE", err);
        if (!rc)
            jm_recorder_env(rec, "site.wue", s.buf);
        jm_str_reset(&s);
    }
    if (!rc && rec && p->embodied.grams > 0) {
        jm_str_addf(&s, "%.17gg,life=%.17gh,share=%.17g%s%s", p->embodied.grams, p->embodied.life_s / 3600,
                    p->embodied.share, p->embodied.source[0] ? ",source=" : "", p->embodied.source);
        rc = jm_str_ok(&s, "the embodied emissions", err);
        if (!rc)
            jm_recorder_env(rec, "site.embodied", s.buf);
    }
    jm_str_release(&s);
    jm_factor_set_release(&set);
    return rc;
}

static int factors(const struct jm_run *run, const struct jm_present *p, struct carried *x,
                   struct jm_compute_opts *o, struct jm_err *err)
{
    int rc = factors_given(p, &x->factors, err);
    if (!rc)
        rc = factors_kept(run, &x->factors, err);
    if (!rc && p->embodied.grams > 0 && !x->factors.n)
        rc =
            jm_err_set(err, JM_EUSAGE,
                       "--embodied: the Software Carbon Intensity needs a carbon factor by location too; add "
                       "--carbon or --factors");
    o->factors = &x->factors;
    return rc;
}

#define DIURNAL_BYTES ((size_t)4 << 20)

static int diurnal(const struct jm_present *p, struct carried *x, struct jm_compute_opts *o,
                   struct jm_err *err)
{
    struct jm_str text;
    if (!p->diurnal)
        return 0;
    jm_str_init(&text);
    int rc = jm_file_read(p->diurnal, DIURNAL_BYTES, &text, err);
    if (!rc && (rc = jm_diurnal_read(jm_str_span(&text), &x->diurnal, err))) {
        if (rc == JM_EPARSE || rc == JM_ELIMIT || rc == JM_ERANGE) {
            rc = JM_EUSAGE; /* the file is the user's word, like an option */
            if (err)
                err->code = rc;
        }
        jm_err_prefix(err, "--diurnal %s", p->diurnal);
    }
    jm_str_release(&text);
    o->diurnal = &x->diurnal;
    o->diurnal_file = p->diurnal;
    return rc;
}

/* The calibration that is to be carried to the run, held against it. */
static int carry(const struct jm_run *run, const struct jm_present *p, struct carried *x,
                 struct jm_compute_opts *o, struct jm_err *err)
{
    struct jm_str s;
    *x = (struct carried){0};
    int rc = passports(run, p, x, o, err);
    if (!rc)
        rc = factors(run, p, x, o, err);
    if (!rc)
        rc = diurnal(p, x, o, err);
    if (rc)
        return rc;
    if (!p->calibration)
        return p->allow_machine || (p->allow_driver && !p->passports.n)
                   ? jm_err_set(
                         err, JM_EUSAGE,
                         "--allow-machine belongs to --calibration, --allow-driver to it and to --passport")
                   : 0;
    jm_str_init(&s);
    x->c = calloc(1, sizeof *x->c);
    rc = !x->c ? jm_err_set(err, JM_ENOMEM, "out of memory for the calibration")
         : jm_path_spare_run(p->calibration, NULL)
             ? jm_err_set(err, JM_EUSAGE,
                          "--calibration: %s is a run; joulemark calibrate makes a calibration of several",
                          p->calibration)
             : jm_file_read(p->calibration, JM_CAL_BYTES, &s, err);
    if (!rc && (rc = jm_calibration_read(jm_str_span(&s), x->c, err)))
        rc = jm_err_prefix(err, "--calibration %s", p->calibration);
    jm_str_release(&s);
    if (!rc)
        rc = jm_calibration_fits(x->c, run, p->allow_machine, p->allow_driver, x->note, err);
    o->calibration = x->c;
    o->calibration_note = x->note;
    return rc;
}

static void carried_release(struct carried *x)
{
    if (x->c)
        jm_calibration_release(x->c);
    free(x->c);
    for (size_t i = 0; i < x->n; i++)
        jm_passport_release(&x->passport[i].p);
    free(x->passport);
    jm_factor_set_release(&x->factors);
    jm_diurnal_release(&x->diurnal);
}

int jm_present_report(const struct jm_run *run, const struct jm_present *p, struct jm_report **report,
                      struct jm_err *err)
{
    struct jm_compute_opts c;
    struct carried x;
    options(run, p, &c);
    int rc = carry(run, p, &x, &c, err);
    if (!rc)
        rc = jm_compute(run, &c, report, err);
    if (!rc)
        rc = jm_audit(run, *report, err);
    carried_release(&x);
    return rc;
}

static int render(struct jm_cli *cli, const struct jm_run *run, const struct jm_present *p,
                  const char *format, struct jm_report **report, struct jm_str *out, struct jm_err *err)
{
    const struct jm_show_format *f = jm_show_find(format);
    if (!f) {
        struct jm_str names;
        jm_str_init(&names);
        for (const struct jm_show_format *k = jm_show_formats; k->name; k++)
            jm_str_addf(&names, "%s%s", names.len ? ", " : "", k->name);
        jm_err_set(err, JM_EUSAGE, "--format: \"%.40s\" is not one of %s", format, names.buf);
        jm_str_release(&names);
        return JM_EUSAGE;
    }
    struct jm_show_opts o = {.width = 80,
                             .color = cli->term.out_color,
                             .ascii = p->ascii,
                             .reconcile = p->reconcile,
                             .phases = p->phases,
                             .all = p->all,
                             .no_script = p->no_script};
    if (p->explain) {
        struct jm_explain *x = NULL;
        struct jm_compute_opts c;
        struct carried held;
        options(run, p, &c);
        int bad = carry(run, p, &held, &c, err);
        if (!bad)
            bad = jm_compute(run, &c, report, err);
        if (!bad)
            bad = jm_explain(run, *report, &c, p->explain, &x, err);
        if (!bad)
            bad = jm_show_explain(*report, x, format, &o, out, err);
        carried_release(&held);
        return bad ? bad : jm_str_ok(out, "the explanation", err);
    }
    int rc = jm_present_report(run, p, report, err);
    if (!rc)
        rc = jm_disclosure(run, *report, &o.disclosure, &o.n_disclosure, err);
    if (!rc)
        rc = f->render(*report, &o, out, err);
    return rc ? rc : jm_str_ok(out, "the report", err);
}

int jm_present_file(struct jm_cli *cli, const char *path, const struct jm_present *p, const char *format,
                    struct jm_str *out, enum jm_validity *validity, struct jm_err *err)
{
    struct jm_run *run = NULL;
    struct jm_report *report = NULL;
    int rc = jm_run_open(path, &run, err);
    if (rc)
        return rc;
    rc = render(cli, run, p, format, &report, out, err);
    if (!rc)
        *validity = report->validity;
    jm_report_free(report);
    jm_run_close(run);
    return rc;
}

int jm_present_exit(enum jm_validity v)
{
    return v == JM_V_INVALID ? JM_EXIT_INVALID : JM_EXIT_OK;
}
