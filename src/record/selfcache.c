/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of self-tests from earlier runs. Whether fast polling changes a counter is a matter of driver and
 * device, so once a boot is enough. A line: key, fast (0 or 1), number of counters, their periods in ns, the
 * verdict. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "record/internal.h"

#include "base/banned.h"

#define CACHE_BYTES (256u << 10)
#define CACHE_LINES 200

static void add(struct jm_sha256 *s, const char *text)
{
    jm_sha256_add(s, text, strlen(text) + 1);
}

static void key_of(const struct jm_recorder *r, const struct jm_reader *d, char key[JM_SHA256_HEX])
{
    struct jm_sha256 s;
    jm_sha256_init(&s);
    add(&s, "2");
    add(&s, r->boot_id);
    add(&s, d->m->ops->name);
    add(&s, d->m->instance);
    for (size_t i = 0; i < d->m->n_fact; i++)
        if (strstr(d->m->fact[i].key, "driver") || strstr(d->m->fact[i].key, "version")) {
            add(&s, d->m->fact[i].key);
            add(&s, d->m->fact[i].value);
        }
    for (size_t k = 0; k < d->n_watch; k++) {
        add(&s, d->m->chan[d->watch[k].chan].device);
        add(&s, d->m->chan[d->watch[k].chan].name);
    }
    jm_sha256_done(&s, key);
}

static bool take_number(struct jm_span *line, int64_t *v)
{
    struct jm_span f;
    return jm_span_field(line, ' ', &f) && jm_num_i64(f, v) == 0;
}

static bool use(struct jm_reader *d, struct jm_span line)
{
    int64_t fast, n, p;
    struct jm_span rest = line;
    if (!take_number(&rest, &fast) || !take_number(&rest, &n) || (fast != 0 && fast != 1) ||
        n != (int64_t)d->n_watch)
        return false;
    line = rest;
    for (size_t k = 0; k < d->n_watch; k++)
        if (!take_number(&rest, &p) || p < 0 || p > 10 * JM_NS_PER_S)
            return false;
    for (size_t k = 0; k < d->n_watch && take_number(&line, &p); k++)
        if (p > 0) {
            atomic_store(&d->watch[k].period, p);
            d->watch[k].found = true;
        }
    atomic_store(&d->fast_ok, fast == 1);
    snprintf(d->selftest, sizeof d->selftest, "earlier on this boot: %.*s", (int)line.n,
             line.p ? line.p : "");
    d->tested = true;
    return true;
}

void jm_selfcache_load(struct jm_recorder *r)
{
    struct jm_str text;
    if (!r->cfg.selftest_cache || !r->boot_id[0])
        return;
    jm_str_init(&text);
    if (jm_file_read(r->cfg.selftest_cache, CACHE_BYTES, &text, NULL) == 0)
        for (size_t i = 0; i < r->n_reader; i++) {
            char key[JM_SHA256_HEX];
            struct jm_span rest = jm_str_span(&text), line, first;
            if (!r->reader[i]->n_watch)
                continue;
            key_of(r, r->reader[i], key);
            while (jm_span_line(&rest, &line))
                if (jm_span_field(&line, ' ', &first) && jm_span_is(first, key) && use(r->reader[i], line))
                    break;
        }
    jm_str_release(&text);
}

/* The line of a verdict worth keeping. */
static void add_line(const struct jm_recorder *r, const struct jm_reader *d, struct jm_str *out)
{
    char key[JM_SHA256_HEX];
    key_of(r, d, key);
    jm_str_addf(out, "%s %d %zu", key, (int)atomic_load(&d->fast_ok), d->n_watch);
    for (size_t k = 0; k < d->n_watch; k++)
        jm_str_addf(out, " %" PRId64, d->watch[k].found ? (int64_t)atomic_load(&d->watch[k].period) : 0);
    jm_str_addf(out, " %s\n", d->selftest);
}

static bool is_new(const struct jm_recorder *r, const struct jm_reader *d)
{
    (void)r;
    return d->n_watch && !d->tested && atomic_load(&d->ready) && d->lasting;
}

void jm_selfcache_save(struct jm_recorder *r)
{
    struct jm_str old, text;
    bool any = false;
    for (size_t i = 0; i < r->n_reader; i++)
        any = any || is_new(r, r->reader[i]);
    if (!any || !r->cfg.selftest_cache || !r->boot_id[0])
        return;
    jm_str_init(&old);
    jm_str_init(&text);
    for (size_t i = 0; i < r->n_reader; i++)
        if (is_new(r, r->reader[i]))
            add_line(r, r->reader[i], &text);
    /* newest first; what is too old falls off the end */
    if (jm_file_read(r->cfg.selftest_cache, CACHE_BYTES, &old, NULL) == 0) {
        struct jm_span rest = jm_str_span(&old), line;
        for (int n = 0; n < CACHE_LINES && text.len < CACHE_BYTES / 2 && jm_span_line(&rest, &line); n++) {
            jm_str_addspan(&text, line);
            jm_str_addc(&text, '\n');
        }
    }
    struct jm_err e = {0};
    if (text.failed || jm_file_mkparents(r->cfg.selftest_cache, &e) ||
        jm_file_write(r->cfg.selftest_cache, jm_str_span(&text), &e))
        jm_logf(r->cfg.log, JM_LOG_DEBUG, "record", "the self-test is not kept for the next run: %s", e.text);
    jm_str_release(&old);
    jm_str_release(&text);
}
