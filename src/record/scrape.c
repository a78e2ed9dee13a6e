/* SPDX-License-Identifier: Apache-2.0 */
#include "record/scrape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/internal.h"
#include "record/scrape_impl.h"

#include "base/banned.h"

#define EDGE_WAIT_NS (250 * JM_NS_PER_MS) /* longest that an edge waits for a text before it */
#define READY_NS     (3 * JM_NS_PER_S)
#define BACK_OFF_NS  (10 * JM_NS_PER_S)
#define SHARE        20 /* of the time, 1/20 at most goes into asking */

/* ---- life of one */

static void unref(struct jm_scraper *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    jm_scrape_disconnect(s);
    jm_reply_release(&s->reply);
    jm_reply_release(&s->more);
    jm_str_release(&s->text);
    jm_str_release(&s->before);
    jm_str_release(&s->after);
    jm_str_release(&s->key);
    jm_str_release(&s->ca_file);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->done);
    free(s);
}

static struct jm_scraper *create(struct jm_recorder *r, const struct jm_scrape_cfg *cfg)
{
    struct jm_scraper *s = calloc(1, sizeof *s);
    pthread_condattr_t mono;
    if (!s)
        return NULL;
    s->rec = r;
    s->clock = r->clock;
    s->insecure = cfg->insecure;
    s->interval = cfg->interval_ns > 0 ? cfg->interval_ns : JM_NS_PER_S;
    s->timeout = cfg->timeout_ns > 0 ? cfg->timeout_ns : 2 * JM_NS_PER_S;
    s->host_pid = cfg->host_pid;
    snprintf(s->proc_root, sizeof s->proc_root, "%s", cfg->proc_root ? cfg->proc_root : "/proc");
    jm_reply_init(&s->reply);
    jm_reply_init(&s->more);
    jm_str_init(&s->text);
    jm_str_init(&s->before);
    jm_str_init(&s->after);
    jm_str_init(&s->key);
    jm_str_init(&s->ca_file);
    jm_str_adds(&s->ca_file, cfg->ca_file ? cfg->ca_file : "");
    atomic_init(&s->refs, 1);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &mono);
    pthread_cond_init(&s->done, &mono);
    pthread_condattr_destroy(&mono);
    return s;
}

/* ---- the thread */

/* Hands the text over unless the recorder gave this one up. */
static void hand_over(struct jm_scraper *s, int64_t t0, int64_t t1)
{
    pthread_mutex_lock(&s->lock);
    if (!s->abandoned)
        jm_recorder_scrape(s->rec, s->url, t0, t1, jm_str_span(&s->text));
    pthread_mutex_unlock(&s->lock);
}

static void hint(struct jm_scraper *s, struct jm_err *e)
{
    const struct jm_engine_dialect *d = s->dialect;
    size_t n = strlen(e->text);
    if (d && d->enable && e->code == JM_EABSENT && n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - n, "; %s shows them with %s", d->title, d->enable);
}

static void note(struct jm_scraper *s, int rc, const struct jm_err *e, int64_t t0, int64_t t1)
{
    double ms = (double)(t1 - t0) / 1e6;
    pthread_mutex_lock(&s->lock);
    s->answered = true;
    if (rc) {
        s->failures++;
        s->failed_in_row++;
        s->last_ns = 0;
        snprintf(s->reason, sizeof s->reason, "%.300s", e->text);
        if (!s->scrapes)
            s->state = JM_SCRAPE_ABSENT;
    } else {
        s->scrapes++;
        s->failed_in_row = 0;
        s->last_ns = t1 - t0 > 0 ? t1 - t0 : 1;
        s->sum_ms += ms;
        s->max_ms = ms > s->max_ms ? ms : s->max_ms;
        s->bytes = s->reply.body.len > s->bytes ? s->reply.body.len : s->bytes;
        s->state = s->dialect ? JM_SCRAPE_OK : JM_SCRAPE_UNKNOWN;
        s->title = s->dialect ? s->dialect->title : NULL;
        s->name = s->dialect ? s->dialect->name : NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

static int host_text(struct jm_scraper *s, int64_t *t0, int64_t *t1, struct jm_err *err)
{
    jm_str_reset(&s->text);
    *t0 = jm_clock_mono(&s->clock);
    int rc = jm_hostcpu_text(s->proc_root, s->host_pid, &s->text, err);
    *t1 = jm_clock_mono(&s->clock);
    return rc;
}

static void look(struct jm_scraper *s)
{
    struct jm_err e = {0};
    int64_t t0 = 0, t1 = 0;
    const struct jm_engine_dialect *guess = s->dialect;
    int rc = s->host ? host_text(s, &t0, &t1, &e) : jm_scrape_find(s, &t0, &t1, &e);
    bool other = rc == JM_EUNSUPPORTED && s->n_try == 1 && s->given;
    if (rc && !s->host) {
        s->dialect = guess;
        hint(s, &e);
        s->dialect = NULL;
    }
    pthread_mutex_lock(&s->lock);
    if (!s->host)
        snprintf(s->url, sizeof s->url, "%s%s", s->try_[0].base, s->try_[0].path);
    pthread_mutex_unlock(&s->lock);
    if (other) { /* another exporter's: its texts are kept at the edges, unread */
        pthread_mutex_lock(&s->lock);
        snprintf(s->reason, sizeof s->reason, "%.300s", e.text);
        pthread_mutex_unlock(&s->lock);
        rc = jm_scrape_fetch(s, true, &t0, &t1, &e);
    }
    note(s, rc, &e, t0, t1);
    if (!rc)
        hand_over(s, t0, t1);
}

static void once(struct jm_scraper *s, bool full)
{
    struct jm_err e = {0};
    int64_t t0, t1;
    int rc = s->host ? host_text(s, &t0, &t1, &e) : jm_scrape_fetch(s, full, &t0, &t1, &e);
    note(s, rc, &e, t0, t1);
    if (rc) {
        jm_str_reset(&s->text);
        jm_engine_note_absent(&s->text, e.text);
    }
    hand_over(s, t0, t1);
}

/* When the next text is due; never more than a share of the time goes into asking. */
static int64_t pause_of(const struct jm_scraper *s)
{
    int64_t t = s->last_ns * SHARE > s->interval ? s->last_ns * SHARE : s->interval;
    for (int i = 1; i < s->failed_in_row && t < BACK_OFF_NS; i++)
        t *= 2;
    return s->failed_in_row && t > BACK_OFF_NS ? BACK_OFF_NS : t;
}

static void *scraper_main(void *self)
{
    struct jm_scraper *s = self;
    look(s);
    int64_t due = jm_clock_mono(&s->clock) + pause_of(s);
    for (;;) {
        pthread_mutex_lock(&s->lock);
        pthread_cond_broadcast(&s->done);
        while (!s->stop && s->wanted == s->served && jm_clock_mono(&s->clock) < due) {
            struct timespec ts = {due / JM_NS_PER_S, due % JM_NS_PER_S};
            pthread_cond_timedwait(&s->wake, &s->lock, &ts);
        }
        unsigned wanted = s->wanted;
        bool edge = wanted != s->served, stop = s->stop && !edge, lost = s->state == JM_SCRAPE_ABSENT,
             ends = s->stop || s->abandoned;
        pthread_mutex_unlock(&s->lock);
        if (stop || (lost && !s->given && !s->host) || (ends && s->failed_in_row))
            break;
        if (lost)
            look(s); /* it may come up later */
        else if (edge || s->dialect || s->host)
            once(s, edge);
        pthread_mutex_lock(&s->lock);
        s->served = wanted;
        pthread_mutex_unlock(&s->lock);
        due = jm_clock_mono(&s->clock) + pause_of(s);
    }
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    s->served = s->wanted;
    pthread_cond_broadcast(&s->done);
    pthread_mutex_unlock(&s->lock);
    unref(s);
    return NULL;
}

/* ---- the edges of windows */

static void ask(struct jm_scraper *s)
{
    pthread_mutex_lock(&s->lock);
    if (!s->ended)
        s->wanted++;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* Waits until what was asked for is there; false: it takes too long. */
static void wait_served(struct jm_scraper *s, int64_t until)
{
    pthread_mutex_lock(&s->lock);
    while (s->served != s->wanted && !s->ended && jm_clock_mono(&s->clock) < until) {
        struct timespec ts = {until / JM_NS_PER_S, until % JM_NS_PER_S};
        pthread_cond_timedwait(&s->done, &s->lock, &ts);
    }
    pthread_mutex_unlock(&s->lock);
}

void jm_scrape_edge(struct jm_recorder *r, bool before)
{
    struct jm_scrapers *all = r->scrapers;
    int64_t until = jm_clock_mono(&r->clock) + EDGE_WAIT_NS;
    for (size_t i = 0; all && i < all->n; i++)
        ask(all->v[i]);
    for (size_t i = 0; all && before && i < all->n; i++) {
        struct jm_scraper *s = all->v[i];
        pthread_mutex_lock(&s->lock);
        bool quick = s->last_ns > 0 && s->last_ns < EDGE_WAIT_NS;
        pthread_mutex_unlock(&s->lock);
        if (quick)
            wait_served(s, until);
    }
}

/* ---- all of them */

static int add(struct jm_recorder *r, struct jm_scraper *s, struct jm_err *err)
{
    struct jm_scrapers *all = r->scrapers;
    struct jm_scraper **v = realloc(all->v, (all->n + 1) * sizeof *v);
    if (!v) {
        unref(s);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the engine's metrics");
    }
    all->v = v;
    s->index = (int)all->n;
    all->v[all->n++] = s;
    return 0;
}

static int prepare(struct jm_recorder *r, const struct jm_scrape_cfg *cfg, struct jm_err *err)
{
    const struct jm_engine_dialect *guess = jm_engine_dialect_of(cfg->engine);
    struct jm_target end, t;
    bool known = cfg->endpoint && jm_target_parse(cfg->endpoint, &end, NULL) == 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < cfg->n_urls + (cfg->find ? 1 : 0); i++) {
        struct jm_scraper *s = create(r, cfg);
        if (!s)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the engine's metrics");
        rc = i < cfg->n_urls ? jm_scrape_given(s, cfg->urls[i], err)
                             : jm_scrape_usual(s, cfg->endpoint, guess, err);
        s->dialect = known ? guess : NULL; /* only for a hint, until it has answered */
        if (!rc && known && cfg->api_key && jm_target_parse(s->try_[0].base, &t, NULL) == 0 &&
            strcmp(t.authority, end.authority) == 0)
            jm_str_adds(&s->key, cfg->api_key);
        if (rc)
            unref(s);
        else
            rc = add(r, s, err);
    }
    if (!rc && cfg->host_pid >= 0) {
        struct jm_scraper *s = create(r, cfg);
        if (!s)
            return jm_err_set(err, JM_ENOMEM, "out of memory for the CPU's times");
        s->host = true;
        s->dialect = jm_engine_dialect_find("host");
        snprintf(s->url, sizeof s->url, "host:%s", s->proc_root);
        rc = add(r, s, err);
    }
    return rc;
}

static void say(struct jm_scrapers *all, struct jm_str *said)
{
    for (size_t i = 0; said && i < all->n; i++) {
        struct jm_scraper *s = all->v[i];
        if (s->host)
            continue;
        pthread_mutex_lock(&s->lock);
        if (said->len)
            jm_str_adds(said, "; ");
        if (s->state == JM_SCRAPE_OK)
            jm_str_addf(said, "%s at %s", s->title, s->url);
        else
            jm_str_addf(said, "none: %s", s->answered ? s->reason : "no answer yet");
        pthread_mutex_unlock(&s->lock);
    }
}

int jm_recorder_watch_engine(struct jm_recorder *r, const struct jm_scrape_cfg *cfg, struct jm_str *said,
                             struct jm_err *err)
{
    if (r->scrapers || r->inline_mode)
        return jm_err_set(err, JM_ESTATE, "the engine's metrics are watched once, and in real time only");
    if (!(r->scrapers = calloc(1, sizeof *r->scrapers)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the engine's metrics");
    r->scrapers->found = cfg->find;
    int rc = prepare(r, cfg, err);
    for (size_t i = 0; !rc && i < r->scrapers->n; i++) {
        struct jm_scraper *s = r->scrapers->v[i];
        atomic_fetch_add(&s->refs, 1);
        int e = pthread_create(&s->thread, NULL, scraper_main, s);
        if (e) {
            atomic_fetch_sub(&s->refs, 1);
            return jm_err_sys(err, e, "cannot start a thread for the engine's metrics");
        }
        s->started = true;
    }
    int64_t until = jm_clock_mono(&r->clock) + READY_NS;
    for (size_t i = 0; !rc && i < r->scrapers->n; i++) {
        struct jm_scraper *s = r->scrapers->v[i];
        pthread_mutex_lock(&s->lock);
        while (!s->answered && jm_clock_mono(&r->clock) < until) {
            struct timespec ts = {until / JM_NS_PER_S, until % JM_NS_PER_S};
            pthread_cond_timedwait(&s->done, &s->lock, &ts);
        }
        pthread_mutex_unlock(&s->lock);
    }
    if (!rc)
        say(r->scrapers, said);
    return rc;
}

static void facts(struct jm_recorder *r, struct jm_scraper *s)
{
    static const char *const states[] = {"absent", "ok", "unknown", "absent"};
    char key[48];
    int n = snprintf(key, sizeof key, "engine.%d.", s->index);
#define PUT(name, ...)                                                                                       \
    (snprintf(key + n, sizeof key - (size_t)n, name), jm_record_put_env(r, key, __VA_ARGS__))
    PUT("url", "%s", s->url);
    PUT("state", "%s", states[s->state]);
    if (s->name)
        PUT("dialect", "%s", s->name);
    if (s->reason[0])
        PUT("reason", "%s", s->reason);
    else if (!s->answered)
        PUT("reason", "it did not answer");
    PUT("scrapes", "%llu", (unsigned long long)s->scrapes);
    PUT("failures", "%llu", (unsigned long long)s->failures);
    if (s->scrapes) {
        PUT("scrape_ms.mean", "%.3f", s->sum_ms / (double)s->scrapes);
        PUT("scrape_ms.max", "%.3f", s->max_ms);
    }
    if (s->bytes)
        PUT("bytes", "%zu", s->bytes);
#undef PUT
}

void jm_scrape_stop(struct jm_recorder *r)
{
    struct jm_scrapers *all = r->scrapers;
    for (size_t i = 0; all && i < all->n; i++) {
        pthread_mutex_lock(&all->v[i]->lock);
        all->v[i]->stop = true;
        pthread_cond_broadcast(&all->v[i]->wake);
        pthread_mutex_unlock(&all->v[i]->lock);
    }
    for (size_t i = 0; all && i < all->n; i++) {
        struct jm_scraper *s = all->v[i];
        int64_t until = jm_clock_mono(&r->clock) + s->timeout + JM_NS_PER_S;
        pthread_mutex_lock(&s->lock);
        while (s->started && !s->ended && jm_clock_mono(&r->clock) < until) {
            struct timespec ts = {until / JM_NS_PER_S, until % JM_NS_PER_S};
            pthread_cond_timedwait(&s->done, &s->lock, &ts);
        }
        bool ended = s->ended;
        s->abandoned = true;
        pthread_mutex_unlock(&s->lock);
        if (s->started && ended)
            pthread_join(s->thread, NULL);
        else if (s->started)
            pthread_detach(s->thread); /* a name that cannot be resolved may take longer than anyone waits */
    }
}

void jm_scrape_end(struct jm_recorder *r)
{
    struct jm_scrapers *all = r->scrapers;
    size_t engines = 0;
    for (size_t i = 0; all && i < all->n; i++) {
        pthread_mutex_lock(&all->v[i]->lock);
        facts(r, all->v[i]);
        engines += !all->v[i]->host;
        pthread_mutex_unlock(&all->v[i]->lock);
    }
    if (all)
        jm_record_put_env(r, "engine.targets", "%zu", engines);
}

void jm_scrape_free(struct jm_recorder *r)
{
    struct jm_scrapers *all = r->scrapers;
    for (size_t i = 0; all && i < all->n; i++)
        unref(all->v[i]);
    if (all)
        free(all->v);
    free(all);
    r->scrapers = NULL;
}
