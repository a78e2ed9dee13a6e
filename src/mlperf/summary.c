/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/summary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"

#include "base/banned.h"

enum { FILES = 4096, DEPTH = 8, MESSAGES = 100000, ANALYZERS = 64 };

struct said {
    char *cmd, *reply;
    double cmd_time, reply_time;
    int analyzer;
};

struct named {
    char *name;
    char sha1[JM_SHA1_HEX];
};

struct list {
    struct named *at;
    size_t n, cap;
};

struct jm_mlperf_summary {
    int64_t zone;
    char session[JM_MLPERF_ID], client[JM_MLPERF_UUID], server[JM_MLPERF_UUID];
    struct list sources, results;
    struct said *message, *ptd;
    size_t n_messages, cap_messages, n_ptd, cap_ptd;
    struct jm_mlperf_stamp phase[JM_MLPERF_MODES][4];
    int n_phase[JM_MLPERF_MODES];
    char *config, *own;
    bool debug;
};

static int add_named(struct list *l, const char *name, const char *sha1, struct jm_err *err)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        struct named *p = realloc(l->at, cap * sizeof *p);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "no memory for the files of a session");
        l->at = p;
        l->cap = cap;
    }
    struct named *e = &l->at[l->n];
    e->name = strdup(name);
    if (!e->name)
        return jm_err_set(err, JM_ENOMEM, "no memory for the files of a session");
    snprintf(e->sha1, sizeof e->sha1, "%s", sha1);
    l->n++;
    return 0;
}

static void clear_named(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].name);
    free(l->at);
    *l = (struct list){0};
}

struct jm_mlperf_summary *jm_mlperf_summary_new(struct jm_err *err)
{
    struct jm_mlperf_summary *s = calloc(1, sizeof *s);
    char sha1[JM_SHA1_HEX];
    if (!s || !(s->config = strdup("[null]")) ||
        /* the program itself; a build that cannot read it names no source at all */
        (jm_file_sha1("/proc/self/exe", sha1, NULL) == 0 &&
         jm_mlperf_summary_source(s, "joulemark", sha1, NULL))) {
        jm_mlperf_summary_free(s);
        jm_err_set(err, JM_ENOMEM, "no memory for the summary of a session");
        return NULL;
    }
    return s;
}

static void clear_said(struct said *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(m[i].cmd);
        free(m[i].reply);
    }
    free(m);
}

void jm_mlperf_summary_free(struct jm_mlperf_summary *s)
{
    if (!s)
        return;
    clear_named(&s->sources);
    clear_named(&s->results);
    clear_said(s->message, s->n_messages);
    clear_said(s->ptd, s->n_ptd);
    free(s->config);
    free(s->own);
    free(s);
}

void jm_mlperf_summary_zone(struct jm_mlperf_summary *s, int64_t utc_offset_s)
{
    s->zone = -utc_offset_s;
}

void jm_mlperf_summary_ids(struct jm_mlperf_summary *s, const char *session, const char *client_uuid,
                           const char *server_uuid)
{
    snprintf(s->session, sizeof s->session, "%s", session);
    snprintf(s->client, sizeof s->client, "%s", client_uuid);
    snprintf(s->server, sizeof s->server, "%s", server_uuid);
}

int jm_mlperf_summary_source(struct jm_mlperf_summary *s, const char *name, const char *sha1,
                             struct jm_err *err)
{
    return add_named(&s->sources, name, sha1, err);
}

static int say(struct said **list, size_t *n, size_t *cap, const struct said *what, struct jm_span cmd,
               struct jm_span reply, struct jm_err *err)
{
    if (*n >= MESSAGES)
        return jm_err_set(err, JM_ELIMIT, "a session of more than %d messages", MESSAGES);
    if (*n == *cap) {
        size_t more = *cap ? *cap * 2 : 32;
        struct said *p = realloc(*list, more * sizeof *p);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "no memory for the messages of a session");
        *list = p;
        *cap = more;
    }
    struct said m = *what;
    m.cmd = strndup(cmd.n ? cmd.p : "", cmd.n);
    m.reply = strndup(reply.n ? reply.p : "", reply.n);
    if (!m.cmd || !m.reply) {
        free(m.cmd);
        free(m.reply);
        return jm_err_set(err, JM_ENOMEM, "no memory for the messages of a session");
    }
    (*list)[(*n)++] = m;
    return 0;
}

int jm_mlperf_summary_message(struct jm_mlperf_summary *s, struct jm_span cmd, int64_t cmd_real_ns,
                              struct jm_span reply, int64_t reply_real_ns, struct jm_err *err)
{
    struct said m = {.cmd_time = jm_mlperf_unix(cmd_real_ns), .reply_time = jm_mlperf_unix(reply_real_ns)};
    return say(&s->message, &s->n_messages, &s->cap_messages, &m, cmd, reply, err);
}

int jm_mlperf_summary_ptd(struct jm_mlperf_summary *s, int analyzer, struct jm_span cmd, struct jm_span reply,
                          struct jm_err *err)
{
    struct said m = {.analyzer = analyzer};
    return say(&s->ptd, &s->n_ptd, &s->cap_ptd, &m, cmd, reply, err);
}

void jm_mlperf_summary_phase(struct jm_mlperf_summary *s, enum jm_mlperf_mode mode, int n,
                             const struct jm_clock *clock)
{
    struct jm_clock_pair p;
    if (n < 0 || n > 3 || n > s->n_phase[mode])
        return;
    jm_clock_pair(clock, &p);
    int64_t mono = p.mono0 + (p.mono1 - p.mono0) / 2;
    s->phase[mode][n] = (struct jm_mlperf_stamp){jm_mlperf_unix(p.real), (double)mono / 1e9};
    if (n == s->n_phase[mode])
        s->n_phase[mode]++;
}

void jm_mlperf_summary_restart(struct jm_mlperf_summary *s)
{
    clear_named(&s->results);
    clear_said(s->ptd, s->n_ptd);
    s->ptd = NULL;
    s->n_ptd = s->cap_ptd = 0;
    memset(s->n_phase, 0, sizeof s->n_phase);
}

static int replace(char **at, struct jm_span json, struct jm_err *err)
{
    char *p = strndup(json.p, json.n);
    if (!p)
        return jm_err_set(err, JM_ENOMEM, "no memory for the summary of a session");
    free(*at);
    *at = p;
    return 0;
}

int jm_mlperf_summary_config(struct jm_mlperf_summary *s, struct jm_span json, struct jm_err *err)
{
    return replace(&s->config, json, err);
}

int jm_mlperf_summary_own(struct jm_mlperf_summary *s, struct jm_span json, struct jm_err *err)
{
    return replace(&s->own, json, err);
}

void jm_mlperf_summary_debug(struct jm_mlperf_summary *s, bool debug)
{
    s->debug = debug;
}

static int walk(struct list *l, struct jm_str *path, size_t root, int depth, struct jm_err *err)
{
    size_t len = path->len;
    int rc = jm_str_ok(path, "a path", err);
    DIR *d = rc ? NULL : opendir(path->buf);
    if (rc)
        return rc;
    if (!d)
        return jm_err_sys(err, errno, "cannot read the folder %s", path->buf);
    for (struct dirent *e; !rc && (e = readdir(d));) {
        struct stat st;
        char sha1[JM_SHA1_HEX];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        path->len = len;
        jm_str_addf(path, "/%s", e->d_name);
        rc = jm_str_ok(path, "a path", err);
        if (rc || lstat(path->buf, &st))
            continue; /* gone meanwhile */
        if (S_ISDIR(st.st_mode)) {
            if (depth >= DEPTH)
                rc = jm_err_set(err, JM_ELIMIT, "the folders of a session are more than %d deep", DEPTH);
            else
                rc = walk(l, path, root, depth + 1, err);
        } else if (S_ISREG(st.st_mode)) {
            rc = l->n >= FILES ? jm_err_set(err, JM_ELIMIT, "a session of more than %d files", FILES)
                               : jm_file_sha1(path->buf, sha1, err);
            if (!rc)
                rc = add_named(l, path->buf + root, sha1, err);
        }
    }
    closedir(d);
    path->len = len;
    if (!path->failed)
        path->buf[len] = '\0';
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

int jm_mlperf_summary_hash(struct jm_mlperf_summary *s, const char *dir, struct jm_err *err)
{
    struct jm_str path;
    clear_named(&s->results);
    jm_str_init(&path);
    jm_str_adds(&path, dir);
    int rc = walk(&s->results, &path, path.len + 1, 0, err);
    if (s->results.n)
        qsort(s->results.at, s->results.n, sizeof *s->results.at, by_name);
    jm_str_release(&path);
    return rc;
}

static void number(struct jm_jsonw *w, double v)
{
    char text[JM_MLPERF_REPR];
    jm_jsonw_raw(w, jm_span_of(jm_mlperf_repr(v, text)));
}

static void named(struct jm_jsonw *w, const char *key, const struct list *l)
{
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    for (size_t i = 0; i < l->n; i++)
        jm_jsonw_kstr(w, l->at[i].name, l->at[i].sha1);
    jm_jsonw_end(w);
}

static void phases(struct jm_jsonw *w, const struct jm_mlperf_summary *s)
{
    jm_jsonw_key(w, "phases");
    jm_jsonw_object(w);
    for (int m = 0; m < JM_MLPERF_MODES; m++) {
        jm_jsonw_key(w, jm_mlperf_mode_name((enum jm_mlperf_mode)m));
        jm_jsonw_array(w);
        for (int i = 0; i < s->n_phase[m]; i++) {
            jm_jsonw_array(w);
            number(w, s->phase[m][i].unix_s);
            number(w, s->phase[m][i].mono_s);
            jm_jsonw_end(w);
        }
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void ptd(struct jm_jsonw *w, const struct jm_mlperf_summary *s)
{
    jm_jsonw_key(w, "ptd_messages");
    jm_jsonw_array(w);
    int most = 0;
    for (size_t i = 0; i < s->n_ptd; i++)
        most = s->ptd[i].analyzer > most ? s->ptd[i].analyzer : most;
    for (int a = 0; a <= most && a <= ANALYZERS; a++)
        for (size_t i = 0; i < s->n_ptd; i++)
            if (s->ptd[i].analyzer == a) {
                jm_jsonw_object(w);
                jm_jsonw_kstr(w, "cmd", s->ptd[i].cmd);
                jm_jsonw_kstr(w, "reply", s->ptd[i].reply);
                jm_jsonw_end(w);
            }
    jm_jsonw_end(w);
}

/* JSON text of ours again, with the writer's line breaks. */
static void indented(struct jm_jsonw *w, const struct jm_json *v)
{
    struct jm_span text;
    int64_t i;
    double d;
    bool b;
    if (jm_json_is_object(v)) {
        void *it = NULL;
        const char *key;
        const struct jm_json *val;
        jm_jsonw_object(w);
        while (jm_json_next(v, &it, &key, &val)) {
            jm_jsonw_key(w, key);
            indented(w, val);
        }
        jm_jsonw_end(w);
    } else if (jm_json_is_array(v)) {
        jm_jsonw_array(w);
        for (size_t k = 0; k < jm_json_len(v); k++)
            indented(w, jm_json_at(v, k));
        jm_jsonw_end(w);
    } else if (jm_json_str(v, &text)) {
        jm_jsonw_span(w, text);
    } else if (jm_json_i64(v, &i)) {
        jm_jsonw_i64(w, i);
    } else if (jm_json_num(v, &d)) {
        number(w, d);
    } else if (jm_json_bool(v, &b)) {
        jm_jsonw_bool(w, b);
    } else {
        jm_jsonw_null(w);
    }
}

static int member(struct jm_jsonw *w, const char *key, const char *json, struct jm_err *err)
{
    struct jm_json *root;
    int rc = jm_json_parse(jm_span_of(json), &root, err);
    if (rc)
        return jm_err_prefix(err, "cannot write \"%s\" of a session", key);
    jm_jsonw_key(w, key);
    indented(w, root);
    jm_json_free(root);
    return 0;
}

int jm_mlperf_summary_text(const struct jm_mlperf_summary *s, struct jm_str *out, struct jm_err *err)
{
    struct jm_jsonw w;
    int rc = 0;
    jm_jsonw_init(&w, out, 4);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "version", "1.0");
    jm_jsonw_ki64(&w, "timezone", s->zone);
    jm_jsonw_key(&w, "modules");
    jm_jsonw_object(&w);
    for (size_t i = 0; i < s->sources.n; i++)
        jm_jsonw_kstr(&w, s->sources.at[i].name, s->sources.at[i].name);
    jm_jsonw_end(&w);
    named(&w, "sources", &s->sources);
    jm_jsonw_key(&w, "messages");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < s->n_messages; i++) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "cmd", s->message[i].cmd);
        jm_jsonw_key(&w, "cmd_time");
        number(&w, s->message[i].cmd_time);
        jm_jsonw_kstr(&w, "reply", s->message[i].reply);
        jm_jsonw_key(&w, "reply_time");
        number(&w, s->message[i].reply_time);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "uuid");
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "client", s->client);
    jm_jsonw_kstr(&w, "server", s->server);
    jm_jsonw_end(&w);
    jm_jsonw_kstr(&w, "session_name", s->session);
    named(&w, "results", &s->results);
    phases(&w, s);
    if (s->n_ptd)
        ptd(&w, s);
    rc = member(&w, "ptd_config", s->config, err);
    if (!rc && s->debug)
        jm_jsonw_kbool(&w, "debug", true);
    if (!rc && s->own)
        rc = member(&w, "joulemark", s->own, err);
    jm_jsonw_end(&w);
    if (out->len && out->buf[out->len - 1] == '\n')
        out->buf[--out->len] = '\0'; /* Python's json.dump() ends without a line end */
    return rc ? rc : jm_str_ok(out, "the summary of a session", err);
}

int jm_mlperf_summary_save(const struct jm_mlperf_summary *s, const char *path, struct jm_err *err)
{
    struct jm_str text;
    jm_str_init(&text);
    int rc = jm_mlperf_summary_text(s, &text, err);
    if (!rc)
        rc = jm_file_write(path, jm_str_span(&text), err);
    jm_str_release(&text);
    return rc;
}
