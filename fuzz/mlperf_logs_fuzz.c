/* SPDX-License-Identifier: Apache-2.0 */
/* The three logs of an MLPerf session by their readers, in one block and in pieces. The first byte of the
 * input after that of cut.h chooses the log. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cut.h"
#include "mlperf/parts.h"

typedef int (*block_fn)(void *reader, struct jm_span block, struct jm_err *err);

static int blocks(const uint8_t *p, size_t n, size_t step, block_fn fn, void *reader)
{
    int rc = 0;
    for (size_t at = 0; !rc && at < n; at += step)
        rc = fn(reader, (struct jm_span){(const char *)p + at, n - at < step ? n - at : step}, NULL);
    return rc;
}

static int loadgen(const uint8_t *p, size_t n, size_t step, struct jm_mlperf_arena *a, struct jm_str *out)
{
    struct jm_mlperf_loadgen lg;
    struct jm_mlperf_loadgen_reader *r = malloc(sizeof *r);
    if (!r)
        return 0;
    jm_mlperf_loadgen_init(r, &lg, a);
    int rc = blocks(p, n, step, jm_mlperf_loadgen_block, r);
    if (!rc)
        rc = jm_mlperf_loadgen_end(r, NULL);
    if (!rc)
        rc = blocks(p, n, step, jm_mlperf_loadgen_block, r);
    if (!rc)
        rc = jm_mlperf_loadgen_end(r, NULL);
    jm_str_addf(out, "%lld %lld %lld %lld %lld %lld", (long long)lg.begin, (long long)lg.end,
                (long long)lg.checker_begin, (long long)lg.lines, (long long)lg.errors, (long long)lg.broken);
    for (size_t i = 0; i < lg.n_facts; i++)
        jm_str_addf(out, "%s=%s;", lg.facts[i].key, lg.facts[i].text);
    jm_mlperf_fact(&lg, "result_validity");
    jm_mlperf_loadgen_release(r);
    free(r);
    return rc;
}

static int samples(const uint8_t *p, size_t n, size_t step, struct jm_mlperf_arena *a, struct jm_str *out)
{
    struct jm_mlperf_power o;
    struct jm_mlperf_samples_reader *r = malloc(sizeof *r);
    if (!r)
        return 0;
    jm_mlperf_samples_init(r, &o, a);
    r->begin = INT64_C(1753689610) * 1000000000;
    r->end = r->begin + INT64_C(10000000000);
    int rc = blocks(p, n, step, jm_mlperf_samples_block, r);
    if (!rc)
        rc = jm_mlperf_samples_end(r, NULL);
    const struct jm_mlperf_samples *s = &o.file;
    if (s->good + s->bad + s->missed + s->over != s->rows || s->nonpositive + s->n_positive != s->rows ||
        o.window.rows > s->rows || isinf(o.joules))
        abort();
    jm_str_addf(out, "%lld %lld %lld %lld %lld %a %s %d", (long long)s->rows, (long long)o.window.rows,
                (long long)o.broken, (long long)o.out_of_order, (long long)o.max_gap_ns, o.joules,
                o.first_broken ? o.first_broken : "", o.blank_last);
    jm_mlperf_samples_release(r);
    free(r);
    return rc;
}

static int events(const uint8_t *p, size_t n, size_t step, struct jm_mlperf_arena *a, struct jm_str *out)
{
    struct jm_mlperf_events_reader r;
    struct jm_mlperf_ptd_log o;
    int rc = jm_mlperf_events_init(&r, &o, a);
    if (!rc)
        rc = blocks(p, n, step, jm_mlperf_events_block, &r);
    if (!rc)
        rc = jm_mlperf_events_end(&r, NULL);
    for (size_t i = 0; !rc && i < o.n_events; i++)
        jm_str_addf(out, "%lld %lld %s;", (long long)o.events[i].t_ns, (long long)o.events[i].line,
                    o.events[i].text);
    jm_mlperf_events_release(&r);
    return rc;
}

static int feed(const uint8_t *p, size_t n, size_t step, struct jm_str *out)
{
    struct jm_mlperf_arena *a = jm_mlperf_arena_new();
    int rc = 0;
    if (!n || !a) {
        jm_mlperf_arena_free(a);
        return 0;
    }
    switch (p[0] % 3) {
    case 0: rc = loadgen(p + 1, n - 1, step, a, out); break;
    case 1: rc = samples(p + 1, n - 1, step, a, out); break;
    default: rc = events(p + 1, n - 1, step, a, out); break;
    }
    jm_mlperf_arena_free(a);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!n)
        return 0;
    struct cut c = cut(feed, p, n);
    if (!c.same || c.whole != c.pieces)
        abort();
    return 0;
}
