/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/auditout.h"

#include <string.h>

#include "base/json.h"

#include "base/banned.h"

const struct jm_check *const *jm_audit_tables(void)
{
    static const struct jm_check *const t[] = {jm_check_table, jm_foreign_check_table, NULL};
    return t;
}

static const char *check_of(const char *finding)
{
    static const struct jm_finding_kind *const t[] = {jm_finding_table, jm_foreign_finding_table};
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        for (const struct jm_finding_kind *k = t[i]; k->id; k++)
            if (strcmp(k->id, finding) == 0)
                return k->check;
    return finding;
}

static bool concerns(const struct jm_report *r, const struct jm_finding *f)
{
    return !f->profiles || (f->profiles & (1u << r->profile));
}

int jm_audit_outcome(const struct jm_report *r, const struct jm_check *c)
{
    int worst = JM_AUDIT_PASSED;
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct jm_finding *f = &r->findings[i];
        if (strcmp(check_of(f->id), c->id) == 0) {
            int is = f->severity == JM_SEV_INFO || !concerns(r, f) ? JM_AUDIT_NOTED : JM_AUDIT_FAILED;
            worst = is > worst ? is : worst;
        }
    }
    return worst;
}

const char *jm_audit_why(const char *finding)
{
    const char *id = check_of(finding);
    for (const struct jm_check *const *t = jm_audit_tables(); *t; t++)
        for (const struct jm_check *c = *t; c->id; c++)
            if (strcmp(c->id, id) == 0)
                return c->why;
    return NULL;
}

bool jm_audit_imported(const struct jm_report *r)
{
    return strcmp(r->kind, "imported") == 0;
}

/* Checks that ran: those of other tools' files only over imported ones. */
int jm_audit_count(const struct jm_report *r, int *failed)
{
    int n = 0;
    *failed = 0;
    for (const struct jm_check *const *t = jm_audit_tables(); *t; t++)
        for (const struct jm_check *c = *t; c->id && (*t != jm_foreign_check_table || jm_audit_imported(r));
             c++) {
            *failed += jm_audit_outcome(r, c) == JM_AUDIT_FAILED;
            n++;
        }
    return n;
}

void jm_audit_json(struct jm_str *s, const struct jm_report *r, const struct jm_evidence *e, const char *path,
                   const char *importer)
{
    static const char *const words[] = {"passed", "noted", "failed"};
    struct jm_jsonw w;
    int failed;
    jm_audit_count(r, &failed);
    jm_jsonw_init(&w, s, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.audit/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_kstr(&w, "file", path);
    jm_jsonw_kstr(&w, "importer", importer);
    jm_jsonw_kstr(&w, "profile", jm_profile_name((int)r->profile));
    jm_jsonw_kstr(&w, "status", failed ? "failed" : "passed");
    jm_jsonw_key(&w, "findings");
    jm_jsonw_array(&w);
    for (int sev = JM_SEV_ERROR; sev >= JM_SEV_INFO; sev--)
        for (size_t i = 0; i < r->n_findings; i++) {
            const struct jm_finding *f = &r->findings[i];
            if ((int)f->severity != sev)
                continue;
            jm_jsonw_object(&w);
            jm_jsonw_kstr(&w, "id", f->id);
            jm_jsonw_kstr(&w, "check", check_of(f->id));
            jm_jsonw_kstr(&w, "severity", jm_severity_name(sev));
            jm_jsonw_kstr(&w, "text", f->text);
            if (f->evidence && f->evidence[0])
                jm_jsonw_kstr(&w, "evidence", f->evidence);
            if (f->window >= 0)
                jm_jsonw_kstr(&w, "window", r->windows[f->window].name);
            jm_jsonw_kstr(&w, "why", jm_audit_why(f->id));
            jm_jsonw_end(&w);
        }
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "checks");
    jm_jsonw_array(&w);
    for (const struct jm_check *const *t = jm_audit_tables(); *t; t++)
        for (const struct jm_check *c = *t; c->id && (*t != jm_foreign_check_table || jm_audit_imported(r));
             c++) {
            jm_jsonw_object(&w);
            jm_jsonw_kstr(&w, "id", c->id);
            jm_jsonw_kstr(&w, "title", c->title);
            jm_jsonw_kstr(&w, "result", words[jm_audit_outcome(r, c)]);
            jm_jsonw_end(&w);
        }
    jm_jsonw_end(&w);
    jm_show_evidence_json(&w, e);
    jm_jsonw_end(&w);
}
