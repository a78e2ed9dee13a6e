/* SPDX-License-Identifier: Apache-2.0 */
/* Everything raw as text: a folder of CSV files or one JSON file. Results are not raw and not here. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "run/internal.h"
#include "run/sheet.h"

#include "base/banned.h"

struct export
{
    const struct jm_run *r;
    bool json;
    struct jm_sheet s;
    const char *path;
    struct jm_str file;
    struct jm_err *err;
};

/* Columns of the tables: keys in JSON, first lines in CSV. */
static const char *const run_cols[] = {"key", "value", NULL};
static const char *const meters_cols[] = {"meter", "name",      "instance",  "state", "reason",
                                          "mend",  "period_ns", "simulated", NULL};
static const char *const domains_cols[] = {"domain", "parent", "kind", "key", "label", NULL};
static const char *const channels_cols[] = {"channel",
                                            "meter",
                                            "name",
                                            "device",
                                            "kind",
                                            "unit",
                                            "scale10",
                                            "scale2",
                                            "modulus",
                                            "period_ns",
                                            "period_measured",
                                            "semantics",
                                            "window_ns",
                                            "gain_tolerance",
                                            "offset_tolerance",
                                            "sane_min",
                                            "sane_max",
                                            "provenance",
                                            "domain",
                                            "flags",
                                            "scope",
                                            "source",
                                            NULL};
static const char *const windows_cols[] = {"window", "trial", "role", "name", "t0_ns", "t1_ns", NULL};
static const char *const marks_cols[] = {"t_ns", "name", NULL};
static const char *const clock_pairs_cols[] = {"mono_before_ns", "mono_after_ns", "utc_ns", "boottime_ns",
                                               NULL};
static const char *const environment_cols[] = {"key", "value", NULL};
static const char *const raw_cols[] = {"name", "origin", "sha256", "bytes", "kept", NULL};
static const char *const token_events_cols[] = {"request", "t_ns", "tokens", "flags", NULL};
static const char *const factors_cols[] = {"kind", "key", "value", "unit", "source", NULL};
static const char *const claims_cols[] = {"window", "key",    "metric",   "stat", "value",
                                          "unit",   "source", "boundary", NULL};
static const char *const scrapes_cols[] = {"url", "t0_ns", "t1_ns", "text", NULL};
static const char *const readings_cols[] = {"t0_ns", "t1_ns", "native", "value", "status", "flags", NULL};

/* Begins a table: in CSV a file of its own. */
static int begin(struct export *x, const char *name, const char *const *cols)
{
    int rc = 0;
    if (!x->json) {
        jm_str_reset(&x->file);
        jm_str_addf(&x->file, "%s/%s.csv", x->path, name);
        rc = jm_str_ok(&x->file, "a file name", x->err);
        if (!rc)
            rc = jm_sheet_open(&x->s, x->file.buf, false, x->err);
    }
    if (!rc)
        jm_sheet_table(&x->s, name, cols);
    return rc;
}

static int finish(struct export *x, int rc)
{
    if (!x->json)
        return jm_sheet_close(&x->s, rc, x->err);
    if (!rc)
        jm_sheet_table_end(&x->s);
    return rc;
}

static int put_run(struct export *x)
{
    const struct jm_run_info *i = &x->r->info;
    char created[JM_RFC3339_SIZE], seed[24];
    jm_time_rfc3339(i->created_real, created);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)i->seed);
    const char *rows[][2] = {{"schema", "joulemark.export/1"},
                             {"id", i->id},
                             {"label", i->label},
                             {"kind", i->kind},
                             {"source", i->source},
                             {"joulemark", i->joulemark},
                             {"created", created},
                             {"seed", seed},
                             {"state", i->cut      ? "cut"
                                       : i->sealed ? "sealed"
                                                   : "recording"},
                             {"sha256", i->sha256}};
    if (x->json) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            jm_jsonw_kstr(&x->s.w, rows[k][0], rows[k][1][0] ? rows[k][1] : NULL);
        return 0;
    }
    int rc = begin(x, "run", run_cols);
    for (size_t k = 0; !rc && k < sizeof rows / sizeof *rows; k++) {
        jm_sheet_row(&x->s);
        jm_sheet_text(&x->s, rows[k][0]);
        jm_sheet_text(&x->s, rows[k][1]);
        rc = jm_sheet_row_end(&x->s, x->err);
    }
    return finish(x, rc);
}

static int put_meters(struct export *x)
{
    struct jm_sheet *s = &x->s;
    int rc = begin(x, "meters", meters_cols);
    for (size_t i = 0; !rc && i < x->r->n_meter; i++) {
        const struct jm_run_meter *m = &x->r->meter[i];
        jm_sheet_row(s);
        jm_sheet_i64(s, (int64_t)i);
        jm_sheet_text(s, m->name);
        jm_sheet_text(s, m->instance);
        jm_sheet_text(s, m->state);
        jm_sheet_text(s, m->reason);
        jm_sheet_text(s, m->mend);
        jm_sheet_opt(s, m->period_ns ? m->period_ns : -1);
        jm_sheet_i64(s, m->simulated);
        rc = jm_sheet_row_end(s, x->err);
    }
    return finish(x, rc);
}

static int put_domains(struct export *x)
{
    struct jm_sheet *s = &x->s;
    int rc = begin(x, "domains", domains_cols);
    for (size_t i = 0; !rc && i < x->r->tree.n; i++) {
        const struct jm_domain *d = &x->r->tree.d[i];
        jm_sheet_row(s);
        jm_sheet_i64(s, d->id);
        jm_sheet_opt(s, d->parent);
        jm_sheet_text(s, jm_domain_kind_name(d->kind));
        jm_sheet_text(s, d->key);
        jm_sheet_text(s, d->label);
        rc = jm_sheet_row_end(s, x->err);
    }
    return finish(x, rc);
}

static int put_channels(struct export *x)
{
    struct jm_sheet *s = &x->s;
    int rc = begin(x, "channels", channels_cols);
    for (size_t i = 0; !rc && i < x->r->n_chan; i++) {
        const struct jm_channel *c = &x->r->chan[i];
        jm_sheet_row(s);
        jm_sheet_i64(s, c->id);
        jm_sheet_i64(s, c->meter);
        jm_sheet_text(s, c->name);
        jm_sheet_text(s, c->device);
        jm_sheet_text(s, jm_channel_kind_name(c->kind));
        jm_sheet_text(s, jm_unit_name(c->unit));
        jm_sheet_i64(s, c->scale10);
        jm_sheet_i64(s, c->scale2);
        if (c->modulus)
            jm_sheet_u64(s, c->modulus);
        else
            jm_sheet_null(s);
        jm_sheet_opt(s, c->period_ns ? c->period_ns : -1);
        jm_sheet_i64(s, c->period_measured);
        jm_sheet_text(s, jm_gauge_sem_name(c->sem));
        jm_sheet_opt(s, c->window_ns ? c->window_ns : -1);
        jm_sheet_num(s, c->gain_tol);
        jm_sheet_num(s, c->offset_tol);
        jm_sheet_num(s, c->sane_min);
        jm_sheet_num(s, c->sane_max);
        jm_sheet_text(s, jm_provenance_name(c->provenance));
        jm_sheet_opt(s, c->domain);
        jm_sheet_i64(s, c->flags);
        jm_sheet_text(s, c->scope);
        jm_sheet_text(s, c->source);
        rc = jm_sheet_row_end(s, x->err);
    }
    return finish(x, rc);
}

static int put_times(struct export *x)
{
    struct jm_sheet *s = &x->s;
    int rc = begin(x, "windows", windows_cols);
    for (size_t i = 0; !rc && i < x->r->n_window; i++) {
        const struct jm_window *w = &x->r->window[i];
        jm_sheet_row(s);
        jm_sheet_i64(s, w->id);
        jm_sheet_i64(s, w->trial);
        jm_sheet_text(s, jm_role_name(w->role));
        jm_sheet_text(s, w->name);
        jm_sheet_i64(s, w->t0);
        jm_sheet_opt(s, w->t1 ? w->t1 : -1);
        rc = jm_sheet_row_end(s, x->err);
    }
    rc = finish(x, rc);
    if (!rc)
        rc = begin(x, "marks", marks_cols);
    for (size_t i = 0; !rc && i < x->r->n_mark; i++) {
        jm_sheet_row(s);
        jm_sheet_i64(s, x->r->mark[i].t);
        jm_sheet_text(s, x->r->mark[i].name);
        rc = jm_sheet_row_end(s, x->err);
    }
    rc = finish(x, rc);
    if (!rc)
        rc = begin(x, "clock_pairs", clock_pairs_cols);
    for (size_t i = 0; !rc && i < x->r->n_pair; i++) {
        const struct jm_clock_pair *p = &x->r->pair[i];
        jm_sheet_row(s);
        jm_sheet_i64(s, p->mono0);
        jm_sheet_i64(s, p->mono1);
        jm_sheet_i64(s, p->real);
        jm_sheet_i64(s, p->boot);
        rc = jm_sheet_row_end(s, x->err);
    }
    return finish(x, rc);
}

static int put_env(struct export *x)
{
    int rc = begin(x, "environment", environment_cols);
    for (size_t i = 0; !rc && i < x->r->n_env; i++) {
        jm_sheet_row(&x->s);
        jm_sheet_text(&x->s, x->r->env[i].key);
        jm_sheet_text(&x->s, x->r->env[i].value);
        rc = jm_sheet_row_end(&x->s, x->err);
    }
    return finish(x, rc);
}

static int put_requests(struct export *x)
{
    static const char *const sources[] = {NULL, "usage", "ids", "imported"};
    static const char *const cols[] = {"request",
                                       "trial",
                                       "slice",
                                       "end",
                                       "http_status",
                                       "finish",
                                       "error",
                                       "prompt_tokens",
                                       "output_tokens",
                                       "cached_tokens",
                                       "reasoning_tokens",
                                       "token_source",
                                       "asked_isl",
                                       "asked_osl",
                                       "prompt_bytes",
                                       "output_bytes",
                                       "prompt_sha256",
                                       "output_sha256",
                                       "events",
                                       "shared_stamp",
                                       "stream",
                                       "reused",
                                       "quality",
                                       "scheduled_ns",
                                       "admitted_ns",
                                       "connected_ns",
                                       "sent_ns",
                                       "headers_ns",
                                       "first_byte_ns",
                                       "first_event_ns",
                                       "first_token_ns",
                                       "first_visible_ns",
                                       "last_token_ns",
                                       "usage_ns",
                                       "done_ns",
                                       "closed_ns",
                                       "first_chunk_ns",
                                       "last_chunk_ns",
                                       "chunks",
                                       "messages",
                                       "session",
                                       "turn",
                                       "planned_abort",
                                       NULL};
    _Static_assert(JM_T_COUNT == 15, "a column for each stamp");
    struct jm_sheet *s = &x->s;
    size_t n;
    const struct jm_request *q = jm_run_requests(x->r, &n);
    int rc = jm_run_requests_check(x->r, x->err);
    if (!rc)
        rc = begin(x, "requests", cols);
    for (size_t i = 0; !rc && i < n; i++, q++) {
        jm_sheet_row(s);
        jm_sheet_i64(s, q->id);
        jm_sheet_i64(s, q->trial);
        jm_sheet_text(s, q->slice);
        jm_sheet_text(s, jm_end_name(q->end));
        jm_sheet_opt(s, q->http_status);
        jm_sheet_text(s, q->finish);
        jm_sheet_text(s, q->error);
        jm_sheet_opt(s, q->prompt_tokens);
        jm_sheet_opt(s, q->output_tokens);
        jm_sheet_opt(s, q->cached_tokens);
        jm_sheet_opt(s, q->reasoning_tokens);
        jm_sheet_text(s, q->token_source <= JM_TOK_IMPORTED ? sources[q->token_source] : NULL);
        jm_sheet_opt(s, q->asked_isl);
        jm_sheet_opt(s, q->asked_osl);
        jm_sheet_opt(s, q->prompt_bytes);
        jm_sheet_opt(s, q->output_bytes);
        jm_sheet_text(s, q->prompt_sha256);
        jm_sheet_text(s, q->output_sha256);
        jm_sheet_opt(s, q->events);
        jm_sheet_opt(s, q->shared_stamp);
        jm_sheet_i64(s, q->stream);
        jm_sheet_i64(s, q->reused);
        jm_sheet_num(s, q->quality);
        for (int k = 0; k < JM_T_COUNT; k++)
            jm_sheet_opt(s, q->t[k]);
        jm_sheet_opt(s, q->chunks);
        jm_sheet_opt(s, q->messages);
        jm_sheet_opt(s, q->session);
        jm_sheet_opt(s, q->turn);
        jm_sheet_i64(s, q->planned_abort);
        rc = jm_sheet_row_end(s, x->err);
    }
    return finish(x, rc);
}

static int put_event(void *self, int64_t request, const struct jm_token_event *ev, size_t n)
{
    struct export *x = self;
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++) {
        jm_sheet_row(&x->s);
        jm_sheet_i64(&x->s, request);
        jm_sheet_i64(&x->s, ev[i].t);
        jm_sheet_opt(&x->s, ev[i].flags & JM_TE_COUNT_KNOWN ? ev[i].tokens : -1);
        jm_sheet_i64(&x->s, ev[i].flags);
        rc = jm_sheet_row_end(&x->s, x->err);
    }
    return rc;
}

static int put_factor(void *self, const struct jm_run_factor *f)
{
    struct export *x = self;
    jm_sheet_row(&x->s);
    jm_sheet_text(&x->s, f->kind);
    jm_sheet_text(&x->s, f->key);
    jm_sheet_num(&x->s, f->value);
    jm_sheet_text(&x->s, f->unit);
    jm_sheet_text(&x->s, f->source);
    return jm_sheet_row_end(&x->s, x->err);
}

static int put_claims(struct export *x)
{
    struct jm_sheet *s = &x->s;
    int rc = begin(x, "claims", claims_cols);
    for (size_t i = 0; !rc && i < x->r->n_claim; i++) {
        const struct jm_run_claim *c = &x->r->claim[i];
        jm_sheet_row(s);
        jm_sheet_opt(s, c->window);
        jm_sheet_text(s, c->key);
        jm_sheet_text(s, c->metric);
        jm_sheet_text(s, c->stat);
        jm_sheet_num(s, c->value);
        jm_sheet_text(s, c->unit);
        jm_sheet_text(s, c->source);
        jm_sheet_text(s, c->boundary);
        rc = jm_sheet_row_end(s, x->err);
    }
    return finish(x, rc);
}

static int put_scrape(void *self, const char *url, int64_t t0, int64_t t1, struct jm_span text)
{
    struct export *x = self;
    jm_sheet_row(&x->s);
    jm_sheet_text(&x->s, url);
    jm_sheet_i64(&x->s, t0);
    jm_sheet_i64(&x->s, t1);
    jm_sheet_span(&x->s, text);
    return jm_sheet_row_end(&x->s, x->err);
}

static int put_raw(struct export *x)
{
    int rc = begin(x, "raw", raw_cols);
    for (size_t i = 0; !rc && i < x->r->n_raw; i++) {
        const struct jm_run_raw *w = &x->r->raw[i];
        jm_sheet_row(&x->s);
        jm_sheet_text(&x->s, w->name);
        jm_sheet_text(&x->s, w->origin);
        jm_sheet_text(&x->s, w->sha256);
        jm_sheet_i64(&x->s, w->bytes);
        jm_sheet_i64(&x->s, w->kept);
        rc = jm_sheet_row_end(&x->s, x->err);
    }
    return finish(x, rc);
}

static int put_readings(struct export *x, int channel)
{
    const struct jm_channel *c = &x->r->chan[channel];
    struct jm_readings a = {0};
    char name[64];
    snprintf(name, sizeof name, "readings.%d", channel);
    int rc = jm_run_readings(x->r, channel, INT64_MIN, INT64_MAX, &a, x->err);
    if (!rc)
        rc = begin(x, name, readings_cols);
    for (size_t i = 0; !rc && i < a.n; i++) {
        jm_sheet_row(&x->s);
        jm_sheet_i64(&x->s, a.v[i].t0);
        jm_sheet_i64(&x->s, a.v[i].t1);
        if (c->flags & JM_CHF_DOUBLE)
            jm_sheet_null(&x->s);
        else if (c->kind == JM_CH_COUNTER)
            jm_sheet_u64(&x->s, (uint64_t)a.v[i].value);
        else
            jm_sheet_i64(&x->s, a.v[i].value);
        if (a.v[i].status == JM_S_OK || a.v[i].status == JM_S_WRAPPED)
            jm_sheet_num(&x->s, jm_channel_value(c, a.v[i].value));
        else
            jm_sheet_null(&x->s); /* a value that is not good has no number */
        jm_sheet_text(&x->s, jm_status_name(a.v[i].status));
        jm_sheet_i64(&x->s, a.v[i].flags);
        rc = jm_sheet_row_end(&x->s, x->err);
    }
    jm_readings_release(&a);
    return finish(x, rc);
}

static int put_all(struct export *x)
{
    int rc = put_run(x);
    if (!rc)
        rc = put_meters(x);
    if (!rc)
        rc = put_domains(x);
    if (!rc)
        rc = put_channels(x);
    if (!rc)
        rc = put_times(x);
    if (!rc)
        rc = put_env(x);
    if (!rc)
        rc = put_requests(x);
    if (!rc)
        rc = begin(x, "token_events", token_events_cols);
    if (!rc)
        rc = finish(x, jm_run_events(x->r, put_event, x, x->err));
    if (!rc)
        rc = begin(x, "factors", factors_cols);
    if (!rc)
        rc = finish(x, jm_run_factors(x->r, put_factor, x, x->err));
    if (!rc)
        rc = put_claims(x);
    if (!rc)
        rc = begin(x, "scrapes", scrapes_cols);
    if (!rc)
        rc = finish(x, jm_run_scrapes(x->r, put_scrape, x, x->err));
    if (!rc)
        rc = put_raw(x);
    for (size_t c = 0; !rc && c < x->r->n_chan; c++)
        rc = put_readings(x, (int)c);
    return rc;
}

int jm_run_export(const struct jm_run *r, const char *format, const char *path, struct jm_err *err)
{
    struct export x = {.r = r, .json = strcmp(format, "json") == 0, .path = path, .err = err, .s.fd = -1};
    struct jm_err own = {0};
    int rc = 0;
    if (!x.json && strcmp(format, "csv") != 0)
        return jm_err_set(err, JM_EINVAL, "a run is exported as csv or json, not as %s", format);
    x.err = err ? err : &own;
    jm_str_init(&x.file);
    if (x.json) {
        /* written beside and renamed, so that nobody takes half of it for all */
        jm_str_addf(&x.file, "%s.part", path);
        rc = jm_str_ok(&x.file, "a file name", x.err);
        if (!rc)
            rc = jm_sheet_open(&x.s, x.file.buf, true, x.err);
        if (!rc) {
            jm_jsonw_object(&x.s.w);
            rc = put_all(&x);
            jm_jsonw_end(&x.s.w);
            jm_str_addc(&x.s.buf, '\n');
            rc = jm_sheet_close(&x.s, rc, x.err);
            if (!rc && rename(x.file.buf, path))
                rc = jm_err_sys(x.err, errno, "cannot write %s", path);
            if (rc)
                unlink(x.file.buf);
        }
    } else {
        if (mkdir(path, 0777) && errno != EEXIST)
            rc = jm_err_sys(x.err, errno, "cannot make the folder %s", path);
        if (!rc)
            rc = put_all(&x);
    }
    jm_str_release(&x.file);
    return rc;
}
