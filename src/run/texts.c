/* SPDX-License-Identifier: Apache-2.0 */
/* The side tables: texts, raw files, scrapes, factors. */
#include <string.h>

#include "run/internal.h"

#include "base/banned.h"

/* Unpacks columns enc, enc + 1 and appends. */
static int append_blob(sqlite3_stmt *st, int enc, struct jm_str *out, struct jm_err *err)
{
    struct jm_str plain;
    jm_str_init(&plain);
    int rc = jm_unpack((int)jm_sql_i64(st, enc, 0), jm_sql_span(st, enc + 1), JM_RUN_RAW_MAX, &plain, err);
    if (!rc) {
        jm_str_addspan(out, jm_str_span(&plain));
        rc = jm_str_ok(out, "a stored text", err);
    }
    jm_str_release(&plain);
    return rc;
}

int jm_run_raw_data(const struct jm_run *r, const char *name, struct jm_str *out, struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = jm_sql_prepare(r->db, "SELECT enc,data FROM raw WHERE name=?1 ORDER BY id DESC LIMIT 1", r->path,
                            &st, err);
    if (rc)
        return rc;
    jm_sql_bind(st, "t", name);
    int s = sqlite3_step(st);
    if (s == SQLITE_DONE)
        rc = jm_err_set(err, JM_EABSENT, "%s keeps nothing under the name \"%s\"", r->path, name);
    else if (s != SQLITE_ROW)
        rc = jm_sql_err(r->db, s, "read", r->path, err);
    else if (sqlite3_column_type(st, 1) == SQLITE_NULL)
        rc = jm_err_set(err, JM_EABSENT, "%s has \"%s\" by its hash only: it was larger than %u bytes",
                        r->path, name, JM_RUN_RAW_MAX);
    else
        rc = append_blob(st, 0, out, err);
    sqlite3_finalize(st);
    return rc;
}

int jm_run_text(const struct jm_run *r, int64_t request, struct jm_str *prompt, struct jm_str *output,
                struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = jm_sql_prepare(r->db, "SELECT prompt_enc,prompt,output_enc,output FROM text WHERE request=?1",
                            r->path, &st, err);
    if (rc)
        return rc;
    jm_sql_bind(st, "i", request);
    int s = sqlite3_step(st);
    if (s == SQLITE_DONE)
        rc = jm_err_set(err, JM_EABSENT, "%s keeps no text of request %lld", r->path, (long long)request);
    else if (s != SQLITE_ROW)
        rc = jm_sql_err(r->db, s, "read", r->path, err);
    if (!rc)
        rc = append_blob(st, 0, prompt, err);
    if (!rc)
        rc = append_blob(st, 2, output, err);
    sqlite3_finalize(st);
    return rc;
}

int jm_run_scrapes(const struct jm_run *r, jm_run_scrape_fn fn, void *self, struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    struct jm_str url, text;
    jm_str_init(&url);
    jm_str_init(&text);
    int rc = jm_sql_prepare(r->db, "SELECT url,t0,t1,enc,data FROM scrape ORDER BY t0,id", r->path, &st, err);
    while (!rc) {
        int s = sqlite3_step(st);
        if (s == SQLITE_DONE)
            break;
        if (s != SQLITE_ROW) {
            rc = jm_sql_err(r->db, s, "read", r->path, err);
            break;
        }
        jm_str_reset(&url);
        jm_str_reset(&text);
        jm_str_addspan(&url, jm_sql_span(st, 0));
        rc = jm_str_ok(&url, "an address", err);
        if (!rc && sqlite3_column_type(st, 4) != SQLITE_NULL)
            rc = append_blob(st, 3, &text, err);
        if (!rc)
            rc = fn(self, url.buf, jm_sql_i64(st, 1, 0), jm_sql_i64(st, 2, 0), jm_str_span(&text));
    }
    sqlite3_finalize(st);
    jm_str_release(&url);
    jm_str_release(&text);
    return rc;
}

int jm_run_factors(const struct jm_run *r, jm_run_factor_fn fn, void *self, struct jm_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc =
        jm_sql_prepare(r->db, "SELECT kind,key,value,unit,source FROM factor ORDER BY id", r->path, &st, err);
    while (!rc) {
        struct jm_run_factor f;
        int s = sqlite3_step(st);
        if (s == SQLITE_DONE)
            break;
        if (s != SQLITE_ROW) {
            rc = jm_sql_err(r->db, s, "read", r->path, err);
            break;
        }
        jm_sql_text(st, 0, f.kind, sizeof f.kind);
        jm_sql_text(st, 1, f.key, sizeof f.key);
        f.value = jm_sql_double(st, 2);
        jm_sql_text(st, 3, f.unit, sizeof f.unit);
        jm_sql_text(st, 4, f.source, sizeof f.source);
        rc = fn(self, &f);
    }
    sqlite3_finalize(st);
    return rc;
}
