/* SPDX-License-Identifier: Apache-2.0 */
/* client.json and server.json of mlcommons/power-dev, by the pull tokenizer: nothing is allocated for what is
 * not kept. Of a member that stands twice the last one counts, as in Python. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "mlperf/parts.h"
#include "wire/jsontok.h"

#include "base/banned.h"

#define MAX_LIST   65536 /* messages of a session: a published one has 16 and 17 */
#define MAX_HASHES 1024  /* files of a session, sources of the tool: 15 */
#define MAX_STRING 65536
#define MAX_CONFIG 64

struct side {
    struct jm_mlperf_side *out;
    struct jm_mlperf_arena *a;
};

static void odd(struct side *s, const char *what, const char *why)
{
    if (!s->out->odd)
        s->out->odd = jm_mlperf_printf(s->a, "\"%s\" %s", what, why);
}

/* ---- walking: the document was checked as a whole, so that errors cannot come */

struct walk {
    struct jm_jsontok t;
    bool object;
};

/* false: v is neither object nor list */
static bool walk_init(struct walk *w, const struct jm_jtoken *v)
{
    struct jm_jtoken open;
    w->object = v->type == JM_J_OBJECT;
    if (!w->object && v->type != JM_J_ARRAY)
        return false;
    jm_jsontok_init(&w->t, v->raw, 0);
    return jm_jsontok_next(&w->t, &open, NULL) == 0;
}

static bool walk_next(struct walk *w, struct jm_jtoken *key, struct jm_jtoken *v)
{
    if (jm_jsontok_next(&w->t, v, NULL))
        return false;
    if (w->object) {
        if (v->type != JM_J_KEY)
            return false;
        *key = *v;
        if (jm_jsontok_next(&w->t, v, NULL))
            return false;
    } else if (v->type == JM_J_ARRAY_END) {
        return false;
    }
    return jm_jsontok_skip(&w->t, v, NULL) == 0;
}

static size_t count(const struct jm_jtoken *v)
{
    struct walk w;
    struct jm_jtoken k, x;
    size_t n = 0;
    if (walk_init(&w, v))
        while (walk_next(&w, &k, &x))
            n++;
    return n;
}

/* ---- values */

/* A string's content, cut at MAX_STRING, NUL bytes replaced. NULL: it is no string. */
static const char *text_of(struct side *s, const struct jm_jtoken *v)
{
    if (v->type != JM_J_STRING && v->type != JM_J_KEY)
        return NULL;
    struct jm_span raw = jm_span_sub(v->raw, 0, MAX_STRING);
    char *p = jm_mlperf_alloc(s->a, raw.n + 1);
    if (!p)
        return NULL;
    size_t n = raw.n;
    if (v->escaped)
        n = jm_json_unescape(raw, p, raw.n);
    else if (raw.n)
        memcpy(p, raw.p, raw.n);
    for (char *q = p; (q = memchr(q, '\0', n - (size_t)(q - p)));)
        *q = '?';
    p[n] = '\0';
    return p;
}

static double number_of(const struct jm_jtoken *v)
{
    double x;
    return jm_jtoken_double(v, &x) == 0 && isfinite(x) ? x : NAN;
}

static const char *string_member(struct side *s, const char *name, const struct jm_jtoken *v)
{
    const char *text = text_of(s, v);
    if (!text && v->type != JM_J_NULL)
        odd(s, name, "is no text");
    return text;
}

/* ---- members */

static void hashes(struct side *s, const char *name, const struct jm_jtoken *v, struct jm_mlperf_hash **list,
                   size_t *n)
{
    struct walk w;
    struct jm_jtoken k, x;
    size_t most = count(v);
    *n = 0;
    if (v->type != JM_J_OBJECT || !walk_init(&w, v)) {
        odd(s, name, "is no object of paths and SHA-1");
        return;
    }
    if (most > MAX_HASHES) {
        odd(s, name, "has more than 1024 members");
        most = MAX_HASHES;
    }
    *list = jm_mlperf_alloc(s->a, (most + 1) * sizeof **list);
    while (*list && walk_next(&w, &k, &x) && *n < most) {
        const char *path = text_of(s, &k), *sha = text_of(s, &x);
        if (!sha)
            odd(s, name, "has a member that is no text");
        if (!path)
            return;
        size_t i = 0;
        while (i < *n && strcmp((*list)[i].path, path) != 0)
            i++;
        (*list)[i] = (struct jm_mlperf_hash){path, sha ? sha : ""};
        *n += i == *n;
    }
}

static void messages(struct side *s, const char *name, const struct jm_jtoken *v,
                     struct jm_mlperf_message **list, size_t *n)
{
    struct walk w, m;
    struct jm_jtoken k, item, x;
    size_t most = count(v);
    *n = 0;
    if (v->type != JM_J_ARRAY || !walk_init(&w, v)) {
        odd(s, name, "is no list of messages");
        return;
    }
    if (most > MAX_LIST) {
        odd(s, name, "has more than 65536 items");
        most = MAX_LIST;
    }
    *list = jm_mlperf_alloc(s->a, (most + 1) * sizeof **list);
    while (*list && *n < most && walk_next(&w, &k, &item)) {
        struct jm_mlperf_message *g = &(*list)[(*n)++];
        *g = (struct jm_mlperf_message){.cmd_time = NAN, .reply_time = NAN};
        if (item.type == JM_J_OBJECT && walk_init(&m, &item))
            while (walk_next(&m, &k, &x)) {
                if (jm_jtoken_is(&k, "cmd"))
                    g->cmd = text_of(s, &x);
                else if (jm_jtoken_is(&k, "reply"))
                    g->reply = text_of(s, &x);
                else if (jm_jtoken_is(&k, "cmd_time"))
                    g->cmd_time = number_of(&x);
                else if (jm_jtoken_is(&k, "reply_time"))
                    g->reply_time = number_of(&x);
            }
        if (!g->cmd || !g->reply)
            odd(s, name, "has an item without cmd and reply");
        g->cmd = g->cmd ? g->cmd : "";
        g->reply = g->reply ? g->reply : "";
    }
}

static void phases(struct side *s, const struct jm_jtoken *v)
{
    struct walk w, l, p;
    struct jm_jtoken k, list, pair, x;
    const int most = (int)(sizeof s->out->phase[0] / sizeof s->out->phase[0][0]);
    memset(s->out->n_phase, 0, sizeof s->out->n_phase);
    if (v->type != JM_J_OBJECT || !walk_init(&w, v)) {
        odd(s, "phases", "is no object");
        return;
    }
    while (walk_next(&w, &k, &list)) {
        int mode = jm_jtoken_is(&k, "ranging")   ? JM_MLPERF_RANGING
                   : jm_jtoken_is(&k, "testing") ? JM_MLPERF_TESTING
                                                 : -1;
        if (mode < 0)
            continue;
        int *n = &s->out->n_phase[mode];
        *n = 0;
        if (list.type != JM_J_ARRAY || !walk_init(&l, &list)) {
            odd(s, "phases", "has a mode that is no list");
            continue;
        }
        while (walk_next(&l, &x, &pair)) {
            double t[2] = {NAN, NAN};
            int i = 0;
            if (*n == most) {
                odd(s, "phases", "has more than 8 stamps of a mode");
                break;
            }
            if (pair.type == JM_J_ARRAY && walk_init(&p, &pair))
                while (i < 2 && walk_next(&p, &k, &x))
                    t[i++] = number_of(&x);
            if (isnan(t[0]) || isnan(t[1]))
                odd(s, "phases", "has a stamp that is no pair of times");
            s->out->phase[mode][(*n)++] = (struct jm_mlperf_stamp){t[0], t[1]};
        }
    }
}

static void uuids(struct side *s, const struct jm_jtoken *v)
{
    struct walk w;
    struct jm_jtoken k, x;
    if (v->type != JM_J_OBJECT || !walk_init(&w, v)) {
        odd(s, "uuid", "is no object");
        return;
    }
    while (walk_next(&w, &k, &x)) {
        if (jm_jtoken_is(&k, "client"))
            s->out->uuid_client = string_member(s, "uuid", &x);
        else if (jm_jtoken_is(&k, "server"))
            s->out->uuid_server = string_member(s, "uuid", &x);
    }
}

/* argv, or a text as it is */
static const char *command(struct side *s, const struct jm_jtoken *v)
{
    struct walk w;
    struct jm_jtoken k, x;
    struct jm_str all;
    if (v->type == JM_J_STRING)
        return text_of(s, v);
    if (v->type != JM_J_ARRAY || !walk_init(&w, v))
        return NULL;
    jm_str_init(&all);
    while (walk_next(&w, &k, &x) && all.len < MAX_STRING) {
        const char *text = text_of(s, &x);
        if (all.len)
            jm_str_addc(&all, ' ');
        jm_str_adds(&all, text ? text : "?");
    }
    if (all.failed)
        jm_mlperf_arena_fail(s->a);
    const char *out = jm_mlperf_copy(s->a, jm_str_span(&all));
    jm_str_release(&all);
    return out;
}

static void one_config(struct side *s, const struct jm_jtoken *v, struct jm_mlperf_ptd_config *c)
{
    struct walk w;
    struct jm_jtoken k, x;
    *c = (struct jm_mlperf_ptd_config){.device_type = -1};
    if (v->type == JM_J_NULL)
        return;
    if (v->type != JM_J_OBJECT || !walk_init(&w, v)) {
        odd(s, "ptd_config", "has an item that is no object");
        return;
    }
    while (walk_next(&w, &k, &x)) {
        if (jm_jtoken_is(&k, "device_type")) {
            if (jm_jtoken_i64(&x, &c->device_type)) {
                c->device_type = -1;
                odd(s, "ptd_config", "has a device_type that is no whole number");
            }
        } else if (jm_jtoken_is(&k, "command")) {
            c->command = command(s, &x);
        } else if (jm_jtoken_is(&k, "interface_flag")) {
            c->interface_flag = text_of(s, &x);
        } else if (jm_jtoken_is(&k, "dc_flag")) {
            c->dc_flag = text_of(s, &x);
        } else if (jm_jtoken_is(&k, "device_port")) {
            c->device_port = text_of(s, &x);
        } else if (jm_jtoken_is(&k, "channel")) {
            c->channel = x.type == JM_J_NULL ? NULL : jm_mlperf_copy(s->a, jm_span_sub(x.raw, 0, MAX_STRING));
        }
    }
}

static void configs(struct side *s, const struct jm_jtoken *v)
{
    struct walk w;
    struct jm_jtoken k, x;
    struct jm_mlperf_side *o = s->out;
    o->n_config = 0;
    o->config_is_list = v->type == JM_J_ARRAY;
    o->has_config = o->config_is_list || v->type == JM_J_OBJECT;
    if (!o->has_config) {
        if (v->type != JM_J_NULL)
            odd(s, "ptd_config", "is neither object nor list");
        return;
    }
    size_t most = o->config_is_list ? count(v) : 1;
    if (most > MAX_CONFIG) {
        odd(s, "ptd_config", "has more than 64 items");
        most = MAX_CONFIG;
    }
    o->config = jm_mlperf_alloc(s->a, (most + 1) * sizeof *o->config);
    if (!o->config)
        return;
    if (!o->config_is_list)
        one_config(s, v, &o->config[o->n_config++]);
    else if (walk_init(&w, v))
        while (o->n_config < most && walk_next(&w, &k, &x))
            one_config(s, &x, &o->config[o->n_config++]);
}

static void timezone_of(struct side *s, const struct jm_jtoken *v)
{
    double x = number_of(v);
    s->out->has_timezone = fabs(x) <= 2 * 86400;
    s->out->timezone_s = s->out->has_timezone ? (int64_t)x : 0;
    if (!s->out->has_timezone)
        odd(s, "timezone", "is no number of seconds");
}

static void member(struct side *s, const struct jm_jtoken *k, const struct jm_jtoken *v)
{
    struct jm_mlperf_side *o = s->out;
    if (jm_jtoken_is(k, "version")) {
        o->version = string_member(s, "version", v);
    } else if (jm_jtoken_is(k, "timezone")) {
        timezone_of(s, v);
    } else if (jm_jtoken_is(k, "sources")) {
        hashes(s, "sources", v, &o->sources, &o->n_sources);
    } else if (jm_jtoken_is(k, "results")) {
        hashes(s, "results", v, &o->results, &o->n_results);
    } else if (jm_jtoken_is(k, "messages")) {
        messages(s, "messages", v, &o->messages, &o->n_messages);
    } else if (jm_jtoken_is(k, "ptd_messages")) {
        messages(s, "ptd_messages", v, &o->ptd, &o->n_ptd);
    } else if (jm_jtoken_is(k, "uuid")) {
        uuids(s, v);
    } else if (jm_jtoken_is(k, "session_name")) {
        o->session_name = string_member(s, "session_name", v);
    } else if (jm_jtoken_is(k, "phases")) {
        phases(s, v);
    } else if (jm_jtoken_is(k, "ptd_config")) {
        configs(s, v);
    } else if (jm_jtoken_is(k, "debug")) {
        o->has_debug = true;
        o->debug = v->type == JM_J_TRUE;
        if (v->type != JM_J_TRUE && v->type != JM_J_FALSE)
            odd(s, "debug", "is neither true nor false");
    }
}

/* The whole grammar of the document. */
static bool check(struct jm_span text, struct jm_err *err)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    jm_jsontok_init(&t, text, 0);
    t.utf8 = true;
    if (jm_jsontok_next(&t, &v, err))
        return false;
    if (v.type != JM_J_OBJECT) {
        jm_err_set(err, JM_EPARSE, "it is no JSON object");
        return false;
    }
    do
        if (jm_jsontok_next(&t, &v, err))
            return false;
    while (v.type != JM_J_END);
    return true;
}

int jm_mlperf_side_read(struct jm_span text, struct jm_mlperf_arena *a, struct jm_mlperf_side *out)
{
    static const char *const required[] = {"version", "timezone",     "modules", "sources", "messages",
                                           "uuid",    "session_name", "results", "phases"};
    struct side s = {out, a};
    struct walk w;
    struct jm_jtoken k, v;
    struct jm_err why = {0};
    unsigned have = 0;
    char missing[256];
    size_t n = 0;
    *out = (struct jm_mlperf_side){.present = true};
    if (!check(text, &why)) {
        out->broken = jm_mlperf_printf(a, "%s", why.text);
        return jm_mlperf_arena_failed(a) ? JM_ENOMEM : 0;
    }
    v = (struct jm_jtoken){.type = JM_J_OBJECT, .raw = text};
    if (walk_init(&w, &v))
        while (walk_next(&w, &k, &v)) {
            for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
                if (jm_jtoken_is(&k, required[i]))
                    have |= 1u << i;
            member(&s, &k, &v);
        }
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (!(have & 1u << i))
            n += (size_t)snprintf(missing + n, sizeof missing - n, "%s%s", n ? ", " : "", required[i]);
    if (n)
        out->missing = jm_mlperf_copy(a, (struct jm_span){missing, n});
    return jm_mlperf_arena_failed(a) ? JM_ENOMEM : 0;
}
