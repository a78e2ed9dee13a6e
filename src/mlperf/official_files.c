/* SPDX-License-Identifier: Apache-2.0 */
/* Checks 1, 2, 4, 5, 7, 8: hashes, names, conversation. */
#include "mlperf/official_follow.h"

#include <stdlib.h>
#include <string.h>

#include "mlperf/textlog.h"

#include "base/banned.h"

int jm_follow_sources(struct jm_follow *f, const struct jm_json *side)
{
    const struct jm_json *list, *val;
    int rc = jm_follow_get(f, side, "sources", &list);
    if (rc)
        return rc;
    size_t n = jm_json_is_object(list) ? jm_json_len(list) : 0, k = 0;
    struct jm_mlperf_hash *h = n && n <= 64 ? calloc(n, sizeof(*h)) : NULL;
    if (n && n <= 64 && !h)
        return jm_err_set(f->err, JM_ENOMEM, "Out of memory while following the public checker.");
    void *it = NULL;
    const char *key;
    while (h && k < n && jm_json_next(list, &it, &key, &val)) {
        struct jm_span sha1;
        if (jm_json_str(val, &sha1) && strlen(sha1.p) == sha1.n)
            h[k++] = (struct jm_mlperf_hash){key, sha1.p};
    }
    char set = h && k == n ? jm_mlperf_sources_set(h, n) : 0;
    free(h);
    if (set && strchr(f->r->sources, set))
        return JM_FOLLOW_PASS;
    struct jm_str repr;
    jm_str_init(&repr);
    jm_follow_repr(&repr, list);
    rc = jm_follow_fail(f, "%s do not exist in 'sources_checksums.json'", repr.buf);
    jm_str_release(&repr);
    return rc;
}

/* uuid.UUID(text) as 32 lower-case digits. */
static bool uuid_digits(const struct jm_json *v, char out[33])
{
    struct jm_span s;
    size_t n = 0;
    if (!jm_json_str(v, &s))
        return false;
    if (jm_span_starts(s, JM_SPAN("urn:")))
        s = jm_span_sub(s, 4, s.n);
    if (jm_span_starts(s, JM_SPAN("uuid:")))
        s = jm_span_sub(s, 5, s.n);
    while (s.n && strchr("{}", *s.p) && *s.p)
        s = jm_span_sub(s, 1, s.n);
    while (s.n && (s.p[s.n - 1] == '{' || s.p[s.n - 1] == '}'))
        s.n--;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '-')
            continue;
        if (c >= 'A' && c <= 'F')
            c = (char)(c + 'a' - 'A');
        if (n == 32 || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return n == 32;
}

int jm_follow_uuid(struct jm_follow *f)
{
    static const char *const keys[] = {"client", "server"};
    const struct jm_json *c, *s, *x, *y;
    int rc = jm_follow_get(f, f->client, "uuid", &c);
    if (rc == 0)
        rc = jm_follow_get(f, f->server, "uuid", &s);
    for (int i = 0; i < 2 && rc == 0; i++) {
        char a[33], b[33];
        if ((rc = jm_follow_get(f, c, keys[i], &x)) != 0)
            return rc;
        if (!uuid_digits(x, a))
            return jm_follow_fail(f, "ValueError: badly formed hexadecimal UUID string");
        if ((rc = jm_follow_get(f, s, keys[i], &y)) != 0)
            return rc;
        if (!uuid_digits(y, b))
            return jm_follow_fail(f, "ValueError: badly formed hexadecimal UUID string");
        if (strcmp(a, b) != 0)
            return jm_follow_fail(f, "'%s uuid' is not equal.", keys[i]);
    }
    return rc;
}

/* Fails with two values in their repr() put into fmt. */
static int differ(struct jm_follow *f, const char *before, const struct jm_json *a, const char *between,
                  const struct jm_json *b, const char *after)
{
    struct jm_str text;
    jm_str_init(&text);
    jm_str_adds(&text, before);
    jm_follow_repr(&text, a);
    jm_str_adds(&text, between);
    jm_follow_repr(&text, b);
    jm_str_adds(&text, after);
    int rc = jm_follow_fail(f, "%s", text.buf);
    jm_str_release(&text);
    return rc;
}

int jm_follow_name(struct jm_follow *f)
{
    const struct jm_json *c, *s;
    int rc = jm_follow_get(f, f->client, "session_name", &c);
    if (rc == 0)
        rc = jm_follow_get(f, f->server, "session_name", &s);
    if (rc || jm_follow_equal(c, s))
        return rc;
    return differ(f, "Session name is not equal. Client session name is ", c, ". Server session name is ", s,
                  "");
}

/* The number at the end of "mlcommons/power client v3". */
static int version(struct jm_follow *f, const struct jm_json *v, const char *before, struct jm_span *out)
{
    struct jm_span s, t;
    if (!jm_json_str(v, &s))
        return jm_follow_fail(f, "TypeError: expected string or bytes-like object");
    t = s;
    if (t.n && t.p[t.n - 1] == '\n')
        t.n--;
    size_t n = 0;
    while (n < t.n && t.p[t.n - 1 - n] >= '0' && t.p[t.n - 1 - n] <= '9')
        n++;
    if (!n || !jm_span_ends(jm_span_sub(t, 0, t.n - n), jm_span_of(before)))
        return jm_follow_fail(f, "Server version is not defined in:'%.*s'", (int)(s.n > 500 ? 500 : s.n),
                              s.p);
    *out = jm_span_sub(t, t.n - n, n);
    return 0;
}

int jm_follow_messages(struct jm_follow *f)
{
    const struct jm_json *mc, *ms, *c, *s, *cc, *sc, *cr, *sr;
    int rc = jm_follow_get(f, f->client, "messages", &mc);
    if (rc == 0)
        rc = jm_follow_get(f, f->server, "messages", &ms);
    if (rc)
        return rc;
    size_t nc = jm_json_len(mc), ns = jm_json_len(ms);
    if (f->r->one_more_message ? nc + 1 != ns : nc != ns)
        return jm_follow_fail(
            f, "Client commands list length (%zu) should be %s server commands list length (%zu)%s. ", nc,
            f->r->one_more_message ? "less than" : "equal to", ns, f->r->one_more_message ? " by one" : "");
    for (size_t i = 0; i < nc && rc == 0; i++) {
        struct jm_span cmd;
        if ((rc = jm_follow_at(f, mc, i, &c)) != 0 || (rc = jm_follow_at(f, ms, i, &s)) != 0 ||
            (rc = jm_follow_get(f, c, "cmd", &cc)) != 0 || (rc = jm_follow_get(f, s, "cmd", &sc)) != 0)
            return rc;
        if (!jm_follow_equal(cc, sc)) {
            char before[80];
            snprintf(before, sizeof(before), "Commands %zu are different. Server command is ", i);
            return differ(f, before, sc, ". Client command is ", cc, ".");
        }
        if (jm_json_str(cc, &cmd) && jm_span_is(cmd, "time"))
            continue;
        if ((rc = jm_follow_get(f, c, "reply", &cr)) != 0 || (rc = jm_follow_get(f, s, "reply", &sr)) != 0)
            return rc;
        if (!jm_follow_equal(cr, sr)) {
            struct jm_str before;
            jm_str_init(&before);
            jm_str_adds(&before, "Replies on command ");
            jm_follow_repr(&before, cc);
            jm_str_adds(&before, " are different. Server reply is ");
            rc = differ(f, before.buf, sr, ". Client command is ", cr, ".");
            jm_str_release(&before);
            return rc;
        }
    }
    struct jm_span client, server;
    if ((rc = jm_follow_at(f, ms, 0, &s)) != 0 || (rc = jm_follow_get(f, s, "cmd", &sc)) != 0 ||
        (rc = version(f, sc, "mlcommons/power client v", &client)) != 0 ||
        (rc = jm_follow_get(f, s, "reply", &sr)) != 0 ||
        (rc = version(f, sr, "mlcommons/power server v", &server)) != 0)
        return rc;
    if (!jm_span_eq(client, server))
        return jm_follow_fail(f, "Client.py version (%.*s) is not equal server.py version (%.*s).",
                              (int)client.n, client.p, (int)server.n, server.p);
    return 0;
}

/* --- check 8
 * ------------------------------------------------------------------------------------------------ */

/* Hashes by file of the session, in the order of the files' names: client's, server's, on disk. */
struct hashes {
    struct jm_span of[JM_MLPERF_FILES]; /* p NULL: not there */
    int order[JM_MLPERF_FILES], n;      /* as they came */
};

static bool counted(const struct jm_follow *f, int file)
{
    return file != JM_MLPERF_SERVER_JSON && (file != JM_MLPERF_CLIENT_JSON || f->r->client_json);
}

static int hashes_of(struct jm_follow *f, const struct jm_json *side, struct hashes *out)
{
    const struct jm_json *list, *val;
    void *it = NULL;
    const char *key;
    int rc = jm_follow_get(f, side, "results", &list);
    if (rc)
        return rc;
    if (!jm_json_is_object(list))
        return jm_follow_fail(f, "AttributeError: object has no attribute 'keys'");
    while (jm_json_next(list, &it, &key, &val))
        for (int i = 0; i < JM_MLPERF_FILES; i++)
            if (counted(f, i) && f->s->file[i].rel && strcmp(key, f->s->file[i].rel) == 0) {
                if (!jm_json_str(val, &out->of[i]))
                    out->of[i] = JM_SPAN("None");
                out->order[out->n++] = i;
            }
    return 0;
}

/* compare_dicts_values: what differs where both have it. */
static int same_values(struct jm_follow *f, const struct hashes *a, const struct hashes *b,
                       const char *comment)
{
    struct jm_str text;
    bool any = false;
    jm_str_init(&text);
    jm_str_adds(&text, comment);
    for (int k = 0; k < a->n; k++) {
        int i = a->order[k];
        if (!b->of[i].p || jm_span_eq(a->of[i], b->of[i]))
            continue;
        any = true;
        jm_str_addf(&text, "Expected %.*s, but got %.*s for %s\n", (int)a->of[i].n, a->of[i].p,
                    (int)b->of[i].n, b->of[i].p, f->s->file[i].rel);
    }
    int rc = any ? jm_follow_fail(f, "%s", text.buf) : 0;
    jm_str_release(&text);
    return rc;
}

/* The names that a has and b lacks, in order, as one text in quotes: 'a, b'. False: none. */
static bool lacks(const struct jm_follow *f, const struct hashes *a, const struct hashes *b,
                  struct jm_str *out)
{
    const char *last = "";
    bool any = false;
    for (;;) { /* by name: the smallest above the last */
        const char *next = NULL;
        for (int i = 0; i < JM_MLPERF_FILES; i++) {
            const char *rel = f->s->file[i].rel;
            if (counted(f, i) && rel && (!a || a->of[i].p) && !b->of[i].p && strcmp(rel, last) > 0 &&
                (!next || strcmp(rel, next) < 0))
                next = rel;
        }
        if (!next)
            break;
        jm_str_addf(out, "%s%s", any ? ", " : "'", next);
        any = true;
        last = next;
    }
    if (any)
        jm_str_addc(out, '\'');
    return any;
}

static int compare(struct jm_follow *f, const struct hashes *a, const struct hashes *b, const char *comment)
{
    struct jm_str names;
    int rc = 0;
    jm_str_init(&names);
    if (lacks(f, a, b, &names))
        rc = jm_follow_fail(f, "%s Missing %s", comment, names.buf);
    else if (lacks(f, b, a, &names))
        rc = jm_follow_fail(f, "%s Extra %s", comment, names.buf);
    else
        rc = same_values(f, a, b, comment);
    jm_str_release(&names);
    return rc;
}

static int all_there(struct jm_follow *f, const struct hashes *a, const char *where)
{
    struct jm_str names;
    jm_str_init(&names);
    int rc = lacks(f, NULL, a, &names)
                 ? jm_follow_fail(f, "There are absent files %s in the results of %s", names.buf, where)
                 : 0;
    jm_str_release(&names);
    return rc;
}

int jm_follow_results(struct jm_follow *f)
{
    struct hashes c = {0}, s = {0}, disk = {0}, both;
    int rc = hashes_of(f, f->server, &s);
    if (rc == 0)
        rc = hashes_of(f, f->client, &c);
    if (rc)
        return rc;
    for (int i = 0; i < JM_MLPERF_FILES; i++)
        if (counted(f, i) && f->s->file[i].present && *f->s->file[i].sha1) {
            disk.of[i] = jm_span_of(f->s->file[i].sha1);
            disk.order[disk.n++] = i;
        }
    both = c;
    for (int k = 0; k < s.n; k++) {
        int i = s.order[k];
        if (!both.of[i].p)
            both.order[both.n++] = i;
        both.of[i] = s.of[i];
    }
    struct jm_str text;
    jm_str_init(&text);
    jm_str_addf(&text, "%s and %s results checksum comparison", f->server_path.buf, f->client_path.buf);
    rc = same_values(f, &s, &c, text.buf);
    if (rc == 0) {
        jm_str_reset(&text);
        jm_str_addf(&text, "%s + %s results checksum values and calculated %s content checksum comparison:\n",
                    f->server_path.buf, f->client_path.buf, f->s->dir);
        rc = compare(f, &both, &disk, text.buf);
    }
    if (rc == 0) {
        jm_str_reset(&text);
        jm_str_addf(&text, "%s + %s", f->server_path.buf, f->client_path.buf);
        rc = all_there(f, &both, text.buf);
    }
    if (rc == 0)
        rc = all_there(f, &disk, f->s->dir);
    jm_str_release(&text);
    return rc;
}
