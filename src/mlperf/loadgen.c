/* SPDX-License-Identifier: Apache-2.0 */
/* LoadGen's detail log and summary in blocks: the first value of each key. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "mlperf/parts.h"
#include "wire/loadgen_log.h"
#include "wire/spl.h"

#include "base/banned.h"

#define MAX_LINE ((size_t)4 << 20) /* loaded_qsl_set lists every sample */
#define MAX_TEXT 4096
#define MAX_KEY  200

void jm_mlperf_loadgen_init(struct jm_mlperf_loadgen_reader *r, struct jm_mlperf_loadgen *out,
                            struct jm_mlperf_arena *a)
{
    memset(r, 0, sizeof *r);
    memset(out, 0, sizeof *out);
    out->begin = out->end = out->checker_begin = out->checker_end = -1;
    r->out = out;
    r->arena = a;
    jm_log_lines_init(&r->lines, MAX_LINE);
    jm_str_init(&r->scratch);
    jm_str_init(&r->value);
    jm_loadgen_window_init(&r->window);
}

void jm_mlperf_loadgen_release(struct jm_mlperf_loadgen_reader *r)
{
    jm_log_lines_release(&r->lines);
    jm_str_release(&r->scratch);
    jm_str_release(&r->value);
}

static uint32_t hash_of(struct jm_span s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619u;
    return h;
}

/* The slot of a key: free, or that of its fact. */
static uint16_t *slot_of(struct jm_mlperf_loadgen_reader *r, struct jm_span key)
{
    const size_t n = sizeof r->slot / sizeof r->slot[0];
    size_t i = hash_of(key) % n;
    while (r->slot[i] && !jm_span_is(key, r->out->facts[r->slot[i] - 1].key))
        i = (i + 1) % n;
    return &r->slot[i];
}

static int room(struct jm_mlperf_loadgen_reader *r)
{
    struct jm_mlperf_loadgen *o = r->out;
    if (o->n_facts < r->cap)
        return 0;
    size_t cap = r->cap ? 2 * r->cap : 128;
    struct jm_mlperf_fact *more = jm_mlperf_alloc(r->arena, cap * sizeof *more);
    if (!more)
        return JM_ENOMEM;
    if (o->n_facts)
        memcpy(more, o->facts, o->n_facts * sizeof *more);
    o->facts = more;
    r->cap = cap;
    return 0;
}

static int keep(struct jm_mlperf_loadgen_reader *r, struct jm_span key, struct jm_loadgen_entry *e)
{
    struct jm_mlperf_loadgen *o = r->out;
    if (key.n > MAX_KEY || memchr(key.p, '\0', key.n))
        return 0;
    uint16_t *slot = slot_of(r, key);
    if (*slot || o->n_facts >= JM_MLPERF_FACTS)
        return 0;
    if (room(r))
        return JM_ENOMEM;
    jm_str_reset(&r->value);
    jm_loadgen_text(e, &r->value);
    jm_loadgen_number(e);
    struct jm_mlperf_fact *f = &o->facts[o->n_facts];
    *f = (struct jm_mlperf_fact){.is_number = e->is_number, .is_bool = e->is_bool, .number = NAN};
    if (e->is_number)
        f->number = e->number;
    f->key = jm_mlperf_copy(r->arena, key);
    f->text = jm_mlperf_copy(r->arena, jm_span_sub(jm_str_span(&r->value), 0, MAX_TEXT));
    if (!f->key || !f->text || r->value.failed)
        return JM_ENOMEM;
    *slot = (uint16_t)++o->n_facts;
    return 0;
}

static int detail_line(struct jm_mlperf_loadgen_reader *r, const struct jm_log_line *l)
{
    struct jm_mlperf_loadgen *o = r->out;
    struct jm_loadgen_entry e;
    jm_loadgen_window_line(&r->window, l->text);
    int rc = l->cut ? JM_EPARSE : jm_loadgen_line(l->text, &r->scratch, &e);
    if (rc == JM_EPARSE)
        o->broken++;
    if (rc)
        return rc == JM_ENOMEM ? rc : 0;
    o->lines++;
    o->errors += e.is_error;
    o->warnings += e.is_warning;
    o->old_format |= !e.json;
    if (e.json && e.is_string && !e.escaped && e.text.n < 40) {
        if (o->begin < 0 && jm_span_is(e.key, "power_begin") && jm_spl_time(jm_span_trim(e.text), &o->begin))
            o->begin = -1;
        else if (o->end < 0 && jm_span_is(e.key, "power_end") && jm_spl_time(jm_span_trim(e.text), &o->end))
            o->end = -1;
    }
    return keep(r, e.key, &e);
}

static int summary_line(struct jm_mlperf_loadgen_reader *r, const struct jm_log_line *l)
{
    struct jm_loadgen_entry e = {0};
    struct jm_span key, value;
    char name[MAX_KEY + 16] = "summary.";
    if (l->cut || !jm_loadgen_summary_line(l->text, &key, &value) || key.n > MAX_KEY - 8)
        return 0;
    memcpy(name + 8, key.p, key.n);
    e.text = value;
    e.is_number = value.n && strchr("-0123456789.", value.p[0]);
    return keep(r, (struct jm_span){name, key.n + 8}, &e);
}

static int one_line(struct jm_mlperf_loadgen_reader *r, const struct jm_log_line *l)
{
    return r->summary ? summary_line(r, l) : detail_line(r, l);
}

static int no_memory(int rc, struct jm_err *err)
{
    return rc < 0 ? jm_err_set(err, rc, "out of memory while reading a log of LoadGen") : 0;
}

int jm_mlperf_loadgen_block(void *reader, struct jm_span block, struct jm_err *err)
{
    struct jm_mlperf_loadgen_reader *r = reader;
    struct jm_log_line l;
    int rc;
    r->out->present = true;
    while ((rc = jm_log_lines_next(&r->lines, &block, &l)) == 1)
        if ((rc = one_line(r, &l)))
            break;
    return no_memory(rc, err);
}

int jm_mlperf_loadgen_end(struct jm_mlperf_loadgen_reader *r, struct jm_err *err)
{
    struct jm_log_line l;
    int rc = jm_log_lines_end(&r->lines, &l);
    if (rc == 1)
        rc = one_line(r, &l);
    if (!r->summary) {
        r->out->checker_begin = r->window.begin;
        r->out->checker_end = r->window.end;
        r->out->checker_timeless = r->window.timeless;
    }
    jm_log_lines_release(&r->lines);
    jm_log_lines_init(&r->lines, MAX_LINE);
    r->summary = true;
    return no_memory(rc, err);
}

/* ---- looking up */

/* Names that a key had in other versions of LoadGen, and where the summary has it: mlcommons/inference,
 * loadgen/results.cc and test_settings_internal.cc. */
static const char *const spellings[][4] = {
    {"effective_min_duration_ms", "effective_min_duration (ms)", "min_duration (ms)",
     "summary.min_duration (ms)"},
    {"effective_max_duration_ms", "effective_max_duration (ms)", "max_duration (ms)",
     "summary.max_duration (ms)"},
    {"effective_min_query_count", "min_query_count", "summary.min_query_count", NULL},
    {"effective_scenario", "requested_scenario", "summary.Scenario", "Scenario"},
    {"effective_test_mode", "requested_test_mode", "summary.Mode", "Test mode"},
    {"result_validity", "summary.Result is", NULL, NULL},
    {"result_samples_per_second", "summary.Samples per second", NULL, NULL},
    {"result_tokens_per_second", "summary.Tokens per second", NULL, NULL},
    {"result_completed_tokens_per_second", "summary.Completed tokens per second", NULL, NULL},
    {"result_scheduled_samples_per_sec", "summary.Scheduled samples per second", NULL, NULL},
    {"result_completed_samples_per_sec", "summary.Completed samples per second", NULL, NULL},
    {"result_qps_with_loadgen_overhead", "summary.QPS w/ loadgen overhead", NULL, NULL},
    {"result_qps_without_loadgen_overhead", "summary.QPS w/o loadgen overhead", NULL, NULL},
    {"result_mean_latency_ns", "summary.Mean latency (ns)", NULL, NULL},
    {"result_99.00_percentile_latency_ns", "summary.99.00 percentile latency (ns)", NULL, NULL},
    {"result_90.00_percentile_latency_ns", "summary.90.00 percentile latency (ns)", NULL, NULL},
    {"sut_name", "SUT name", "summary.SUT name", NULL},
    {"loadgen_version", "version", NULL, NULL},
};

static const struct jm_mlperf_fact *exact(const struct jm_mlperf_loadgen *lg, const char *key)
{
    for (size_t i = 0; i < lg->n_facts; i++)
        if (strcmp(lg->facts[i].key, key) == 0)
            return &lg->facts[i];
    return NULL;
}

const struct jm_mlperf_fact *jm_mlperf_fact(const struct jm_mlperf_loadgen *lg, const char *key)
{
    const struct jm_mlperf_fact *f = exact(lg, key);
    for (size_t i = 0; !f && i < sizeof spellings / sizeof spellings[0]; i++)
        if (strcmp(spellings[i][0], key) == 0)
            for (size_t k = 1; !f && k < 4 && spellings[i][k]; k++)
                f = exact(lg, spellings[i][k]);
    for (size_t i = 0; !f && i < lg->n_facts; i++)
        if (strcasecmp(lg->facts[i].key, key) == 0) /* before 1.0: "POWER_BEGIN" */
            f = &lg->facts[i];
    return f;
}

double jm_mlperf_number(const struct jm_mlperf_loadgen *lg, const char *key)
{
    const struct jm_mlperf_fact *f = jm_mlperf_fact(lg, key);
    return f && f->is_number ? f->number : NAN;
}
