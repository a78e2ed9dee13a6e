/* SPDX-License-Identifier: Apache-2.0 */
/* fmperf: {results: [{timestamp, duration_ms, n_tokens, worker_idx, request_idx, sample_idx, response_idx,
 * ok, error, exp_num_users, exp_duration, ...}], energy}. A record is one chunk of an answer: timestamp (wall
 * clock, ns) when it came, duration_ms since the one before (of the first: since the request), n_tokens in
 * it. Records of one worker follow each other. */
#include <stdio.h>
#include <string.h>

#include "import/build.h"
#include "import/probe.h"

#include "base/banned.h"

enum { TIME, DURATION, TOKENS, WORKER, REQUEST, SAMPLE, RESPONSE, OK, ERROR, USERS, LENGTH, N };
static const char *const names[N] = {"timestamp",   "duration_ms",   "n_tokens",     "worker_idx",
                                     "request_idx", "sample_idx",    "response_idx", "ok",
                                     "error",       "exp_num_users", "exp_duration"};

static int sniff(const struct jm_probe *p)
{
    static const struct jm_probe_mark marks[] = {{"results[].response_idx", 0},
                                                 {"results[].n_tokens", 0},
                                                 {"results[].worker_idx", 50},
                                                 {"results[].exp_num_users", 45},
                                                 {NULL, 0}};
    return jm_probe_score(p, marks);
}

struct fm {
    struct jm_request q;
    int64_t id[3]; /* worker, request, sample */
    int64_t start, first, last;
    bool open, bad;
};

static void flush(struct jm_build *b, struct fm *k)
{
    if (!k->open)
        return;
    k->q.end = k->bad ? jm_build_end_of(k->q.error) : JM_END_OK;
    k->q.t[JM_T_SCHEDULED] = k->start;
    k->q.t[JM_T_CLOSED] = k->last;
    k->q.stream = 1;
    if (k->last >= b->t1)
        b->t1 = k->last + 1;
    jm_build_request(b, &k->q);
    k->open = false;
}

static void record(struct jm_build *b, struct fm *k, const struct jm_jtoken *row)
{
    struct jm_jtoken v[N];
    int64_t id[3] = {-1, -1, -1}, t = -1, took = 0, n = -1, response = 0;
    if (jm_jfind(b->f, row, names, N, v, b->err) < 0)
        return;
    for (int i = 0; i < 3; i++)
        jm_jint(&v[WORKER + i], &id[i]);
    jm_jint(&v[RESPONSE], &response);
    jm_jint(&v[TOKENS], &n);
    jm_jtime(&v[DURATION], -3, &took);
    if (!jm_jtime(&v[TIME], -9, &t) || t < 0) {
        char where[64];
        jm_build_fail(b, "%s, %s: a record without a timestamp", b->f->path,
                      jm_ifile_where(b->f, row->raw.p, where));
        return;
    }
    if (!k->open || memcmp(id, k->id, sizeof id) != 0 || response == 0) {
        flush(b, k);
        jm_request_init(&k->q);
        *k = (struct fm){.q = k->q, .start = t - took > 0 ? t - took : 0, .first = t, .open = true};
        memcpy(k->id, id, sizeof id);
        k->q.output_tokens = 0;
    }
    if (v[OK].type == JM_J_FALSE) {
        k->bad = true;
        jm_jtext(&v[ERROR], k->q.error, sizeof k->q.error);
        k->q.output_tokens = -1;
    } else if (n > 0 && k->q.output_tokens >= 0) {
        k->q.output_tokens += n < 65536 ? n : 0;
        jm_build_event(b, t, n, 0);
    }
    k->last = t > k->last ? t : k->last;
}

/* Earliest and latest stamp. */
static void span(const struct jm_ifile *f, const struct jm_jtoken *list, int64_t *from, int64_t *to)
{
    struct jm_jiter it;
    struct jm_jtoken row, v;
    int64_t t, took;
    *from = INT64_MAX;
    *to = -1;
    jm_jiter_init(&it, f, list);
    while (jm_jiter_next(&it, NULL, &row, NULL) > 0) {
        if (!jm_jmember(f, &row, "timestamp", &v) || !jm_jtime(&v, -9, &t) || t < 0)
            continue;
        took = 0;
        if (jm_jmember(f, &row, "duration_ms", &v))
            jm_jtime(&v, -3, &took);
        *from = t - took < *from && t - took >= 0 ? t - took : *from;
        *to = t > *to ? t : *to;
    }
}

static int64_t date(const struct jm_ifile *f, const struct jm_jtoken *doc)
{
    struct jm_jtoken list, row, v;
    struct jm_jiter it;
    int64_t t;
    if (!jm_jmember(f, doc, "results", &list))
        return -1;
    jm_jiter_init(&it, f, &list);
    return jm_jiter_next(&it, NULL, &row, NULL) > 0 && jm_jmember(f, &row, "timestamp", &v) &&
                   jm_jtime(&v, -9, &t)
               ? t
               : -1;
}

static void one(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    struct jm_jtoken list, row, v;
    struct jm_jiter it;
    struct fm k = {.open = false};
    int64_t from, to;
    int rc = 0;
    (void)n;
    if (!jm_jmember(b->f, doc, "results", &list) || list.type != JM_J_ARRAY) {
        jm_build_fail(b, "%s has no list \"results\"", b->f->path);
        return;
    }
    span(b->f, &list, &from, &to);
    if (to < 0 || from > to) {
        jm_build_fail(b, "%s: no record has a timestamp", b->f->path);
        return;
    }
    jm_build_window_after(b, 0, "fmperf", from, to - from + 1);
    jm_build_times(b, "absolute, by the client's wall clock");
    jm_build_env(b, "import.clock", "wall");
    jm_build_env(b, "import.tokens.output", "the server's continuous usage, chunk by chunk");
    if (jm_jmember(b->f, doc, "energy", &v) && v.type == JM_J_OBJECT)
        jm_build_claims(b, &v, NULL, "energy.");
    jm_jiter_init(&it, b->f, &list);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &row, b->err)) > 0)
        record(b, &k, &row);
    if (rc < 0)
        b->rc = rc;
    flush(b, &k);
    jm_build_missing(b, "input_tokens", "fmperf does not keep them");
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return jm_build_documents("fmperf", path, out, o, date, one, err);
}

const struct jm_importer jm_import_fmperf = {
    .name = "fmperf",
    .summary = "fmperf results (JSON, a record a chunk)",
    .reads = "Each request chunk by chunk with its tokens; numbers of \"energy\" as claims.",
    .lacks = "Input tokens; latencies are by the wall clock; what its energy (Prometheus, 30 s steps) is of.",
    .sniff = sniff,
    .import = import,
};
