/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers by libcurl 7.88 or later (libcurl-multi(3), curl_multi_socket_action(3)). See load/curl.h. */
#include "load/curl.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define STREAMS_MOST 1000L  /* of one HTTP/2 connection; the server may allow fewer */
#define IDLE_S       86400L /* a kept connection is used again, however long it was idle */

struct jm_curl_pool {
    struct jm_curl_setup setup;
    struct jm_curl_watch watch;
    void *self;
    CURLM *multi;
};

struct jm_curl_job {
    struct jm_curl_pool *pool; /* NULL: a blocking transfer */
    const struct jm_curl_setup *setup;
    CURL *easy;
    const struct jm_curl_user *user;
    void *self;
    struct curl_slist *headers;
    const char *body;
    size_t body_n, at;
    bool running, sent;
    char why[CURL_ERROR_SIZE];
};

static const char *version(void)
{
    return curl_version();
}

static bool has_http2(void)
{
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP2) != 0;
}

/* --- what happened, in our words
 * ----------------------------------------------------------------------------- */
static bool peer_is_here(CURL *easy)
{
    const char *a = NULL, *b = NULL;
    return curl_easy_getinfo(easy, CURLINFO_LOCAL_IP, &a) == CURLE_OK &&
           curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &b) == CURLE_OK && a && b && *a && strcmp(a, b) == 0;
}

static void say_connect(const struct jm_curl_job *j, struct jm_curl_over *o)
{
    const struct jm_curl_setup *s = j->setup;
    char buf[96];
    const char *what = s->proxy ? "the proxy " : "", *at = s->proxy ? s->proxy_host : s->where;
    long e = 0;
    curl_easy_getinfo(j->easy, CURLINFO_OS_ERRNO, &e);
    if (e == ECONNREFUSED)
        snprintf(o->words, sizeof o->words, "connection refused: nothing listens at %s%s", what, at);
    else if (e == ETIMEDOUT)
        snprintf(o->words, sizeof o->words, "no answer from %s%s", what, at);
    else if (e == EMFILE || e == ENFILE)
        snprintf(o->words, sizeof o->words, "a socket cannot be opened: %s",
                 strerror_r((int)e, buf, sizeof buf));
    else
        snprintf(o->words, sizeof o->words, "%s%s: %s", what, at,
                 e > 0       ? strerror_r((int)e, buf, sizeof buf)
                 : j->why[0] ? j->why
                             : "no connection");
}

static void say_timeout(const struct jm_curl_job *j, struct jm_curl_over *o)
{
    curl_off_t begun = 0;
    o->timeout = true;
    if (curl_easy_getinfo(j->easy, CURLINFO_PRETRANSFER_TIME_T, &begun) == CURLE_OK && begun > 0) {
        o->why = JM_LOST_RESET;
        snprintf(o->words, sizeof o->words, "no whole answer in time");
        return;
    }
    o->why = JM_LOST_REFUSED;
    snprintf(o->words, sizeof o->words, "no connection within the client's limit of %.6g s",
             (double)j->setup->connect_ms / 1e3);
}

static void say_received(const struct jm_curl_job *j, struct jm_curl_over *o, const char *doing)
{
    long e = 0, proxy = 0;
    char buf[96];
    curl_easy_getinfo(j->easy, CURLINFO_HTTP_CONNECTCODE, &proxy);
    curl_easy_getinfo(j->easy, CURLINFO_OS_ERRNO, &e);
    if (j->setup->proxy && proxy >= 300) {
        o->why = JM_LOST_REFUSED;
        snprintf(o->words, sizeof o->words, "the proxy %s refuses the tunnel (HTTP %ld)%s",
                 j->setup->proxy_host, proxy, proxy == 407 ? ": give its user and password in --proxy" : "");
    } else if (e == ECONNRESET || e == EPIPE) {
        snprintf(o->words, sizeof o->words, "the connection was reset");
    } else {
        snprintf(o->words, sizeof o->words, "%s: %s", doing,
                 j->why[0] ? j->why
                 : e > 0   ? strerror_r((int)e, buf, sizeof buf)
                           : "no cause given");
    }
}

static void fault(const struct jm_curl_job *j, CURLcode rc, struct jm_curl_over *o)
{
    const char *why = j->why[0] ? j->why : curl_easy_strerror(rc);
    o->why = JM_LOST_RESET;
    switch (rc) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        o->why = JM_LOST_REFUSED;
        snprintf(o->words, sizeof o->words, "the host name of %s%s cannot be resolved",
                 rc == CURLE_COULDNT_RESOLVE_PROXY ? "the proxy " : "",
                 rc == CURLE_COULDNT_RESOLVE_PROXY ? j->setup->proxy_host : j->setup->where);
        break;
    case CURLE_COULDNT_CONNECT:
        o->why = JM_LOST_REFUSED;
        say_connect(j, o);
        break;
    case CURLE_PROXY:
        o->why = JM_LOST_REFUSED;
        snprintf(o->words, sizeof o->words, "the proxy %s: %s",
                 j->setup->proxy_host ? j->setup->proxy_host : "", why);
        break;
    case CURLE_OPERATION_TIMEDOUT: say_timeout(j, o); break;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_USE_SSL_FAILED:
        o->why = JM_LOST_TLS;
        snprintf(o->words, sizeof o->words, "TLS: %s", why);
        break;
    case CURLE_GOT_NOTHING: /* an orderly end, before or inside the answer: the reader says which */
    case CURLE_PARTIAL_FILE: o->why = JM_LOST_END; break;
    case CURLE_SEND_FAIL_REWIND: /* closed under the request, which must not go out twice */
        snprintf(o->words, sizeof o->words, "the connection was closed");
        break;
    case CURLE_SEND_ERROR: say_received(j, o, "sending failed"); break;
    case CURLE_RECV_ERROR:
        say_received(j, o, "reading failed");
        if (strstr(why, "chunked-encoding")) {
            o->why = JM_LOST_PROTOCOL;
            snprintf(o->words, sizeof o->words, "the chunks of the answer are broken (%s)", why);
        }
        break;
    case CURLE_UNSUPPORTED_PROTOCOL: /* "Received HTTP/0.9 when not allowed": no status line */
        o->why = JM_LOST_PROTOCOL;
        snprintf(o->words, sizeof o->words, "the answer is not HTTP (%s)", why);
        break;
    case CURLE_BAD_CONTENT_ENCODING:
        o->why = JM_LOST_PROTOCOL;
        snprintf(o->words, sizeof o->words, "the answer is compressed, but cannot be decoded (%s)", why);
        break;
    case CURLE_WEIRD_SERVER_REPLY:
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
        o->why = JM_LOST_PROTOCOL;
        snprintf(o->words, sizeof o->words, "%s", why);
        break;
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: {
        /* "HTTP/2 stream 105 was not closed cleanly: INTERNAL_ERROR (err 2)": its number says nothing */
        const char *rest = strstr(why, "was not closed cleanly");
        snprintf(o->words, sizeof o->words, rest ? "the HTTP/2 stream %s" : "HTTP/2: %s", rest ? rest : why);
        break;
    }
    default: snprintf(o->words, sizeof o->words, "%s", why); break;
    }
}

static void end_of(struct jm_curl_job *j, CURLcode rc)
{
    struct jm_curl_over o = {.ok = rc == CURLE_OK};
    long v = 0;
    if (curl_easy_getinfo(j->easy, CURLINFO_RESPONSE_CODE, &v) == CURLE_OK)
        o.status = (int)v;
    if (curl_easy_getinfo(j->easy, CURLINFO_HTTP_VERSION, &v) == CURLE_OK)
        o.http = v == CURL_HTTP_VERSION_1_0   ? 10
                 : v == CURL_HTTP_VERSION_1_1 ? 11
                 : v == CURL_HTTP_VERSION_2_0 ? 20
                 : v == CURL_HTTP_VERSION_3   ? 30
                                              : 0;
    o.local = peer_is_here(j->easy);
    if (rc != CURLE_OK)
        fault(j, rc, &o);
    j->running = false;
    j->user->over(j->self, &o);
}

/* --- called by libcurl
 * --------------------------------------------------------------------------------------- */
static int on_connected(void *self, char *ip, char *local_ip, int port, int local_port)
{
    struct jm_curl_job *j = self;
    long made = 0;
    (void)ip, (void)local_ip, (void)port;
    curl_easy_getinfo(j->easy, CURLINFO_NUM_CONNECTS, &made);
    j->user->connected(j->self, local_port, made == 0);
    if (!j->body && !j->sent) { /* nothing follows the head */
        j->sent = true;
        j->user->sent(j->self);
    }
    return CURL_PREREQFUNC_OK;
}

static size_t on_read(char *buf, size_t size, size_t n, void *self)
{
    struct jm_curl_job *j = self;
    size_t room = size * n, left = j->body_n - j->at, k = left < room ? left : room;
    if (k)
        memcpy(buf, j->body + j->at, k);
    j->at += k;
    if (j->at == j->body_n && !j->sent) {
        j->sent = true;
        j->user->sent(j->self);
    }
    return k;
}

/* libcurl rewinds the body only to write the request once more, when a kept connection was dead. */
static int on_seek(void *self, curl_off_t to, int origin)
{
    struct jm_curl_job *j = self;
    if (origin != SEEK_SET || to < 0 || (size_t)to > j->body_n || !j->user->again(j->self))
        return CURL_SEEKFUNC_FAIL;
    j->at = (size_t)to;
    j->sent = false;
    return CURL_SEEKFUNC_OK;
}

static size_t on_header(char *p, size_t size, size_t n, void *self)
{
    struct jm_curl_job *j = self;
    j->user->head(j->self, p, size * n);
    return size * n;
}

static size_t on_body(char *p, size_t size, size_t n, void *self)
{
    struct jm_curl_job *j = self;
    j->user->body(j->self, p, size * n);
    return size * n;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *self, void *at)
{
    struct jm_curl_pool *p = self;
    void *kept = at;
    (void)easy;
    p->watch.socket(p->self, (int)fd,
                    what == CURL_POLL_REMOVE  ? -1
                    : what == CURL_POLL_INOUT ? 3
                    : what == CURL_POLL_IN    ? 1
                    : what == CURL_POLL_OUT   ? 2
                                              : 0,
                    &kept);
    if (what != CURL_POLL_REMOVE && kept != at)
        curl_multi_assign(p->multi, fd, kept);
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *self)
{
    struct jm_curl_pool *p = self;
    (void)multi;
    p->watch.timer(p->self, ms);
    return 0;
}

/* --- jobs
 * ---------------------------------------------------------------------------------------------------- */
static bool dress(CURL *e, struct jm_curl_job *j)
{
    const struct jm_curl_setup *s = j->setup;
    long http = s->http == JM_HTTP_1_1 ? CURL_HTTP_VERSION_1_1
                : s->http == JM_HTTP_2 ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
                                       : CURL_HTTP_VERSION_2TLS;
    CURLcode rc = CURLE_OK;
#define SET(option, value)                                                                                   \
    if (rc == CURLE_OK)                                                                                      \
    rc = curl_easy_setopt(e, option, value)
    SET(CURLOPT_PRIVATE, j);
    SET(CURLOPT_ERRORBUFFER, j->why);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_HTTP_VERSION, http);
    SET(CURLOPT_CONNECTTIMEOUT_MS, s->connect_ms);
    SET(CURLOPT_DNS_CACHE_TIMEOUT, -1L);
    SET(CURLOPT_MAXAGE_CONN, IDLE_S);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); /* the API key is not for the proxy */
    SET(CURLOPT_PROXY, s->proxy ? s->proxy : "");
    /* "identity" asks for no compression; what comes compressed nevertheless is decoded in either case */
    SET(CURLOPT_ACCEPT_ENCODING, s->compressed ? "" : "identity");
    if (s->ca_file) {
        SET(CURLOPT_CAINFO, s->ca_file);
        if (s->proxy)
            SET(CURLOPT_PROXY_CAINFO, s->ca_file);
    }
    if (s->insecure) {
        SET(CURLOPT_SSL_VERIFYPEER, 0L);
        SET(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    SET(CURLOPT_PREREQFUNCTION, on_connected);
    SET(CURLOPT_PREREQDATA, j);
    SET(CURLOPT_READFUNCTION, on_read);
    SET(CURLOPT_READDATA, j);
    SET(CURLOPT_SEEKFUNCTION, on_seek);
    SET(CURLOPT_SEEKDATA, j);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, j);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, j);
    return rc == CURLE_OK;
}

static bool set_headers(struct jm_curl_job *j, const char *const *lines)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"), *more;
    for (size_t i = 0; list && lines && lines[i]; i++) {
        if (!(more = curl_slist_append(list, lines[i]))) {
            curl_slist_free_all(list);
            return false;
        }
        list = more;
    }
    if (!list)
        return false;
    curl_slist_free_all(j->headers);
    j->headers = list;
    return curl_easy_setopt(j->easy, CURLOPT_HTTPHEADER, list) == CURLE_OK;
}

/* HTTP/2 without TLS on a kept connection fails before libcurl 8.0 ("Error in the HTTP2 framing layer"):
 * there each request has a connection of its own. */
static bool lone(const struct jm_curl_job *j, const char *url)
{
    return j->setup->http == JM_HTTP_2 && strncmp(url, "http:", 5) == 0 &&
           curl_version_info(CURLVERSION_NOW)->version_num < 0x080000;
}

static bool ask(struct jm_curl_job *j, const struct jm_curl_request *r)
{
    CURL *e = j->easy;
    CURLcode rc = CURLE_OK;
    if ((!r->same_headers || !j->headers) && !set_headers(j, r->headers))
        return false;
    j->body = r->body;
    j->body_n = r->body_n;
    j->at = 0;
    j->sent = false;
    j->why[0] = '\0';
    SET(CURLOPT_URL, r->url);
    /* to wait for a connection that is being made helps only where it can be shared */
    bool shared =
        j->setup->http == JM_HTTP_2 || (j->setup->http == JM_HTTP_AUTO && strncmp(r->url, "https:", 6) == 0);
    SET(CURLOPT_PIPEWAIT, (long)shared);
    SET(CURLOPT_FRESH_CONNECT, (long)(r->fresh || lone(j, r->url)));
    SET(CURLOPT_FORBID_REUSE, (long)lone(j, r->url));
    SET(CURLOPT_TIMEOUT_MS, r->timeout_ms);
    if (r->body) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_n);
    } else {
        SET(CURLOPT_HTTPGET, 1L);
    }
    bool usual = strcmp(r->method, r->body ? "POST" : "GET") == 0;
    SET(CURLOPT_CUSTOMREQUEST, usual ? NULL : r->method);
    return rc == CURLE_OK;
}

static void job_clear(struct jm_curl_job *j)
{
    if (j->running && j->pool)
        curl_multi_remove_handle(j->pool->multi, j->easy);
    j->running = false;
    curl_easy_cleanup(j->easy);
    curl_slist_free_all(j->headers);
}

static void job_free(struct jm_curl_job *j)
{
    if (!j)
        return;
    job_clear(j);
    free(j);
}

static struct jm_curl_job *job_new(struct jm_curl_pool *p, const struct jm_curl_user *u, void *self)
{
    struct jm_curl_job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->pool = p;
    j->setup = &p->setup;
    j->user = u;
    j->self = self;
    if (!(j->easy = curl_easy_init()) || !dress(j->easy, j)) {
        job_free(j);
        return NULL;
    }
    return j;
}

static bool start(struct jm_curl_job *j, const struct jm_curl_request *r)
{
    if (!ask(j, r))
        return false;
    j->running = curl_multi_add_handle(j->pool->multi, j->easy) == CURLM_OK;
    return j->running;
}

/* --- pools
 * --------------------------------------------------------------------------------------------------- */
static void pool_free(struct jm_curl_pool *p)
{
    if (!p)
        return;
    if (p->multi)
        curl_multi_cleanup(p->multi);
    free(p);
}

static struct jm_curl_pool *pool_new(const struct jm_curl_setup *s, const struct jm_curl_watch *w, void *self)
{
    struct jm_curl_pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->setup = *s;
    p->watch = *w;
    p->self = self;
    p->multi = curl_multi_init();
    if (!p->multi || curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
        curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p) != CURLM_OK ||
        curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer) != CURLM_OK ||
        curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p) != CURLM_OK ||
        curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX) != CURLM_OK ||
        curl_multi_setopt(p->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, STREAMS_MOST) != CURLM_OK ||
        curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, 65536L) != CURLM_OK) {
        pool_free(p);
        return NULL;
    }
    return p;
}

static void run(struct jm_curl_pool *p, int fd, int what)
{
    int running = 0, left = 0;
    CURLMsg *m;
    curl_multi_socket_action(p->multi, fd < 0 ? CURL_SOCKET_TIMEOUT : fd,
                             (what & 1 ? CURL_CSELECT_IN : 0) | (what & 2 ? CURL_CSELECT_OUT : 0) |
                                 (what & 4 ? CURL_CSELECT_ERR : 0),
                             &running);
    while ((m = curl_multi_info_read(p->multi, &left)))
        if (m->msg == CURLMSG_DONE) {
            struct jm_curl_job *j = NULL;
            CURLcode rc = m->data.result;
            CURL *easy = m->easy_handle;
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &j);
            curl_multi_remove_handle(p->multi, easy);
            if (j)
                end_of(j, rc);
        }
}

static bool fetch(const struct jm_curl_setup *s, const struct jm_curl_request *r,
                  const struct jm_curl_user *u, void *self)
{
    struct jm_curl_job j = {.setup = s, .user = u, .self = self, .easy = curl_easy_init()};
    bool ok = j.easy && dress(j.easy, &j) && ask(&j, r);
    if (ok)
        end_of(&j, curl_easy_perform(j.easy));
    job_clear(&j);
    return ok;
}

__attribute__((visibility("default"))) const struct jm_curl_ops *jm_curl_module(void);

const struct jm_curl_ops *jm_curl_module(void)
{
    static const struct jm_curl_ops ops = {.abi = JM_CURL_ABI,
                                           .version = version,
                                           .has_http2 = has_http2,
                                           .pool_new = pool_new,
                                           .pool_free = pool_free,
                                           .run = run,
                                           .job_new = job_new,
                                           .job_free = job_free,
                                           .start = start,
                                           .fetch = fetch};
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? &ops : NULL;
}
