/* SPDX-License-Identifier: Apache-2.0 */
/* The table of checks of other tools' files, and what they share. */
#include "audit/foreign.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

const struct jm_check jm_foreign_check_table[] = {
    {"tokens.chunks", "a chunk is a token",
     "gaps between chunks that hold several tokens are k times the gap between tokens (vllm issue 27485, "
     "inference-perf issue 364)",
     jm_foreign_chunks},
    {"tokens.requested", "produced tokens were counted",
     "SGLang's bench_serving begins with the requested length and keeps it where the server sends no usage "
     "(sglang "
     "issues 10746, 24254)",
     jm_foreign_requested},
    {"tokens.client", "the server's tokens and the client's agree",
     "text tokenised again gives another number of tokens (AIPerf: 1.00 +- 0.02 is healthy, 1.15 to 2 "
     "speculative "
     "decoding or retries)",
     jm_foreign_counted},
    {"tokens.over", "no answer is longer than was asked for",
     "a count above max_tokens is no count of these tokens", jm_foreign_lengths},
    {"cache.hits", "prompt tokens were computed",
     "prompt tokens that come from the cache cost almost nothing, and a prompt's price shrinks with their "
     "share",
     jm_foreign_cache},
    {"ttft.role", "the first token is a token",
     "a chunk with a role and no text is sent before the first token (vllm issue 3759; 1 ms against 183 s in "
     "api7/aisix PR 869)",
     jm_foreign_first},
    {"tpot.prefill", "time per output token is that of decoding",
     "guidellm divides the whole request, prefill included, by all tokens; the others leave the first token "
     "out",
     jm_foreign_tpot},
    {"itl.zeros", "each token has its own time",
     "inference-perf and fmperf give all tokens of a chunk one time, so the gaps inside are 0",
     jm_foreign_zeros},
    {"energy.window", "energy and tokens are of one window",
     "joules of a longer window over the tokens of a shorter one are no J/token", jm_foreign_energy_window},
    {"energy.lifetime", "the energy is the run's",
     "GenAI-Perf prints the mean of a counter that runs since the driver was loaded", jm_foreign_lifetime},
    {"energy.gpu_mean", "the energy is that of all GPUs",
     "a mean over GPUs is smaller than their sum by their number", jm_foreign_gpu_mean},
    {"energy.blank", "no blank value passes for a number",
     "DCGM answers a field that it cannot read with 2147483632 and up, 9223372036854775792 and up or "
     "140737488355328 "
     "and up (dcgm_fields: DCGM_INT32_BLANK, DCGM_INT64_BLANK, DCGM_FP64_BLANK)",
     jm_foreign_blank},
    {"energy.clamped", "the energy is not 0",
     "AIPerf makes a negative difference of a counter that was reset 0 J: infinitely many tokens a joule",
     jm_foreign_clamped},
    {"energy.per_success", "failures keep their joules",
     "energy of all requests over the successful ones looks like the energy of one request, and is not",
     jm_foreign_per_success},
    {"energy.grace", "the energy ends with the load",
     "AIPerf reads the counters until 666 ms after the last answer", jm_foreign_grace},
    {"boundary.unsaid", "an energy has a boundary",
     "board, node and wall differ by half (aitra-meter issue 82: GPU-only J/token)", jm_foreign_boundary},
    {"sums", "the numbers of the file add up", "rate x time is a total; parts make a whole",
     jm_foreign_totals},
    {"stat.range", "mean and quantiles lie between minimum and maximum, in their order",
     "statistics of one sample have an order", jm_foreign_range},
    {"stat.percentile", "there are enough requests for the quantile",
     "the p99 of fewer than 100 requests is their maximum, by whatever interpolation", jm_foreign_percentile},
    {"claim.differs", "what the file says follows from its own requests",
     "a number that cannot be had from the data beside it is about something else", jm_foreign_differs},
    {"requests.left_out", "failures are counted",
     "a rate over the successful ones alone does not show what did not succeed (vllm issue 24005, guidellm "
     "issue 444, "
     "TensorRT-LLM PR 17427)",
     jm_foreign_left_out},
    {"rate.mean_of_rates", "a rate is a total over a time",
     "llama-bench prints the mean of its repetitions' rates: 49.3 tokens/s where 96 tokens took 10.7 s (9.0)",
     jm_foreign_rates},
    {"requests.none", "the file holds its requests", "means and percentiles alone cannot be checked",
     jm_foreign_nothing},
    {"clock.wall", "latencies come from a clock that does not step",
     "guidellm and fmperf take time.time() (sglang issue 6177, openvino model_server PR 1260): a step of NTP "
     "is a "
     "latency",
     jm_foreign_wall_clock},
    {"time.span", "the requests fit into the duration", "a rate over a time that is too short is too high",
     jm_foreign_span},
    {"time.ramp", "the rate is that of the steady part",
     "vLLM, SGLang and llmperf divide by the whole time, ramp and drain included (vllm-bench: steady_state)",
     jm_foreign_ramp},
    {"queue.client", "waiting in the client counts",
     "latencies from the moment of sending leave out what waited for a free slot: 506 ms instead of 1932 "
     "(vllm issue "
     "54101, guidellm issue 1048)",
     jm_foreign_queue},
    {"requests.duplicate", "each request is there once", "records written twice count twice",
     jm_foreign_duplicates},
    {"log.idle", "the window of a device log is the load",
     "a log that begins before the load and ends after it has the idle power in its mean",
     jm_foreign_log_idle},
    {"log.sampling", "a device log was read as fast as the device refreshes",
     "nvidia-smi shows a mean over 25 ms of each 100 ms on A100 and H100, over 1 s elsewhere (arXiv "
     "2312.02741): faster "
     "reading repeats values, slower reading sees a part of the time",
     jm_foreign_log_sampling},
    {"log.units", "counter and power of a device log agree in their unit",
     "DCGM counts mJ and shows W, RAPL uJ, a PDU 0.1 kWh and 10 W; a slip is a power of ten",
     jm_foreign_log_units},
    {"log.repeated", "each device is counted once",
     "exporters repeat the power of a GPU for each MIG instance, of a socket for each core "
     "(NVIDIA/dcgm-exporter issues "
     "257, 353, 243)",
     jm_foreign_log_repeated},
    {"log.stamps", "readings have times of their own",
     "energy is power over time: a wrong time is a wrong energy", jm_foreign_log_stamps},
    {"log.silent", "every device that is named has a power",
     "a total without the devices that did not answer is smaller, and looks better", jm_foreign_log_silent},
    {"dcgm.cache", "DCGM's job statistics are of the whole job",
     "DCGM subtracts cached samples, and keeps them for 3600 s (dcgmi's default; DcgmCacheManager.cpp)",
     jm_foreign_dcgm},
    {"energy.modelled", "the energy was measured",
     "TDP tables, watts a DIMM and predictions are models (CodeCarbon, CarbonTracker, eco2AI, EcoLogits)",
     jm_foreign_modelled},
    {"energy.pue", "the PUE is in the energy once, or not at all",
     "CodeCarbon and CarbonTracker multiply by it; doing so again counts the cooling twice (mlco2/ecologits "
     "issue 230)",
     jm_foreign_pue},
    {"energy.rows", "each row is a run of its own",
     "rows of a second stop() or of flush() (mlco2/codecarbon issue 1307), windows that overlap, lines that "
     "are cut or run "
     "together (SemiAnalysisAI/InferenceX PR 2322): each makes a sum wrong",
     jm_foreign_rows},
    {"energy.scope", "the energy is that of what served, all of it and nothing else",
     "eight GPUs counted for a job on one (mlco2/codecarbon issues 567, 689), or GPUs without their host "
     "(aitra-meter issue 82)",
     jm_foreign_scope},
    {"energy.method", "the tool's way to the energy loses nothing",
     "samples left out and joined by straight lines (ml-energy/zeus issue 181: 187 J by counter, 327 J by "
     "samples), windows "
     "shorter than a counter's refresh, the last power for the mean (mlco2/codecarbon issue 985)",
     jm_foreign_method},
    {"energy.value", "no energy is negative, 0 or without a unit",
     "counters that were reset or wrapped (mlco2/codecarbon issue 1309), devices that could not be read "
     "(saintslab/carbontracker issue 33)",
     jm_foreign_value},
    {"energy.denominator", "energy per token says which tokens",
     "at 8k in and 1k out energy per output token is nine times that per token (InferenceX-app PR 393)",
     jm_foreign_denominator},
    {"carbon.mix", "the carbon intensity is one of electricity",
     "mixes of primary energy: 424.6 instead of about 34 g/kWh for France (mlco2/codecarbon issue 211)",
     jm_foreign_carbon},
    {NULL, NULL, NULL, NULL},
};

const struct jm_finding_kind jm_foreign_finding_table[] = {
    {"tokens.chunks", "tokens.chunks", JM_CONCERNS_LOAD, "warning", "chunks hold more than one token"},
    {"tokens.no_token", "tokens.chunks", JM_CONCERNS_LOAD, "warning",
     "chunks without a token are in the gaps"},
    {"tokens.requested", "tokens.requested", JM_CONCERNS_TOKENS, "error, warning",
     "output lengths are those asked for, not those produced"},
    {"tokens.client", "tokens.client", JM_CONCERNS_TOKENS, "warning", "server and client count other tokens"},
    {"tokens.from_chunks", "tokens.client", JM_CONCERNS_TOKENS, "error", "chunks were counted as tokens"},
    {"tokens.over", "tokens.over", JM_CONCERNS_TOKENS, "warning", "more tokens than were asked for"},
    {"cache.hits", "cache.hits", JM_CONCERNS_TOKENS, "warning, info", "prompt tokens came from the cache"},
    {"ttft.role", "ttft.role", JM_CONCERNS_LOAD, "warning, info", "TTFT is that of a chunk without a token"},
    {"tpot.prefill", "tpot.prefill", JM_CONCERNS_LOAD, "warning",
     "the time per output token holds the prefill"},
    {"itl.zeros", "itl.zeros", JM_CONCERNS_LOAD, "warning", "gaps of 0 inside a chunk"},
    {"energy.window", "energy.window", JM_CONCERNS_RATIO, "error, warning",
     "energy and tokens are of windows of other lengths"},
    {"energy.lifetime", "energy.lifetime", JM_CONCERNS_ENERGY, "error",
     "a lifetime counter is taken for an energy"},
    {"energy.power", "energy.lifetime", JM_CONCERNS_ENERGY, "error", "more power than GPUs can draw"},
    {"energy.gpu_mean", "energy.gpu_mean", JM_CONCERNS_ENERGY, "error",
     "a mean over GPUs is taken for their sum"},
    {"energy.blank", "energy.blank", JM_CONCERNS_ENERGY, "error",
     "a blank value of DCGM is taken for a number"},
    {"energy.clamped", "energy.clamped", JM_CONCERNS_ENERGY, "error", "an energy of 0 J"},
    {"energy.per_success", "energy.per_success", JM_CONCERNS_RATIO, "warning",
     "the failures' energy is divided among the successes"},
    {"energy.grace", "energy.grace", JM_CONCERNS_ENERGY, "warning, info",
     "the energy goes on after the load"},
    {"boundary.unsaid", "boundary.unsaid", JM_CONCERNS_ENERGY, "error", "an energy without a boundary"},
    {"sums", "sums", JM_CONCERNS_ALL, "error", "numbers of the file contradict each other"},
    {"stat.range", "stat.range", JM_CONCERNS_LOAD, "error", "statistics out of their order"},
    {"stat.percentile", "stat.percentile", JM_CONCERNS_LOAD, "warning", "a quantile of too few requests"},
    {"claim.differs", "claim.differs", JM_CONCERNS_LOAD, "warning, info",
     "a number does not follow from the file's requests"},
    {"requests.left_out", "requests.left_out", JM_CONCERNS_LOAD, "error, warning",
     "requests that did not succeed are in no number"},
    {"requests.in_rate", "requests.left_out", JM_CONCERNS_LOAD, "error", "failed requests are in the rate"},
    {"requests.no_field", "requests.left_out", JM_CONCERNS_LOAD, "info",
     "the file has no place for failures"},
    {"requests.cut_ok", "requests.left_out", JM_CONCERNS_LOAD, "warning",
     "answers that were cut off count as successes"},
    {"rate.mean_of_rates", "rate.mean_of_rates", JM_CONCERNS_TOKENS, "error", "a mean of rates"},
    {"requests.none", "requests.none", JM_CONCERNS_ALL, "info", "the file has totals only"},
    {"clock.wall", "clock.wall", JM_CONCERNS_LOAD, "info", "latencies from a clock that can step"},
    {"clock.backwards", "clock.wall", JM_CONCERNS_LOAD, "error", "times that go backwards"},
    {"time.span", "time.span", JM_CONCERNS_LOAD, "error", "the requests took longer than the duration"},
    {"time.ramp", "time.ramp", JM_CONCERNS_LOAD, "warning", "ramp and drain are a large part of the time"},
    {"queue.client", "queue.client", JM_CONCERNS_LOAD, "warning", "waiting for a slot is in no latency"},
    {"requests.duplicate", "requests.duplicate", JM_CONCERNS_ALL, "error", "requests that are there twice"},
    {"log.idle", "log.idle", JM_CONCERNS_ENERGY, "warning", "a good part of the log is near idle"},
    {"log.repeats", "log.sampling", JM_CONCERNS_ENERGY, "info", "read faster than the device refreshes"},
    {"log.aliasing", "log.sampling", JM_CONCERNS_ENERGY, "warning, info",
     "the readings show a small part of the time"},
    {"log.units", "log.units", JM_CONCERNS_ENERGY, "error", "counter and power are in other units"},
    {"log.mig", "log.repeated", JM_CONCERNS_ENERGY, "info", "a GPU stands there once for each MIG instance"},
    {"log.cores", "log.repeated", JM_CONCERNS_ENERGY, "info", "a socket stands there once for each core"},
    {"log.relabelled", "log.repeated", JM_CONCERNS_ENERGY, "info", "a device has several series"},
    {"log.back", "log.stamps", JM_CONCERNS_ENERGY, "warning", "times go backwards"},
    {"log.same_stamp", "log.stamps", JM_CONCERNS_ENERGY, "info", "several readings have one time"},
    {"log.no_stamps", "log.stamps", JM_CONCERNS_ENERGY, "warning", "the log has no times"},
    {"log.silent", "log.silent", JM_CONCERNS_ENERGY, "warning", "devices without a power"},
    {"dcgm.cache", "dcgm.cache", JM_CONCERNS_ENERGY, "error", "the energy is of the end of the job only"},
    {"dcgm.running", "dcgm.cache", JM_CONCERNS_ENERGY, "warning", "the job was still running"},
    {"energy.modelled", "energy.modelled", JM_CONCERNS_ENERGY, "warning", "a part of the energy is a model"},
    {"energy.predicted", "energy.modelled", JM_CONCERNS_ENERGY, "warning", "a prediction stands in the file"},
    {"energy.pue", "energy.pue", JM_CONCERNS_ENERGY, "warning", "the energy holds a PUE"},
    {"energy.pue_twice", "energy.pue", JM_CONCERNS_ENERGY, "error", "the energy holds a PUE twice"},
    {"energy.rows_twice", "energy.rows", JM_CONCERNS_ALL, "warning", "a run is in the file twice"},
    {"energy.cumulative", "energy.rows", JM_CONCERNS_ALL, "info", "rows of a run are totals so far"},
    {"energy.overlap", "energy.rows", JM_CONCERNS_ENERGY, "warning", "windows share their time"},
    {"rows.cut", "energy.rows", JM_CONCERNS_ALL, "warning", "rows that are cut, joined or without a time"},
    {"energy.device_changed", "energy.rows", JM_CONCERNS_ENERGY, "error",
     "a device was exchanged inside the log"},
    {"energy.said_invalid", "energy.method", JM_CONCERNS_ENERGY, "error",
     "the tool itself calls its power invalid"},
    {"energy.sample_mean", "energy.method", JM_CONCERNS_ENERGY, "warning",
     "a mean over samples in the place of an integral"},
    {"energy.roles", "energy.method", JM_CONCERNS_RATIO, "info", "energies of roles are no phases"},
    {"energy.spike", "energy.method", JM_CONCERNS_ENERGY, "error", "powers that nothing draws"},
    {"energy.host_more", "energy.method", JM_CONCERNS_ENERGY, "info",
     "a host with more power than its parts"},
    {"energy.machine", "energy.scope", JM_CONCERNS_ENERGY, "warning",
     "the energy is that of the whole machine"},
    {"energy.without_host", "energy.scope", JM_CONCERNS_ENERGY, "info",
     "the energy is that of the GPUs only"},
    {"energy.without_gpu", "energy.scope", JM_CONCERNS_ENERGY, "warning", "the energy is without GPUs"},
    {"energy.unused", "energy.scope", JM_CONCERNS_ENERGY, "info",
     "energies that are in no figure of the file"},
    {"energy.dedup", "energy.method", JM_CONCERNS_ENERGY, "warning",
     "straight lines between samples that were left out"},
    {"energy.short", "energy.method", JM_CONCERNS_ENERGY, "warning",
     "windows shorter than the refresh of the counter"},
    {"energy.rounded", "energy.method", JM_CONCERNS_ENERGY, "warning", "energies rounded to few digits"},
    {"energy.last_power", "energy.method", JM_CONCERNS_ENERGY, "info", "a power that is not the mean"},
    {"energy.mean_of_means", "energy.method", JM_CONCERNS_RATIO, "warning", "a mean of rates or ratios"},
    {"energy.steady_short", "energy.method", JM_CONCERNS_ENERGY, "warning",
     "a steady state that is too short"},
    {"energy.latency_window", "energy.method", JM_CONCERNS_RATIO, "info",
     "energy and latencies are of other times"},
    {"energy.allocated", "energy.method", JM_CONCERNS_RATIO, "info",
     "the energy of a request is a share by rule"},
    {"energy.negative", "energy.value", JM_CONCERNS_ENERGY, "error", "an energy below 0"},
    {"energy.zero", "energy.value", JM_CONCERNS_ENERGY, "error", "an energy of 0"},
    {"energy.missing", "energy.value", JM_CONCERNS_ENERGY, "error", "devices without an energy"},
    {"energy.unit", "energy.value", JM_CONCERNS_ENERGY, "error", "an energy without a unit that is known"},
    {"energy.parts", "energy.value", JM_CONCERNS_ENERGY, "error", "total and parts contradict each other"},
    {"energy.denominator", "energy.denominator", JM_CONCERNS_RATIO, "warning, info",
     "other tokens than the name of the figure says"},
    {"energy.tokens_floor", "energy.denominator", JM_CONCERNS_RATIO, "error", "the tokens are a floor of 1"},
    {"carbon.mix", "carbon.mix", JM_CONCERNS_ALL, "warning",
     "a carbon intensity that no electricity of the country has"},
    {NULL, NULL, JM_CONCERNS_ALL, NULL, NULL},
};

const struct jm_claim *jm_foreign_find(const struct jm_report *r, int window, const char *metric,
                                       const char *stat)
{
    size_t first = 0, n = window == -2 ? r->n_claims : jm_report_claims(r, window, &first);
    for (size_t i = 0; i < n; i++) {
        const struct jm_claim *k = &r->claims[window == -2 ? i : r->claim_order[first + i]];
        bool any = !stat && (!k->stat[0] || strcmp(k->stat, "mean") == 0 || strcmp(k->stat, "sum") == 0);
        if (strcmp(k->metric, metric) == 0 && isfinite(k->claimed) &&
            (any || (stat && strcmp(k->stat, stat) == 0)) && !strstr(k->key, ".gpus."))
            return k;
    }
    return NULL;
}

double jm_foreign_claim(const struct jm_report *r, int window, const char *metric, const char *stat)
{
    const struct jm_claim *k = jm_foreign_find(r, window, metric, stat);
    return k ? k->claimed : NAN;
}

int jm_foreign_windows(const struct jm_report *r)
{
    return r->n_windows < 200 ? (int)r->n_windows : 200;
}

bool jm_foreign_is(const struct jm_run *run, const char *kind)
{
    const char *is = jm_run_env(run, "import.kind");
    return is && strncmp(is, kind, strlen(kind)) == 0;
}

bool jm_foreign_placed(const struct jm_run *run)
{
    return jm_run_env(run, "import.placed") != NULL;
}

int jm_foreign_say(struct jm_report *r, struct jm_err *err, const char *id, enum jm_severity sev, int window,
                   const char *evidence, const char *fmt, ...)
{
    char text[900];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return jm_finding_at(r, jm_report_finding(r, id, sev, "%s", text), window, err, evidence ? "%s" : NULL,
                         evidence);
}

static void one(const struct jm_request *q, struct jm_foreign_sum *s)
{
    static const enum jm_stamp order[] = {JM_T_SCHEDULED, JM_T_SENT, JM_T_FIRST_TOKEN, JM_T_LAST_TOKEN,
                                          JM_T_CLOSED};
    int64_t before = -1, begin = -1, end = -1;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        int64_t t = q->t[order[i]];
        if (t < 0)
            continue;
        s->backwards += t < before;
        before = t;
        begin = begin < 0 ? t : begin;
        end = t;
    }
    if (begin >= 0) {
        s->first = s->first < 0 || begin < s->first ? begin : s->first;
        s->last = end > s->last ? end : s->last;
        s->longest_s = fmax(s->longest_s, jm_seconds_apart(end, begin));
    }
    if (q->end != JM_END_OK) {
        s->bad++;
        return;
    }
    s->ok++;
    if (q->prompt_tokens >= 0)
        s->prompt += q->prompt_tokens;
    if (q->cached_tokens >= 0) {
        s->cached_known++;
        s->cached += q->cached_tokens;
    }
    if (q->output_tokens < 0)
        return;
    s->same_length = !s->counted || s->same_length == q->output_tokens ? q->output_tokens : -1;
    s->counted++;
    s->tokens += q->output_tokens;
    if (q->asked_osl >= 0) {
        s->asked++;
        s->over += q->output_tokens > q->asked_osl;
        s->exact += q->output_tokens == q->asked_osl;
    }
    if (q->events < 1)
        return;
    s->chunked++;
    s->chunks += q->events;
    s->chunk_tokens += q->output_tokens;
    s->shared += q->shared_stamp > 0 ? q->shared_stamp : 0;
    s->fewer += q->events < q->output_tokens;
    s->more += q->events > q->output_tokens;
}

void jm_foreign_sum(const struct jm_run *run, const struct jm_report *r, int window, struct jm_foreign_sum *s)
{
    size_t n;
    const struct jm_request *q = jm_run_requests(run, &n);
    *s = (struct jm_foreign_sum){.first = -1, .last = -1, .same_length = -1};
    for (size_t i = 0; i < n; i++) {
        int64_t t = q[i].t[JM_T_SCHEDULED] >= 0 ? q[i].t[JM_T_SCHEDULED] : q[i].t[JM_T_SENT];
        if (window < 0 || (t >= r->windows[window].t0 && t < r->windows[window].t1))
            one(&q[i], s);
    }
}
