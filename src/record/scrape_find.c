/* SPDX-License-Identifier: Apache-2.0 */
/* Where metrics are, and one answer of them. */
#include <stdio.h>
#include <string.h>

#include "load/dialect.h"
#include "record/scrape_impl.h"

#include "base/banned.h"

static void add_try(struct jm_scraper *s, const char *base, const char *path)
{
    for (size_t i = 0; i < s->n_try; i++)
        if (strcmp(s->try_[i].base, base) == 0 && strcmp(s->try_[i].path, path) == 0)
            return;
    if (s->n_try == JM_SCRAPE_TRIES)
        return;
    struct jm_scrape_try *t = &s->try_[s->n_try++];
    snprintf(t->base, sizeof t->base, "%s", base);
    snprintf(t->path, sizeof t->path, "%s", path);
}

/* "/metrics,:8002/metrics": paths at the base; a port of its own at its host. */
static void add_paths(struct jm_scraper *s, const char *base, const struct jm_target *t, const char *list)
{
    struct jm_span rest = jm_span_of(list), one;
    while (jm_span_field(&rest, ',', &one)) {
        char path[300], other[300];
        snprintf(path, sizeof path, "%.*s", (int)one.n, one.p);
        if (path[0] != ':') {
            add_try(s, base, path);
            if (t->prefix[0]) {
                char under[600];
                snprintf(under, sizeof under, "%s%s", t->prefix, path);
                if (strlen(under) < sizeof path)
                    add_try(s, base, under);
            }
            continue;
        }
        const char *slash = strchr(path, '/');
        bool six = strchr(t->host, ':') != NULL;
        snprintf(other, sizeof other, "http%s://%s%s%s%.*s", t->tls ? "s" : "", six ? "[" : "", t->host,
                 six ? "]" : "", slash ? (int)(slash - path) : (int)strlen(path), path);
        add_try(s, other, slash ? slash : "/metrics");
    }
}

static const char usual[] = "/metrics,/prometheus/metrics,/v1/metrics,:8002/metrics";

int jm_scrape_given(struct jm_scraper *s, const char *url, struct jm_err *err)
{
    struct jm_target t;
    struct jm_span u = jm_span_of(url), scheme = JM_SPAN("://");
    char base[300];
    ptrdiff_t at = jm_span_find(u, scheme);
    size_t from = at < 0 ? 0 : (size_t)at + 3;
    ptrdiff_t slash = jm_span_chr(jm_span_sub(u, from, u.n), '/');
    size_t end = slash < 0 ? u.n : from + (size_t)slash;
    snprintf(base, sizeof base, "%s%.*s", at < 0 ? "http://" : "", (int)end, url);
    int rc = u.n < sizeof base ? jm_target_parse(base, &t, err)
                               : jm_err_set(err, JM_EINVAL, "the URL of the engine's metrics is too long");
    if (rc)
        return jm_err_prefix(err, "--engine-metrics");
    s->given = true;
    if (u.n > end + 1)
        add_try(s, base, url + end);
    else
        add_paths(s, base, &t, usual);
    return 0;
}

int jm_scrape_usual(struct jm_scraper *s, const char *endpoint, const struct jm_engine_dialect *d,
                    struct jm_err *err)
{
    struct jm_target t;
    char base[300];
    int rc = jm_target_parse(endpoint, &t, err);
    if (rc)
        return rc;
    snprintf(base, sizeof base, "http%s://%s", t.tls ? "s" : "", t.authority);
    if (d)
        add_paths(s, base, &t, d->paths);
    add_paths(s, base, &t, usual);
    return 0;
}

void jm_scrape_disconnect(struct jm_scraper *s)
{
    if (s->connected)
        jm_client_release(&s->client);
    s->connected = false;
}

static int connect_to(struct jm_scraper *s, const struct jm_scrape_try *t, struct jm_err *err)
{
    struct jm_load_cfg cfg = {.url = t->base,
                              .api_key = s->key.len ? s->key.buf : NULL,
                              .connect_ns = s->timeout,
                              .ca_file = s->ca_file.len ? s->ca_file.buf : NULL,
                              .insecure = s->insecure};
    jm_scrape_disconnect(s);
    int rc = jm_client_init(&s->client, &cfg, err);
    s->connected = rc == 0;
    return rc;
}

/* 200 with metrics in it, or why not. */
static int judge(struct jm_scraper *s, const char *path, struct jm_err *err)
{
    struct jm_span body = jm_span_trim(jm_str_span(&s->reply.body));
    const unsigned char *b = (const unsigned char *)body.p;
    if (s->reply.status != 200) {
        char words[JM_SAID_TEXT];
        jm_error_words(jm_str_span(&s->reply.body), words);
        return jm_err_set(err, JM_EABSENT, "%s%s answers HTTP %d%s%s", s->try_[0].base, path, s->reply.status,
                          words[0] ? ": " : "", words);
    }
    if (body.n >= 2 && b[0] == 0x1f && b[1] == 0x8b)
        return jm_err_set(err, JM_EUNSUPPORTED, "%s%s is compressed though that was not asked for",
                          s->try_[0].base, path);
    if (body.n && body.p[0] == '<')
        return jm_err_set(err, JM_EPARSE, "%s%s is a web page, no metrics", s->try_[0].base, path);
    return 0;
}

/* What one answer holds: all of it, or the lines that matter; then what /slots says. */
static int keep(struct jm_scraper *s, bool full, struct jm_err *err)
{
    struct jm_span body = jm_str_span(&s->reply.body);
    struct jm_str *out = &s->text;
    int rc = 0;
    jm_str_reset(out);
    if (full || !s->dialect)
        jm_str_addspan(out, body);
    else
        rc = jm_engine_excerpt(s->dialect, body, out, err);
    if (!rc && s->slots) {
        if (out->len && out->buf[out->len - 1] != '\n')
            jm_str_addc(out, '\n');
        jm_str_addspan(out, jm_str_span(&s->before));
    }
    return rc ? rc : jm_str_ok(out, "the engine's metrics", err);
}

/* The slots as lines. A server that does not show them is not asked again. */
static void ask_slots(struct jm_scraper *s, struct jm_str *out)
{
    struct jm_span none = {0};
    jm_str_reset(out);
    jm_str_reset(&s->more.body);
    s->more.status = -1;
    if (!s->slots || jm_client_fetch(&s->client, "GET", "/slots", none, s->timeout, &s->more, NULL))
        return;
    s->slots = s->more.status == 200 && jm_engine_slots(jm_str_span(&s->more.body), out, NULL) == 0;
}

#define SLOT_TRIES 4

/* Counter and slots are two answers: a task that ends between them would count twice, or not at all. So the
 * slots are asked before and after, until they show the same tasks. */
int jm_scrape_fetch(struct jm_scraper *s, bool full, int64_t *t0, int64_t *t1, struct jm_err *err)
{
    const struct jm_scrape_try *t = &s->try_[0];
    struct jm_span none = {0};
    int rc = s->connected ? 0 : connect_to(s, t, err);
    for (int i = 0; i < SLOT_TRIES; i++) {
        jm_str_reset(&s->reply.body);
        s->reply.status = -1;
        *t0 = jm_clock_mono(&s->clock);
        if (!rc)
            ask_slots(s, &s->before);
        if (!rc)
            rc = jm_client_fetch(&s->client, "GET", t->path, none, s->timeout, &s->reply, err);
        if (!rc && s->slots)
            ask_slots(s, &s->after);
        *t1 = jm_clock_mono(&s->clock);
        if (rc || !s->slots || jm_engine_same_tasks(jm_str_span(&s->before), jm_str_span(&s->after)))
            break;
    }
    if (!rc)
        rc = judge(s, t->path, err);
    if (!rc)
        rc = keep(s, full, err);
    if (rc)
        jm_scrape_disconnect(s); /* the next one resolves the name anew */
    return rc;
}

int jm_scrape_find(struct jm_scraper *s, int64_t *t0, int64_t *t1, struct jm_err *err)
{
    struct jm_err first = {0}, e;
    struct jm_scrape_try plain;
    bool other = false;
    for (size_t i = 0; i < s->n_try; i++) {
        struct jm_scrape_try mine = s->try_[i];
        struct jm_engine_reading r;
        pthread_mutex_lock(&s->lock);
        bool stop = s->stop;
        pthread_mutex_unlock(&s->lock);
        if (stop)
            break;
        s->try_[i] = s->try_[0]; /* the one that is asked is the first */
        s->try_[0] = mine;
        jm_scrape_disconnect(s);
        e.code = 0;
        int rc = jm_scrape_fetch(s, true, t0, t1, &e);
        jm_engine_reading_init(&r);
        if (!rc)
            rc = jm_engine_read(&r, NULL, jm_str_span(&s->text), &e);
        const struct jm_engine_dialect *d = rc ? NULL : r.dialect;
        bool metrics = !rc && r.samples > 0 && r.samples > r.bad_lines;
        jm_engine_reading_release(&r);
        if (d) {
            s->dialect = d;
            if (d->slots) {
                s->slots = true;
                rc = jm_scrape_fetch(s, true, t0, t1, err);
            }
            return rc;
        }
        if (!rc && !metrics)
            rc = jm_err_set(&e, JM_EPARSE, "%s%s answers, but with no metrics", mine.base, mine.path);
        if (!rc && !other) {
            plain = mine;
            other = true;
        }
        if (rc && !first.code)
            first = e;
        if (rc == JM_ENET || rc == JM_ETIMEOUT || rc == JM_ETLS) /* other paths of it are no better */
            while (i + 1 < s->n_try && strcmp(s->try_[i + 1].base, mine.base) == 0)
                i++;
    }
    s->dialect = NULL;
    if (other) {
        s->try_[0] = plain;
        s->n_try = 1;
        jm_scrape_disconnect(s);
        return jm_err_set(err, JM_EUNSUPPORTED, "%s%s has metrics, but of no engine that is known",
                          s->try_[0].base, s->try_[0].path);
    }
    if (err && first.code)
        *err = first;
    return first.code ? first.code : jm_err_set(err, JM_ESTATE, "nothing was asked");
}
