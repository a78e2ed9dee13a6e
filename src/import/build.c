/* SPDX-License-Identifier: Apache-2.0 */
#include "import/build.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"

#include "base/banned.h"

#define EVENTS_MAX (16u << 20) /* of one request */

static void set(struct jm_build *b, int rc)
{
    if (!b->rc && rc < 0)
        b->rc = rc;
}

int jm_build_fail(struct jm_build *b, const char *fmt, ...)
{
    va_list ap;
    if (b->rc)
        return b->rc;
    va_start(ap, fmt);
    b->rc = jm_err_vset(b->err, JM_EPARSE, fmt, ap);
    va_end(ap);
    return b->rc;
}

int jm_build_begin(struct jm_build *b, const char *tool, const struct jm_ifile *f,
                   const struct jm_import_opts *o, const char *out, int64_t date_ns, struct jm_err *err)
{
    char source[256];
    *b = (struct jm_build){.f = f, .o = o, .out = out, .window = -1, .about = -1};
    b->err = err ? err : &b->own;
    snprintf(source, sizeof source, "%s %s", tool, jm_ifile_name(f));
    const struct jm_run_create c = {.label = o->label,
                                    .kind = "imported",
                                    .source = source,
                                    .created_real = date_ns,
                                    .seed = 1,
                                    .overwrite = o->overwrite};
    set(b, jm_run_create(out, &c, &b->w, b->err));
    jm_build_raw(b, f, jm_ifile_name(f));
    jm_build_env(b, "import.kind", "%s", tool);
    jm_build_env(b, "import.file", "%s", f->path);
    return b->rc;
}

void jm_build_raw(struct jm_build *b, const struct jm_ifile *f, const char *as)
{
    char hex[JM_SHA256_HEX];
    struct jm_sha256 sha;
    size_t mark = 0, piece = 1u << 20;
    if (b->rc)
        return;
    if (f->all.n <= JM_RUN_RAW_MAX) {
        set(b, jm_run_put_raw(b->w, as, f->path, f->all, b->err));
        return;
    }
    jm_sha256_init(&sha);
    for (size_t at = 0; at < f->all.n; at += piece) {
        struct jm_span s = jm_span_sub(f->all, at, piece);
        jm_sha256_add(&sha, s.p, s.n);
        jm_ifile_used(f, s.p + s.n, &mark);
    }
    jm_sha256_done(&sha, hex);
    set(b, jm_run_put_raw_hash(b->w, as, f->path, hex, (int64_t)f->all.n, b->err));
}

static void close_window(struct jm_build *b)
{
    if (!b->rc && b->window >= 0)
        set(b, jm_run_close_window(b->w, b->window, b->t1, b->err));
    b->last_t1 = b->t1;
}

int jm_build_end(struct jm_build *b)
{
    close_window(b);
    int64_t repeats = jm_build_id_repeats(b);
    if (repeats)
        jm_build_env(b, "import.duplicates", "%lld", (long long)repeats);
    free(b->ev);
    free(b->plan);
    b->ev = NULL;
    b->plan = NULL;
    if (!b->w)
        return b->rc;
    if (!b->rc)
        set(b, jm_run_seal(b->w, b->err));
    else {
        jm_run_abandon(b->w);
        jm_run_remove(b->out, NULL); /* half an import is none */
    }
    b->w = NULL;
    return b->rc;
}

void jm_build_env(struct jm_build *b, const char *key, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (b->rc)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    set(b, jm_run_put_env(b->w, key, text, b->err));
}

void jm_build_env_of(struct jm_build *b, const char *key, const struct jm_jtoken *v)
{
    char text[512];
    if (!b->rc && jm_jtext(v, text, sizeof text))
        set(b, jm_run_put_env(b->w, key, text, b->err));
}

void jm_build_missing(struct jm_build *b, const char *what, const char *why)
{
    char key[96];
    snprintf(key, sizeof key, "import.missing.%s", what);
    jm_build_env(b, key, "%s", why);
}

void jm_build_times(struct jm_build *b, const char *how)
{
    jm_build_env(b, "import.times", "%s", how);
}

void jm_build_window(struct jm_build *b, int trial, const char *name, int64_t t0, int64_t ns)
{
    jm_build_window_as(b, JM_R_MEASURE, trial, name, t0, ns);
}

void jm_build_window_as(struct jm_build *b, enum jm_role role, int trial, const char *name, int64_t t0,
                        int64_t ns)
{
    struct jm_window w = {.trial = trial, .role = role, .t0 = t0};
    if (b->rc)
        return;
    if (ns < 0 || t0 < 0 || t0 > INT64_MAX - ns) {
        jm_build_fail(b, "%s: a measurement that lasts %.6g s from %.6g s is none", b->f->path,
                      (double)ns / 1e9, (double)t0 / 1e9);
        return;
    }
    close_window(b);
    if (b->window < 0) { /* the clock of the run is UTC */
        struct jm_clock_pair pair = {t0, t0, t0, t0};
        set(b, jm_run_put_clock_pair(b->w, &pair, b->err));
    }
    w.id = b->windows++;
    snprintf(w.name, sizeof w.name, "%s", name);
    if (!b->rc)
        set(b, jm_run_open_window(b->w, &w, b->err));
    b->window = b->about = w.id;
    b->trial = trial;
    b->t0 = t0;
    b->t1 = t0 + (ns ? ns : 1);
}

void jm_build_window_after(struct jm_build *b, int trial, const char *name, int64_t t0, int64_t ns)
{
    int64_t from = b->window >= 0 ? b->t1 : INT64_MIN;
    jm_build_window(b, trial, name, t0 < from ? from : t0, ns);
}

int jm_build_documents(const char *tool, const char *path, const char *out, const struct jm_import_opts *o,
                       jm_build_date_fn date, jm_build_one_fn one, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_jdocs d;
    struct jm_jtoken doc;
    struct jm_build b;
    int rc = jm_ifile_open(path, &f, err), more;
    if (rc)
        return rc;
    jm_jdocs_init(&d, &f);
    more = jm_jdocs_next(&d, &doc, err);
    if (more <= 0) {
        jm_ifile_close(&f);
        return more ? more : jm_err_set(err, JM_EPARSE, "%s holds nothing but blanks", path);
    }
    int64_t at = date ? date(&f, &doc) : -1;
    jm_build_begin(&b, tool, &f, o, out, at >= 0 ? at : f.mtime_ns, err);
    if (at < 0)
        jm_build_env(&b, "import.date_from", "modification time of the file");
    bool list = doc.type == JM_J_ARRAY; /* then the selection is of its items, by the importer */
    while (!b.rc && more > 0) {
        if (!o->select || o->select == d.n || list)
            one(&b, &doc, d.n);
        if (!b.rc)
            set(&b, more = jm_jdocs_next(&d, &doc, b.err));
    }
    if (!b.rc && o->select > d.n && !list)
        jm_build_fail(&b, "%s holds %d benchmark%s, so there is no number %d", path, d.n, d.n == 1 ? "" : "s",
                      o->select);
    rc = jm_build_end(&b);
    jm_ifile_close(&f);
    return rc;
}

/* Open addressing in a power of two of places, half of them free at least: files have a plan a row, or one
 * for all of their rows. */
static struct jm_build_plan *plan_place(struct jm_build_plan *p, size_t cap, uint64_t hash)
{
    size_t i = (size_t)(hash ^ hash >> 32) & (cap - 1);
    while (p[i].seen && p[i].hash != hash)
        i = (i + 1) & (cap - 1);
    return &p[i];
}

static bool grow_plans(struct jm_build *b)
{
    size_t cap = b->cap_plan ? 2 * b->cap_plan : 16;
    struct jm_build_plan *p = calloc(cap, sizeof *p);
    if (!p) {
        set(b, jm_err_set(b->err, JM_ENOMEM, "out of memory for the plans of %s", b->f->path));
        return false;
    }
    for (size_t i = 0; i < b->cap_plan; i++)
        if (b->plan[i].seen)
            *plan_place(p, cap, b->plan[i].hash) = b->plan[i];
    free(b->plan);
    b->plan = p;
    b->cap_plan = cap;
    return true;
}

int jm_build_repeat(struct jm_build *b, const char *plan)
{
    uint64_t h = jm_build_hash(0, jm_span_of(plan));
    if (2 * b->n_plan >= b->cap_plan && !grow_plans(b))
        return 0;
    struct jm_build_plan *p = plan_place(b->plan, b->cap_plan, h);
    if (!p->seen)
        b->n_plan++;
    p->hash = h;
    return p->seen++;
}

/* ---- claims
 * ------------------------------------------------------------------------------------------------ */

void jm_build_energy_claim(struct jm_build *b, const char *key, const char *metric, const char *stat,
                           double value, const char *unit, const char *source, const char *boundary)
{
    struct jm_run_claim c = {.value = value, .window = b->about};
    if (b->rc)
        return;
    snprintf(c.key, sizeof c.key, "%s", key);
    snprintf(c.metric, sizeof c.metric, "%s", metric ? metric : "");
    snprintf(c.stat, sizeof c.stat, "%s", stat ? stat : "");
    snprintf(c.unit, sizeof c.unit, "%s", unit ? unit : "");
    snprintf(c.source, sizeof c.source, "%s", source ? source : "");
    snprintf(c.boundary, sizeof c.boundary, "%s", boundary ? boundary : "");
    set(b, jm_run_put_claim(b->w, &c, b->err));
}

void jm_build_claim(struct jm_build *b, const char *key, const char *metric, const char *stat, double value,
                    const char *unit, const char *source)
{
    jm_build_energy_claim(b, key, metric, stat, value, unit, source, "");
}

bool jm_build_stat(struct jm_span s, char stat[16])
{
    static const struct {
        const char *from, *to;
    } names[] = {{"mean", "mean"},   {"avg", "mean"},    {"average", "mean"}, {"median", "p50"},
                 {"min", "min"},     {"max", "max"},     {"std", "std"},      {"stddev", "std"},
                 {"std_dev", "std"}, {"sum", "sum"},     {"count", "count"},  {"total_sum", "sum"},
                 {"total", "sum"},   {"minimum", "min"}, {"maximum", "max"}};
    double q;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (jm_span_is(s, names[i].from)) {
            snprintf(stat, 16, "%s", names[i].to);
            return true;
        }
    if (jm_span_starts(s, JM_SPAN("quantiles_")))
        s = jm_span_sub(s, 10, s.n);
    if (s.n > 1 && s.n < 12 && (s.p[0] == 'p' || s.p[0] == 'P'))
        s = jm_span_sub(s, 1, s.n);
    else if (s.n > 1 && s.n < 12 && s.p[s.n - 1] == '%')
        s = jm_span_sub(s, 0, s.n - 1);
    else
        return false;
    if (jm_num_double(s, &q) || !(q >= 0 && q <= 100))
        return false;
    snprintf(stat, 16, "p%.10g", q);
    return true;
}

/* Does key fit the row, and which statistic does its * stand for? */
static bool fits(const struct jm_claim_row *r, struct jm_span key, char stat[16])
{
    struct jm_span want = jm_span_of(r->key);
    ptrdiff_t star = jm_span_chr(want, '*');
    if (star < 0) {
        snprintf(stat, 16, "%s", r->stat ? r->stat : "");
        return jm_span_eq(want, key);
    }
    struct jm_span head = jm_span_sub(want, 0, (size_t)star),
                   tail = jm_span_sub(want, (size_t)star + 1, want.n);
    if (key.n <= head.n + tail.n || !jm_span_starts(key, head) || !jm_span_ends(key, tail))
        return false;
    return jm_build_stat(jm_span_sub(key, head.n, key.n - head.n - tail.n), stat);
}

void jm_build_member(struct jm_build *b, const char *prefix, const struct jm_jtoken *key,
                     const struct jm_jtoken *v, const struct jm_claim_row *rows)
{
    char name[96], full[160], stat[16] = "";
    double d;
    if (b->rc || !jm_jtext(key, name, sizeof name))
        return;
    if (v->type == JM_J_STRING || v->type == JM_J_TRUE || v->type == JM_J_FALSE) {
        snprintf(full, sizeof full, "file.%s%s", prefix, name);
        jm_build_env_of(b, full, v);
        return;
    }
    if (v->type != JM_J_NUMBER)
        return;
    snprintf(full, sizeof full, "%s%s", prefix, name);
    if (!jm_jnum(v, &d))
        d = NAN;
    for (const struct jm_claim_row *r = rows; r && r->key; r++)
        if (fits(r, jm_span_of(name), stat)) {
            jm_build_energy_claim(b, full, r->metric, stat, d, r->unit, r->source, r->boundary);
            return;
        }
    jm_build_claim(b, full, "", "", d, "", "");
}

void jm_build_claims(struct jm_build *b, const struct jm_jtoken *object, const struct jm_claim_row *rows,
                     const char *prefix)
{
    struct jm_jiter it;
    struct jm_jtoken key, v;
    int rc = 0;
    if (b->rc || object->type != JM_J_OBJECT)
        return;
    jm_jiter_init(&it, b->f, object);
    while (!b->rc && (rc = jm_jiter_next(&it, &key, &v, b->err)) > 0)
        jm_build_member(b, prefix, &key, &v, rows);
    set(b, rc);
}

static void stats(struct jm_build *b, const char *key, const struct jm_jtoken *object, const char *metric,
                  const char *unit, const char *source, int level)
{
    struct jm_jiter it;
    struct jm_jtoken k, v;
    char name[64], full[160], stat[16];
    double d;
    int rc = 0;
    if (b->rc || object->type != JM_J_OBJECT || level > 2)
        return;
    jm_jiter_init(&it, b->f, object);
    while (!b->rc && (rc = jm_jiter_next(&it, &k, &v, b->err)) > 0) {
        if (!jm_jtext(&k, name, sizeof name))
            continue;
        snprintf(full, sizeof full, "%s.%s", key, name);
        if (v.type == JM_J_OBJECT)
            stats(b, full, &v, metric, unit, source, level + 1);
        else if (v.type == JM_J_NUMBER && jm_build_stat(jm_span_of(name), stat))
            jm_build_claim(b, full, metric, stat, jm_jnum(&v, &d) ? d : NAN,
                           strcmp(stat, "count") ? unit : "", source);
    }
    set(b, rc);
}

void jm_build_stats(struct jm_build *b, const char *key, const struct jm_jtoken *object, const char *metric,
                    const char *unit, const char *source)
{
    stats(b, key, object, metric, unit, source, 0);
}

/* ---- requests
 * ---------------------------------------------------------------------------------------------- */

void jm_build_event(struct jm_build *b, int64_t t, int64_t tokens, unsigned flags)
{
    if (b->rc)
        return;
    if (b->n_ev == b->cap_ev) {
        size_t cap = b->cap_ev ? 2 * b->cap_ev : 1024;
        struct jm_token_event *ev = cap <= EVENTS_MAX ? realloc(b->ev, cap * sizeof *ev) : NULL;
        if (!ev) {
            b->rc = jm_err_set(b->err, cap <= EVENTS_MAX ? JM_ENOMEM : JM_ELIMIT,
                               "%s: request %lld has more token events than can be held (%zu)", b->f->path,
                               (long long)b->requests + 1, b->n_ev);
            return;
        }
        b->ev = ev;
        b->cap_ev = cap;
    }
    bool shared = b->n_ev && b->ev[b->n_ev - 1].t == t;
    bool known = tokens >= 0 && tokens <= UINT16_MAX;
    b->ev[b->n_ev++] = (struct jm_token_event){
        .t = t,
        .tokens = known ? (uint16_t)tokens : 0,
        .flags = (uint16_t)(flags | (known ? JM_TE_COUNT_KNOWN : 0) | (shared ? JM_TE_SHARED : 0))};
}

/* The run file keeps the stamps of tokens to the microsecond, and a window ends before its t1: the last token
 * of a run that ends with it would otherwise be rounded out of it. */
static void keep_inside(struct jm_build *b, int64_t t)
{
    if (t >= 0 && t < b->t1 && b->t1 - t <= 500 && (t + 500) / 1000 * 1000 >= b->t1)
        b->t1 = (t + 500) / 1000 * 1000 + 1;
}

void jm_build_request(struct jm_build *b, struct jm_request *q)
{
    if (b->rc)
        return;
    q->id = ++b->requests;
    q->trial = b->trial;
    if (b->n_ev) {
        q->events = (int64_t)b->n_ev;
        if (q->t[JM_T_FIRST_TOKEN] < 0)
            q->t[JM_T_FIRST_TOKEN] = b->ev[0].t;
        if (q->t[JM_T_LAST_TOKEN] < 0)
            q->t[JM_T_LAST_TOKEN] = b->ev[b->n_ev - 1].t;
        q->shared_stamp = 0;
        for (size_t i = 0; i < b->n_ev; i++) {
            q->shared_stamp += (b->ev[i].flags & JM_TE_SHARED) != 0;
            keep_inside(b, b->ev[i].t);
        }
    }
    int64_t *const counts[] = {&q->output_tokens, &q->prompt_tokens, &q->cached_tokens, &q->reasoning_tokens};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        *counts[i] = *counts[i] < 0 ? -1 : *counts[i]; /* fewer than none is not known */
    if (q->output_tokens >= 0 || q->prompt_tokens >= 0)
        q->token_source = JM_TOK_IMPORTED;
    int rc = jm_run_put_request(b->w, q, b->ev, b->n_ev, b->err);
    if (rc == JM_EINVAL) { /* what the file says, and no mistake of the caller */
        struct jm_err why = *b->err;
        rc = jm_err_set(b->err, JM_EPARSE, "%s: %s", b->f->path, why.text);
    }
    set(b, rc);
    b->n_ev = 0;
    if (b->requests % 1024 == 0) /* bounds the open transaction and what is held of events */
        set(b, jm_run_flush(b->w, 0, true, b->err));
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

/* Chunks of the request: the first at t, the others behind it by the gaps. Returns the last one's time. */
static int64_t chunks(struct jm_build *b, const struct jm_request *q, int64_t t, const struct jm_jtoken *gaps,
                      int exponent)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    int64_t n = 1, gap;
    int rc;
    jm_jiter_init(&it, b->f, gaps);
    while ((rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0)
        n++;
    int64_t each = n == q->output_tokens ? 1 : -1;
    jm_build_event(b, t, each, 0);
    jm_jiter_init(&it, b->f, gaps);
    while (!b->rc && rc >= 0 && (rc = jm_jiter_next(&it, NULL, &v, b->err)) > 0) {
        if (!jm_jtime(&v, exponent, &gap) || add(t, gap < 0 ? 0 : gap) < 0) {
            char where[64];
            jm_build_fail(b, "%s, %s: a gap between chunks that is no time", b->f->path,
                          jm_ifile_where(b->f, v.raw.p, where));
            return t;
        }
        if (gap < 0)
            jm_build_env(b, "import.negative_gaps", "a gap of %lld ns in request %lld", (long long)gap,
                         (long long)b->requests + 1);
        t += gap < 0 ? 0 : gap;
        jm_build_event(b, t, each, 0);
    }
    set(b, rc);
    return t;
}

void jm_build_timed(struct jm_build *b, struct jm_request *q, int64_t start, int64_t ttft, int64_t e2e,
                    const struct jm_jtoken *gaps, int exponent)
{
    if (b->rc)
        return;
    int64_t at = start < 0 ? b->t0 : start, last = -1;
    q->t[JM_T_SCHEDULED] = at; /* what the tool counts from; when it was sent is not known */
    if (ttft >= 0) {
        int64_t first = add(at, ttft);
        q->t[JM_T_FIRST_EVENT] = q->t[JM_T_FIRST_CHUNK] = q->t[JM_T_FIRST_TOKEN] = first;
        if (first >= 0 && gaps && gaps->type == JM_J_ARRAY)
            last = chunks(b, q, first, gaps, exponent);
        q->stream = 1;
    }
    int64_t end = e2e >= 0 ? add(at, e2e) : last;
    if (end < last)
        end = last;
    bool came = ttft >= 0 || q->end == JM_END_OK; /* an answer that did not stream came whole at its end */
    q->t[JM_T_LAST_TOKEN] = q->t[JM_T_LAST_CHUNK] = !came ? -1 : last >= 0 && b->n_ev > 1 ? last : end;
    q->t[JM_T_CLOSED] = end;
    if (end < 0)
        q->t[JM_T_CLOSED] = q->t[JM_T_FIRST_TOKEN] >= 0 ? q->t[JM_T_FIRST_TOKEN] : at;
    if (q->t[JM_T_CLOSED] >= b->t1)
        b->t1 = q->t[JM_T_CLOSED] + 1;
}

enum jm_end jm_build_end_of(const char *error)
{
    static const struct {
        const char *word;
        enum jm_end end;
    } words[] = {{"imed out", JM_END_TIMEOUT},
                 {"imeout", JM_END_TIMEOUT},
                 {"onnection refused", JM_END_REFUSED},
                 {"annot connect", JM_END_REFUSED},
                 {"ConnectionRefused", JM_END_REFUSED},
                 {"ConnectError", JM_END_REFUSED},
                 {"reset by peer", JM_END_CUT},
                 {"isconnected", JM_END_CUT},
                 {"IncompleteRead", JM_END_CUT},
                 {"ClientPayloadError", JM_END_CUT},
                 {"ot enough data to satisfy", JM_END_CUT},
                 {"SSL", JM_END_TLS},
                 {"nauthorized", JM_END_AUTH},
                 {"orbidden", JM_END_AUTH},
                 {"oo Many Requests", JM_END_RATE_LIMIT},
                 {"429", JM_END_RATE_LIMIT},
                 {"ot Found", JM_END_NOT_FOUND},
                 {"ad Request", JM_END_HTTP_CLIENT},
                 {"nternal Server Error", JM_END_HTTP_SERVER},
                 {"ad Gateway", JM_END_HTTP_SERVER},
                 {"ervice Unavailable", JM_END_HTTP_SERVER},
                 {"ateway Timeout", JM_END_HTTP_SERVER},
                 {"ancelled", JM_END_ABORTED},
                 {"abort", JM_END_ABORTED}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(error, words[i].word))
            return words[i].end;
    return JM_END_PROTOCOL;
}

/* ---- dates
 * --------------------------------------------------------------------------------------------------- */

bool jm_build_date(struct jm_span s, int64_t *ns, bool *zone)
{
    char text[64];
    s = jm_span_trim(s);
    *zone = jm_time_parse_rfc3339(s, ns, NULL) == 0;
    if (*zone)
        return *ns >= 0;
    if (s.n == 15 && s.p[8] == '-') /* 20250827-142530 */
        snprintf(text, sizeof text, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", s.p, s.p + 4, s.p + 6, s.p + 9,
                 s.p + 11, s.p + 13);
    else if (s.n >= 19 && s.n < 40)
        snprintf(text, sizeof text, "%.*sZ", (int)s.n, s.p);
    else
        return false;
    return jm_time_parse_rfc3339(jm_span_of(text), ns, NULL) == 0 && *ns >= 0;
}
