/* SPDX-License-Identifier: Apache-2.0 */
/* AI Energy Score: the batch runner's master_results.csv, a leaderboard's CSV (energy a thousand queries),
 * and GPU_ENERGY_SUMMARY.json. The energy is CodeCarbon's of the GPUs, in Wh; for a remote endpoint it is
 * that of the GPUs beside the client. tokens_per_joule counts prompt and output tokens together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/table.h"

#include "base/banned.h"

struct aes {
    struct jm_table t;
    struct jm_table_note failed, rounded, zero, denominator, negative, unsuccessful;
    int windows;
};

static double get(const struct aes *a, const char *name)
{
    double v;
    return jm_table_num(&a->t, jm_table_col(&a->t, name), &v) ? v : NAN;
}

static void claim(const struct aes *a, struct jm_build *b, const char *key, const char *metric,
                  const char *stat, const char *unit, const char *source, const char *boundary)
{
    double v = get(a, key);
    if (isfinite(v))
        jm_build_energy_claim(b, key, metric, stat, v, unit, source, boundary);
}

static void result(struct aes *a, struct jm_build *b, int n)
{
    static const char counter[] = "CodeCarbon's GPU counters, Wh with four digits";
    char model[96], task[32], state[32], why[120], name[180];
    double s = get(a, "total_duration_seconds"), wh = get(a, "gpu_energy_wh"),
           ok = get(a, "successful_prompts"), per = get(a, "tokens_per_joule"),
           out = get(a, "total_completion_tokens"), in = get(a, "total_prompt_tokens"),
           bad = get(a, "failed_prompts");
    int64_t end;
    bool zone;
    jm_table_text(&a->t, jm_table_col(&a->t, "model_name"), model, sizeof model);
    jm_table_text(&a->t, jm_table_col(&a->t, "task"), task, sizeof task);
    jm_table_text(&a->t, jm_table_col(&a->t, "reasoning_state"), state, sizeof state);
    jm_table_text(&a->t, jm_table_col(&a->t, "error_message"), why, sizeof why);
    if (why[0] || ok == 0) {
        jm_table_note(&a->failed, "%.80s: %s", model, why[0] ? why : "no prompt succeeded");
        return;
    }
    if (!(s >= 0) || !(s < 1e9))
        s = 0;
    if (!jm_build_date(jm_table_span(&a->t, jm_table_col(&a->t, "timestamp")), &end, &zone))
        end = b->f->mtime_ns;
    snprintf(name, sizeof name, "%d: %.80s %s%s%s", n, model, task, state[0] ? ", reasoning " : "", state);
    int64_t ns = (int64_t)(s * 1e9);
    jm_build_window(b, jm_build_repeat(b, name + 3), name, end > ns ? end - ns : 0, ns);
    a->windows++;
    claim(a, b, "total_duration_seconds", "duration", "sum", "s", "", "");
    claim(a, b, "total_prompts", "requests.all", "sum", "", "", "");
    claim(a, b, "successful_prompts", "requests.ok", "sum", "", "", "");
    claim(a, b, "failed_prompts", "requests.failed", "sum", "", "", "");
    claim(a, b, "total_prompt_tokens", "tokens.input", "sum", "tokens", "", "");
    claim(a, b, "total_completion_tokens", "tokens.output", "sum", "tokens", "", "");
    claim(a, b, "avg_total_time", "e2e", "mean", "s", "", "");
    claim(a, b, "avg_latency_seconds", "e2e", "mean", "s", "", "");
    if (get(a, "avg_time_to_first_token") > 0) /* 0 where it was not measured */
        claim(a, b, "avg_time_to_first_token", "ttft", "mean", "s", "", "");
    claim(a, b, "gpu_energy_wh", "energy", "sum", "Wh", counter, "gpu");
    claim(a, b, "wh_per_1000_queries", "j_per.request_ok", "mean", "Wh/1000 requests",
          "gpu_energy_wh / successful prompts", "gpu");
    claim(a, b, "avg_energy_per_prompt_wh", "", "mean", "Wh/request", "gpu_energy_wh / successful prompts",
          "gpu");
    claim(a, b, "throughput_tokens_per_second", "", "", "tokens/s", "", "");
    claim(a, b, "tokens_per_joule", "", "", "tokens/J", "prompt and output tokens / gpu_energy_wh", "gpu");
    claim(a, b, "co2_emissions_g", "", "sum", "gCO2e",
          "estimate: energy x the intensity of the country's grid", "");
    if (out > 0 && wh > 0) {
        jm_build_energy_claim(b, "gpu_energy_wh / total_completion_tokens", "j_per.output_token", "",
                              wh * 3600 / out, "J/token", "from two columns of the row", "gpu");
        if (in >= 0)
            jm_build_energy_claim(b, "gpu_energy_wh / all tokens", "j_per.total_token", "",
                                  wh * 3600 / (in + out), "J/token", "from columns of the row", "gpu");
    }
    if (per > 0 && wh > 0 && out > 0 && in > 0 && fabs(per * wh * 3600 / (in + out) - 1) < 0.02)
        jm_table_note(&a->denominator,
                      "%.60s: %.4g tokens/J of prompt and output tokens; of output tokens %.4g", model, per,
                      out / (wh * 3600));
    if (wh < 0)
        jm_table_note(&a->negative, "%.80s: %.6g Wh", model, wh);
    if (wh == 0 && ok > 0)
        jm_table_note(&a->zero, "%.60s: 0 Wh for %.0f prompts", model, ok);
    else if (wh > 0 && wh < 0.01)
        jm_table_note(&a->rounded, "%.60s: %.4f Wh, of which the last digit is %.2g %%", model, wh,
                      100 * 0.0001 / wh);
    if (bad > 0)
        jm_table_note(&a->unsuccessful, "%.60s: %.0f of %.0f", model, bad, bad + ok);
}

/* A leaderboard: model and energy a thousand queries. */
static void standing(struct aes *a, struct jm_build *b, int n)
{
    static const char *const energies[] = {"total_gpu_energy", "gpu_energy_numeric", "gpu_energy",
                                           "GPU Energy (Wh)"};
    char model[96], name[120];
    double v = NAN;
    bool wh = false;
    for (size_t i = 0; i < 4 && isnan(v); i++) {
        v = get(a, energies[i]);
        wh = i == 1 || i == 3;
    }
    jm_table_text(&a->t, jm_table_col(&a->t, "model"), model, sizeof model);
    snprintf(name, sizeof name, "%d: %.90s", n, model);
    jm_build_window_after(b, 0, name, b->f->mtime_ns, 0);
    a->windows++;
    if (isfinite(v))
        jm_build_energy_claim(b, "GPU energy of 1000 queries", "j_per.request_ok", "mean", v,
                              wh ? "Wh/1000 requests" : "kWh/1000 requests",
                              wh ? "as the column says"
                                 : "the column has no unit; the leaderboard multiplies it by 1000 for Wh",
                              "gpu");
    claim(a, b, "energy_score", "", "", "stars",
          "fifths of the range of the models of one task and class, anew with each update", "");
    if (v <= 0)
        jm_table_note(v < 0 ? &a->negative : &a->zero, "%.60s: %.6g", model, v);
}

static void facts(struct aes *a, struct jm_build *b)
{
    jm_table_told(b, "import.requests.left_out", &a->failed, "runs that failed are no window");
    jm_table_told(b, "import.rounded", &a->rounded, "rows");
    jm_table_told(b, "import.zero", &a->zero, "rows");
    jm_table_told(b, "import.negative", &a->negative, "rows");
    jm_table_told(b, "import.denominator", &a->denominator, "rows");
    jm_build_env(b, "import.without.host",
                 "AI Energy Score counts GPUs only; by its own page CPU and memory add about 30 %%");
    jm_build_env(b, "import.clock", "wall");
    jm_build_missing(b, "requests",
                     "the file holds totals; the energy of all prompts lies in it, failed ones too");
    jm_build_missing(b, "readings", "the file holds totals");
}

static int import_csv(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_build b;
    struct aes *a = calloc(1, sizeof *a);
    int n = 0, more = 0,
        rc = a ? jm_ifile_open(path, &f, err) : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc) {
        free(a);
        return rc;
    }
    jm_build_begin(&b, "ai-energy-score", &f, o, out, f.mtime_ns, err);
    if (!b.rc)
        b.rc = jm_table_open(&a->t, &f, b.err);
    bool results = jm_table_col(&a->t, "gpu_energy_wh") >= 0;
    while (!b.rc && (more = jm_table_row(&a->t, &f, b.err)) > 0) {
        n++;
        if (o->select && o->select != n)
            continue;
        if (results)
            result(a, &b, n);
        else
            standing(a, &b, n);
    }
    if (more < 0 && !b.rc)
        b.rc = more;
    if (!b.rc && !a->windows)
        jm_build_fail(&b, "%s holds no result%s%s", path, a->failed.n ? ": " : "",
                      a->failed.n ? a->failed.first : "");
    if (results)
        jm_build_times(&b, "a row's time is its end, local time without a zone, taken as UTC");
    facts(a, &b);
    rc = jm_build_end(&b);
    free(a);
    jm_ifile_close(&f);
    return rc;
}

static void summary(struct jm_build *b, const struct jm_jtoken *doc, int n)
{
    static const char *const phases[] = {"preprocess_wh", "prefill_wh", "decode_wh"};
    struct jm_jtoken v;
    double total = NAN, part, sum = 0;
    int k = 0;
    char units[16] = "";
    if (jm_jmember(b->f, doc, "units", &v))
        jm_jtext(&v, units, sizeof units);
    if (jm_jmember(b->f, doc, "total", &v))
        jm_jnum(&v, &total);
    bool known = strcmp(units, "Wh") == 0 || strcmp(units, "kWh") == 0 || strcmp(units, "J") == 0;
    jm_build_window_after(b, jm_build_repeat(b, ""), "AI Energy Score", b->f->mtime_ns, 0);
    (void)n;
    if (isfinite(total))
        jm_build_energy_claim(b, "total", known ? "energy" : "", "sum", total, units,
                              "CodeCarbon's GPU counters, all queries", "gpu");
    for (size_t i = 0; i < 3; i++)
        if (jm_jmember(b->f, doc, phases[i], &v) && jm_jnum(&v, &part)) {
            jm_build_energy_claim(b, phases[i], "", "sum", part, "Wh",
                                  i == 2 ? "generation less prefill, or all of it" : "", "gpu");
            sum += part;
            k++;
            if (part < 0)
                jm_build_env(b, "import.negative",
                             "%s: %.6g Wh; decode is generation less a prefill measured apart", phases[i],
                             part);
        }
    if (!known)
        jm_build_env(b, "import.energy.unit", "\"%s\"", units);
    if (k && isfinite(total) && fabs(sum - total) > 0.02 + 0.001 * fabs(total))
        jm_build_env(b, "import.parts", "total %.6g Wh, its phases together %.6g Wh", total, sum);
    if (total == 0)
        jm_build_env(b, "import.zero", "0 %s: the aggregator writes 0 where it failed", units);
    jm_build_env(b, "import.without.host",
                 "AI Energy Score counts GPUs only; by its own page CPU and memory add about 30 %%");
    jm_build_missing(b, "requests",
                     "the summary does not say how many queries it is of (1000 by the method)");
    jm_build_missing(b, "duration", "the summary does not say how long it took");
}

/* GPU_ENERGY_WH.txt: one number, two digits behind its point. */
static bool lone_number(struct jm_span text, double *wh)
{
    text = jm_span_trim(text);
    return text.n && text.n < 40 && jm_num_double(text, wh) == 0;
}

static int import_number(const char *path, const char *out, const struct jm_import_opts *o,
                         struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_build b;
    double wh = NAN;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    lone_number(f.text, &wh);
    jm_build_begin(&b, "ai-energy-score", &f, o, out, f.mtime_ns, err);
    jm_build_env(&b, "import.date_from", "modification time of the file");
    jm_build_window(&b, 0, "AI Energy Score", f.mtime_ns, 0);
    jm_build_energy_claim(&b, "GPU_ENERGY_WH", "energy", "sum", wh, "Wh",
                          "CodeCarbon's GPU counters, all queries, two digits behind the point", "gpu");
    if (wh == 0)
        jm_build_env(&b, "import.zero", "0 Wh: the summary writes 0 where it failed");
    else if (fabs(wh) < 1)
        jm_build_env(&b, "import.rounded", "%.2f Wh, of which the last digit is %.2g %%", wh, 1 / fabs(wh));
    jm_build_env(&b, "import.without.host",
                 "AI Energy Score counts GPUs only; by its own page CPU and memory add about 30 %%");
    jm_build_missing(&b, "requests",
                     "a number alone: of how many queries it is (1000 by the method) is not said");
    jm_build_missing(&b, "duration", "a number alone: how long it took is not said");
    rc = jm_build_end(&b);
    jm_ifile_close(&f);
    return rc;
}

static int sniff(const struct jm_probe *p)
{
    double wh;
    static const char *const results[] = {"model_name", "gpu_energy_wh", NULL},
                             *const stars[] = {"model", "energy_score", NULL},
                             *const total[] = {"model", "total_gpu_energy", NULL};
    if (p->json)
        return jm_probe_is(p, "units", "Wh") && jm_probe_key(p, "total") && !p->list ? 75
               : jm_probe_key(p, "decode_wh") && jm_probe_key(p, "total")            ? 75
                                                                                     : 0;
    if (p->f && jm_span_ends(jm_span_of(p->path), JM_SPAN("GPU_ENERGY_WH.txt")) &&
        lone_number(p->f->text, &wh))
        return 90; /* a number alone is known by its name */
    return jm_table_looks(p, results) ? 90 : jm_table_looks(p, stars) || jm_table_looks(p, total) ? 85 : 0;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    struct jm_span head = jm_span_trim(jm_span_sub(f.text, 0, 64));
    double wh;
    bool json = head.n && head.p[0] == '{', number = lone_number(f.text, &wh);
    jm_ifile_close(&f);
    return number ? import_number(path, out, o, err)
           : json ? jm_build_documents("ai-energy-score", path, out, o, NULL, summary, err)
                  : import_csv(path, out, o, err);
}

const struct jm_importer jm_import_ai_energy_score = {
    .name = "ai-energy-score",
    .summary =
        "AI Energy Score: master_results.csv, leaderboard CSV, GPU_ENERGY_SUMMARY.json, GPU_ENERGY_WH.txt",
    .reads = "A window a row with its energy, queries, tokens and times as claims; energy per output token "
             "and per token from its "
             "own columns.",
    .lacks = "Requests, readings, how many queries a summary is of; CPU, memory.",
    .sniff = sniff,
    .import = import,
};
