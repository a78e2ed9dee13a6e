/* SPDX-License-Identifier: Apache-2.0 */
#include "load/proxy.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"

int jm_proxy_host(const char *url, char *out, size_t n, struct jm_err *err)
{
    static const char *const schemes[] = {"http", "https", "socks4", "socks4a", "socks5", "socks5h"};
    struct jm_span s = jm_span_trim(jm_span_of(url));
    ptrdiff_t scheme = jm_span_find(s, JM_SPAN("://"));
    bool known = false;
    for (size_t i = 0; scheme > 0 && i < sizeof schemes / sizeof *schemes; i++)
        known |= jm_span_ieq(jm_span_sub(s, 0, (size_t)scheme), jm_span_of(schemes[i]));
    if (!known)
        return jm_err_set(err, JM_EINVAL,
                          "a proxy is written http://HOST:PORT (or https://, socks5://), with USER:PASSWORD@ "
                          "before the host where it asks for them");
    s = jm_span_sub(s, (size_t)scheme + 3, s.n);
    ptrdiff_t slash = jm_span_chr(s, '/');
    if (slash >= 0 && jm_span_chr(jm_span_sub(s, (size_t)slash, s.n), '@') >= 0)
        return jm_err_set(
            err, JM_EINVAL,
            "the proxy's user or password holds a \"/\": write it as %%2F, so that it cannot pass "
            "for the host");
    if (slash >= 0)
        s.n = (size_t)slash;
    for (size_t i = s.n; i > 0; i--)
        if (s.p[i - 1] == '@') {
            s = jm_span_sub(s, i, s.n);
            break;
        }
    bool clean = s.n > 0 && s.n < n;
    for (size_t i = 0; clean && i < s.n; i++)
        clean =
            (unsigned char)s.p[i] > 0x20 && (unsigned char)s.p[i] < 0x7f && s.p[i] != '?' && s.p[i] != '#';
    if (!clean)
        return jm_err_set(err, JM_EINVAL,
                          "the proxy has no host, or one that cannot be: write http://HOST:PORT");
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return 0;
}

int jm_proxy_init(struct jm_client *c, const struct jm_load_cfg *cfg, struct jm_err *err)
{
    bool curl = cfg->transport && strcmp(cfg->transport, "curl") == 0;
    int rc;
    if (cfg->transport && !curl && strcmp(cfg->transport, "plain") != 0)
        return jm_err_set(err, JM_EINVAL, "there is no transport \"%s\": plain or curl", cfg->transport);
    if (!curl) {
        if (cfg->proxy || cfg->compressed || cfg->http != JM_HTTP_AUTO)
            return jm_err_set(err, JM_EINVAL, "%s needs the transport curl",
                              cfg->proxy        ? "a proxy"
                              : cfg->compressed ? "asking for compressed answers"
                                                : "a choice of the HTTP version");
        return 0;
    }
    if (cfg->proxy && (rc = jm_proxy_host(cfg->proxy, c->proxy_host, sizeof c->proxy_host, err)) != 0)
        return rc;
    if ((rc = jm_curl_load(&c->curl, err)) != 0)
        return rc;
    if (cfg->http == JM_HTTP_2 && !c->curl->has_http2())
        return jm_err_set(err, JM_EUNSUPPORTED, "this libcurl was built without HTTP/2 (%s)",
                          c->curl->version());
    if (cfg->ca_file && access(cfg->ca_file, R_OK) != 0)
        return jm_err_set(err, JM_ETLS, "certificates cannot be read from %s", cfg->ca_file);
    c->http = cfg->http;
    c->setup = (struct jm_curl_setup){.where = c->target.authority,
                                      .ca_file = cfg->ca_file,
                                      .proxy = cfg->proxy,
                                      .proxy_host = c->proxy_host,
                                      .insecure = cfg->insecure,
                                      .compressed = cfg->compressed,
                                      .http = cfg->http,
                                      .connect_ms = (long)(c->connect_ns / JM_NS_PER_MS)};
    if (c->setup.connect_ms < 1)
        c->setup.connect_ms = 1;
    return 0;
}

/* "localhost,.example.com,10.0.0.1", "*" */
static bool excepted(struct jm_span list, struct jm_span host)
{
    struct jm_span item;
    while (jm_span_field(&list, ',', &item)) {
        item = jm_span_trim(item);
        if (jm_span_is(item, "*"))
            return true;
        if (item.n && item.p[0] == '.')
            item = jm_span_sub(item, 1, item.n);
        if (!item.n || item.n > host.n)
            continue;
        size_t at = host.n - item.n;
        if (jm_span_ieq(jm_span_sub(host, at, item.n), item) && (at == 0 || host.p[at - 1] == '.'))
            return true;
    }
    return false;
}

const char *jm_proxy_of_env(const struct jm_target *t, char *(*get)(const char *name))
{
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL}, *const tls[] = {
                                                                                           "https_proxy",
                                                                                           "HTTPS_PROXY",
                                                                                           "all_proxy",
                                                                                           "ALL_PROXY", NULL};
    const char *none = get("no_proxy"), *v;
    if (!none || !*none)
        none = get("NO_PROXY");
    if (none && *none && excepted(jm_span_of(none), jm_span_of(t->host)))
        return NULL;
    for (const char *const *name = t->tls ? tls : plain; *name; name++)
        if ((v = get(*name)) && *v)
            return *name;
    return NULL;
}

bool jm_target_here(struct jm_target *t)
{
    if (!t->n && jm_target_resolve(t, NULL) != 0)
        return false;
    const struct jm_addr *a = &t->addr[t->good];
    int fd = socket(a->sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* sends nothing */
    bool here =
        fd >= 0 && connect(fd, (const struct sockaddr *)&a->sa, a->len) == 0 && jm_target_is_local(fd);
    if (fd >= 0)
        close(fd);
    return here;
}
