/* SPDX-License-Identifier: Apache-2.0 */
/* Login, requests and the way through the tree of a Redfish service (DSP0266). See meter/redfish_impl.h. */
#include "meter/redfish_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#include "base/banned.h"

#define RELOGIN_NS (20 * JM_NS_PER_S) /* not more often: a locked account helps nobody */

/* --- sessions
 * ------------------------------------------------------------------------------------------------ */
static void path_of(struct jm_span location, char out[256])
{
    const char *at = NULL;
    struct jm_span s = location;
    ptrdiff_t scheme = jm_span_find(s, JM_SPAN("://"));
    if (scheme >= 0) {
        s = jm_span_sub(s, (size_t)scheme + 3, s.n);
        at = memchr(s.p, '/', s.n);
        s = at ? jm_span_sub(s, (size_t)(at - s.p), s.n) : (struct jm_span){NULL, 0};
    }
    out[0] = '\0';
    if (s.n && s.n < 256 && s.p[0] == '/')
        snprintf(out, 256, "%.*s", (int)s.n, s.p);
}

static int take_session(struct jm_redfish_talk *t, struct jm_err *err)
{
    struct jm_span token, location;
    if (!jm_http1_header(&t->http.reader, "X-Auth-Token", 0, &token) || !token.n ||
        token.n >= sizeof t->token)
        return jm_err_set(err, JM_EPARSE, "the service makes a session, but gives no token for it");
    memcpy(t->token, token.p, token.n);
    t->token[token.n] = '\0';
    t->session[0] = '\0';
    if (jm_http1_header(&t->http.reader, "Location", 0, &location))
        path_of(location, t->session);
    struct jm_json *body;
    if (!t->session[0] && jm_json_parse(jm_str_span(&t->http.body), &body, NULL) == 0) {
        if (jm_json_str(jm_json_get(body, "@odata.id"), &location))
            path_of(location, t->session);
        jm_json_free(body);
    }
    return 0;
}

static int post_session(struct jm_redfish_talk *t, const char *where, struct jm_err *err)
{
    struct jm_str body;
    struct jm_jsonw w;
    jm_str_init(&body);
    jm_jsonw_init(&w, &body, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "UserName", t->user);
    jm_jsonw_kstr(&w, "Password", t->password);
    jm_jsonw_end(&w);
    int rc = jm_str_ok(&body, "a login", err);
    if (!rc)
        rc = jm_http_ask(&t->http, "POST", where, NULL, 0, jm_str_span(&body), err);
    explicit_bzero(body.buf, body.len);
    jm_str_release(&body);
    return rc;
}

int jm_redfish_login(struct jm_redfish_talk *t, struct jm_err *err)
{
    static const char old[] = "/redfish/v1/Sessions";
    char why[80];
    t->logged_in = jm_clock_mono(&t->http.clock);
    t->token[0] = '\0';
    if (t->login != JM_REDFISH_SESSION || !t->user || !*t->user)
        return 0;
    int rc = post_session(t, t->sessions, err);
    /* iDRAC 8: 405 at SessionService/Sessions */
    if (!rc && (t->http.status == 405 || t->http.status == 404) && strcmp(t->sessions, old) != 0) {
        snprintf(t->sessions, sizeof t->sessions, "%s", old);
        rc = post_session(t, t->sessions, err);
    }
    if (rc)
        return rc;
    int status = t->http.status;
    if (status == 200 || status == 201)
        return take_session(t, err);
    if (status == 401 || status == 403 || status == 400)
        return jm_err_set(err, JM_EDENIED,
                          "the service does not accept user and password (HTTP %d); check user and "
                          "password_file or password_env of the entry",
                          status);
    if (status == 404 || status == 405 || status == 501) { /* no sessions here */
        t->login = JM_REDFISH_BASIC;
        t->http.setup.auth = JM_HTTP_BASIC;
        return 0;
    }
    return jm_err_set(err, JM_EUNSUPPORTED, "no session can be made: the service %s",
                      jm_http_why(status, why));
}

void jm_redfish_logout(struct jm_redfish_talk *t)
{
    struct jm_err ignored;
    struct jm_http_field token = {"X-Auth-Token", t->token};
    if (t->token[0] && t->session[0]) {
        if (t->http.setup.timeout_ns > 2 * JM_NS_PER_S) /* nobody shall wait for a goodbye */
            t->http.setup.timeout_ns = 2 * JM_NS_PER_S;
        jm_http_ask(&t->http, "DELETE", t->session, &token, 1, (struct jm_span){NULL, 0}, &ignored);
    }
    explicit_bzero(t->token, sizeof t->token);
    explicit_bzero(t->session, sizeof t->session);
}

/* --- requests
 * ------------------------------------------------------------------------------------------------ */
static int status_code(int status)
{
    switch (status) {
    case 200: return 0;
    case 401:
    case 403: return JM_EDENIED;
    case 404: return JM_EABSENT;
    case 429:
    case 500: /* 500, 502, 503, 504: what a BMC says while it starts */
    case 502:
    case 503:
    case 504: return JM_EAGAIN;
    default: return JM_EUNSUPPORTED;
    }
}

int jm_redfish_get(struct jm_redfish_talk *t, const char *uri, struct jm_err *err)
{
    char why[80];
    for (int again = 0;; again++) {
        struct jm_http_field token = {"X-Auth-Token", t->token[0] ? t->token : NULL};
        int rc = jm_http_ask(&t->http, "GET", uri, &token, 1, (struct jm_span){NULL, 0}, err);
        if (rc)
            return rc;
        int status = t->http.status;
        /* a session that ran out shows as 401, 403 or, on some, 404 */
        if (!again && t->may_relog && t->token[0] && (status == 401 || status == 403 || status == 404) &&
            jm_clock_mono(&t->http.clock) - t->logged_in > (status == 401 ? JM_NS_PER_S : RELOGIN_NS)) {
            rc = jm_redfish_login(t, err);
            if (rc)
                return rc;
            continue;
        }
        if (status != 200)
            return jm_err_set(err, status_code(status), "%s: the service %s", uri, jm_http_why(status, why));
        struct jm_span coding;
        if (jm_http1_header(&t->http.reader, "Content-Encoding", 0, &coding) && coding.n &&
            !jm_span_ieq(coding, JM_SPAN("identity")))
            return jm_err_set(err, JM_EUNSUPPORTED,
                              "%s: the service answers compressed (%.*s) though it was not asked to", uri,
                              (int)(coding.n < 20 ? coding.n : 20), coding.p);
        return 0;
    }
}

/* --- the way through the tree
 * ----------------------------------------------------------------------------------- */
static bool has(const char *text, const char *word)
{
    struct jm_span t = jm_span_of(text), w = jm_span_of(word);
    for (size_t i = 0; i + w.n <= t.n; i++)
        if (jm_span_ieq((struct jm_span){t.p + i, w.n}, w))
            return true;
    return false;
}

static bool power_id(const char *id)
{
    return (has(id, "power") || has(id, "pwr") || has(id, "energy") || has(id, "watt") || has(id, "_pin") ||
            has(id, "_pout")) &&
           !has(id, "pwrgd") && !has(id, "volt") && !has(id, "temp");
}

/* Is it worth a request? A large machine has thousands of resources; power is in few of them. */
static bool wanted(const struct jm_redfish_conf *conf, const struct jm_rf_link *l, size_t siblings)
{
    const char *u = l->uri, *id = strrchr(u, '/');
    static const char *const never[] = {"SessionService", "Fabrics", "Facilities", NULL};
    for (size_t i = 0; never[i]; i++)
        if (strcmp(l->key, never[i]) == 0 && !(i > 0 && conf->parts == 2))
            return false;
    if (conf->parts != 2 && (strcmp(l->key, "Memory") == 0 || strstr(u, "/Memory/")))
        return false;
    if (conf->parts != 2 && (strcmp(l->key, "Switches") == 0))
        return false;
    if (conf->parts == 1 && (strcmp(l->key, "Systems") == 0 || strcmp(l->key, "TelemetryService") == 0))
        return false;
    if (!id)
        return false;
    if (l->kind == JM_RF_LINK_MEMBER && strstr(u, "/Sensors/"))
        return power_id(id) || siblings <= 12;
    if (l->kind == JM_RF_LINK_MEMBER && strstr(u, "/MetricReports/"))
        return power_id(id) || has(id, "environment");
    if (has(id, "erot") || has(id, "cpld")) /* roots of trust and logic: no power of their own */
        return conf->parts == 2 || !strstr(u, "/Chassis/");
    return true;
}

struct queue {
    struct jm_rf_link *v;
    size_t n, cap, at;
};

#define QUEUE 4096 /* a service that makes up links without end costs no more than this */

static int push(struct queue *q, const struct jm_rf_link *l, struct jm_err *err)
{
    if (q->n == QUEUE)
        return 0;
    for (size_t i = 0; i < q->n; i++)
        if (strcmp(q->v[i].uri, l->uri) == 0)
            return 0;
    if (q->n == q->cap) {
        size_t cap = q->cap ? q->cap * 2 : 64;
        struct jm_rf_link *more = realloc(q->v, cap * sizeof *more);
        if (!more)
            return jm_err_set(err, JM_ENOMEM, "out of memory while looking around");
        q->v = more;
        q->cap = cap;
    }
    q->v[q->n++] = *l;
    return 0;
}

/* A service that is busy or still starting is asked once more for that resource, after all others. */
#define AGAIN   "again"
#define BUSY_NS (500 * JM_NS_PER_MS)

static bool again(const struct jm_rf_link *l)
{
    return strcmp(l->key, AGAIN) == 0;
}

static int push_again(struct queue *q, const struct jm_rf_link *l, struct jm_err *err)
{
    struct jm_rf_link copy = *l;
    snprintf(copy.key, sizeof copy.key, AGAIN);
    q->v[q->at - 1].uri[0] = '\0'; /* else it would be there already */
    return push(q, &copy, err);
}

/* What tells of power comes first: where a slow service or the bound on requests ends the look around, the
 * rest of a large tree is what stays unread. */
static struct jm_rf_link pop(struct queue *q)
{
    static const char *const first[] = {"/Power", "/EnvironmentMetrics", "/RackPDUs"};
    size_t best = q->at;
    for (size_t i = q->at, found = 0; i < q->n && !found; i++)
        for (size_t k = 0; k < sizeof first / sizeof *first && !found; k++)
            if (strstr(q->v[i].uri, first[k]) && !again(&q->v[i])) {
                best = i;
                found = 1;
            }
    struct jm_rf_link l = q->v[best];
    memmove(q->v + q->at + 1, q->v + q->at, (best - q->at) * sizeof l);
    q->v[q->at++] = l;
    return l;
}

static size_t slashes(const char *u)
{
    size_t n = 0;
    for (; *u; u++)
        n += *u == '/';
    return n;
}

int jm_redfish_discover(struct jm_redfish_talk *t, const struct jm_redfish_conf *conf, struct jm_rf_set *set,
                        int64_t *asked, char skipped[192], const struct jm_meter *m,
                        void (*seen)(void *self, const char *uri), void *self, struct jm_err *err)
{
    struct queue q = {0};
    struct jm_rf_link root = {.uri = "/redfish/v1"};
    struct jm_err why;
    int failures = 0;
    int64_t begun = jm_clock_mono(&t->http.clock), most_ns = 24 * t->http.setup.timeout_ns;
    int rc = push(&q, &root, err);
    skipped[0] = '\0';
    *asked = 0;
    while (!rc && q.at < q.n) {
        if (*asked >= conf->requests || jm_clock_mono(&t->http.clock) - begun > most_ns) {
            snprintf(skipped, 192, "stopped after %lld requests, with %zu resources unread",
                     (long long)*asked, q.n - q.at);
            break;
        }
        const struct jm_rf_link l = pop(&q);
        if (again(&l))
            jm_clock_sleep_until(&t->http.clock, jm_clock_mono(&t->http.clock) + BUSY_NS, NULL);
        ++*asked;
        why.text[0] = '\0';
        int got = jm_redfish_get(t, l.uri, &why);
        if (got && (q.at == 1 || got == JM_ETLS || got == JM_ENOMEM)) {
            rc = jm_err_set(err, got, "%s", why.text);
            break;
        }
        if (!got) {
            got = jm_rf_read(set, jm_str_span(&t->http.body), l.uri, &why);
            jm_meter_raw(m, t->http.t0, t->http.t1, l.uri, jm_str_span(&t->http.body), got ? JM_RAW_BAD : 0);
        }
        if (got == JM_EAGAIN && !again(&l)) {
            rc = push_again(&q, &l, err);
            continue;
        }
        if (got) { /* one resource that fails does not end the others */
            if (!skipped[0])
                snprintf(skipped, 192, "%.190s", why.text);
            bool dead = got == JM_ETIMEOUT || got == JM_ENET;
            if (dead && ++failures >= 3)
                rc = jm_err_set(err, got, "%s", why.text);
            if (!dead)
                failures = 0;
            continue;
        }
        failures = 0;
        if (seen)
            seen(self, l.uri);
        for (size_t i = 0; i < set->n_links && !rc; i++)
            if (slashes(set->link[i].uri) <= 10 && wanted(conf, &set->link[i], set->n_links))
                rc = push(&q, &set->link[i], err);
        set->n_links = 0;
    }
    free(q.v);
    return rc;
}
