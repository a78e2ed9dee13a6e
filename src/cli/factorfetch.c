/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/factorfetch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "meter/http.h"
#include "wire/factorfile.h"

#include "base/banned.h"

static const struct service {
    const char *name, *base, *suffix;
    bool zone, token;
    int days; /* that it answers for at once, by its documentation; at most 31 */
} services[] = {{"uk", "https://api.carbonintensity.org.uk", "json", false, false, 14},
                {"emaps", "https://api.electricitymaps.com", "json", true, true, 10},
                {"watttime", "https://api.watttime.org", "json", true, true, 31},
                {"entsoe", "https://web-api.tp.entsoe.eu", "xml", true, true, 31},
                {"entsoe-prices", "https://web-api.tp.entsoe.eu", "xml", true, true, 31}};

static const struct service *service(struct jm_span name)
{
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (jm_span_is(name, services[i].name))
            return &services[i];
    return NULL;
}

struct ask {
    const struct service *s;
    char zone[40], since[24], until[24], token[1600]; /* WattTime's is a JSON web token */
    char user[128], password[128];                    /* to log in with, "" where a token was given */
};

static bool token_ok(struct jm_span t, size_t cap)
{
    bool ok = t.n > 0 && t.n < cap;
    for (size_t i = 0; i < t.n && ok; i++)
        ok = isalnum((unsigned char)t.p[i]) || strchr("-._~+/=", t.p[i]) != NULL;
    return ok;
}

/* "user:password" of WattTime, whose tokens last for half an hour. */
static bool login_of(struct jm_span t, struct ask *a)
{
    ptrdiff_t at = strcmp(a->s->name, "watttime") == 0 ? jm_span_chr(t, ':') : -1;
    if (at <= 0 || (size_t)at >= sizeof a->user || t.n - (size_t)at - 1 >= sizeof a->password ||
        t.n == (size_t)at + 1)
        return false;
    for (size_t i = 0; i < t.n; i++)
        if ((unsigned char)t.p[i] < 0x20 || t.p[i] == 0x7f)
            return false;
    snprintf(a->user, sizeof a->user, "%.*s", (int)at, t.p);
    snprintf(a->password, sizeof a->password, "%.*s", (int)(t.n - (size_t)at - 1), t.p + at + 1);
    return true;
}

static int token(const struct jm_factor_fetch *f, struct ask *a, struct jm_err *err)
{
    struct jm_str s;
    if (!f->token_file)
        return jm_err_set(
            err, JM_EUSAGE,
            "--fetch %s: the service wants a token; write it into a file and name that with --token-file",
            a->s->name);
    jm_str_init(&s);
    int rc = jm_file_read(f->token_file, 4096, &s, err);
    struct jm_span t = jm_span_trim(jm_str_span(&s));
    bool login = !rc && login_of(t, a);
    if (!rc && !login && !token_ok(t, sizeof a->token))
        rc = jm_err_set(err, JM_EUSAGE,
                        "--token-file %s: holds no token of up to %zu letters and digits (watttime: or "
                        "user:password)",
                        f->token_file, sizeof a->token - 1);
    if (!rc && !login)
        snprintf(a->token, sizeof a->token, "%.*s", (int)t.n, t.p);
    memset(s.buf, 0, s.len);
    jm_str_release(&s);
    return rc;
}

static int when(const char *text, const char *name, char out[24], int64_t *t, struct jm_err *err)
{
    char full[JM_RFC3339_SIZE];
    if (!text)
        return jm_err_set(err, JM_EUSAGE,
                          "--fetch: --since and --until say of which time, like 2026-03-29T00:00Z");
    if (jm_factor_time(jm_span_of(text), false, t, err))
        return err ? (err->code = JM_EUSAGE, jm_err_prefix(err, "--%s", name)) : JM_EUSAGE;
    snprintf(out, 24, "%.16sZ", jm_time_rfc3339(*t, full));
    return 0;
}

static int parse(const struct jm_factor_fetch *f, const struct jm_clock *clock, struct ask *a,
                 struct jm_err *err)
{
    struct jm_span rest = jm_span_of(f->what), name;
    struct jm_clock_pair now;
    int64_t t0, t1;
    *a = (struct ask){0};
    jm_span_field(&rest, ':', &name);
    a->s = service(name);
    if (!a->s || a->s->zone != (rest.p && rest.n) || rest.n >= sizeof a->zone)
        return jm_err_set(err, JM_EUSAGE,
                          "--fetch: \"%.60s\" is not one of uk, emaps:ZONE, watttime:REGION, entsoe:EIC and "
                          "entsoe-prices:EIC",
                          f->what);
    for (size_t i = 0; i < rest.n; i++) {
        if (!isalnum((unsigned char)rest.p[i]) && rest.p[i] != '-' && rest.p[i] != '_')
            return jm_err_set(err, JM_EUSAGE, "--fetch: a zone is letters, digits and dashes");
        a->zone[i] = rest.p[i];
    }
    int rc = when(f->since, "since", a->since, &t0, err);
    if (!rc)
        rc = when(f->until, "until", a->until, &t1, err);
    if (rc)
        return rc;
    jm_clock_pair(clock, &now);
    if (t1 <= t0 || t1 - t0 > a->s->days * 86400 * JM_NS_PER_S)
        return jm_err_set(err, JM_EUSAGE, "--fetch %s: --until is after --since, by %d days at most",
                          a->s->name, a->s->days);
    if (t1 > now.real)
        return jm_err_set(err, JM_EUSAGE,
                          "--until %s lies in the future: what is stored must not change any more", a->until);
    return 0;
}

/* 2026-03-29T00:00Z → 202603290000 */
static void digits(const char *time, char out[16])
{
    size_t n = 0;
    for (const char *p = time; *p && n < 12; p++)
        if (isdigit((unsigned char)*p))
            out[n++] = *p;
    out[n] = '\0';
}

static void target(const struct ask *a, char *out, size_t cap)
{
    char t0[16], t1[16];
    if (strcmp(a->s->name, "uk") == 0) {
        snprintf(out, cap, "/intensity/%s/%s", a->since, a->until);
    } else if (strcmp(a->s->name, "emaps") == 0) {
        snprintf(out, cap,
                 "/v3/carbon-intensity/past-range?zone=%s&start=%s&end=%s&emissionFactorType=direct", a->zone,
                 a->since, a->until);
    } else if (strcmp(a->s->name, "watttime") == 0) {
        snprintf(out, cap, "/v3/historical?region=%s&start=%s&end=%s&signal_type=co2_moer", a->zone, a->since,
                 a->until);
    } else {
        bool prices = strcmp(a->s->name, "entsoe-prices") == 0;
        digits(a->since, t0);
        digits(a->until, t1);
        snprintf(out, cap,
                 "/api?securityToken=%s&documentType=%s&in_Domain=%s%s%s&periodStart=%s&periodEnd=%s",
                 a->token, prices ? "A44" : "A75&processType=A16", a->zone, prices ? "&out_Domain=" : "",
                 prices ? a->zone : "", t0, t1);
    }
}

/* User and password for a token, which is good for what is asked next. */
static int login(const char *url, const struct jm_clock *clock, struct ask *a, struct jm_err *err)
{
    struct jm_http_setup setup = {.url = url,
                                  .user = a->user,
                                  .password = a->password,
                                  .auth = JM_HTTP_BASIC,
                                  .timeout_ns = 30 * JM_NS_PER_S,
                                  .limit = 65536};
    struct jm_http *h = calloc(1, sizeof *h);
    struct jm_json *root = NULL;
    struct jm_span t = {"", 0};
    char why[80];
    if (!h)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a request");
    int rc = jm_http_init(h, &setup, clock, err);
    if (!rc)
        rc = jm_http_ask(h, "GET", "/login", NULL, 0, (struct jm_span){NULL, 0}, err);
    if (!rc && h->status != 200)
        rc = jm_err_set(err, JM_ENET, "the login of %s %s", a->s->name, jm_http_why(h->status, why));
    if (!rc && (jm_json_parse(jm_str_span(&h->body), &root, NULL) ||
                !jm_json_str(jm_json_get(root, "token"), &t) || !token_ok(t, sizeof a->token)))
        rc = jm_err_set(err, JM_EPARSE, "the login of %s answered without a token", a->s->name);
    if (!rc)
        snprintf(a->token, sizeof a->token, "%.*s", (int)t.n, t.p);
    jm_json_free(root);
    if (h->body.buf)
        memset(h->body.buf, 0, h->body.len);
    jm_http_close(h);
    free(h);
    return rc;
}

static int fetch(const struct jm_factor_fetch *f, const struct jm_clock *clock, struct ask *a,
                 const char *path, struct jm_err *err)
{
    struct jm_http_setup setup = {.url = f->base ? f->base : a->s->base, .timeout_ns = 30 * JM_NS_PER_S};
    struct jm_http *h = calloc(1, sizeof *h);
    struct jm_factor_set set = {0};
    char to[2048], bearer[1620], why[80];
    struct jm_http_field field[2] = {{"Accept", "application/json, application/xml"}};
    size_t n = 1;
    if (!h)
        return jm_err_set(err, JM_ENOMEM, "out of memory for a request");
    int rc = a->s->token ? token(f, a, err) : 0;
    if (!rc && a->user[0])
        rc = login(setup.url, clock, a, err);
    if (rc) {
        free(h);
        return rc;
    }
    target(a, to, sizeof to);
    if (strcmp(a->s->name, "emaps") == 0)
        field[n++] = (struct jm_http_field){"auth-token", a->token};
    snprintf(bearer, sizeof bearer, "Bearer %s", a->token);
    if (strcmp(a->s->name, "watttime") == 0)
        field[n++] = (struct jm_http_field){"Authorization", bearer};
    rc = jm_http_init(h, &setup, clock, err);
    if (!rc)
        rc = jm_http_ask(h, "GET", to, field, n, (struct jm_span){NULL, 0}, err);
    if (!rc && h->status != 200)
        rc = jm_err_set(err, JM_ENET, "%s %s", a->s->name, jm_http_why(h->status, why));
    if (!rc && (rc = jm_factor_file(jm_str_span(&h->body), &set, err)))
        jm_err_prefix(err, "%s answered, and nothing was stored", a->s->name);
    if (!rc)
        rc = jm_file_mkparents(path, err);
    if (!rc)
        rc = jm_file_write(path, jm_str_span(&h->body), err);
    jm_factor_set_release(&set);
    jm_http_close(h);
    free(h);
    return rc;
}

int jm_factor_fetch(const struct jm_factor_fetch *f, const struct jm_clock *clock, struct jm_str *path,
                    bool *asked, struct jm_err *err)
{
    struct ask a;
    char t0[16], t1[16];
    *asked = false;
    int rc = parse(f, clock, &a, err);
    if (rc)
        return rc;
    digits(a.since, t0);
    digits(a.until, t1);
    jm_str_addf(path, "%s/%s%s%s-%s-%s.%s", f->cache, a.s->name, a.zone[0] ? "-" : "", a.zone, t0, t1,
                a.s->suffix);
    rc = jm_str_ok(path, "a path", err);
    if (rc || access(path->buf, R_OK) == 0)
        return rc;
    if (f->offline)
        return jm_err_set(err, JM_EABSENT, "%s is not stored, and --offline asks nobody", path->buf);
    *asked = true;
    rc = fetch(f, clock, &a, path->buf, err);
    memset(&a, 0, sizeof a);
    return rc;
}
