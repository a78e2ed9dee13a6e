/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "mlperf/arena.h"
#include "mlperf/files.h"
#include "mlperf/parts.h"

#include "base/banned.h"

#define MAX_JSON ((size_t)4 << 20) /* a published server.json has 12 kB */

bool jm_mlperf_session_at(const char *path)
{
    struct jm_mlperf_place p;
    return jm_mlperf_locate(path, &p);
}

void jm_mlperf_session_free(struct jm_mlperf_session *s)
{
    if (!s)
        return;
    jm_mlperf_arena_free(s->arena);
    free(s);
}

struct work {
    struct jm_mlperf_session *s;
    struct jm_mlperf_place place;
    char *buffer;
    struct jm_sha1 fresh; /* to begin each file with */
    bool hash;
    struct jm_err *err;
    const struct jm_mlperf_round *as; /* NULL: found by path and date */
};

static int read_file(struct work *w, enum jm_mlperf_file_id id, jm_file_block_fn fn, void *self)
{
    struct jm_mlperf_file *f = &w->s->file[id];
    int rc = jm_mlperf_file_read(&w->place, f, w->hash ? &w->fresh : NULL, w->buffer, w->s->arena, fn, self,
                                 w->err);
    w->s->bytes += f->bytes;
    return rc;
}

/* ---- client.json, server.json */

static int gather(void *self, struct jm_span block, struct jm_err *err)
{
    struct jm_str *text = self;
    if (text->len <= MAX_JSON) /* the rest of a larger one is hashed only */
        jm_str_addspan(text, block);
    return jm_str_ok(text, "a session", err);
}

static int side(struct work *w, enum jm_mlperf_file_id id, struct jm_mlperf_side *out)
{
    struct jm_mlperf_file *f = &w->s->file[id];
    struct jm_str text;
    jm_str_init(&text);
    int rc = read_file(w, id, gather, &text);
    if (!rc && f->present && !f->error && text.len <= MAX_JSON) {
        if (jm_mlperf_side_read(jm_str_span(&text), w->s->arena, out))
            rc = jm_err_set(w->err, JM_ENOMEM, "out of memory while reading %s", f->rel);
    } else if (!rc && f->present) {
        out->present = true;
        out->broken =
            f->error ? f->error : jm_mlperf_printf(w->s->arena, "it is larger than %zu MiB", MAX_JSON >> 20);
    }
    jm_str_release(&text);
    return rc;
}

/* ---- LoadGen */

static int loadgen(struct work *w, enum jm_mlperf_file_id detail, enum jm_mlperf_file_id summary,
                   struct jm_mlperf_loadgen *out)
{
    struct jm_mlperf_loadgen_reader *r = malloc(sizeof *r);
    if (!r)
        return jm_err_set(w->err, JM_ENOMEM, "out of memory while reading a log of LoadGen");
    jm_mlperf_loadgen_init(r, out, w->s->arena);
    int rc = read_file(w, detail, jm_mlperf_loadgen_block, r);
    if (!rc)
        rc = jm_mlperf_loadgen_end(r, w->err);
    if (!rc)
        rc = read_file(w, summary, jm_mlperf_loadgen_block, r);
    if (!rc)
        rc = jm_mlperf_loadgen_end(r, w->err);
    jm_mlperf_loadgen_release(r);
    free(r);
    return rc;
}

static int64_t zone(const struct jm_mlperf_session *s, const struct jm_mlperf_side *side)
{
    return s->round.local_time ? side->timezone_s * JM_NS_PER_S : 0;
}

bool jm_mlperf_window(const struct jm_mlperf_session *s, enum jm_mlperf_mode mode, int64_t *begin,
                      int64_t *end)
{
    const struct jm_mlperf_loadgen *lg = &s->loadgen[mode];
    int64_t b = lg->begin >= 0 ? lg->begin : lg->checker_begin, e = lg->end >= 0 ? lg->end : lg->checker_end,
            tz = zone(s, &s->client);
    *begin = b + tz;
    *end = e + tz;
    return b >= 0 && e >= 0;
}

/* ---- power */

static int power(struct work *w, enum jm_mlperf_mode mode, enum jm_mlperf_file_id id)
{
    struct jm_mlperf_session *s = w->s;
    const char *name = s->server.session_name ? s->server.session_name : s->client.session_name;
    struct jm_mlperf_samples_reader *r = malloc(sizeof *r);
    if (!r)
        return jm_err_set(w->err, JM_ENOMEM, "out of memory while reading spl.txt");
    jm_mlperf_samples_init(r, &s->power[mode], s->arena);
    if (!jm_mlperf_window(s, mode, &r->begin, &r->end))
        r->begin = r->end = 0;
    r->zone = zone(s, &s->server);
    if (name)
        snprintf(r->mark, sizeof r->mark, "%s_%s", name, mode == JM_MLPERF_RANGING ? "ranging" : "testing");
    int rc = read_file(w, id, jm_mlperf_samples_block, r);
    if (!rc)
        rc = jm_mlperf_samples_end(r, w->err);
    s->power[mode].present = s->file[id].present;
    jm_mlperf_samples_release(r);
    free(r);
    return rc;
}

static int ptd_log(struct work *w)
{
    struct jm_mlperf_events_reader r;
    int rc = jm_mlperf_events_init(&r, &w->s->ptd_log, w->s->arena);
    if (rc)
        rc = jm_err_set(w->err, rc, "out of memory while reading ptd_logs.txt");
    if (!rc)
        rc = read_file(w, JM_MLPERF_PTD_LOGS, jm_mlperf_events_block, &r);
    if (!rc)
        rc = jm_mlperf_events_end(&r, w->err);
    jm_mlperf_events_release(&r);
    return rc;
}

/* ---- hashes */

static const char *recorded(const struct jm_mlperf_side *side, const char *rel)
{
    for (size_t i = 0; i < side->n_results; i++)
        if (strcmp(side->results[i].path, rel) == 0)
            return side->results[i].sha1;
    return NULL;
}

/* Files whose recorded hash is another: perhaps only their line ends were changed. */
static void rehash(struct work *w)
{
    for (int i = 0; i < JM_MLPERF_FILES; i++) {
        struct jm_mlperf_file *f = &w->s->file[i];
        const char *c = recorded(&w->s->client, f->rel), *v = recorded(&w->s->server, f->rel);
        if (f->sha1[0] && ((c && strcmp(c, f->sha1) != 0) || (v && strcmp(v, f->sha1) != 0)) &&
            !(f->sha1_lf[0] && f->sha1_crlf[0])) {
            jm_mlperf_file_rehash(&w->place, f, w->buffer);
            w->s->bytes += f->bytes;
        }
    }
}

/* When it ran, for the round: the load of the run; where its log does not say, that of ranging, and what
 * Director and client recorded. -1: nothing does. */
static int64_t ran_at(const struct jm_mlperf_session *s)
{
    const struct jm_mlperf_side *side[] = {&s->server, &s->client};
    for (int k = JM_MLPERF_TESTING; k >= JM_MLPERF_RANGING; k--) {
        const struct jm_mlperf_loadgen *lg = &s->loadgen[k];
        if (lg->begin >= 0 || lg->checker_begin >= 0)
            return lg->begin >= 0 ? lg->begin : lg->checker_begin;
    }
    for (size_t i = 0; i < 2; i++) {
        for (int k = 0; k < JM_MLPERF_MODES; k++)
            if (side[i]->n_phase[k] > 0 && side[i]->phase[k][0].unix_s > 0 &&
                side[i]->phase[k][0].unix_s < 9e9)
                return (int64_t)(side[i]->phase[k][0].unix_s * 1e9);
        if (side[i]->n_messages > 0 && side[i]->messages[0].cmd_time > 0 &&
            side[i]->messages[0].cmd_time < 9e9)
            return (int64_t)(side[i]->messages[0].cmd_time * 1e9);
    }
    return -1;
}

static int parts(struct work *w, unsigned flags)
{
    struct jm_mlperf_session *s = w->s;
    int rc = side(w, JM_MLPERF_CLIENT_JSON, &s->client);
    if (!rc)
        rc = side(w, JM_MLPERF_SERVER_JSON, &s->server);
    if (!rc)
        rc = loadgen(w, JM_MLPERF_RANGING_DETAIL, JM_MLPERF_RANGING_SUMMARY, &s->loadgen[JM_MLPERF_RANGING]);
    if (!rc)
        rc = loadgen(w, JM_MLPERF_RUN_DETAIL, JM_MLPERF_RUN_SUMMARY, &s->loadgen[JM_MLPERF_TESTING]);
    if (rc)
        return rc;
    const struct jm_mlperf_fact *ran = jm_mlperf_fact(&s->loadgen[JM_MLPERF_TESTING], "effective_scenario");
    if (!ran)
        ran = jm_mlperf_fact(&s->loadgen[JM_MLPERF_TESTING], "requested_scenario");
    if (w->as)
        s->round = *w->as;
    else
        jm_mlperf_round_find(s->root, ran_at(s), &s->round);
    s->claimed_scenario = jm_mlperf_claimed_of_run(s->root, ran ? ran->text : NULL);
    rc = power(w, JM_MLPERF_RANGING, JM_MLPERF_RANGING_SPL);
    if (!rc)
        rc = power(w, JM_MLPERF_TESTING, JM_MLPERF_RUN_SPL);
    if (!rc && !(flags & JM_MLPERF_NO_PTD_LOG))
        rc = ptd_log(w);
    if (!rc)
        rc = read_file(w, JM_MLPERF_CLIENT_LOG, NULL, NULL);
    if (!rc)
        rc = read_file(w, JM_MLPERF_SERVER_LOG, NULL, NULL);
    if (!rc && jm_mlperf_others(&w->place, s))
        rc = jm_err_set(w->err, JM_ENOMEM, "out of memory while listing %s", s->dir);
    if (!rc && w->hash)
        rehash(w);
    return rc;
}

int jm_mlperf_session_read(const char *path, unsigned flags, struct jm_mlperf_session **out,
                           struct jm_err *err)
{
    return jm_mlperf_session_read_as(path, flags, NULL, out, err);
}

int jm_mlperf_session_read_as(const char *path, unsigned flags, const struct jm_mlperf_round *as,
                              struct jm_mlperf_session **out, struct jm_err *err)
{
    struct work w = {.err = err, .as = as, .hash = !(flags & JM_MLPERF_NO_HASHES)};
    if (!jm_mlperf_locate(path, &w.place))
        return jm_err_set(
            err, JM_EABSENT,
            "%s is no MLPerf power session: neither performance/run_1/spl.txt nor run_1/spl.txt nor "
            "the files of power/ are there",
            path);
    jm_sha1_init(&w.fresh);
    w.s = calloc(1, sizeof *w.s);
    w.buffer = malloc(JM_MLPERF_BLOCK);
    if (w.s)
        w.s->arena = jm_mlperf_arena_new();
    int rc = JM_ENOMEM;
    if (w.s && w.s->arena && w.buffer) {
        snprintf(w.s->dir, sizeof w.s->dir, "%s", w.place.dir);
        snprintf(w.s->root, sizeof w.s->root, "%s", path);
        for (int i = 0; i < JM_MLPERF_FILES; i++)
            w.s->file[i].rel = jm_mlperf_file_names[i];
        rc = parts(&w, flags);
        if (!rc && jm_mlperf_arena_failed(w.s->arena))
            rc = JM_ENOMEM;
    }
    if (rc == JM_ENOMEM)
        jm_err_set(err, rc, "out of memory while reading the session %s", path);
    free(w.buffer);
    if (rc)
        jm_mlperf_session_free(w.s);
    else
        *out = w.s;
    return rc;
}
