/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the checks, and what they share. */
#include "mlperf/official_follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

#define JSON_MOST ((size_t)16 << 20)

static const char *const titles[11] = {
    "Check client sources checksum",
    "Check server sources checksum",
    "Check PTD commands and replies",
    "Check UUID",
    "Check session name",
    "Check time difference",
    "Check client server messages",
    "Check results checksum",
    "Check errors and warnings from PTD logs",
    "Check PTD configuration",
    "Check debug is disabled on server-side",
};

__attribute__((format(printf, 3, 0))) static int say(struct jm_follow *f, int verdict, const char *fmt,
                                                     va_list ap)
{
    jm_str_reset(&f->text);
    jm_str_addv(&f->text, fmt, ap);
    int rc = jm_str_ok(&f->text, "what the public checker says", f->err);
    return rc ? rc : verdict;
}

int jm_follow_fail(struct jm_follow *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = say(f, JM_FOLLOW_FAIL, fmt, ap);
    va_end(ap);
    return rc;
}

int jm_follow_warn(struct jm_follow *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = say(f, JM_FOLLOW_WARN, fmt, ap);
    va_end(ap);
    return rc;
}

void jm_follow_repr(struct jm_str *out, const struct jm_json *v)
{
    struct jm_span text;
    int64_t i;
    double d;
    bool b;
    if (jm_json_str(v, &text)) {
        jm_mlperf_quote(out, text);
    } else if (jm_json_bool(v, &b)) {
        jm_str_adds(out, b ? "True" : "False");
    } else if (jm_json_i64(v, &i)) {
        jm_str_addf(out, "%lld", (long long)i);
    } else if (jm_json_num(v, &d)) {
        jm_py_repr(out, d);
    } else if (jm_json_is_array(v)) {
        jm_str_addc(out, '[');
        for (size_t k = 0; k < jm_json_len(v); k++) {
            jm_str_adds(out, k ? ", " : "");
            jm_follow_repr(out, jm_json_at(v, k));
        }
        jm_str_addc(out, ']');
    } else if (jm_json_is_object(v)) {
        void *it = NULL;
        const char *key;
        const struct jm_json *val;
        jm_str_addc(out, '{');
        for (size_t k = 0; jm_json_next(v, &it, &key, &val); k++) {
            jm_str_adds(out, k ? ", " : "");
            jm_mlperf_quote(out, jm_span_of(key));
            jm_str_adds(out, ": ");
            jm_follow_repr(out, val);
        }
        jm_str_addc(out, '}');
    } else {
        jm_str_adds(out, "None");
    }
}

bool jm_follow_equal(const struct jm_json *a, const struct jm_json *b)
{
    double x, y;
    struct jm_span s, t;
    if (jm_json_str(a, &s) || jm_json_str(b, &t))
        return jm_json_str(a, &s) && jm_json_str(b, &t) && jm_span_eq(s, t);
    if (jm_json_num(a, &x) && jm_json_num(b, &y))
        return x == y;
    struct jm_str p, q;
    jm_str_init(&p);
    jm_str_init(&q);
    jm_follow_repr(&p, a);
    jm_follow_repr(&q, b);
    bool same = !p.failed && !q.failed && jm_span_eq(jm_str_span(&p), jm_str_span(&q));
    jm_str_release(&p);
    jm_str_release(&q);
    return same;
}

int jm_follow_get(struct jm_follow *f, const struct jm_json *o, const char *key, const struct jm_json **v)
{
    if (!jm_json_is_object(o)) {
        if (jm_json_is_array(o))
            return jm_follow_fail(f, "TypeError: list indices must be integers or slices, not str");
        if (jm_json_is_string(o))
            return jm_follow_fail(f, "TypeError: string indices must be integers, not 'str'");
        return jm_follow_fail(f, "TypeError: object is not subscriptable");
    }
    if (!(*v = jm_json_get(o, key)))
        return jm_follow_fail(f, "KeyError: '%s'", key);
    return JM_FOLLOW_PASS;
}

int jm_follow_at(struct jm_follow *f, const struct jm_json *a, size_t i, const struct jm_json **v)
{
    if (jm_json_is_object(a))
        return jm_follow_fail(f, "KeyError: %zu", i);
    if (!jm_json_is_array(a))
        return jm_follow_fail(f, "TypeError: object is not subscriptable");
    if (!(*v = jm_json_at(a, i)))
        return jm_follow_fail(f, "IndexError: list index out of range");
    return JM_FOLLOW_PASS;
}

const char *jm_follow_mode(enum jm_mlperf_mode m)
{
    return m == JM_MLPERF_RANGING ? "ranging" : "run_1";
}

int jm_follow_no_file(struct jm_follow *f, int rc, const char *path)
{
    if (rc == JM_ENOMEM)
        return rc;
    struct jm_str name;
    jm_str_init(&name);
    jm_mlperf_quote(&name, jm_span_of(path));
    rc = rc == JM_EABSENT
             ? jm_follow_fail(f, "FileNotFoundError: [Errno 2] No such file or directory: %s", name.buf)
             : jm_follow_fail(f, "OSError: %s cannot be read", name.buf);
    jm_str_release(&name);
    return rc;
}

/* client.json or server.json with the fields that the checker asks for; *why stays empty when it is one. */
static int descriptor(struct jm_follow *f, struct jm_str *path, struct jm_json **root, struct jm_str *why)
{
    static const char *const fields[] = {"version", "timezone",     "modules", "sources", "messages",
                                         "uuid",    "session_name", "results", "phases"};
    struct jm_str text;
    struct jm_err local = {0};
    jm_str_init(&text);
    int rc = jm_file_read_regular(path->buf, JSON_MOST, &text, &local);
    if (rc == 0)
        rc = jm_json_parse(jm_str_span(&text), root, &local);
    jm_str_release(&text);
    if (rc == JM_ENOMEM)
        return jm_err_set(f->err, rc, "%s", local.text);
    if (rc) {
        jm_str_addf(why, "%s cannot be read: %s", path->buf, local.text);
        return 0;
    }
    size_t absent = 0;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (!jm_json_get(*root, fields[i]))
            jm_str_addf(why, "%s%s", absent++ ? ", " : "Required fields '", fields[i]);
    if (absent) {
        jm_str_adds(why, "' does not exist in ");
        jm_mlperf_quote(why, jm_str_span(path));
    }
    return 0;
}

static int run(struct jm_follow *f, int check)
{
    switch (check) {
    case 0: return jm_follow_sources(f, f->client);
    case 1: return jm_follow_sources(f, f->server);
    case 2: return jm_follow_ptd(f);
    case 3: return jm_follow_uuid(f);
    case 4: return jm_follow_name(f);
    case 5: return jm_follow_phases(f);
    case 6: return jm_follow_messages(f);
    case 7: return jm_follow_results(f);
    case 8: return jm_follow_log(f);
    case 9: return jm_follow_config(f);
    default: return jm_follow_debug(f);
    }
}

static int keep(struct jm_follow *f, struct jm_mlperf_official *out, int i, enum jm_mlperf_verdict v,
                const char *text)
{
    out->check[i].verdict = v;
    if (v > out->verdict && v != JM_MLPERF_ABSENT)
        out->verdict = v;
    if (text && !(out->check[i].text = strdup(text)))
        return jm_err_set(f->err, JM_ENOMEM, "Out of memory while following the public checker.");
    return 0;
}

int jm_mlperf_official_follow(const struct jm_mlperf_session *s, const struct jm_mlperf_revision *r,
                              struct jm_mlperf_official *out, struct jm_err *err)
{
    static const enum jm_mlperf_verdict verdict[] = {JM_MLPERF_PASS, JM_MLPERF_FAIL, JM_MLPERF_WARN};
    struct jm_follow f = {.s = s, .r = r, .err = err};
    struct jm_str why;
    jm_str_init(&why);
    jm_str_init(&f.text);
    jm_str_init(&f.client_path);
    jm_str_init(&f.server_path);
    out->revision = r->name;
    for (int i = 0; i < 11; i++)
        out->check[i].title = titles[i];
    jm_str_addf(&f.client_path, "%s/power/client.json", s->dir);
    jm_str_addf(&f.server_path, "%s/power/server.json", s->dir);
    int rc = descriptor(&f, &f.client_path, &f.client, &why);
    if (rc == 0 && !why.len)
        rc = descriptor(&f, &f.server_path, &f.server, &why);
    if (rc == 0 && why.len) {
        /* The checker ends before its first check. */
        for (int i = 0; i < 11 && rc == 0; i++)
            rc = keep(&f, out, i, JM_MLPERF_ABSENT, i ? NULL : why.buf);
        out->verdict = JM_MLPERF_FAIL;
    } else {
        for (int i = 0; i < 11 && rc == 0; i++) {
            jm_str_reset(&f.text);
            int v = run(&f, i);
            rc = v < 0 ? v : keep(&f, out, i, verdict[v], v ? f.text.buf : NULL);
        }
    }
    jm_json_free(f.client);
    jm_json_free(f.server);
    jm_str_release(&why);
    jm_str_release(&f.text);
    jm_str_release(&f.client_path);
    jm_str_release(&f.server_path);
    return rc;
}

void jm_mlperf_official_print(const struct jm_mlperf_official *o, struct jm_str *out)
{
    const struct jm_mlperf_revision *r = jm_mlperf_revision_find(o->revision);
    bool logging = r && r->logging, passed = true, warned = false;
    if (o->check[0].verdict == JM_MLPERF_ABSENT) {
        jm_str_addf(out, "%s\n", o->check[0].text ? o->check[0].text : "The checker could not begin.");
        return;
    }
    for (int i = 0; i < 11; i++) {
        bool fails = o->check[i].verdict == JM_MLPERF_FAIL, warns = o->check[i].verdict == JM_MLPERF_WARN;
        const char *level = !logging ? "" : fails ? "ERROR:main:" : warns ? "WARNING:main:" : "INFO:main:";
        passed &= !fails;
        warned |= warns;
        jm_str_addf(out, "%s[%c] %s\n", level, fails ? ' ' : 'x', o->check[i].title);
        if (o->check[i].text)
            jm_str_addf(out, "%s\t%s\n\n", level, o->check[i].text);
    }
    jm_str_addf(out, "%s\n%s%s\n",
                !logging ? ""
                : passed ? "INFO:main:"
                         : "ERROR:main:",
                passed ? "All checks passed" : "ERROR: Not all checks passed",
                warned ? ". Warnings encountered, check for audit!" : "");
}
