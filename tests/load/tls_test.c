/* SPDX-License-Identifier: Apache-2.0 */
/* https through the module, against a small OpenSSL server with certificates made here. */
#include <arpa/inet.h>
#include <math.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "load/load.h"
#include "base/tls.h"

#define MS JM_NS_PER_MS

static char ca_path[] = "/tmp/jm-tls-XXXXXX";
static EVP_PKEY *pkey;

static X509 *certificate(const char *san, int days)
{
    X509 *x = X509_new();
    X509V3_CTX ctx;
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -864000);
    X509_gmtime_adj(X509_getm_notAfter(x), days * 86400L);
    X509_set_pubkey(x, pkey);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)"test",
                               -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
    const int nid[] = {NID_subject_alt_name, NID_basic_constraints};
    const char *value[] = {san, "critical,CA:TRUE"};
    for (int i = 0; i < 2; i++) {
        X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid[i], value[i]);
        X509_add_ext(x, e, -1);
        X509_EXTENSION_free(e);
    }
    X509_sign(x, pkey, EVP_sha256());
    return x;
}

struct server {
    int fd, port, conns;
    SSL_CTX *ctx;
    X509 *cert;
    pthread_t thread, conn[64];
    char url[64];
    bool cut; /* the stream is cut without a closing alert */
};

struct job {
    struct server *s;
    int fd;
};

static void say(SSL *ssl, const char *text)
{
    SSL_write(ssl, text, (int)strlen(text));
}

/* in two records, cut inside the event */
static void chunk(SSL *ssl, const char *text, bool framed)
{
    char size[16];
    size_t half = strlen(text) / 2;
    snprintf(size, sizeof size, "%zx\r\n", strlen(text));
    if (framed)
        say(ssl, size);
    SSL_write(ssl, text, (int)half);
    say(ssl, text + half);
    if (framed)
        say(ssl, "\r\n");
}

static void answer(SSL *ssl, const char *request, bool cut)
{
    static const char models[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                                 "23\r\n\r\n{\"data\":[{\"id\":\"m\"}]}   ";
    if (strncmp(request, "GET", 3) == 0) {
        say(ssl, models);
    } else if (strstr(request, "\"stream\":false") || strstr(request, "/tokenize")) {
        say(ssl, "HTTP/1.1 200 OK\r\nContent-Length: "
                 "49\r\n\r\n{\"choices\":[{\"message\":{},\"finish_reason\":\"x\"}]}  ");
    } else {
        say(ssl,
            cut ? "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int i = 0; i < 5; i++)
            chunk(ssl, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", !cut);
        if (!cut) {
            chunk(ssl, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", true);
            chunk(ssl, "data: [DONE]\n\n", true);
            say(ssl, "0\r\n\r\n");
        }
    }
}

static void *serve(void *arg)
{
    struct job *j = arg;
    SSL *ssl = SSL_new(j->s->ctx);
    char buf[65536];
    SSL_set_fd(ssl, j->fd);
    if (SSL_accept(ssl) == 1) {
        size_t have = 0;
        int k;
        while ((k = SSL_read(ssl, buf + have, (int)(sizeof buf - 1 - have))) > 0) {
            have += (size_t)k;
            buf[have] = '\0';
            char *end = strstr(buf, "\r\n\r\n"), *cl = strstr(buf, "Content-Length: ");
            size_t want = end ? (size_t)(end + 4 - buf) : SIZE_MAX, body = 0;
            if (end && cl)
                sscanf(cl + 16, "%zu", &body);
            if (!end || have < want + body)
                continue;
            answer(ssl, buf, j->s->cut);
            have = 0;
            if (j->s->cut && strstr(buf, "\"stream\":true"))
                break; /* FIN without close_notify */
        }
    }
    ERR_clear_error();
    SSL_free(ssl);
    close(j->fd);
    free(j);
    return NULL;
}

static void *accept_all(void *arg)
{
    struct server *s = arg;
    for (;;) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        struct job *j = malloc(sizeof *j);
        *j = (struct job){s, fd};
        pthread_create(&s->conn[s->conns++ % 64], NULL, serve, j);
    }
}

static struct server *start(const char *san, int days)
{
    struct server *s = calloc(1, sizeof *s);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    s->cert = certificate(san, days);
    FILE *f = fopen(ca_path, "w");
    PEM_write_X509(f, s->cert);
    fclose(f);
    s->ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(s->ctx, s->cert);
    SSL_CTX_use_PrivateKey(s->ctx, pkey);
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 64), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    snprintf(s->url, sizeof s->url, "https://127.0.0.1:%d", s->port);
    pthread_create(&s->thread, NULL, accept_all, s);
    return s;
}

static void stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < s->conns && i < 64; i++)
        pthread_join(s->conn[i], NULL);
    close(s->fd);
    SSL_CTX_free(s->ctx);
    X509_free(s->cert);
    free(s);
}

struct last {
    struct jm_request r;
    int n, ok;
    char facts[8192];
};

static void sink(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                 struct jm_span p, struct jm_span o)
{
    struct last *l = self;
    (void)ev, (void)n, (void)p, (void)o;
    l->r = *r;
    l->n++;
    l->ok += r->end == JM_END_OK;
}

static void put(void *self, const char *key, const char *value)
{
    struct last *l = self;
    size_t n = strlen(l->facts);
    snprintf(l->facts + n, sizeof l->facts - n, "%s=%s\n", key, value);
}

static struct jm_load_cfg cfg_for(const struct server *s)
{
    return (struct jm_load_cfg){.url = s->url,
                                .concurrency = 2,
                                .isl = 8,
                                .osl = 5,
                                .temperature = NAN,
                                .max_requests = 10,
                                .ca_file = ca_path,
                                .connect_ns = 60000 * MS,
                                .header_ns = 60000 * MS,
                                .stall_ns = 60000 * MS};
}

static void run(const struct jm_load_cfg *cfg, struct last *out)
{
    struct jm_load_sink k = {out, sink};
    struct jm_load *l = NULL;
    struct jm_load_live live;
    struct jm_err err;
    memset(out, 0, sizeof *out);
    if (jm_load_new(cfg, &k, &l, &err) != 0 || jm_load_start(l, &err) != 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < 120000; i++) {
        jm_load_live(l, &live);
        if (live.finished >= cfg->max_requests)
            break;
        usleep(1000);
    }
    jm_load_drain(l, 30000 * MS);
    jm_load_facts(l, put, out);
    jm_load_free(l);
}

static void a_trusted_server_is_measured(void **state)
{
    struct server *s = start("IP:127.0.0.1,DNS:localhost", 10);
    struct jm_load_cfg cfg = cfg_for(s);
    struct last got;
    (void)state;
    run(&cfg, &got);
    assert_int_equal(got.n, 10);
    if (got.ok != 10)
        fail_msg("%s: %s", jm_end_name((int)got.r.end), got.r.error);
    assert_int_equal(got.r.events, 5);
    assert_true(got.r.t[JM_T_FIRST_TOKEN] >= got.r.t[JM_T_SENT]);
    assert_non_null(strstr(got.facts, "load.tls=OpenSSL 3"));
    assert_non_null(strstr(got.facts, "load.tls.verified=yes"));
    assert_non_null(strstr(got.facts, "load.stamps=kernel"));
    stop(s);
}

static void untrusted_servers_are_refused(void **state)
{
    static const struct {
        const char *san;
        int days;
        bool ca;
        const char *words;
    } rows[] = {
        {"IP:127.0.0.1", 10, false, "self-signed"}, /* OpenSSL writes "self-signed" or "self signed" */
        {"IP:127.0.0.2", 10, true, "IP address mismatch"},
        {"IP:127.0.0.1", -1, true, "expired"},
    };
    struct jm_err err;
    struct jm_endpoint e;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct server *s = start(rows[i].san, rows[i].days);
        struct jm_load_cfg cfg = cfg_for(s);
        if (!rows[i].ca)
            cfg.ca_file = NULL;
        assert_int_equal(jm_load_probe(&cfg, NULL, &e, &err), JM_ETLS);
        if (!strstr(err.text, rows[i].words))
            fail_msg("%s", err.text);
        assert_non_null(strstr(err.text, "--ca-file"));
        cfg.insecure = true;
        assert_int_equal(jm_load_probe(&cfg, NULL, &e, &err), 0);
        assert_string_equal(e.model, "m");
        assert_true(e.tls && e.local);
        stop(s);
    }
}

/* Without the closing alert an end of the stream may be anybody's. */
static void a_truncated_stream_is_cut(void **state)
{
    struct server *s = start("IP:127.0.0.1", 10);
    struct jm_load_cfg cfg = cfg_for(s);
    struct last got;
    (void)state;
    s->cut = true;
    cfg.max_requests = cfg.concurrency = 1;
    run(&cfg, &got);
    assert_int_equal(got.r.end, JM_END_CUT);
    assert_non_null(strstr(got.r.error, "without the end of TLS"));
    assert_int_equal(got.r.events, 5);
    stop(s);
}

static void a_server_without_tls(void **state)
{
    struct jm_load_cfg cfg = {.temperature = NAN, .insecure = true};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    struct jm_err err;
    struct jm_endpoint e;
    char url[64];
    (void)state;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(door, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(door, 4), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&a, &n), 0);
    snprintf(url, sizeof url, "https://127.0.0.1:%d", ntohs(a.sin_port));
    cfg.url = url;
    pid_t child = fork();
    if (child == 0) {
        char drop[1000];
        int fd = accept(door, NULL, NULL);
        (void)!read(fd, drop, sizeof drop);
        (void)!write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
        close(fd);
        _exit(0);
    }
    assert_int_equal(jm_load_probe(&cfg, NULL, &e, &err), JM_ETLS);
    assert_non_null(strstr(err.text, "does not speak TLS"));
    close(door);
    kill(child, SIGKILL);
}

static void without_the_module(void **state)
{
    struct jm_load_cfg cfg = {.url = "https://127.0.0.1:1", .temperature = NAN};
    struct jm_err err;
    struct jm_endpoint e;
    (void)state;
    setenv("JM_MODULE_DIR", "/nonexistent", 1);
    assert_int_equal(jm_load_probe(&cfg, NULL, &e, &err), JM_EABSENT);
    assert_non_null(strstr(err.text, "https is not available"));
    assert_non_null(strstr(err.text, "libssl-dev"));
    unsetenv("JM_MODULE_DIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_server_is_measured), cmocka_unit_test(untrusted_servers_are_refused),
        cmocka_unit_test(a_truncated_stream_is_cut),    cmocka_unit_test(a_server_without_tls),
        cmocka_unit_test(without_the_module),
    };
    signal(SIGPIPE, SIG_IGN);
    int fd = mkstemp(ca_path);
    if (fd < 0)
        return 1;
    close(fd);
    pkey = EVP_EC_gen("P-256");
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    EVP_PKEY_free(pkey);
    unlink(ca_path);
    return rc;
}
