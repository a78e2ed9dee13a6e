/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle says of one run. */
#include <stdio.h>
#include <string.h>

#include "cli/auditout.h"
#include "cli/bundle.h"
#include "run/run.h"

#include "base/banned.h"

void jm_bundle_figures_init(struct jm_bundle_figures *f)
{
    *f = (struct jm_bundle_figures){0};
    jm_str_init(&f->show);
    jm_str_init(&f->audit);
    jm_str_init(&f->page);
    jm_str_init(&f->disclosure);
    jm_str_init(&f->report);
}

void jm_bundle_figures_release(struct jm_bundle_figures *f)
{
    jm_str_release(&f->show);
    jm_str_release(&f->audit);
    jm_str_release(&f->page);
    jm_str_release(&f->disclosure);
    jm_str_release(&f->report);
}

static int render(const struct jm_run *run, struct jm_report *r, const char *name,
                  const struct jm_figure_opts *o, bool pages, struct jm_bundle_figures *f, struct jm_err *err)
{
    struct jm_evidence e = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < o->facts.n; i++)
        rc = jm_fact_declare(r, o->facts.item[i], err);
    if (!rc)
        rc = jm_disclosure(run, r, &e.row, &e.n_row, err);
    if (!rc)
        rc = jm_levels(run, r, &e.levels, err);
    if (rc)
        return rc;
    struct jm_show_opts show = {.width = 80, .all = true, .disclosure = e.row, .n_disclosure = e.n_row};
    r->file = name;
    f->simulated = r->simulated;
    rc = jm_show_find("json")->render(r, &show, &f->show, err);
    if (!rc) {
        jm_audit_json(&f->audit, r, &e, name, NULL);
        rc = jm_str_ok(&f->audit, "the audit", err);
    }
    if (rc || !pages)
        return rc;
    jm_show_evidence_markdown(&f->disclosure, r, &e, true);
    rc = jm_str_ok(&f->disclosure, "the disclosure", err);
    if (!rc)
        rc = jm_show_evidence_html(&f->page, r, &e, err);
    return rc ? rc : jm_show_find("html")->render(r, &show, &f->report, err);
}

int jm_bundle_figures(const char *path, const char *name, const struct jm_figure_opts *o, bool pages,
                      struct jm_bundle_figures *f, struct jm_err *err)
{
    struct jm_run *run = NULL;
    struct jm_report *r = NULL;
    int rc = jm_run_open(path, &run, err);
    if (rc)
        return rc;
    const struct jm_run_info *info = jm_run_info(run);
    snprintf(f->id, sizeof f->id, "%s", info->id);
    snprintf(f->sha256, sizeof f->sha256, "%s", info->sha256);
    f->cut = info->cut;
    if (!info->sealed)
        rc = jm_err_set(
            err, JM_ECONFLICT,
            "%s is not sealed, so that its bytes may still change: let the recording end, or joulemark "
            "recover it",
            path);
    if (!rc)
        rc = jm_present_report(run, &o->present, &r, err);
    if (!rc)
        rc = render(run, r, name, o, pages, f, err);
    jm_report_free(r);
    jm_run_close(run);
    return rc;
}
