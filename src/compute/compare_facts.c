/* SPDX-License-Identifier: Apache-2.0 */
/* Comparability: what must agree so that a difference in energy is a difference of what was changed. The rows
 * follow the published checklists of a reproducible J/token. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/stats.h"
#include "compute/compare_impl.h"

#include "base/banned.h"

enum weight { NAMED, BINDING, NEVER };

struct fact_row {
    const char *id, *title;
    enum weight weight;
    const char *key[8]; /* of the environment: the first that is there */
};

/* What the environment says. */
static const struct fact_row said[] = {
    {"model",
     "model",
     BINDING,
     {"endpoint.model", "load.model", "plan.model", "loadgen.sut_name", "file.model_id", "file.model"}},
    {"tokenizer",
     "tokenizer",
     BINDING,
     {"endpoint.tokenizer", "load.tokenizer", "aiperf.tokenizer", "genai_perf.tokenizer",
      "guidellm.processor", "file.tokenizer_id", "file.tokenizer"}},
    {"precision",
     "precision",
     BINDING,
     {"endpoint.precision", "plan.precision", "file.quantization", "file.dtype", "file.precision"}},
    {"engine.name",
     "engine",
     BINDING,
     {"endpoint.engine", "endpoint.kind", "sut.framework", "file.backend", "import.endpoint_type"}},
    {"engine.version",
     "engine version",
     BINDING,
     {"endpoint.version", "engine.version", "endpoint.server", "file.vllm_version", "file.engine_version"}},
    {"driver",
     "driver",
     BINDING,
     {"nvml.driver", "dcgm.driver", "hlml.driver", "amdsmi.driver", "sut.driver", "file.driver"}},
    {"cuda", "CUDA", BINDING, {"nvml.cuda", "sut.cuda"}},
    {"arrivals.pattern",
     "arrival pattern",
     BINDING,
     {"plan.shape", "load.shape", "mlperf.scenario", "file.request_rate"}},
    {"arrivals.level",
     "load level: in flight",
     BINDING,
     {"plan.concurrency", "load.concurrency", "file.max_concurrency"}},
    {"arrivals.rate", "load level: requests/s", BINDING, {"plan.rate_per_s", "load.rate"}},
    {"arrivals.burstiness", "burstiness", BINDING, {"plan.burstiness", "file.burstiness"}},
    {"workload.slices", "slices", BINDING, {"plan.slices"}},
    {"workload.prompts", "prompts", BINDING, {"load.prompts.sha256", "file.dataset_name"}},
    {"workload.synthetic", "synthetic prompts", BINDING, {"load.synthetic"}},
    {"workload.isl_drawn", "ISL drawn from", BINDING, {"plan.isl_drawn", "plan.isl"}},
    {"workload.osl_drawn", "OSL drawn from", BINDING, {"plan.osl_drawn", "plan.osl"}},
    {"sampling.temperature", "temperature", BINDING, {"load.temperature", "file.temperature"}},
    {"sampling.top_p", "top-p", BINDING, {"load.top_p", "file.top_p"}},
    {"sampling.extra", "sampling, other", BINDING, {"load.extra", "file.extra_body"}},
    {"stopping.rule", "stopping rule", BINDING, {"load.osl.by", "load.ignore_eos", "file.ignore_eos"}},
    {"cache.shared", "shared prefixes", BINDING, {"plan.prefix_groups", "load.prompts.shared"}},
    {"cache.repeated", "prompts repeated", BINDING, {"load.prompts.repeated"}},
    {"placement.host", "host", BINDING, {"host.name", "sut.system_name"}},
    {"placement.gpus", "serving GPUs", BINDING, {"sut.gpus"}},
    {"parallelism",
     "parallelism",
     BINDING,
     {"endpoint.parallelism", "plan.parallelism", "endpoint.tensor_parallel", "file.tensor_parallel_size",
      "sut.parallelism"}},
    {"passport.calibration", "calibration", BINDING, {"calibration.id"}},
    {"system.product", "system", BINDING, {"host.product", "sut.system_name"}},
    {"system.cpu", "CPU", BINDING, {"host.cpu", "sut.host_processor_model_name"}},
    {"system.kernel", "kernel", NAMED, {"host.kernel"}},
    {"system.os", "operating system", NAMED, {"host.os", "sut.operating_system"}},
    {"system.governor", "CPU governor", NAMED, {"host.governor"}},
    {"client.transport", "client", NAMED, {"load.transport"}},
    {"client.threads", "client threads", NAMED, {"load.threads"}},
    {"measuring.sampling", "sampling", NAMED, {"record.period", "mlperf.analyzer"}},
    {"measuring.edges", "window edges", NAMED, {"record.edge"}},
    {"measuring.warmup", "warm-up, s", NAMED, {"plan.warmup_s"}},
    {"measuring.tool", "recorded by joulemark", NAMED, {"joulemark.version"}},
};

#define SAID (sizeof said / sizeof said[0])

/* What is computed or observed. */
enum seen {
    S_BOUNDARY,
    S_PROVENANCE,
    S_DEVICES,
    S_INSTRUMENT,
    S_UUID,
    S_PASSPORT,
    S_SIMULATED,
    S_ACCELERATORS,
    S_TOKENS,
    S_OBJECTIVES,
    S_ISL,
    S_OSL,
    S_FINISH,
    S_HITS,
    S_CANCELLED,
    S_COTENANTS,
    S_OTHER_GPUS,
    S_LIMIT,
    S_SM,
    S_MEM,
    S_TEMP,
    S_THROTTLE,
    S_SECONDS,
    S_COUNT
};
static const struct fact_row seen[S_COUNT] = {
    [S_BOUNDARY] = {"boundary", "boundary", NEVER, {NULL}},
    [S_PROVENANCE] = {"provenance", "how it was measured", NEVER, {NULL}},
    [S_DEVICES] = {"devices.count", "metered", BINDING, {NULL}},
    [S_INSTRUMENT] = {"instrument", "instrument", BINDING, {NULL}},
    [S_UUID] = {"devices.identity", "metered devices", BINDING, {NULL}},
    [S_PASSPORT] = {"passport.files", "passports", BINDING, {NULL}},
    [S_SIMULATED] = {"simulated", "simulated", NEVER, {NULL}},
    [S_ACCELERATORS] = {"accelerators", "accelerators", BINDING, {NULL}},
    [S_TOKENS] = {"tokens.counted", "tokens counted by", BINDING, {NULL}},
    [S_OBJECTIVES] = {"workload.objectives", "objectives in the files", BINDING, {NULL}},
    [S_ISL] = {"lengths.isl", "ISL, mean", BINDING, {NULL}},
    [S_OSL] = {"lengths.osl", "OSL, mean", BINDING, {NULL}},
    [S_FINISH] = {"stopping.length", "ended by their length", BINDING, {NULL}},
    [S_HITS] = {"cache.hits", "prompt tokens from cache", BINDING, {NULL}},
    [S_CANCELLED] = {"workload.cancelled", "given up by plan", BINDING, {NULL}},
    [S_COTENANTS] = {"cotenants.requests", "requests of others", BINDING, {NULL}},
    [S_OTHER_GPUS] = {"cotenants.gpus", "other GPUs, mean", NAMED, {NULL}},
    [S_LIMIT] = {"limits.power", "power limit in the run", BINDING, {NULL}},
    [S_SM] = {"clocks.sm", "SM clock in the run", BINDING, {NULL}},
    [S_MEM] = {"clocks.memory", "memory clock in the run", BINDING, {NULL}},
    [S_TEMP] = {"temperature", "temperature in the run", NAMED, {NULL}},
    [S_THROTTLE] = {"throttling", "held back", NAMED, {NULL}},
    [S_SECONDS] = {"measuring.window", "seconds a trial", NAMED, {NULL}},
};

const char *jm_compare_state_name(int s)
{
    static const char *const name[] = {"same",           "unknown", "partly known", "declared",
                                       "declared, same", "named",   "differs",      "never comparable"};
    return s >= 0 && s < JM_CF_COUNT ? name[s] : NULL;
}

const struct jm_compare_fact *jm_cmp_fact(const struct jm_comparison *c, const char *id)
{
    for (size_t i = 0; i < c->n_fact; i++)
        if (strcmp(c->fact[i].id, id) == 0)
            return &c->fact[i];
    return NULL;
}

/* --- values */

/* Adds a run's text to a side's: once, in order of appearance; more than one makes the side differ in itself.
 */
static int gather(struct jm_cmp *x, const char **to, const char *text)
{
    if (!text || !text[0])
        return 0;
    if (!*to) {
        *to = JM_CMP_TEXT(x, "%.400s", text);
    } else {
        struct jm_span rest = jm_span_of(*to);
        struct jm_span one = jm_span_of(text);
        one.n = one.n > 400 ? 400 : one.n;
        ptrdiff_t at;
        while ((at = jm_span_find(rest, JM_SPAN(" | "))) >= 0) {
            if (jm_span_eq(jm_span_sub(rest, 0, (size_t)at), one))
                return 0;
            rest = jm_span_sub(rest, (size_t)at + 3, rest.n);
        }
        if (jm_span_eq(rest, one) || strlen(*to) > 1200)
            return 0;
        *to = JM_CMP_TEXT(x, "%s | %.400s", *to, text);
    }
    return *to ? 0 : jm_cmp_memory(x);
}

/* A numeric fact: how far its values may be apart. */
struct numeric {
    double v[JM_COMPARE_SIDES], se[JM_COMPARE_SIDES]; /* se: its standard error, 0: none */
    double relative, absolute;
    const char *unit;
    double scale;
};

static int number_of(struct jm_cmp *x, enum seen what, size_t i, struct numeric *n)
{
    const struct jm_side_sums *u = &x->sums[i];
    int w = what == S_OSL;
    double v = NAN, se = 0;
    int rc = 0;
    n->scale = 1;
    switch (what) {
    case S_ISL:
    case S_OSL:
        n->relative = 0.02;
        n->unit = "tokens";
        if (u->n[w] > 0) {
            v = u->sum[w] / u->n[w];
            double var = u->sum2[w] / u->n[w] - v * v;
            se = var > 0 ? sqrt(var / u->n[w]) : 0;
        }
        break;
    case S_FINISH:
        n->absolute = 0.02;
        n->unit = "%";
        n->scale = 100;
        v = u->stopped > 0 ? u->length / u->stopped : NAN;
        break;
    case S_HITS:
        n->absolute = 0.02;
        n->unit = "%";
        n->scale = 100;
        v = jm_cmp_engine_mean(&x->in[i], true);
        if (isnan(v) && u->prompt > 0)
            v = u->cached / u->prompt;
        break;
    case S_CANCELLED: {
        const struct jm_compare_side *s = &x->c->side[i];
        double all = (double)s->requests + u->cancelled;
        n->absolute = 0.02;
        n->unit = "%";
        n->scale = 100;
        v = all > 0 ? u->cancelled / all : NAN;
        se = all > 0 ? sqrt(v * (1 - v) / all) : 0;
        break;
    }
    case S_COTENANTS:
        n->absolute = 0.02;
        n->unit = "% of the time";
        n->scale = 100;
        v = jm_cmp_engine_mean(&x->in[i], false);
        break;
    case S_OTHER_GPUS:
        n->relative = 0.05;
        n->unit = "W";
        v = jm_cmp_other_gpus(&x->in[i]);
        break;
    case S_LIMIT:
        n->relative = 0.005;
        n->unit = "W";
        rc = jm_cmp_gauge(x, i, "power.limit", &v);
        break;
    case S_SM:
        n->relative = 0.02;
        n->unit = "MHz";
        n->scale = 1e-6;
        rc = jm_cmp_gauge(x, i, "clock.sm", &v);
        break;
    case S_MEM:
        n->relative = 0.02;
        n->unit = "MHz";
        n->scale = 1e-6;
        rc = jm_cmp_gauge(x, i, "clock.mem", &v);
        break;
    case S_TEMP:
        n->absolute = 5;
        n->unit = "°C";
        rc = jm_cmp_gauge(x, i, "temp", &v);
        break;
    case S_SECONDS: {
        const struct jm_compare_side *s = &x->c->side[i];
        double t = 0;
        for (size_t k = 0; k < s->n_trial; k++)
            t += s->trial[k].seconds;
        n->relative = 0.1;
        n->unit = "s";
        v = s->n_trial ? t / (double)s->n_trial : NAN;
        break;
    }
    default: break;
    }
    n->v[i] = v;
    n->se[i] = se;
    return rc;
}

static bool apart(const struct numeric *n, size_t a, size_t b)
{
    double d = fabs(n->v[a] - n->v[b]), most = fmax(fabs(n->v[a]), fabs(n->v[b]));
    /* three standard errors: lengths that were drawn are no other lengths */
    return d > n->absolute + n->relative * most && d > 3 * hypot(n->se[a], n->se[b]);
}

/* --- rows */
static bool declares(const char *name, const char *id)
{
    size_t n = strlen(name);
    return strncmp(id, name, n) == 0 && (id[n] == '\0' || id[n] == '.');
}

static bool declared(const struct jm_cmp *x, const char *id)
{
    const struct jm_contract *k = x->o->contract;
    for (size_t i = 0; i < x->o->n_differs; i++)
        if (declares(x->o->differs[i], id))
            return true;
    for (size_t i = 0; k && i < k->differs.n; i++)
        if (declares(k->differs.item[i], id))
            return true;
    return false;
}

int jm_cmp_known_name(const char *name, const char *where, struct jm_err *err)
{
    const char *best = NULL;
    unsigned least = ~0u;
    for (size_t i = 0; i < SAID + S_COUNT; i++) {
        const char *id = i < SAID ? said[i].id : seen[i - SAID].id;
        unsigned far = jm_near_distance(jm_span_of(name), jm_span_of(id));
        if (declares(name, id))
            return 0;
        if (far < least && jm_near_plausible(far, strlen(name))) {
            least = far;
            best = id;
        }
    }
    return jm_err_set(err, JM_EUSAGE, "%s: \"%.60s\" is nothing that is compared%s%s%s", where, name,
                      best ? "; did you mean \"" : "; docs/compare.md has the table", best ? best : "",
                      best ? "\"?" : "");
}

int jm_cmp_never_name(const char *name, const char *where, struct jm_err *err)
{
    for (size_t i = 0; i < S_COUNT; i++)
        if (seen[i].weight == NEVER && strcmp(seen[i].id, name) == 0)
            return jm_err_set(err, JM_EUSAGE,
                              "%s: %s cannot be declared to differ: no declaration makes joules of one kind "
                              "comparable with joules of another",
                              where, name);
    return 0;
}

int jm_cmp_declared(struct jm_cmp *x)
{
    const struct jm_contract *k = x->o->contract;
    int rc = 0;
    for (size_t i = 0; !rc && i < x->o->n_differs; i++)
        rc = jm_cmp_known_name(x->o->differs[i], "--differs", x->err);
    for (size_t i = 0; !rc && k && i < k->differs.n; i++)
        rc = jm_cmp_known_name(k->differs.item[i], "contract: differs", x->err);
    for (size_t i = 0; !rc && k && i < k->known.n; i++)
        rc = jm_cmp_known_name(k->known.item[i], "contract: known", x->err);
    return rc;
}

/* Runs of A against A are runs of A: what A's files say and a run of --aa says otherwise. */
int jm_cmp_aa(struct jm_cmp *x)
{
    const struct jm_compare_side_in *a = &x->in[0];
    for (size_t i = 0; i < x->o->n_aa; i++) {
        const struct jm_compare_run *r = &x->o->aa[i];
        const char *title = NULL, *is = NULL, *was = NULL;
        for (size_t k = 0; k < SAID && !title; k++) {
            is = said[k].weight == BINDING ? jm_cmp_env(r->run, said[k].key) : NULL;
            bool agree = !is, known = false;
            for (size_t j = 0; j < a->n_run && !agree; j++) {
                const char *v = jm_cmp_env(a->run[j].run, said[k].key);
                known |= v != NULL;
                was = v ? v : was;
                agree = v && strcmp(v, is) == 0;
            }
            if (known && !agree)
                title = said[k].title;
        }
        if (!title && r->report->simulated != a->run[0].report->simulated)
            title = "simulated", is = r->report->simulated ? "yes" : "no",
            was = r->report->simulated ? "no" : "yes";
        if (title)
            return jm_err_set(x->err, JM_EUSAGE,
                              "--aa: %s is no run of A, which it differs from in %s (%.60s, A %.60s); the "
                              "detection floor takes runs of A against A",
                              jm_run_path(r->run), title, is, was);
    }
    return 0;
}

/* A side that is of two kinds in itself is no configuration, whatever was declared; unless all are mixed
 * alike. */
static bool mixed(const struct jm_cmp *x, const struct jm_compare_fact *f)
{
    bool any = false, alike = true;
    for (size_t i = 0; i < x->c->n_side; i++) {
        any |= f->value[i] && strstr(f->value[i], " | ");
        alike &= i == 0 || (f->value[0] && f->value[i] && strcmp(f->value[0], f->value[i]) == 0);
    }
    return any && !alike;
}

/* Settles the state of a fact whose values are there. far: some side is apart from A. */
static void settle(const struct jm_cmp *x, struct jm_compare_fact *f, enum weight weight, bool far)
{
    size_t have = 0, n = x->c->n_side;
    for (size_t i = 0; i < n; i++)
        have += f->value[i] != NULL;
    bool meant = declared(x, f->id) && !mixed(x, f);
    if (!have)
        f->state = JM_CF_UNKNOWN;
    else if (far && weight == NEVER)
        f->state = JM_CF_NEVER;
    else if (far)
        f->state = meant ? JM_CF_DECLARED : weight == NAMED ? JM_CF_NAMED : JM_CF_DIFFERS;
    else if (have < n)
        f->state = meant ? JM_CF_DECLARED : JM_CF_PARTLY;
    else
        f->state = meant ? JM_CF_IDLE : JM_CF_SAME;
}

static bool texts_apart(const struct jm_cmp *x, const struct jm_compare_fact *f)
{
    const char *first = NULL;
    for (size_t i = 0; i < x->c->n_side; i++) {
        const char *v = f->value[i];
        if (!v)
            continue;
        if (strstr(v, " | ") || (first && strcmp(first, v) != 0))
            return true;
        first = v;
    }
    return false;
}

/* What qualifies a token, where that is as each file says: "ttft_s 0.5, chat.tpot_s 0.05". */
static const char *objectives_of(struct jm_cmp *x, const struct jm_compare_run *r)
{
    const char *text = NULL;
    if (r->report->slo_given)
        return "given here";
    for (size_t i = 0; i < r->report->n_env; i++) {
        struct jm_span key = jm_span_of(r->report->env[i].key);
        if (!jm_span_starts(key, JM_SPAN("contract.")) || (text && strlen(text) > 300))
            continue;
        text = JM_CMP_TEXT(x, "%s%s%.60s %.20s", text ? text : "", text ? ", " : "", key.p + 9,
                           r->report->env[i].value);
    }
    return text ? text : "none";
}

static int text_fact(struct jm_cmp *x, enum seen what, struct jm_compare_fact *f)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < x->c->n_side; i++)
        for (size_t k = 0; !rc && k < x->in[i].n_run; k++) {
            const struct jm_compare_run *r = &x->in[i].run[k];
            const struct jm_result *row = jm_cmp_row(r, x->c->unit, x->c->boundary);
            char set[160];
            const char *v = NULL;
            switch (what) {
            case S_BOUNDARY:
                jm_cmp_structure(row ? row->set : NULL, set, sizeof set);
                v = set;
                break;
            case S_PROVENANCE: v = row ? jm_provenance_name((int)row->q.provenance) : NULL; break;
            case S_DEVICES: v = row ? row->set : NULL; break;
            case S_INSTRUMENT: v = row ? row->instrument : NULL; break;
            case S_UUID: v = jm_cmp_identity(x, r); break;
            case S_PASSPORT: v = r->report->n_passports ? r->report->passports[0].sha256 : "none"; break;
            case S_SIMULATED: v = r->report->simulated ? "yes" : "no"; break;
            case S_ACCELERATORS: v = jm_cmp_accelerators(x, r); break;
            case S_OBJECTIVES: v = objectives_of(x, r); break;
            case S_TOKENS: v = k ? NULL : jm_cmp_token_source(x, &x->sums[i]); break;
            default: break;
            }
            rc = gather(x, &f->value[i], v);
        }
    return rc;
}

static int number_fact(struct jm_cmp *x, enum seen what, struct jm_compare_fact *f, bool *far)
{
    struct numeric n = {.relative = 0};
    int rc = 0;
    *far = false;
    for (size_t i = 0; !rc && i < x->c->n_side; i++) {
        rc = number_of(x, what, i, &n);
        if (rc || !isfinite(n.v[i]))
            continue;
        f->value[i] = JM_CMP_TEXT(x, "%.4g %s", n.v[i] * n.scale, n.unit);
        if (!f->value[i])
            rc = jm_cmp_memory(x);
        for (size_t k = 0; !rc && k < i; k++)
            *far |= isfinite(n.v[k]) && apart(&n, i, k);
    }
    return rc;
}

static int held_back(struct jm_cmp *x, struct jm_compare_fact *f, bool *far)
{
    size_t n[JM_COMPARE_SIDES] = {0};
    for (size_t i = 0; i < x->c->n_side; i++) {
        bool known;
        n[i] = jm_cmp_throttled(&x->in[i], &known);
        if (!known && !n[i])
            continue;
        f->value[i] = n[i] ? JM_CMP_TEXT(x, "%zu findings", n[i]) : "never";
        if (!f->value[i])
            return jm_cmp_memory(x);
    }
    for (size_t i = 1; i < x->c->n_side; i++)
        *far |= (n[i] > 0) != (n[0] > 0);
    return 0;
}

static int by_state(const void *a, const void *b)
{
    const struct jm_compare_fact *p = a, *q = b;
    if (p->state != q->state)
        return p->state > q->state ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

/* Prompts that were made by a seed are drawn, as their lengths are: other ones are no other work. */
static const char *said_by(const struct jm_run *run, const struct fact_row *row)
{
    const char *synthetic = jm_run_env(run, "load.synthetic");
    bool made = synthetic && strcmp(synthetic, "yes") == 0;
    return made && strcmp(row->id, "workload.prompts") == 0 ? "synthetic" : jm_cmp_env(run, row->key);
}

static bool mostly_text(enum seen s)
{
    return s <= S_OBJECTIVES;
}

int jm_cmp_facts(struct jm_cmp *x)
{
    struct jm_comparison *c = x->c;
    int rc = 0;
    if (!(c->fact = jm_report_alloc(x->mem, (SAID + S_COUNT) * sizeof *c->fact)))
        return jm_cmp_memory(x);
    for (enum seen s = 0; !rc && s < S_COUNT; s++) {
        struct jm_compare_fact *f = &c->fact[c->n_fact];
        f->row = c->n_fact++;
        bool far = false;
        f->id = seen[s].id;
        f->title = seen[s].title;
        if (mostly_text(s)) {
            rc = text_fact(x, s, f);
            far = texts_apart(x, f);
        } else if (s == S_THROTTLE) {
            rc = held_back(x, f, &far);
        } else {
            rc = number_fact(x, s, f, &far);
        }
        bool beside = s == S_OBJECTIVES && strcmp(x->c->unit, "j_per.qualified_token") != 0;
        settle(x, f, beside ? NAMED : seen[s].weight, far);
    }
    for (size_t i = 0; !rc && i < SAID; i++) {
        struct jm_compare_fact *f = &c->fact[c->n_fact];
        f->row = c->n_fact++;
        f->id = said[i].id;
        f->title = said[i].title;
        for (size_t k = 0; !rc && k < c->n_side; k++)
            for (size_t r = 0; !rc && r < x->in[k].n_run; r++)
                rc = gather(x, &f->value[k], said_by(x->in[k].run[r].run, &said[i]));
        settle(x, f, said[i].weight, texts_apart(x, f));
    }
    if (!rc)
        qsort(c->fact, c->n_fact, sizeof *c->fact, by_state);
    return rc;
}
