/* SPDX-License-Identifier: Apache-2.0 */
/* The disclosure: what has to stand beside an energy figure so that somebody else can repeat it. The rows
 * follow the published checklists: boundary and instrument, denominator, ISL/OSL, model, precision, engine,
 * driver and NVML versions, power limit and clocks, load level, latencies, window, run count, idle policy,
 * PUE. */
#include <string.h>

#include "audit/disclosed.h"

#include "base/banned.h"

static const char *env_of(const struct jm_run *run, const char *const *names)
{
    for (; *names; names++) {
        const char *v = jm_run_env(run, *names);
        if (v && v[0])
            return v;
    }
    return NULL;
}

/* Published checklists that ask for a row. */
#define GUIDE   "Energy per Token, disclosure and Table 3"
#define REPRO   "Checklist for a reproducible energy measurement"
#define SERVING "LLM energy efficiency: record serving context"
#define EEHPC   "EE HPC WG power measurement methodology"
#define WUE     "ISO/IEC 30134-9"
#define SCOPE2  "GHG Protocol scope 2 guidance, 2015"

typedef const char *(*item_fn)(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
static const struct item {
    const char *id, *key;
    bool required;
    item_fn fn;
    const char *env[4]; /* facts of the run that tell it, in order */
    const char *fact;   /* what a person may declare instead */
    const char *mend, *source;
} items[] = {
    {"boundary",
     "boundary and instrument",
     true,
     jm_said_boundary,
     {NULL},
     NULL,
     "record with a meter: joulemark meters says what can be read here",
     GUIDE},
    {"denominator",
     "token denominator",
     true,
     jm_said_denominator,
     {NULL},
     NULL,
     "record the requests too: joulemark bench, or import the load generator's file",
     GUIDE},
    {"isl",
     "ISL",
     true,
     jm_said_isl,
     {NULL},
     NULL,
     "the server must count its prompt tokens (stream_options include_usage)",
     GUIDE},
    {"osl",
     "OSL",
     true,
     jm_said_osl,
     {NULL},
     NULL,
     "the server must count its output tokens (stream_options include_usage)",
     GUIDE},
    {"workload", "workload", true, jm_said_workload, {NULL}, "workload", "--fact workload=TEXT", REPRO},
    {"arrival",
     "arrival pattern",
     true,
     NULL,
     {"plan.shape", "load.shape", "mlperf.scenario"},
     "load",
     "--fact load=TEXT",
     GUIDE},
    {"load", "load level", true, jm_said_level, {NULL}, "load", "--fact load=TEXT", GUIDE},
    {"model",
     "model",
     true,
     NULL,
     {"endpoint.model", "load.model", "plan.model", "loadgen.sut_name"},
     "model",
     "--fact model=NAME",
     GUIDE},
    {"precision",
     "precision",
     true,
     NULL,
     {"endpoint.precision", "plan.precision"},
     "precision",
     "--fact precision=FP8",
     GUIDE},
    {"engine",
     "engine",
     true,
     NULL,
     {"endpoint.engine", "endpoint.server", "sut.framework"},
     "engine",
     "--fact engine=\"vLLM 0.11.1\"",
     GUIDE},
    {"engine.metrics",
     "engine's own metrics",
     false,
     jm_said_telemetry,
     {NULL},
     NULL,
     "bench finds them; --engine-metrics URL names them",
     SERVING},
    {"parallelism",
     "parallelism",
     false,
     NULL,
     {NULL},
     "parallelism",
     "--fact parallelism=\"tensor 8\"",
     SERVING},
    {"decoding", "decoding", false, NULL, {NULL}, "decoding", "--fact decoding=\"temperature 0\"", SERVING},
    {"accelerators",
     "accelerators",
     true,
     jm_said_accelerators,
     {NULL},
     "accelerators",
     "--fact accelerators=\"8 x H100 SXM5\"",
     REPRO},
    {"driver",
     "driver",
     true,
     NULL,
     {"nvml.driver", "dcgm.driver", "hlml.driver", "sut.driver"},
     "driver",
     "--fact driver=VERSION",
     GUIDE},
    {"nvml",
     "NVML",
     true,
     NULL,
     {"nvml.version", "dcgm.version", "amdsmi.library", "hlml.version"},
     "driver",
     "read the GPUs by their library (NVML, DCGM, AMD SMI, HLML), or --fact driver=VERSION",
     GUIDE},
    {"cuda", "CUDA", false, NULL, {"nvml.cuda"}, NULL, "NVML tells it", REPRO},
    {"limit",
     "power limit enforced",
     true,
     jm_said_limit,
     {NULL},
     "power-limit",
     "read during the run by NVML or DCGM (field 164), not from a setting; --fact power-limit=TEXT declares "
     "it",
     GUIDE},
    {"clocks",
     "SM clock",
     true,
     jm_said_clock,
     {NULL},
     "clocks",
     "read during the run by NVML or DCGM; --fact clocks=TEXT declares it",
     GUIDE},
    {"temperature",
     "temperature",
     false,
     jm_said_temperature,
     {NULL},
     NULL,
     "the GPU's library tells it",
     SERVING},
    {"latency",
     "latency percentiles",
     true,
     jm_said_percentiles,
     {NULL},
     NULL,
     "stream the answers (joulemark bench), so that TTFT and TPOT have stamps",
     GUIDE},
    {"outcomes",
     "requests",
     true,
     jm_said_outcomes,
     {NULL},
     NULL,
     "record the requests too: failures keep their joules",
     SERVING},
    {"windows",
     "windows",
     true,
     jm_said_windows,
     {NULL},
     NULL,
     "measure over a window: bench --duration",
     GUIDE},
    {"warmup", "warm-up, s", false, NULL, {"plan.warmup_s"}, NULL, "bench --warmup", SERVING},
    {"trials", "run count", true, jm_said_trials, {NULL}, NULL, "bench --trials 3", GUIDE},
    {"sampling",
     "sampling",
     true,
     NULL,
     {"record.period", "mlperf.analyzer", "import.devlog"},
     NULL,
     "record with joulemark, which notes it",
     REPRO},
    {"edges",
     "window edges",
     false,
     NULL,
     {"record.edge"},
     NULL,
     "record with joulemark, which notes it",
     REPRO},
    {"idle",
     "idle policy",
     true,
     jm_said_idle,
     {NULL},
     "idle",
     "joulemark idle beside it, or --fact idle=TEXT",
     GUIDE},
    {"uncertainty",
     "uncertainty",
     false,
     jm_said_uncertainty,
     {NULL},
     NULL,
     "a window longer than some refresh periods",
     GUIDE},
    {"calibration",
     "calibration",
     true,
     jm_said_calibration,
     {NULL},
     "calibration",
     "joulemark calibrate beside a wall meter and --calibration FILE, a passport of the instrument, or "
     "--fact "
     "calibration=TEXT",
     REPRO},
    {"accuracy",
     "meter accuracy",
     false,
     jm_said_accuracy,
     {NULL},
     "meter-accuracy",
     "--fact meter-accuracy=PERCENT of its data sheet or certificate",
     EEHPC},
    {"pue",
     "PUE",
     true,
     jm_said_pue,
     {"plan.pue"},
     "pue",
     "--pue VALUE,period=2025: a PUE without its period is no figure",
     GUIDE},
    {"wue",
     "WUE",
     true,
     jm_said_wue,
     {NULL},
     NULL,
     "--wue VALUE,period=2025: a WUE without its period is no figure",
     WUE},
    {"factors",
     "grid intensity",
     true,
     jm_said_factors,
     {NULL},
     "grid",
     "--carbon or --factors, which carry their source",
     REPRO},
    {"quality", "quality", false, NULL, {"plan.quality"}, "quality", "--fact quality=TEXT", SERVING},
    {"cotenants",
     "other work on machine",
     false,
     NULL,
     {NULL},
     "cotenants",
     "--fact cotenants=none",
     SERVING},
    {"host",
     "host",
     false,
     NULL,
     {"host.name", "sut.system_name"},
     NULL,
     "record with joulemark, which notes it",
     REPRO},
    {"system",
     "system",
     false,
     NULL,
     {"host.product", "sut.system_name"},
     NULL,
     "record with joulemark on the machine itself",
     REPRO},
    {"cpu",
     "CPU",
     false,
     NULL,
     {"host.cpu", "sut.host_processor_model_name"},
     NULL,
     "record with joulemark, which notes it",
     REPRO},
    {"os",
     "operating system",
     false,
     NULL,
     {"host.os", "sut.operating_system"},
     NULL,
     "record with joulemark, which notes it",
     REPRO},
    {"kernel", "kernel", false, NULL, {"host.kernel"}, NULL, "record with joulemark, which notes it", REPRO},
    {"tool", "tool", true, jm_said_tool, {NULL}, NULL, "", REPRO},
};
#define N_ITEMS (sizeof items / sizeof items[0])

const char *jm_disclosed_name(int v)
{
    static const char *const name[] = {"recorded", "declared", "declared later", "missing", "not applicable"};
    return v >= 0 && v <= JM_DISCLOSED_NA ? name[v] : NULL;
}

static const char *declared(const struct jm_run *run, const struct jm_report *r, const struct item *it,
                            enum jm_disclosed *state)
{
    const char *v = it->fact ? jm_fact_of(run, r, it->fact) : NULL;
    if (v)
        *state = JM_DISCLOSED_DECLARED;
    for (size_t i = 0; v && i < r->n_declared; i++)
        if (strcmp(r->declared[i].key, it->fact) == 0)
            *state = JM_DISCLOSED_LATER;
    return v;
}

int jm_disclosure(const struct jm_run *run, struct jm_report *r, const struct jm_disclosure_row **rows,
                  size_t *n, struct jm_err *err)
{
    struct jm_disclosure_row *row = jm_report_alloc(r, N_ITEMS * sizeof *row);
    if (!row)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the disclosure");
    for (size_t i = 0; i < N_ITEMS; i++) {
        const struct item *it = &items[i];
        const char *const names[] = {it->env[0], it->env[1], it->env[2], it->env[3], NULL};
        enum jm_disclosed state = JM_DISCLOSED;
        struct jm_err why = {0};
        const char *v = it->fn ? it->fn(run, r, &why) : NULL, *said;
        if (!v && why.code)
            return jm_err_set(err, why.code, "%s of the disclosure cannot be told: %s", it->key, why.text);
        if (!v)
            v = env_of(run, names);
        if (v && v[0] == JM_SAID_NA) {
            state = JM_DISCLOSED_NA;
            v++;
        }
        if ((!v || state == JM_DISCLOSED_NA) && (said = declared(run, r, it, &state)) != NULL)
            v = said;
        if (!v)
            state = JM_DISCLOSED_NOT;
        row[i] = (struct jm_disclosure_row){.key = it->key,
                                            .value = v ? v : "not known",
                                            .known = v && state != JM_DISCLOSED_NA,
                                            .id = it->id,
                                            .required = it->required,
                                            .state = state,
                                            .mend = it->mend,
                                            .source = it->source};
    }
    *rows = row;
    *n = N_ITEMS;
    return 0;
}

size_t jm_disclosure_missing(const struct jm_disclosure_row *rows, size_t n)
{
    size_t missing = 0;
    for (size_t i = 0; i < n; i++)
        missing += rows[i].required && rows[i].state == JM_DISCLOSED_NOT;
    return missing;
}
