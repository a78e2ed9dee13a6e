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
    const char *metric, *unit, *source;
} rows[] = {
    {"time_to_first_token", "Time to First Token", "ttft", "ms",
     "first non-empty content - request start (not the scheduled time), successes only"},
    {"ttft", "TTFT", "ttft", "ms", "first non-empty content - request start, successes only"},
    {"time_to_first_output_token", "Time to First Output Token", "ttfo", "ms",
     "first content that is not reasoning - request start, successes only"},
    {"time_to_second_token", "Time to Second Token", "", "ms", "second content chunk - first"},
    {"inter_token_latency", "Inter Token Latency", "itl.token_mean", "ms",
     "(request latency - TTFT) / (OSL - 1), one value a request; OSL by the client's tokenizer unless the "
     "server's "
     "counts were asked for"},
    {"inter_chunk_latency", "Inter Chunk Latency", "itl.chunk", "ms",
     "gap between consecutive content chunks, however many tokens they hold"},
    {"request_latency", "Request Latency", "e2e", "ms", "last content - request start, successes only"},
    {"effective_latency", "Effective Latency (CO-aware)", "e2e", "ms", "last content - credit issued"},
    {"credit_to_start_latency", "Credit-to-Start Latency", "queue", "ms", "request start - credit issued"},
    {"output_token_throughput", "Output Token Throughput", "tokens_per_s", "tokens/sec",
     "tokens of successes / (last response - first request)"},
    {"request_throughput", "Request Throughput", "requests_per_s", "requests/sec",
     "successes / (last response - first request)"},
    {"goodput", "Goodput", "goodput", "requests/sec", "requests inside every given limit / duration"},
    {"request_goodput", "Request Goodput", "goodput", "requests/sec",
     "requests inside every given limit / duration"},
    {"total_gpu_energy", "Total GPU Energy", "energy", "J",
     "difference of each GPU's counter from the start to 666 ms after the end, negative ones as 0"},
    {"average_gpu_power", "Average GPU Power", "power.mean", "W", "total GPU energy / duration"},
    {"total_gpu_power", "Total GPU Power", "power.mean.mlperf", "W",
     "sum of each GPU's plain mean of samples"},
    {"energy_per_output_token", "Energy per Output Token", "j_per.output_token", "mJ/token",
     "total GPU energy / output tokens of successes"},
    {"energy_per_total_token", "Energy per Total Token", "j_per.total_token", "mJ/token",
     "total GPU energy / tokens of successes"},
    {"energy_per_request", "Energy per Request", "j_per.request_ok", "joules/request",
     "total GPU energy / successful requests"},
    {"output_tokens_per_joule", "Output Tokens per Joule", "tokens_per_j", "tokens/J",
     "output tokens of successes / total GPU energy"},
};

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
                const struct jm_jtoken *v, const char *prefix)
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
    const char *metric = row < 0 ? "" : rows[row].metric, *source = row < 0 ? "" : rows[row].source;
    const char *u = unit[0] ? unit : row < 0 ? "" : rows[row].unit;
    jm_jiter_init(&it, f, v);
    while (jm_jiter_next(&it, &k, &x, NULL) > 0) {
        char word[40];
        if (x.type != JM_J_NUMBER || !jm_jtext(&k, word, sizeof word) ||
            !jm_build_stat(jm_span_of(word), stat))
            continue;
        snprintf(name, sizeof name, "%s%s.%s", prefix, tag, word);
        bool counts = strcmp(stat, "count") == 0;
        jm_build_claim(b, name, counts ? "" : metric, numbers == 1 && strcmp(stat, "mean") == 0 ? "" : stat,
                       jm_jnum(&x, &d) ? d : NAN, counts ? "" : u, source);
    }
}

void jm_aiperf_claims(struct jm_build *b, const struct jm_ifile *f, const struct jm_jtoken *object,
                      const char *prefix)
{
    struct jm_jiter it;
    struct jm_jtoken key, v;
    int rc = 0;
    if (object->type != JM_J_OBJECT)
        return;
    jm_jiter_init(&it, f, object);
    while (!b->rc && (rc = jm_jiter_next(&it, &key, &v, b->err)) > 0)
        if (v.type == JM_J_OBJECT)
            one(b, f, &key, &v, prefix);
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
            stat[0] = '\0';
        else if (!jm_build_stat(jm_span_of(head), stat))
            continue;
        snprintf(key, sizeof key, "%s%s%s", name, stat[0] ? "." : "", stat[0] ? head : "");
        jm_build_claim(b, key, row < 0 ? "" : rows[row].metric, stat, d, unit,
                       row < 0 ? "" : rows[row].source);
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
