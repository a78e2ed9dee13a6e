/* SPDX-License-Identifier: Apache-2.0 */
/* The table of checks, and the validity that follows from what they found. */
#include "audit/audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checks.h"

#include "base/banned.h"

const struct jm_check jm_check_table[] = {
    {"run.cut", "the recording ended properly", "a run that was cut lacks up to 10 s at its end",
     jm_check_run_cut},
    {"run.simulated", "real devices", "a simulation never passes for a measurement", jm_check_simulated},
    {"meters.none", "something could be read", "without a meter there is no energy", jm_check_meters},
    {"window.short", "the window is long enough for the profile",
     "a short window magnifies edges and is not steady; MLPerf Power asks for 60 s, its LLM scenarios for "
     "600 s",
     jm_check_window},
    {"window.tolerance", "the energy is within the tolerance asked for",
     "at the edges of a window it is not known when what an instrument shows was drawn; that time, times the "
     "swing of "
     "the power there, bounds the error (docs/uncertainty.md)",
     jm_check_tolerance},
    {"trials.few", "enough trials for the profile", "the scatter between runs is unknown with one trial",
     jm_check_trials},
    {"trials.drift", "trials repeat each other",
     "an interval over trials takes them for repetitions; warming up, and heat, make them a slope (Zeus "
     "measures "
     "in thermally stable windows with cool-downs)",
     jm_check_trials_drift},
    {"phases", "energy can be told by phase and request",
     "without a loaded idle baseline, or a load that varies, prefill and decode cannot be told apart, and a "
     "share by "
     "tokens alone moves tens of per cent to prompts (docs/phases.md)",
     jm_check_phases},
    {"warmup.short", "the machine had settled when a window of a steady load began",
     "power that still rises belongs to the warm-up, and a warmer chip leaks more", jm_check_warm},
    {"ladder.power", "levels of a load ladder were reached, and more load took more power",
     "a ladder says how energy follows the load; a level that something disturbed bends it", jm_check_ladder},
    {"clock.step", "no clock step or suspend inside a window",
     "wall-clock steps and suspends tear energy and tokens apart (sgl-project/sglang issue 6177)",
     jm_check_clock},
    {"record.changed", "driver, limits and devices stayed as they were",
     "a driver reload or another limit makes two runs of one", jm_check_changed},
    {"counter.status", "every instrument gave a value",
     "resets, wraps, frozen and lost devices make an energy wrong or partial; AIPerf clamps a negative delta "
     "to 0 J",
     jm_check_energy_status},
    {"boundary.partial", "a total holds every device that it should",
     "a total over the devices that happened to answer is smaller, and looks better", jm_check_partial},
    {"energy.conflict", "counter and gauge agree",
     "two instruments of one board that disagree mean that at least one is wrong (ml-energy/zeus issue 181, "
     "kokkos-tools PR 295)",
     jm_check_counter_gauge},
    {"reconcile.child_larger", "nothing holds less than what is inside it",
     "a part above its whole means another quantity or unit: GH200 and GB200 reports mix J and mJ",
     jm_check_reconcile_child},
    {"reconcile.ac_dc", "AC and DC are told apart",
     "a BMC's power and its average can be AC and DC, 6 to 10 % apart in captures of one maker",
     jm_check_reconcile_ac_dc},
    {"reconcile.disagree", "instruments of one domain agree",
     "two meters of one inlet that disagree beyond their bounds mean that at least one is wrong, or "
     "elsewhere",
     jm_check_reconcile_disagree},
    {"reconcile.unexplained", "what is unexplained can be supplies and fans",
     "a device that is not read, or a meter that feeds more than this system, shows here",
     jm_check_reconcile_unexplained},
    {"reconcile.shared", "the wall meter is of this system alone",
     "sensors of shared supplies cover a whole chassis (MEGWARE/xbat issue 57)", jm_check_reconcile_shared},
    {"reconcile.follow", "outer instruments follow the load",
     "BMCs average over 30 s and more, and some stand still; power at a moment is then another one's",
     jm_check_reconcile_follow},
    {"energy.mirrored", "no two packages show one register",
     "multi-die parts mirror a counter under two names, and a sum counts it twice", jm_check_mirrored},
    {"energy.gap", "no gaps inside the window", "energy inside a gap is not known", jm_check_gaps},
    {"gain.unknown", "the instrument is calibrated",
     "single boards read 0.87 to 1.15 of the true power (arXiv 2312.02741); without a calibration the "
     "interval cannot hold it",
     jm_check_gain},
    {"gpu.throttle", "no throttling", "a GPU that throttles is measured at another operating point",
     jm_check_throttle},
    {"limit.changed", "limits stayed as they were",
     "a power limit or clock lock that changes splits the run in two", jm_check_limit_change},
    {"poll.disturbs", "fast polling does not change the count",
     "monitoring itself can cost energy (NVIDIA/dcgm-exporter issue 464)", jm_check_fast_polling},
    {"estimate", "no estimate among the measurements",
     "an estimate stands beside a measurement under its own name", jm_check_estimate},
    {"sut.conflict", "the meters are at the system under test",
     "energy of one host over tokens of another is no number", jm_check_sut},
    {"tokens.unknown", "the server counted its tokens",
     "requested lengths and chunk counts are not tokens (sglang issue 10746)", jm_check_tokens},
    {"requests.failed", "requests succeeded", "failures keep their joules; a run of failures says nothing",
     jm_check_failures},
    {"load.unsteady", "the load was steady",
     "ramp and drain dilute a steady-state figure; profiles claim and publication ask for a steady one",
     jm_check_steady},
    {"edge.bias", "few requests cut by the edges",
     "a request whose prefill is cut by an edge gives energy to one window and tokens to another",
     jm_check_bias},
    {"lengths.differ", "lengths as asked",
     "ignore_eos may be ignored and prompts truncated silently (vllm issue 18687)", jm_check_lengths},
    {"load.unsent", "every request that was due was sent",
     "a load that the client did not send says nothing of the server under that load", jm_check_unsent},
    {"scenario.latency", "the latency constraints of a scenario hold",
     "MLPerf Inference: a Server result is valid only within its constraints at the 99th percentile",
     jm_check_scenario},
    {"client.limit", "the client was not the limit", "a busy client reports its own rate as the server's",
     jm_check_client},
    {"client.energy", "the client's own share of the energy is said",
     "a load generator on the metered host burns joules that the server gets charged with; no other tool "
     "tells",
     jm_check_client_energy},
    {"lengths.short", "each answer is as long as ignore_eos asked for",
     "a proxy can turn a broken upstream into finish_reason stop, which only the count of tokens shows "
     "(litellm "
     "issue 33404)",
     jm_check_short},
    {"tokens.bundled", "the first event brings the first token",
     "hidden reasoning makes one event of hundreds of tokens, and nonsense of the time per token "
     "(genai-bench issue 81)",
     jm_check_bundled},
    {"model.loaded", "the model was loaded before",
     "Ollama counts the loading of the model into the request that asked for it (load_duration)",
     jm_check_loaded},
    {"stamps.shared", "token events came one by one",
     "events that come in one read share its stamp, and a proxy that buffers makes lumps of them (GenAI-Perf "
     "and inference-perf print gaps of 0 then)",
     jm_check_shared},
    {"engine.absent", "the engine told of itself",
     "without the engine's own metrics, aborted tokens, queues, preemptions and other clients are not seen",
     jm_check_engine_absent},
    {"engine.reset", "the engine ran on through the window",
     "a restart loses its counters, and puts the loading of the model into the energy (mlperf_client issue "
     "19)",
     jm_check_engine_reset},
    {"engine.tokens", "engine and client count the same tokens",
     "aborted requests burn energy but are in no client's count; bands: AIPerf, cross-checks of server "
     "metrics",
     jm_check_engine_tokens},
    {"engine.requests", "the engine ended as many requests as were sent",
     "gateways retry silently, and other clients are counted too", jm_check_engine_requests},
    {"engine.others", "nobody else used the engine",
     "energy of other clients' requests over our tokens is no figure of ours", jm_check_engine_others},
    {"engine.preempted", "no request was computed twice",
     "preempted requests are recomputed silently (vLLM, num_preemptions_total)", jm_check_engine_preempted},
    {"engine.host", "the host did not hold the GPUs back",
     "GPUs that wait for a busy CPU draw power without working", jm_check_engine_host},
    {"engine.queue", "the engine kept up with the load",
     "with a queue that is never empty latencies are those of the window's length", jm_check_engine_queue},
    {"engine.hits", "unique prompts were computed",
     "cache hits make input tokens look cheaper (inference-perf and AIPerf count cached tokens apart)",
     jm_check_engine_hits},
    {"instrument.values", "every instrument shows what it says that it shows",
     "BMCs mix J and mJ in one report, freeze, repeat old values and step by 78 W (public captures of GH200, "
     "GB200 and "
     "DGX H100)",
     jm_check_instruments},
    {"instrument.configured", "every configured instrument was read, and is who it should be",
     "what is missing or unverified must be seen where the number is read", jm_check_configured},
    {"merge.clock", "the hosts' clocks agree well enough",
     "energy of one host over requests of another is laid together by their wall clocks; MLPerf Power allows "
     "400 "
     "ms (power-dev time_sync.py)",
     jm_check_merge_clock},
    {"merge.coverage", "every host was recorded during the window",
     "a host that was recorded for a part of the window misses energy of the rest", jm_check_merge_coverage},
    {"merge.missing", "every host that was asked for gave a recording",
     "the energy of a host that nobody recorded is missing from every total", jm_check_merge_missing},
    {"mlperf.result", "LoadGen's result is valid",
     "MLCommons inference rules: result VALID, minimum duration 600 s", jm_check_mlperf_result},
    {"mlperf.samples", "power samples are whole",
     "missed, bad and over-range samples change the mean; from v3.1 on they vanish from it silently",
     jm_check_mlperf_samples},
    {"mlperf.mean", "plain and time-weighted mean agree",
     "the published mean weighs each sample alike, whatever time it stands for", jm_check_mlperf_mean},
    {NULL, NULL, NULL, NULL},
};

/* Every finding that exists, with what it concerns. */
const struct jm_finding_kind jm_finding_table[] = {
    {"run.cut", "run.cut", JM_CONCERNS_ALL, "warning",
     "the recorder was killed; data end where they were last flushed"},
    {"run.open", "run.cut", JM_CONCERNS_ALL, "warning", "the file is not sealed and has no hash"},
    {"run.simulated", "run.simulated", JM_CONCERNS_ALL, "info", "devices or endpoint are simulated"},
    {"meters.none", "meters.none", JM_CONCERNS_ENERGY, "error, info",
     "no window has an energy; info for a result file of another tool"},
    {"meters.lost", "meters.none", JM_CONCERNS_ENERGY, "warning", "a meter vanished or hung during the run"},
    {"window.none", "window.short", JM_CONCERNS_ALL, "error", "the run has no measured window"},
    {"window.empty", "window.short", JM_CONCERNS_ALL, "error", "a window ends when or before it begins"},
    {"window.short", "window.short", JM_CONCERNS_ALL, "error", "shorter than the profile asks for"},
    {"window.tolerance", "window.tolerance", JM_CONCERNS_ENERGY, "error",
     "the worst case of an energy is beyond the tolerance asked for (--tolerance)"},
    {"window.cut", "window.short", JM_CONCERNS_ALL, "warning",
     "never closed; taken to end with the last data"},
    {"trials.few", "trials.few", JM_CONCERNS_ALL, "error", "profile claim: fewer than three trials"},
    {"trials.drift", "trials.drift", JM_CONCERNS_ALL, "warning",
     "four trials or more with a significant slope of 1 % or more from first to last"},
    {"phases.absent", "phases", JM_CONCERNS_LOAD, "info", "no energy by phase or request, and why"},
    {"phases.fallback", "phases", JM_CONCERNS_LOAD, "info",
     "shared by time or by token instead of by regression, and why"},
    {"phases.closure", "phases", JM_CONCERNS_LOAD, "error", "the parts of an energy do not add up to it"},
    {"warmup.short", "warmup.short", JM_CONCERNS_ENERGY, "warning",
     "the first seconds of a window draw 2 % more or less than the rest (MSER-5)"},
    {"power.drift", "warmup.short", JM_CONCERNS_ENERGY, "warning",
     "a significant slope of the power, of 1 % a minute and 2 % or more"},
    {"temperature.rising", "warmup.short", JM_CONCERNS_ENERGY, "info",
     "a device grew warmer by 1 degree a minute or more at the end of a window"},
    {"ladder.power", "ladder.power", JM_CONCERNS_ENERGY, "warning",
     "a level drew more power than the next higher one, beyond their intervals"},
    {"ladder.unreached", "ladder.power", JM_CONCERNS_LOAD, "warning",
     "a level at which a tenth and more of what was offered was not answered"},
    {"ladder.failed", "ladder.power", JM_CONCERNS_LOAD, "error", "a level at which no request succeeded"},
    {"ladder.incomplete", "ladder.power", JM_CONCERNS_ALL, "warning",
     "levels of the plan that were not measured"},
    {"clock.suspend", "clock.step", JM_CONCERNS_ALL, "error", "the machine slept inside a window"},
    {"clock.step", "clock.step", JM_CONCERNS_ALL, "warning", "the wall clock stepped inside a window"},
    {"record.changed", "record.changed", JM_CONCERNS_ENERGY, "warning",
     "a fact of a meter differs at the end of the run"},
    {"record.dropped", "record.changed", JM_CONCERNS_ENERGY, "warning",
     "readings were lost on their way into the file"},
    {"counter.reset", "counter.status", JM_CONCERNS_ENERGY, "error",
     "a counter began again inside the window"},
    {"counter.ambiguous", "counter.status", JM_CONCERNS_ENERGY, "error, warning",
     "more than one wrap could hide between two readings"},
    {"counter.frozen", "counter.status", JM_CONCERNS_ENERGY, "error, warning",
     "no movement where there should be some"},
    {"counter.lost", "counter.status", JM_CONCERNS_ENERGY, "error, warning", "the device vanished"},
    {"counter.implausible", "counter.status", JM_CONCERNS_ENERGY, "error, warning",
     "values outside what the device can draw"},
    {"counter.resolution", "counter.status", JM_CONCERNS_ENERGY, "error, warning",
     "refreshes too slowly for the window"},
    {"energy.suspended", "counter.status", JM_CONCERNS_ENERGY, "error",
     "the machine slept inside the window"},
    {"energy.uncovered", "counter.status", JM_CONCERNS_ENERGY, "error, warning",
     "no readings around an edge"},
    {"energy.status_conflict", "counter.status", JM_CONCERNS_ENERGY, "error, warning",
     "an instrument contradicts itself"},
    {"energy.denied", "counter.status", JM_CONCERNS_ENERGY, "error", "no permission to read"},
    {"energy.unsupported", "counter.status", JM_CONCERNS_ENERGY, "error", "the device cannot"},
    {"energy.absent", "counter.status", JM_CONCERNS_ENERGY, "error", "the instrument was not there"},
    {"boundary.partial", "boundary.partial", JM_CONCERNS_ENERGY, "error", "a total misses devices"},
    {"energy.conflict", "energy.conflict", JM_CONCERNS_ENERGY, "warning",
     "counter and gauge of a device disagree"},
    {"reconcile.child_larger", "reconcile.child_larger", JM_CONCERNS_ENERGY, "error, warning",
     "what is inside a domain is more than the domain, beyond both bounds"},
    {"reconcile.ac_dc", "reconcile.ac_dc", JM_CONCERNS_ENERGY, "warning",
     "one of two readings of an inlet or node is likely the other side of the supplies"},
    {"reconcile.disagree", "reconcile.disagree", JM_CONCERNS_ENERGY, "warning",
     "two instruments of one domain differ beyond their bounds"},
    {"reconcile.unexplained", "reconcile.unexplained", JM_CONCERNS_ENERGY, "warning",
     "more is unexplained than supplies, fans and boards take"},
    {"reconcile.shared", "reconcile.shared", JM_CONCERNS_ENERGY, "error",
     "the wall meter feeds nodes that the run does not measure"},
    {"reconcile.stale", "reconcile.follow", JM_CONCERNS_ENERGY, "warning",
     "an outer instrument stood still while another one moved"},
    {"reconcile.averages", "reconcile.follow", JM_CONCERNS_ENERGY, "info, warning",
     "an outer instrument averages: its power is late; a warning where its energy is then off too"},
    {"passport.unfit", "record.changed", JM_CONCERNS_ENERGY, "warning",
     "a passport that the run keeps is not of its instruments, or cannot be read: it is not used"},
    {"calibration.range", "boundary.partial", JM_CONCERNS_ENERGY, "error, info",
     "GPU power outside what was calibrated: nothing is carried"},
    {"calibration.foreign", "boundary.partial", JM_CONCERNS_ENERGY, "warning",
     "a calibration of another machine or driver, allowed by an option"},
    {"calibration.check", "reconcile.disagree", JM_CONCERNS_ENERGY, "warning, info",
     "the wall as measured against what the calibration says of it"},
    {"energy.mirrored", "energy.mirrored", JM_CONCERNS_ENERGY, "warning",
     "two packages move alike: one of them may be a mirror"},
    {"energy.gap", "energy.gap", JM_CONCERNS_ENERGY, "error, warning", "seconds without data"},
    {"gain.unknown", "gain.unknown", JM_CONCERNS_ENERGY, "info",
     "the gain of the instruments is not in the interval"},
    {"gpu.throttle", "gpu.throttle", JM_CONCERNS_ENERGY, "warning, info",
     "clocks were held back; info for a power cap"},
    {"limit.changed", "limit.changed", JM_CONCERNS_ENERGY, "warning",
     "the power limit moved inside the window"},
    {"poll.disturbs", "poll.disturbs", JM_CONCERNS_ENERGY, "warning",
     "fast polling changed the count; edges are plain reads"},
    {"estimate", "estimate", JM_CONCERNS_ENERGY, "info", "an estimate stands beside"},
    {"sut.conflict", "sut.conflict", JM_CONCERNS_RATIO, "error", "the endpoint is not on a metered host"},
    {"sut.unknown", "sut.conflict", JM_CONCERNS_RATIO, "warning",
     "which GPUs serve is not known: all are counted"},
    {"tokens.unknown", "tokens.unknown", JM_CONCERNS_TOKENS, "error", "the server sent no token counts"},
    {"requests.none", "requests.failed", JM_CONCERNS_LOAD, "error", "no request ended in a measured window"},
    {"requests.failed", "requests.failed", JM_CONCERNS_LOAD, "error, warning", "error from half of them on"},
    {"load.unsteady", "load.unsteady", JM_CONCERNS_LOAD, "error, warning",
     "token rates of the halves differ; error for claim and publication"},
    {"edge.bias", "edge.bias", JM_CONCERNS_RATIO, "warning, info", "requests cut by an edge during prefill"},
    {"lengths.differ", "lengths.differ", JM_CONCERNS_LOAD, "warning",
     "counted lengths are not those asked for"},
    {"load.unsent", "load.unsent", JM_CONCERNS_LOAD, "warning, error",
     "requests that were due were never sent; error: not each of them is in the record"},
    {"scenario.latency", "scenario.latency", JM_CONCERNS_LOAD, "warning",
     "a percentile is above the constraint of the scenario"},
    {"scenario.unofficial", "scenario.latency", JM_CONCERNS_LOAD, "info",
     "an MLPerf-like scenario is no MLPerf result"},
    {"client.limit", "client.limit", JM_CONCERNS_LOAD, "warning", "the client was late or busy"},
    {"client.energy", "client.energy", JM_CONCERNS_ENERGY, "info",
     "energy of the processors that belongs to the load generator, allocated by CPU time"},
    {"lengths.short", "lengths.short", JM_CONCERNS_LOAD, "warning",
     "successful answers with fewer or more tokens than ignore_eos asked for"},
    {"tokens.bundled", "tokens.bundled", JM_CONCERNS_LOAD, "warning",
     "first events that stand for tokens generated long before them"},
    {"model.loaded", "model.loaded", JM_CONCERNS_LOAD, "warning",
     "the model was loaded for requests of the run"},
    {"stamps.shared", "stamps.shared", JM_CONCERNS_LOAD, "warning", "token events came in lumps"},
    {"engine.absent", "engine.absent", JM_CONCERNS_ENGINE, "warning, info",
     "no metrics of the engine; info where they were only looked for"},
    {"engine.partial", "engine.absent", JM_CONCERNS_ENGINE, "warning", "not every source covers the window"},
    {"engine.gap", "engine.absent", JM_CONCERNS_ENGINE, "warning", "the metrics did not answer for a while"},
    {"engine.reset", "engine.reset", JM_CONCERNS_ENGINE, "error", "counters of the engine began again"},
    {"engine.started", "engine.reset", JM_CONCERNS_RATIO, "error", "the engine started inside the window"},
    {"engine.vanished", "engine.reset", JM_CONCERNS_ENGINE, "warning", "series of a replica are gone"},
    {"engine.tokens_more", "engine.tokens", JM_CONCERNS_RATIO, "warning, info",
     "more tokens were made than successful requests got; info below 5 %"},
    {"engine.tokens_fewer", "engine.tokens", JM_CONCERNS_RATIO, "warning, info",
     "fewer tokens were made than the client counts; info above 0.95"},
    {"engine.uncounted", "engine.tokens", JM_CONCERNS_ENGINE, "info",
     "tokens of aborted requests that no counter has"},
    {"engine.requests_more", "engine.requests", JM_CONCERNS_RATIO, "warning",
     "more requests ended in the engine than the client sent"},
    {"engine.cotenant", "engine.others", JM_CONCERNS_RATIO, "warning", "another client loads the engine"},
    {"engine.idle_busy", "engine.others", JM_CONCERNS_ENERGY, "warning", "the engine worked while idle"},
    {"engine.preempted", "engine.preempted", JM_CONCERNS_RATIO, "warning", "requests were computed again"},
    {"engine.host_bound", "engine.host", JM_CONCERNS_LOAD, "warning", "a busy CPU, and GPUs that wait"},
    {"engine.saturated", "engine.queue", JM_CONCERNS_LOAD, "warning, info",
     "the queue was never empty; warning where a rate was asked for"},
    {"engine.prefix_hits", "engine.hits", JM_CONCERNS_RATIO, "warning",
     "prefix-cache hits among prompts meant to be unique"},
    {"merge.clock", "merge.clock", JM_CONCERNS_ALL, "error, warning",
     "the clock of a host may be off by more than the tolerance, or nobody tells by how much; an error with "
     "merge --tolerance"},
    {"merge.coverage", "merge.coverage", JM_CONCERNS_ENERGY, "warning, error",
     "the recording of a host does not cover a window"},
    {"merge.missing", "merge.missing", JM_CONCERNS_ENERGY, "error",
     "a host of record --hosts gave no recording, and why"},
    {"mlperf.result", "mlperf.result", JM_CONCERNS_ALL, "error, warning", "LoadGen's verdict"},
    {"mlperf.duration", "mlperf.result", JM_CONCERNS_ALL, "error", "shorter than the rules ask for"},
    {"mlperf.mode", "mlperf.result", JM_CONCERNS_ALL, "error", "not a performance run"},
    {"mlperf.loadgen_errors", "mlperf.result", JM_CONCERNS_ALL, "warning", "LoadGen logged errors"},
    {"mlperf.samples", "mlperf.samples", JM_CONCERNS_ENERGY, "warning", "missed, bad or over-range samples"},
    {"mlperf.span", "mlperf.samples", JM_CONCERNS_ENERGY, "error", "the power log does not cover the window"},
    {"mlperf.gap", "mlperf.samples", JM_CONCERNS_ENERGY, "warning", "long gap between samples"},
    {"mlperf.order", "mlperf.samples", JM_CONCERNS_ENERGY, "warning", "samples that go back in time"},
    {"mlperf.broken", "mlperf.samples", JM_CONCERNS_ENERGY, "warning", "lines that are no samples"},
    {"mlperf.mean", "mlperf.mean", JM_CONCERNS_ENERGY, "warning", "plain and weighted mean differ"},
    {"instrument.unit", "instrument.values", JM_CONCERNS_ENERGY, "error",
     "a counter and the power beside it agree in another unit only"},
    {"instrument.frozen", "instrument.values", JM_CONCERNS_ENERGY, "error",
     "a power stood still while what it contains moved"},
    {"instrument.stale", "instrument.values", JM_CONCERNS_ENERGY, "warning",
     "a value was shown for much longer than the instrument usually keeps one"},
    {"instrument.quantum", "instrument.values", JM_CONCERNS_ENERGY, "info",
     "steps that are coarse for what is measured"},
    {"instrument.beyond", "instrument.values", JM_CONCERNS_ENERGY, "warning",
     "readings beyond what the instrument can show"},
    {"instrument.clock", "instrument.values", JM_CONCERNS_ENERGY, "info",
     "the instrument's own clock is wrong"},
    {"instrument.absent", "instrument.configured", JM_CONCERNS_ENERGY, "warning",
     "an instrument of the configuration could not be read"},
    {"instrument.late", "instrument.configured", JM_CONCERNS_ENERGY, "warning",
     "an instrument of the configuration answered only after the recording had begun"},
    {"instrument.tls", "instrument.configured", JM_CONCERNS_ENERGY, "warning", "TLS was not verified"},
    {"instrument.replies", "instrument.configured", JM_CONCERNS_ENERGY, "info",
     "raw replies that were not kept"},
    {NULL, NULL, JM_CONCERNS_ALL, NULL, NULL},
};

int jm_finding_at(struct jm_report *r, struct jm_finding *f, int window, struct jm_err *err,
                  const char *evidence, ...)
{
    if (!f)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the findings");
    f->window = window;
    if (evidence) {
        char text[512];
        va_list ap;
        va_start(ap, evidence);
        vsnprintf(text, sizeof text, evidence, ap);
        va_end(ap);
        if (!(f->evidence = jm_report_text(r, "%s", text)))
            return jm_err_set(err, JM_ENOMEM, "out of memory for the findings");
    }
    return 0;
}

double jm_run_number_or(const struct jm_run *run, const char *key, const char *other)
{
    double v = jm_run_number(run, key);
    return isnan(v) ? jm_run_number(run, other) : v;
}

double jm_seconds_apart(int64_t a, int64_t b)
{
    int64_t d;
    return __builtin_sub_overflow(a, b, &d) ? (double)a / 1e9 - (double)b / 1e9 : (double)d / 1e9;
}

enum jm_role jm_main_role(const struct jm_report *r)
{
    bool idle = false;
    for (size_t i = 0; i < r->n_windows; i++) {
        if (r->windows[i].role == JM_R_MEASURE)
            return JM_R_MEASURE;
        idle |= r->windows[i].role == JM_R_IDLE;
    }
    return idle ? JM_R_IDLE : JM_R_MEASURE;
}

static bool applies(const struct jm_finding *f, enum jm_profile p)
{
    return f->severity != JM_SEV_INFO && (!f->profiles || (f->profiles & (1u << p)));
}

static bool starts(const char *s, const char *head)
{
    return strncmp(s, head, strlen(head)) == 0;
}

static enum jm_concerns concern_of(const struct jm_finding *f)
{
    for (const struct jm_finding_kind *k = jm_finding_table; k->id; k++)
        if (strcmp(k->id, f->id) == 0)
            return k->concerns;
    for (const struct jm_finding_kind *k = jm_foreign_finding_table; k->id; k++)
        if (strcmp(k->id, f->id) == 0)
            return k->concerns;
    return JM_CONCERNS_ALL;
}

static bool kind_concerns(enum jm_concerns what, const struct jm_result *x)
{
    bool energy = x->q.boundary != JM_B_NONE;
    bool plain = energy && (starts(x->metric, "energy") || starts(x->metric, "power.") ||
                            strcmp(x->metric, "wall_to_gpu") == 0);
    bool engine = starts(x->metric, "engine.") || strcmp(x->metric, "j_per.engine_token") == 0;
    switch (what) {
    case JM_CONCERNS_ALL: return true;
    case JM_CONCERNS_ENERGY: return energy;
    case JM_CONCERNS_RATIO: return energy && !plain;
    case JM_CONCERNS_TOKENS: /* the engine's own count does not rest on what the client got */
        return !engine && (strstr(x->metric, "token") || strcmp(x->metric, "kwh_per_mtok") == 0 ||
                           starts(x->metric, "tpot."));
    case JM_CONCERNS_LOAD: return !plain;
    case JM_CONCERNS_ENGINE: return engine;
    }
    return true;
}

/* Does the finding speak about this result: kind, boundary, devices, and window? What happened in one window
 * says nothing about another; what happened while idle only about idle and net figures. */
static bool concerns(const struct jm_report *r, const struct jm_finding *f, enum jm_concerns what,
                     const struct jm_result *x)
{
    if (!kind_concerns(what, x) || (f->boundary != JM_B_NONE && f->boundary != x->q.boundary))
        return false;
    if (f->window >= 0 && f->window != x->window) {
        enum jm_role role = r->windows[f->window].role;
        bool over_trials = x->window < 0 && role == JM_R_MEASURE,
             net = role == JM_R_IDLE && starts(x->metric, "net.");
        if (!over_trials && !net)
            return false;
    }
    if (f->domain < 0)
        return true;
    for (size_t i = 0; i < x->n_domain; i++)
        if (x->domain[i] == f->domain)
            return true;
    return false;
}

static bool named(const char *list, const char *id)
{
    struct jm_span rest = jm_span_of(list), one;
    while (list && jm_span_field(&rest, ',', &one))
        if (jm_span_is(jm_span_trim(one), id))
            return true;
    return false;
}

/* Findings by window: those of the whole run, those of each window, so that a result meets only its own. */
struct index {
    size_t *of;   /* findings, grouped */
    size_t *from; /* n_windows + 2: group g is [from[g], from[g + 1]); group 0: the whole run */
    enum jm_concerns *what;
    size_t *idle; /* groups of idle windows: net figures rest on them too */
    size_t n_idle;
};

static void index_release(struct index *x)
{
    free(x->of);
    free(x->from);
    free(x->what);
    free(x->idle);
}

static int index_make(const struct jm_report *r, struct index *x, struct jm_err *err)
{
    size_t groups = r->n_windows + 1;
    *x = (struct index){.of = calloc(r->n_findings + 1, sizeof *x->of),
                        .from = calloc(groups + 2, sizeof *x->from),
                        .what = calloc(r->n_findings + 1, sizeof *x->what),
                        .idle = calloc(groups, sizeof *x->idle)};
    if (!x->of || !x->from || !x->what || !x->idle) {
        index_release(x);
        return jm_err_set(err, JM_ENOMEM, "out of memory for the validity");
    }
    for (size_t i = 0; i < r->n_findings; i++)
        x->from[r->findings[i].window + 3]++;
    for (size_t g = 2; g < groups + 2; g++)
        x->from[g] += x->from[g - 1];
    for (size_t i = 0; i < r->n_findings; i++) {
        x->of[x->from[r->findings[i].window + 2]++] = i;
        x->what[i] = concern_of(&r->findings[i]);
    }
    for (size_t w = 0; w < r->n_windows; w++)
        if (r->windows[w].role == JM_R_IDLE && x->from[w + 1] < x->from[w + 2])
            x->idle[x->n_idle++] = w + 1;
    return 0;
}

struct verdict {
    enum jm_validity v;
    char text[512];
};

static void add(struct verdict *k, enum jm_validity v, const char *reason)
{
    size_t n = strlen(k->text);
    k->v = v > k->v ? v : k->v;
    if (!named(k->text, reason))
        snprintf(k->text + n, sizeof k->text - n, "%s%s", n ? "," : "", reason);
}

static void judge_by(const struct jm_report *r, const struct index *ix, size_t from, size_t to,
                     const struct jm_result *x, struct verdict *k)
{
    for (size_t i = from; i < to; i++) {
        const struct jm_finding *f = &r->findings[ix->of[i]];
        if (applies(f, r->profile) && concerns(r, f, ix->what[ix->of[i]], x))
            add(k, f->severity == JM_SEV_ERROR ? JM_V_INVALID : JM_V_FINDINGS, f->id);
    }
}

static int judge(struct jm_report *r, const struct index *ix, struct jm_result *x, struct jm_err *err)
{
    struct verdict k = {.v = JM_V_VALID};
    bool partial = x->q.boundary != JM_B_NONE && x->have_of < x->of;
    snprintf(k.text, sizeof k.text, "%s", x->q.reasons ? x->q.reasons : "");
    if (x->window < 0 && x->q.reasons)
        k.v = JM_V_FINDINGS; /* not every trial had a value */
    if (partial) {
        char of[48];
        snprintf(of, sizeof of, "%d of %d", x->have_of, x->of);
        add(&k, JM_V_INVALID, of);
    }
    if (x->window < 0) {
        judge_by(r, ix, 0, r->n_findings, x, &k);
    } else {
        size_t g = (size_t)x->window + 1;
        judge_by(r, ix, ix->from[0], ix->from[1], x, &k);
        judge_by(r, ix, ix->from[g], ix->from[g + 1], x, &k);
        for (size_t i = 0; starts(x->metric, "net.") && i < ix->n_idle; i++)
            judge_by(r, ix, ix->from[ix->idle[i]], ix->from[ix->idle[i] + 1], x, &k);
    }
    if (!x->q.have)
        k.v = JM_V_INVALID;
    if (!x->q.have && !k.text[0])
        add(&k, JM_V_INVALID, "no-value");
    x->q.validity = k.v;
    x->q.reasons = NULL;
    if (k.v != JM_V_VALID && !(x->q.reasons = jm_report_text(r, "%s", k.text)))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the validity");
    return 0;
}

/* The run's validity: the worst of its findings; those of a window that is not what the run is about (an idle
 * window beside measured ones) do not make it invalid. */
static enum jm_validity overall(const struct jm_report *r)
{
    enum jm_role role = jm_main_role(r);
    enum jm_validity worst = JM_V_VALID;
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct jm_finding *f = &r->findings[i];
        bool aside = f->window >= 0 && r->windows[f->window].role != role;
        if (!applies(f, r->profile))
            continue;
        enum jm_validity v = f->severity == JM_SEV_ERROR && !aside ? JM_V_INVALID : JM_V_FINDINGS;
        worst = v > worst ? v : worst;
    }
    return worst;
}

static void worse(struct jm_result *x, const struct jm_result *of)
{
    if (of->q.validity > x->q.validity) {
        x->q.validity = of->q.validity;
        x->q.reasons = of->q.reasons;
    }
}

/* A figure of a ladder is as valid as the windows that it is made of; what is made of all levels as the
 * worst.
 */
static void judge_ladder(struct jm_report *r)
{
    struct jm_ladder *l = r->ladder;
    struct jm_result *of_all[] = {&l->overall, &l->overall_q, &l->day.energy, &l->day.output,
                                  &l->day.qualified};
    for (size_t k = 0; k < l->n; k++)
        for (int f = 0; f < JM_LF_COUNT; f++) {
            struct jm_result *x = &l->level[k].x[f];
            if (!x->metric)
                continue;
            x->q.validity = x->q.have ? JM_V_VALID : JM_V_INVALID;
            for (size_t i = 0; i < r->n_results; i++) {
                const struct jm_result *y = &r->results[i];
                if (y->window >= 0 && l->of_window[y->window] == (int)k && y->q.boundary == x->q.boundary &&
                    strcmp(y->metric, x->metric) == 0 &&
                    (isnan(x->quantile) ? isnan(y->quantile) : y->quantile == x->quantile))
                    worse(x, y);
            }
        }
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++) {
        if (!of_all[i]->metric)
            continue;
        of_all[i]->q.validity = of_all[i]->q.have ? JM_V_VALID : JM_V_INVALID;
        for (size_t k = 0; of_all[i]->q.have && k < l->n; k++)
            if (l->level[k].x[JM_LF_POWER].metric)
                worse(of_all[i], &l->level[k].x[JM_LF_POWER]);
    }
}

int jm_audit(const struct jm_run *run, struct jm_report *r, struct jm_err *err)
{
    struct index ix;
    for (const struct jm_check *c = jm_check_table; c->id; c++) {
        int rc = c->run(run, r, err);
        if (rc)
            return rc;
    }
    if (strcmp(r->kind, "imported") == 0)
        for (const struct jm_check *c = jm_foreign_check_table; c->id; c++) {
            int rc = c->run(run, r, err);
            if (rc)
                return rc;
        }
    r->validity = overall(r);
    int rc = index_make(r, &ix, err);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < r->n_results; i++)
        rc = judge(r, &ix, &r->results[i], err);
    for (size_t i = 0; !rc && i < r->n_sliced; i++)
        rc = judge(r, &ix, &r->sliced[i], err);
    index_release(&ix);
    if (!rc && r->ladder)
        judge_ladder(r);
    for (size_t i = 0; !rc && i < r->n_impacts; i++) { /* no better than the energy that they are made of */
        struct jm_impact *m = &r->impacts[i];
        const struct jm_quantity *q = &r->results[m->base].q;
        m->x.q.validity = m->x.q.have ? q->validity : JM_V_INVALID;
        if (m->x.q.have || !m->x.q.reasons || !q->have)
            m->x.q.reasons = q->reasons;
    }
    return rc;
}
