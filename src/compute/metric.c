/* SPDX-License-Identifier: Apache-2.0 */
/* The metric catalogue. One row a metric: docs/metrics.md and the help texts are made from it. */
#include <string.h>

#include "compute/compute.h"

#include "base/banned.h"

#define ENERGY      true, true
#define BETTER_HIGH false, true
#define PLAIN_LOW   true, false
#define PLAIN_HIGH  false, false

static const char guide[] = "energy per token: energy of a window over the tokens of the same window";
static const char mlperf[] = "MLCommons inference, submission checker (power_check)";
static const char loadgen[] = "MLPerf LoadGen";

const struct jm_metric jm_metric_table[] = {
    {"energy", "J", "energy of the window at the boundary",
     "Energy that passed the boundary during the window.", "", ENERGY},
    {"energy.by_gauge", "J", "integral of the power gauges over the window",
     "The same energy by the other instrument of the same devices, as a cross-check.", "", ENERGY},
    {"energy.unexplained", "J", "E_wall - E_device",
     "What the wall saw and no device owns: host, fans, conversion losses. Negative: an instrument errs.", "",
     ENERGY},
    {"energy.other_gpus", "J", "energy of the window of the GPUs that do not serve the endpoint",
     "GPUs of the host that are not the endpoint's: a line of their own, no part of its energy.", "", ENERGY},
    {"power.mean", "W", "energy / seconds", "Time-weighted mean power of the window.", "", ENERGY},
    {"power.mean.mlperf", "W", "arithmetic mean of the samples strictly inside the window",
     "Mean power as MLPerf publishes it: no weighting by time.", mlperf, ENERGY},
    {"power.max", "W", "largest reading of a power gauge inside the window",
     "Highest power seen by the gauges; short peaks between their refreshes are not seen.", "", ENERGY},
    {"j_per.output_token", "J/token", "E / output tokens in the same window",
     "Energy per output token of successful requests; the energy of all others is included.", guide, ENERGY},
    {"j_per.input_token", "J/token", "E / input tokens prefilled in the same window",
     "Energy per input token.", guide, ENERGY},
    {"j_per.input_token_uncached", "J/token", "E / (input - cached) tokens prefilled in the same window",
     "Energy per input token that was really computed.", guide, ENERGY},
    {"j_per.total_token", "J/token", "E / (input + output) tokens in the same window",
     "Energy per token, input and output together; looks better than per output token and describes the same "
     "run.",
     guide, ENERGY},
    {"j_per.visible_token", "J/token", "E / (output - reasoning) tokens",
     "Energy per output token that a user sees.", guide, ENERGY},
    {"j_per.reasoning_token", "J/token", "E / reasoning tokens", "Energy per reasoning token.", guide,
     ENERGY},
    {"j_per.request_ok", "J/request", "E of all requests / successful requests ended in the window",
     "Energy per successful request; failures keep their joules.", guide, ENERGY},
    {"j_per.request_any", "J/request", "E / all requests ended in the window",
     "Energy per request, whatever its end.", guide, ENERGY},
    {"requests_per_kwh", "requests/kWh", "3.6e6 / j_per.request_ok", "Successful requests per kilowatt-hour.",
     "", BETTER_HIGH},
    {"j_per.qualified_token", "J/token", "E / output tokens of requests that met the contract",
     "Energy per output token that was delivered inside the SLO.", guide, ENERGY},
    {"goodput.tokens_per_j", "tokens/J", "output tokens of requests that met the contract / E",
     "Tokens inside the SLO per joule.", guide, BETTER_HIGH},
    {"tokens_per_j", "tokens/J", "output tokens / E", "Output tokens per joule.", "", BETTER_HIGH},
    {"kwh_per_mtok", "kWh/Mtok", "j_per.output_token / 3.6", "Kilowatt-hours per million output tokens.", "",
     ENERGY},
    {"j_per.sample", "J/sample", "power.mean.mlperf / samples per second", "Energy per MLPerf sample.",
     mlperf, ENERGY},
    {"samples_per_j", "samples/J",
     "samples per second / power.mean.mlperf; of streams: samples / (power.mean.mlperf x seconds)",
     "MLPerf's efficiency.", mlperf, BETTER_HIGH},
    {"mj_per_stream", "mJ/stream", "1000 x power.mean.mlperf x seconds / queries",
     "Energy per query of SingleStream and MultiStream.", mlperf, ENERGY},
    {"wall_to_gpu", "ratio", "E_wall / E_gpu at this load",
     "How much the wall draws for each joule of the GPU boards.", "", ENERGY},
    {"net.loaded_idle.j_per.output_token", "J/token", "(E - P_loaded_idle x seconds) / output tokens",
     "A second figure beside the gross one: idle energy is paid for all the same.", guide, ENERGY},
    {"net.deep_idle.j_per.output_token", "J/token", "(E - P_deep_idle x seconds) / output tokens",
     "A second figure beside the gross one, against the idle without the model loaded.", guide, ENERGY},
    {"ttft", "s", "first token - scheduled",
     "Time to the first token of any kind, from the time the plan wanted the request sent.", loadgen,
     PLAIN_LOW},
    {"ttfo", "s", "first visible token - scheduled", "Time to the first token that is not reasoning.",
     "AIPerf", PLAIN_LOW},
    {"tpot.excl_first", "s", "(last token - first token) / (output tokens - 1)",
     "Time per output token after the first.", loadgen, PLAIN_LOW},
    {"tpot.incl_prefill", "s", "(last token - sent) / output tokens",
     "Time per output token with prefill and first token in it.", "guidellm", PLAIN_LOW},
    {"itl.chunk", "s", "gap between consecutive stream events that carry tokens",
     "Gap between chunks; a chunk may hold several tokens.", "vLLM bench serve", PLAIN_LOW},
    {"itl.token_mean", "s", "(last token - first token) / (output tokens - 1), a value a request",
     "Mean gap between tokens of a request.", "AIPerf", PLAIN_LOW},
    {"e2e", "s", "last token - scheduled",
     "Latency of the whole request, from the time the plan wanted it sent.", "", PLAIN_LOW},
    {"queue", "s", "sent - scheduled", "How long the client held a request back.", "", PLAIN_LOW},
    {"tokens_per_s", "tokens/s", "output tokens / seconds", "Output token throughput of the window.", "",
     PLAIN_HIGH},
    {"requests_per_s", "requests/s", "successful requests ended / seconds",
     "Request throughput of the window.", "", PLAIN_HIGH},
    {"samples_per_s", "samples/s", "as LoadGen reports it", "MLPerf's performance metric.", loadgen,
     PLAIN_HIGH},
    {"goodput", "requests/s", "requests inside the contract ended in the window / seconds",
     "Requests inside the SLO per second.", "vLLM, AIPerf", PLAIN_HIGH},
    {"attainment", "ratio", "requests inside the contract / requests scheduled in the window",
     "Share of requests that met the SLO, with a binomial interval (Wilson).", "", PLAIN_HIGH},
    {"bias.in_flight", "ratio", "requests in prefill at an edge / requests prefilled in the window",
     "Bound of the bias from requests that an edge cuts during prefill.", "", PLAIN_LOW},
    {NULL, NULL, NULL, NULL, NULL, false, false},
};

const struct jm_metric *jm_metric_find(const char *id)
{
    for (const struct jm_metric *m = jm_metric_table; m->id; m++)
        if (strcmp(m->id, id) == 0)
            return m;
    return NULL;
}
