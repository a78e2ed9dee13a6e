/* SPDX-License-Identifier: Apache-2.0 */
/* What AIPerf and GenAI-Perf print, tag by tag, and what it is in the catalogue's words. Sources: AIPerf
 * docs/metrics-reference and its energy metrics; GenAI-Perf's README. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "import/peer.h"

#include "base/banned.h"

static const struct {
    const char *tag, *title; /* of the JSON; of the CSV, without its unit */
    const char *metric, *stat, *unit, *source;
    const char *boundary; /* of an energy and what rests on one */
} rows[] = {
    {"time_to_first_token", "Time to First Token", "ttft.from_sent", "", "ms",
     "first non-empty content - request start (not the scheduled time), successes only", NULL},
    {"ttft", "TTFT", "ttft.from_sent", "", "ms", "first non-empty content - request start, successes only",
     NULL},
    {"time_to_first_output_token", "Time to First Output Token", "ttfo.from_sent", "", "ms",
     "first content that is not reasoning - request start, successes only", NULL},
    {"time_to_second_token", "Time to Second Token", "", "", "ms", "second content chunk - first", NULL},
    {"inter_token_latency", "Inter Token Latency", "itl.token_mean", "", "ms",
     "(request latency - TTFT) / (OSL - 1), one value a request; OSL by the client's tokenizer unless the "
     "server's counts were asked for",
     NULL},
    {"inter_chunk_latency", "Inter Chunk Latency", "itl.chunk", "", "ms",
     "gap between consecutive content chunks, however many tokens they hold", NULL},
    {"request_latency", "Request Latency", "e2e.from_sent", "", "ms",
     "last content - request start, successes only", NULL},
    {"effective_latency", "Effective Latency (CO-aware)", "", "", "ms", "last content - credit issued", NULL},
    {"credit_to_start_latency", "Credit-to-Start Latency", "queue", "", "ms", "request start - credit issued",
     NULL},
    {"output_token_throughput", "Output Token Throughput", "tokens_per_s", "", "tokens/sec",
     "tokens of successes / the length of the phase", NULL},
    {"input_token_throughput", "Input Token Throughput", "tokens.input_per_s", "", "tokens/sec",
     "tokens of successes / the length of the phase", NULL},
    {"total_token_throughput", "Total Token Throughput", "tokens.total_per_s", "", "tokens/sec",
     "tokens of successes / the length of the phase", NULL},
    {"request_throughput", "Request Throughput", "requests_per_s", "", "requests/sec",
     "successes / the length of the phase", NULL},
    {"goodput", "Goodput", "goodput", "", "requests/sec", "requests inside every given limit / duration",
     NULL},
    {"request_goodput", "Request Goodput", "goodput", "", "requests/sec",
     "requests inside every given limit / duration", NULL},
    {"benchmark_duration", "Benchmark Duration", "duration", "sum", "sec", "last response - first request",
     NULL},
    {"request_count", "Request Count", "requests.ok", "sum", "requests", "", NULL},
    {"error_request_count", "Error Request Count", "requests.failed", "sum", "requests", "", NULL},
    {"completed_request_count", "Completed Requests (Success + Error)", "requests.all", "sum", "requests", "",
     NULL},
    {"total_osl", "Total Output Sequence Length", "tokens.output", "sum", "tokens",
     "by the client's tokenizer unless the server's counts were asked for", NULL},
    {"total_output_tokens", "Total Output Tokens", "", "sum", "tokens", "without reasoning tokens", NULL},
    {"total_isl", "Total Input Sequence Length", "tokens.input", "sum", "tokens",
     "by the client's tokenizer, without the chat template", NULL},
    {"output_sequence_length", "Output Sequence Length", "osl", "", "tokens",
     "by the client's tokenizer unless the server's counts were asked for", NULL},
    {"input_sequence_length", "Input Sequence Length", "isl", "", "tokens",
     "by the client's tokenizer, without the chat template", NULL},
    {"effective_concurrency", "Effective Concurrency", "concurrency", "", "requests", "mean in flight", NULL},
    {"total_gpu_energy", "Total GPU Energy", "energy", "sum", "J",
     "difference of each GPU's counter from the start to 666 ms after the end, negative ones as 0", "gpu"},
    {"average_gpu_power", "Average GPU Power", "power.mean", "mean", "W", "total GPU energy / duration",
     "gpu"},
    {"total_gpu_power", "Total GPU Power", "power.mean.mlperf", "mean", "W",
     "sum of each GPU's plain mean of samples", "gpu"},
    {"energy_per_output_token", "Energy per Output Token", "j_per.output_token", "", "mJ/token",
     "total GPU energy / output tokens of successes", "gpu"},
    {"energy_per_total_token", "Energy per Total Token", "j_per.total_token", "", "mJ/token",
     "total GPU energy / tokens of successes", "gpu"},
    {"energy_per_request", "Energy per Request", "j_per.request_ok", "", "J/request",
     "total GPU energy / successful requests", "gpu"},
    {"output_tokens_per_joule", "Output Tokens per Joule", "tokens_per_j", "", "tokens/J",
     "output tokens of successes / total GPU energy", "gpu"},
};

static bool among(const char *tag, const char *const *plain)
{
    for (; plain && *plain; plain++)
        if (strcmp(tag, *plain) == 0)
            return true;
    return false;
}

static void claim(struct jm_build *b, const char *key, int row, bool plain, const char *stat, double v,
                  const char *unit)
{
    if (strcmp(unit, "joules/request") == 0)
        unit = "J/request";
    if (row < 0 || strcmp(stat, "count") == 0)
        jm_build_claim(b, key, "", stat, v, row < 0 ? unit : "", row < 0 ? "" : rows[row].source);
    else if (plain)
        jm_build_claim(b, key, "", stat, v, unit, rows[row].source);
    else if (rows[row].boundary)
        jm_build_energy_claim(b, key, rows[row].metric, stat, v, unit, rows[row].source, rows[row].boundary);
    else
        jm_build_claim(b, key, rows[row].metric, stat, v, unit, rows[row].source);
}

static bool matches(struct jm_span name, const char *want, bool ignore_case)
{
    return ignore_case ? jm_span_ieq(name, jm_span_of(want)) : jm_span_is(name, want);
}

/* By tag or title, with the vendor's name in front or not; -1: none of these. */
static int find(struct jm_span name, bool title)
{
    static const char *const vendors[2][4] = {{"", "nvidia_", "amd_", "intel_"},
                                              {"", "NVIDIA ", "AMD ", "Intel "}};
    for (size_t v = 0; v < 4; v++) {
        struct jm_span head = jm_span_of(vendors[title][v]);
        if (!jm_span_starts(name, head))
            continue;
        struct jm_span rest = jm_span_sub(name, head.n, name.n);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            if (matches(rest, title ? rows[i].title : rows[i].tag, title))
                return (int)i;
    }
    return -1;
}

/* One tag: {"unit": ..., "avg": ..., ...}. A tag with an average alone is a number and no distribution. */
static void one(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *key,
                const struct jm_jtoken *v, const char *prefix, const char *const *plain)
{
    struct jm_jiter it;
    struct jm_jtoken k, x, avg = {.type = JM_J_END};
    char tag[80], name[160], unit[24] = "", stat[16];
    int numbers = 0, rc;
    double d;
    if (!jm_jtext(key, tag, sizeof tag))
        return;
    jm_jiter_init(&it, f, v);
    while ((rc = jm_jiter_next(&it, &k, &x, b->err)) > 0) {
        if (jm_jtoken_is(&k, "unit"))
            jm_jtext(&x, unit, sizeof unit);
        else if (jm_jtoken_is(&k, "avg"))
            avg = x;
        numbers += x.type == JM_J_NUMBER;
    }
    if (rc < 0 || !numbers || (avg.type == JM_J_END && !unit[0])) {
        b->rc = b->rc ? b->rc : rc;
        return; /* an object of settings, not of statistics */
    }
    int row = find(jm_span_of(tag), false);
    const char *u = unit[0] ? unit : row < 0 ? "" : rows[row].unit;
    jm_jiter_init(&it, f, v);
    while (jm_jiter_next(&it, &k, &x, NULL) > 0) {
        char word[40];
        if (x.type != JM_J_NUMBER || !jm_jtext(&k, word, sizeof word) ||
            !jm_build_stat(jm_span_of(word), stat))
            continue;
        if (row < 0 && strcmp(stat, "mean") != 0)
            continue; /* what is no metric of ours is kept with its mean; the rest is in the raw file */
        snprintf(name, sizeof name, "%s%s.%s", prefix, tag, word);
        if (numbers == 1 && strcmp(stat, "mean") == 0) /* no mean, but the number itself */
            snprintf(stat, sizeof stat, "%s", row < 0 ? "" : rows[row].stat);
        claim(b, name, row, among(tag, plain), stat, jm_jnum(&x, &d) ? d : NAN, u);
    }
}

void jm_aiperf_claims(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *object,
                      const char *prefix, const char *const *plain)
{
    struct jm_jiter it;
    struct jm_jtoken key, v;
    int rc = 0;
    if (object->type != JM_J_OBJECT)
        return;
    jm_jiter_init(&it, f, object);
    while (!b->rc && (rc = jm_jiter_next(&it, &key, &v, b->err)) > 0)
        if (v.type == JM_J_OBJECT)
            one(b, f, &key, &v, prefix, plain);
    b->rc = b->rc ? b->rc : rc < 0 ? rc : 0;
}

/* ---- CSV: a table of statistics, a blank line, a table of single values; more tables (GPUs) may follow
 * ------------------------------------------------------------------------------------------------------ */

/* One field, quotes undone ("Output Token Throughput (tokens/sec)", numbers with commas in quotes). */
static bool csv_field(struct jm_span *rest, char *buf, size_t cap)
{
    size_t n = 0, i = 0;
    if (!rest->p)
        return false;
    bool quoted = rest->n && rest->p[0] == '"';
    for (i = quoted; i < rest->n; i++) {
        char c = rest->p[i];
        if (quoted && c == '"') {
            if (i + 1 < rest->n && rest->p[i + 1] == '"')
                i++;
            else {
                quoted = false;
                continue;
            }
        } else if (!quoted && c == ',')
            break;
        if (n + 1 < cap)
            buf[n++] = c;
    }
    buf[n] = '\0';
    *rest = i < rest->n ? jm_span_sub(*rest, i + 1, rest->n) : (struct jm_span){NULL, 0};
    return true;
}

static bool csv_number(const char *text, double *d)
{
    char plain[64];
    size_t n = 0;
    for (; *text && n + 1 < sizeof plain; text++)
        if (*text != ',' && *text != ' ')
            plain[n++] = *text;
    return n && jm_num_double((struct jm_span){plain, n}, d) == 0;
}

/* "Inter Token Latency (ms)" → name and unit: the last bracket, where one ends the text. */
static void split_unit(char *name, char unit[24])
{
    char *open = strrchr(name, '(');
    size_t n = strlen(name);
    unit[0] = '\0';
    if (!open || open == name || name[n - 1] != ')')
        return;
    snprintf(unit, 24, "%.*s", (int)(n - (size_t)(open - name) - 2), open + 1);
    while (open > name && open[-1] == ' ')
        open--;
    *open = '\0';
}

static void csv_row(struct jm_build *b, struct jm_span line, char heads[][24], int n_heads)
{
    char name[160], unit[24], key[224], field[64], stat[16];
    double d;
    int row, col = 0;
    csv_field(&line, name, sizeof name);
    split_unit(name, unit);
    row = find(jm_span_of(name), true);
    while (csv_field(&line, field, sizeof field) && col < n_heads) {
        const char *head = heads[col++];
        if (!csv_number(field, &d))
            continue;
        if (jm_span_ieq(jm_span_of(head), JM_SPAN("value")))
            snprintf(stat, sizeof stat, "%s", row < 0 ? "" : rows[row].stat);
        else if (!jm_build_stat(jm_span_of(head), stat))
            continue;
        bool single = jm_span_ieq(jm_span_of(head), JM_SPAN("value"));
        snprintf(key, sizeof key, "%s%s%s", name, single ? "" : ".", single ? "" : head);
        claim(b, key, row, false, stat, d, unit);
    }
}

void jm_aiperf_csv(struct jm_build *b, const struct jm_ifile *f)
{
    struct jm_span rest = f->text, line;
    char heads[24][24], word[24];
    int n = 0;
    bool wanted = false, after_blank = true;
    while (!b->rc && jm_span_line(&rest, &line)) {
        if (!jm_span_trim(line).n) {
            after_blank = true;
            continue;
        }
        if (after_blank) { /* a heading */
            after_blank = false;
            struct jm_span s = line;
            csv_field(&s, word, sizeof word);
            wanted = jm_span_ieq(jm_span_of(word), JM_SPAN("Metric"));
            for (n = 0; n < 24 && csv_field(&s, heads[n], sizeof heads[n]);)
                n++;
            if (wanted || n)
                continue;
        }
        if (wanted)
            csv_row(b, line, heads, n);
    }
}
