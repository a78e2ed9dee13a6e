/* SPDX-License-Identifier: Apache-2.0 */
/* Tables → structs. A file may come from anywhere: every word, index and order is checked here once. */
#include <stdlib.h>
#include <string.h>

#include "run/internal.h"

#include "base/banned.h"

#define UNJOINED INT64_MIN /* events of a request whose details have not come yet */
#define ROWS_MAX 50000000  /* of a table that is loaded whole */

struct load {
    struct jm_run *r;
    sqlite3_stmt *st;
    size_t row, cap;
    struct jm_err *err;
};

static int bad(struct load *l, const char *what)
{
    return jm_err_set(l->err, JM_ECORRUPT, "%s is damaged: %s in row %zu", l->r->path, what, l->row);
}

/* Room for one element more in *array; NULL without memory. */
static void *more(struct load *l, void *array, size_t size)
{
    void **p = array;
    if (l->row == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        void *v = realloc(*p, cap * size);
        if (!v) {
            jm_err_set(l->err, JM_ENOMEM, "out of memory while reading %s", l->r->path);
            return NULL;
        }
        *p = v;
        l->cap = cap;
    }
    char *e = (char *)*p + l->row * size;
    memset(e, 0, size);
    return e;
}

static int each(struct jm_run *r, const char *sql, int (*fn)(struct load *), struct jm_err *err)
{
    struct load l = {.r = r, .err = err};
    int rc = jm_sql_prepare(r->db, sql, r->path, &l.st, err);
    while (!rc) {
        int s = sqlite3_step(l.st);
        if (s == SQLITE_DONE)
            break;
        if (s != SQLITE_ROW)
            rc = jm_sql_err(r->db, s, "read", r->path, err);
        else if (l.row >= ROWS_MAX)
            rc = bad(&l, "more rows than there can be");
        else
            rc = fn(&l);
        l.row++;
    }
    sqlite3_finalize(l.st);
    return rc;
}

static int word(struct load *l, int col, int (*parse)(struct jm_span))
{
    return parse(jm_sql_span(l->st, col));
}

static int run_row(struct load *l)
{
    struct jm_run_info *i = &l->r->info;
    char state[16];
    jm_sql_text(l->st, 0, i->id, sizeof i->id);
    jm_sql_text(l->st, 1, i->label, sizeof i->label);
    jm_sql_text(l->st, 2, i->kind, sizeof i->kind);
    jm_sql_text(l->st, 3, i->source, sizeof i->source);
    jm_sql_text(l->st, 4, i->joulemark, sizeof i->joulemark);
    i->created_real = jm_sql_i64(l->st, 5, 0);
    i->seed = (uint64_t)jm_sql_i64(l->st, 6, 0);
    jm_sql_text(l->st, 7, state, sizeof state);
    i->sealed = strcmp(state, "recording") != 0;
    i->cut = strcmp(state, "cut") == 0;
    return 0;
}

static int meter_row(struct load *l)
{
    struct jm_run_meter *m = more(l, &l->r->meter, sizeof *m);
    if (!m)
        return JM_ENOMEM;
    if (jm_sql_i64(l->st, 0, -1) != (int64_t)l->row)
        return bad(l, "a meter without its number");
    jm_sql_text(l->st, 1, m->name, sizeof m->name);
    jm_sql_text(l->st, 2, m->instance, sizeof m->instance);
    jm_sql_text(l->st, 3, m->state, sizeof m->state);
    jm_sql_text(l->st, 4, m->reason, sizeof m->reason);
    jm_sql_text(l->st, 5, m->mend, sizeof m->mend);
    m->period_ns = jm_sql_i64(l->st, 6, 0);
    m->simulated = jm_sql_i64(l->st, 7, 0) != 0;
    l->r->n_meter = l->row + 1;
    return 0;
}

static int domain_row(struct load *l)
{
    struct jm_domain_tree *t = &l->r->tree;
    l->cap = t->cap;
    struct jm_domain *d = more(l, &t->d, sizeof *d);
    if (!d)
        return JM_ENOMEM;
    t->cap = l->cap;
    int64_t parent = jm_sql_i64(l->st, 1, -1);
    int kind = word(l, 2, jm_domain_kind_parse);
    if (jm_sql_i64(l->st, 0, -1) != (int64_t)l->row || parent < -1 || parent >= (int64_t)l->row || kind < 0)
        return bad(l, "a domain outside the tree");
    d->id = (int)l->row;
    d->parent = (int)parent;
    d->kind = (enum jm_domain_kind)kind;
    jm_sql_text(l->st, 3, d->key, sizeof d->key);
    jm_sql_text(l->st, 4, d->label, sizeof d->label);
    t->n = l->row + 1;
    return 0;
}

static bool small(int64_t v, int64_t max)
{
    return v >= -max && v <= max;
}

static int channel_row(struct load *l)
{
    struct jm_run *r = l->r;
    struct jm_channel *c = more(l, &r->chan, sizeof *c);
    if (!c)
        return JM_ENOMEM;
    int64_t meter = jm_sql_i64(l->st, 1, -1), s10 = jm_sql_i64(l->st, 6, 0), s2 = jm_sql_i64(l->st, 7, 0),
            domain = jm_sql_i64(l->st, 18, -1);
    int kind = word(l, 4, jm_channel_kind_parse), unit = word(l, 5, jm_unit_parse),
        sem = word(l, 11, jm_gauge_sem_parse), prov = word(l, 17, jm_provenance_parse);
    if (jm_sql_i64(l->st, 0, -1) != (int64_t)l->row || meter < 0 || meter >= (int64_t)r->n_meter ||
        domain < -1 || domain >= (int64_t)r->tree.n)
        return bad(l, "a channel without its meter or domain");
    if (kind < 0 || unit < 0 || sem < 0 || prov < 0 || !small(s10, 300) || !small(s2, 1000))
        return bad(l, "a channel of unknown kind");
    c->id = (int)l->row;
    c->meter = (int)meter;
    jm_sql_text(l->st, 2, c->name, sizeof c->name);
    jm_sql_text(l->st, 3, c->device, sizeof c->device);
    c->kind = (enum jm_channel_kind)kind;
    c->unit = (enum jm_unit)unit;
    c->scale10 = (int)s10;
    c->scale2 = (int)s2;
    c->modulus = (uint64_t)jm_sql_i64(l->st, 8, 0);
    c->period_ns = jm_sql_i64(l->st, 9, 0);
    c->period_measured = jm_sql_i64(l->st, 10, 0) != 0;
    c->sem = (enum jm_gauge_sem)sem;
    c->window_ns = jm_sql_i64(l->st, 12, 0);
    c->gain_tol = jm_sql_double(l->st, 13);
    c->offset_tol = jm_sql_double(l->st, 14);
    c->sane_min = jm_sql_double(l->st, 15);
    c->sane_max = jm_sql_double(l->st, 16);
    c->provenance = (enum jm_provenance)prov;
    c->domain = (int)domain;
    c->flags = (unsigned)jm_sql_i64(l->st, 19, 0);
    jm_sql_text(l->st, 20, c->scope, sizeof c->scope);
    jm_sql_text(l->st, 21, c->source, sizeof c->source);
    if (c->period_ns < 0 || c->window_ns < 0)
        return bad(l, "a channel with a negative period");
    r->n_chan = l->row + 1;
    return 0;
}

static int window_row(struct load *l)
{
    struct jm_window *w = more(l, &l->r->window, sizeof *w);
    if (!w)
        return JM_ENOMEM;
    int role = word(l, 2, jm_role_parse);
    int64_t trial = jm_sql_i64(l->st, 1, -1);
    if (jm_sql_i64(l->st, 0, -1) != (int64_t)l->row || role < 0 || trial < 0 || trial > 1000000000)
        return bad(l, "a window of unknown role or trial");
    w->id = (int)l->row;
    w->trial = (int)trial;
    w->role = (enum jm_role)role;
    jm_sql_text(l->st, 3, w->name, sizeof w->name);
    w->t0 = jm_sql_i64(l->st, 4, 0);
    w->t1 = jm_sql_i64(l->st, 5, 0);
    l->r->n_window = l->row + 1;
    return 0;
}

static int mark_row(struct load *l)
{
    struct jm_mark *m = more(l, &l->r->mark, sizeof *m);
    if (!m)
        return JM_ENOMEM;
    m->t = jm_sql_i64(l->st, 0, 0);
    jm_sql_text(l->st, 1, m->name, sizeof m->name);
    l->r->n_mark = l->row + 1;
    return 0;
}

static int pair_row(struct load *l)
{
    struct jm_clock_pair *p = more(l, &l->r->pair, sizeof *p);
    if (!p)
        return JM_ENOMEM;
    *p = (struct jm_clock_pair){jm_sql_i64(l->st, 0, 0), jm_sql_i64(l->st, 1, 0), jm_sql_i64(l->st, 2, 0),
                                jm_sql_i64(l->st, 3, 0)};
    l->r->n_pair = l->row + 1;
    return 0;
}

static char *copy_text(struct load *l, int col)
{
    struct jm_span s = jm_sql_span(l->st, col);
    if (s.n > JM_RUN_TEXT_MAX)
        s.n = JM_RUN_TEXT_MAX;
    char *p = strndup(s.p ? s.p : "", s.n);
    if (!p)
        jm_err_set(l->err, JM_ENOMEM, "out of memory while reading %s", l->r->path);
    return p;
}

static int env_row(struct load *l)
{
    struct jm_run_env_row *e = more(l, &l->r->env, sizeof *e);
    if (!e)
        return JM_ENOMEM;
    l->r->n_env = l->row + 1;
    e->key = copy_text(l, 0);
    e->value = copy_text(l, 1);
    return e->key && e->value ? 0 : JM_ENOMEM;
}

static int raw_row(struct load *l)
{
    struct jm_run_raw *w = more(l, &l->r->raw, sizeof *w);
    if (!w)
        return JM_ENOMEM;
    l->r->n_raw = l->row + 1;
    w->name = copy_text(l, 0);
    w->origin = copy_text(l, 1);
    w->sha256 = copy_text(l, 2);
    w->bytes = jm_sql_i64(l->st, 3, 0);
    w->kept = sqlite3_column_int(l->st, 4) != 0;
    return w->name && w->origin && w->sha256 ? 0 : JM_ENOMEM;
}

static int claim_row(struct load *l)
{
    struct jm_run_claim *c = more(l, &l->r->claim, sizeof *c);
    if (!c)
        return JM_ENOMEM;
    int64_t window = jm_sql_i64(l->st, 0, -1);
    if (window < -1 || window >= (int64_t)l->r->n_window)
        return bad(l, "a claim about a window that is not there");
    l->r->n_claim = l->row + 1;
    c->window = (int)window;
    jm_sql_text(l->st, 1, c->key, sizeof c->key);
    jm_sql_text(l->st, 2, c->metric, sizeof c->metric);
    jm_sql_text(l->st, 3, c->stat, sizeof c->stat);
    c->value = jm_sql_double(l->st, 4);
    jm_sql_text(l->st, 5, c->unit, sizeof c->unit);
    jm_sql_text(l->st, 6, c->source, sizeof c->source);
    jm_sql_text(l->st, 7, c->boundary, sizeof c->boundary);
    return 0;
}

static int load_claims(struct jm_run *r, struct jm_err *err)
{
    bool there;
    int rc = jm_run_has_table(r->db, r->path, "claim", &there, err);
    return rc || !there
               ? rc
               : each(r, "SELECT window,key,metric,stat,value,unit,source,boundary FROM claim ORDER BY id",
                      claim_row, err);
}

/* Chunks of all channels in one pass; a channel's list grows in powers of two. */
static int chunk_row(struct load *l)
{
    struct jm_run *r = l->r;
    int64_t ch = jm_sql_i64(l->st, 1, -1);
    struct jm_run_chunk c = {jm_sql_i64(l->st, 0, 0), jm_sql_i64(l->st, 2, 0), jm_sql_i64(l->st, 3, 0),
                             jm_sql_i64(l->st, 4, 0)};
    if (ch < 0 || ch >= (int64_t)r->n_chan || c.n < 1 || c.n > JM_CHUNK_MAX || c.t_last < c.t_first)
        return bad(l, "a chunk of readings without its channel or its times");
    size_t n = r->n_chunk[ch];
    if ((n & (n - 1)) == 0) {
        struct jm_run_chunk *p = realloc(r->chunk[ch], (n ? 2 * n : 1) * sizeof *p);
        if (!p)
            return jm_err_set(l->err, JM_ENOMEM, "out of memory while reading %s", r->path);
        r->chunk[ch] = p;
    }
    r->chunk[ch][n] = c;
    r->n_chunk[ch] = n + 1;
    return 0;
}

int jm_run_load(struct jm_run *r, struct jm_err *err)
{
    int rc = each(r, "SELECT run_id,label,kind,source,joulemark,created_real,seed,state FROM run WHERE id=1",
                  run_row, err);
    if (!rc && !r->info.id[0])
        rc = jm_err_set(err, JM_ECORRUPT, "%s is damaged: it does not say which run it is", r->path);
    if (!rc)
        rc = each(r, "SELECT * FROM meter ORDER BY id", meter_row, err);
    if (!rc)
        rc = each(r, "SELECT * FROM domain ORDER BY id", domain_row, err);
    if (!rc)
        rc = each(r, "SELECT * FROM channel ORDER BY id", channel_row, err);
    if (!rc)
        rc = each(r, "SELECT * FROM window ORDER BY id", window_row, err);
    if (!rc)
        rc = each(r, "SELECT t,name FROM mark ORDER BY t,id", mark_row, err);
    if (!rc)
        rc = each(r, "SELECT mono0,mono1,real,boot FROM clock_pair ORDER BY mono0,id", pair_row, err);
    if (!rc)
        rc = each(r, "SELECT key,value FROM env ORDER BY key", env_row, err);
    if (!rc)
        rc = each(r, "SELECT name,origin,sha256,bytes,data IS NOT NULL FROM raw ORDER BY id", raw_row, err);
    if (!rc)
        rc = load_claims(r, err);
    if (!rc && r->n_chan) {
        r->chunk = calloc(r->n_chan, sizeof *r->chunk);
        r->n_chunk = calloc(r->n_chan, sizeof *r->n_chunk);
        if (!r->chunk || !r->n_chunk)
            return jm_err_set(err, JM_ENOMEM, "out of memory while reading %s", r->path);
    }
    if (!rc)
        rc = each(r, "SELECT id,channel,t_first,t_last,n FROM chunk ORDER BY channel,t_first,id", chunk_row,
                  err);
    return rc;
}

static int request_row(struct load *l)
{
    sqlite3_stmt *st = l->st;
    struct jm_request *q = more(l, &l->r->request, sizeof *q);
    if (!q)
        return JM_ENOMEM;
    jm_request_init(q);
    int end = word(l, 4, jm_end_parse);
    if (end < 0)
        return bad(l, "a request of unknown end");
    q->id = jm_sql_i64(st, 0, -1);
    q->trial = (int)jm_sql_i64(st, 1, 0);
    jm_sql_text(st, 2, q->slice, sizeof q->slice);
    q->t[0] = jm_sql_i64(st, 3, -1);
    q->end = (enum jm_end)end;
    jm_sql_text(st, 5, q->error, sizeof q->error);
    q->prompt_tokens = jm_sql_i64(st, 6, -1);
    q->output_tokens = jm_sql_i64(st, 7, -1);
    q->events = UNJOINED;
    l->r->n_request = l->row + 1;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct jm_request *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int detail_row(struct load *l)
{
    struct jm_run *r = l->r;
    struct jm_str plain;
    jm_str_init(&plain);
    int rc =
        jm_unpack((int)jm_sql_i64(l->st, 0, 0), jm_sql_span(l->st, 1), JM_DETAILS_MAX * 256, &plain, l->err);
    size_t n = rc ? 0 : jm_details_count(jm_str_span(&plain));
    struct jm_request *d = n ? malloc(n * sizeof *d) : NULL;
    if (!rc && !n)
        rc = bad(l, "a chunk of requests that is none");
    else if (!rc && !d)
        rc = jm_err_set(l->err, JM_ENOMEM, "out of memory while reading %s", r->path);
    if (!rc)
        rc = jm_details_decode(jm_str_span(&plain), jm_sql_span(l->st, 2), d, n, l->err);
    struct jm_request *q = r->request, *end = q ? q + r->n_request : q;
    for (size_t i = 0; !rc && i < n; i++) {
        /* requests end nearly in order of their ids: try the next one first */
        if (q == end || q->id != d[i].id)
            q = r->n_request ? bsearch(&d[i], r->request, r->n_request, sizeof *q, by_id) : NULL;
        if (!q) {
            rc = bad(l, "details of a request that is not there");
            break;
        }
        jm_details_join(q++, &d[i]);
    }
    free(d);
    jm_str_release(&plain);
    return rc;
}

int jm_run_load_requests(struct jm_run *r, struct jm_err *err)
{
    int rc = each(r, "SELECT * FROM request ORDER BY id", request_row, err);
    if (!rc)
        rc = each(r, "SELECT enc,data,hashes FROM request_chunk ORDER BY id", detail_row, err);
    for (size_t i = 0; !rc && i < r->n_request; i++)
        if (r->request[i].events == UNJOINED)
            rc = jm_err_set(err, JM_ECORRUPT, "%s is damaged: request %lld has no details", r->path,
                            (long long)r->request[i].id);
    return rc;
}
