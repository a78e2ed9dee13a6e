/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum kind { TEXT, FLAG, U32, U64, SIZE, REAL, INT, GPUS, FAULT, API };

struct row {
    const char *name;
    enum kind kind;
    size_t off;
    double min, max;
    const char *value, *help;
};

#define O(f) offsetof(struct sim_options, f)
/* clang-format off */
static const struct row rows[] = {
    {"host", TEXT, O(host), 0, 0, "ADDRESS", "address to listen on (127.0.0.1)"},
    {"port", INT, O(port), 0, 65535, "N", "port; 0: any that is free (0)"},
    {"model", TEXT, O(model), 0, 0, "NAME", "8b-h100 or 70b-4xh100: a model in sim/data/models.tsv (8b-h100)"},
    {"served-model-name", TEXT, O(served), 0, 0, "NAME", "its name in the API (that of the model)"},
    {"state", TEXT, O(state), 0, 0, "FILE", "state of joulemark-sim gpu whose boards it drives (none: no power)"},
    {"gpus", GPUS, 0, 0, 63, "LIST", "which boards, as 0-3 or 0,2 (the first ones)"},
    {"truth", TEXT, O(truth), 0, 0, "FILE", "at the end, write what really happened"},
    {"steps", TEXT, O(steps), 0, 0, "FILE", "write a row for each step: times, tokens, power, energy by part"},
    {"workers", FLAG, O(workers), 0, 0, NULL, "the processes on the GPUs are children, one a GPU, as in real engines"},
    {"api-key", TEXT, O(api_key), 0, 0, "KEY", "answer 401 without it"},
    {"seed", U64, O(seed), 0, 9e18, "N", "of texts, lengths and acceptance (1)"},
    {"speed", REAL, O(speed), 1e-3, 1e6, "X", "steps take 1/X of their time; the power stays, so energy is 1/X too (1)"},
    {"max-num-seqs", U32, O(sched.max_seqs), 1, 65536, "N", "sequences in a step (the model's)"},
    {"max-num-batched-tokens", U32, O(sched.max_batched_tokens), 1, 1e6, "N", "tokens in a step (the model's)"},
    {"kv-tokens", U64, O(sched.kv_tokens), 64, 1e9, "N", "tokens the KV cache holds (what the boards have room for)"},
    {"no-prefix-cache", FLAG, O(no_prefix_cache), 0, 0, NULL, "compute shared prompt prefixes each time"},
    {"spec-tokens", U32, O(sched.draft), 0, 16, "N", "speculative tokens proposed per step (0)"},
    {"spec-accept", REAL, O(sched.accept), 0, 1, "P", "chance that one is accepted, given those before (0.7)"},
    {"eos-median", REAL, O(eos_median), 1, 1e6, "TOKENS", "median length of answers that end by themselves (181)"},
    {"stream-interval", U32, O(stream_interval), 1, 1e6, "N", "tokens in an event (1)"},
    {"reasoning", U32, O(reasoning), 0, 1e6, "N", "the first N tokens of a chat answer are reasoning (0)"},
    {"reasoning-key", TEXT, O(reasoning_key), 0, 0, "NAME", "key of reasoning deltas (reasoning_content)"},
    {"utf8", FLAG, O(utf8), 0, 0, NULL, "words with characters of two, three and four bytes"},
    {"prompt-tokens-details", FLAG, O(cached_details), 0, 0, NULL, "usage tells cached prompt tokens, when there are any"},
    {"role-early", FLAG, O(role_early), 0, 0, NULL, "the role chunk comes when the request is scheduled, before any token"},
    {"api", API, 0, 0, 0, "NAME", "whose paths there are beside OpenAI's: vllm, sglang, tgi, triton, llamacpp, ollama, lmstudio or all (vllm)"},
    {"metrics", TEXT, O(metrics), 0, 0, "NAME", "in whose names /metrics speaks: vllm, sglang, llamacpp, tgi or none (vllm)"},
    {"incremental", FLAG, O(incremental), 0, 0, NULL, "SGLang's events have what is new, not all text so far"},
    {"no-counts", FLAG, O(no_counts), 0, 0, NULL, "Triton's model has no inputs that ask for token counts"},
    {"fault", FAULT, 0, 0, 0, "LIST", "what goes wrong, see --list-faults; may be given again"},
    {"max-conns", U32, O(max_conns), 1, 1e6, "N", "connections; further ones wait (8192)"},
    {"max-body", SIZE, O(max_body), 1024, 1u << 28, "BYTES", "longest request body (4194304)"},
    {"max-records", U32, O(max_records), 0, 1e7, "N", "requests in the truth (200000)"},
    {"max-answers", U32, O(max_answers), 0, 1e9, "N", "close a connection without notice after N answers; 0: never (0)"},
    {"keep-alive", REAL, O(keep_alive_s), 0.01, 86400, "S", "close idle connections after this time (75)"},
};
/* clang-format on */
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

void sim_options_init(struct sim_options *o)
{
    *o = (struct sim_options){.host = "127.0.0.1",
                              .model = "8b-h100",
                              .metrics = "vllm",
                              .seed = 1,
                              .speed = 1,
                              .stream_interval = 1,
                              .api = SIM_API_VLLM,
                              .reasoning_key = "reasoning_content",
                              .eos_median = 181,
                              .max_conns = 8192,
                              .max_records = 200000,
                              .max_body = 4u << 20,
                              .keep_alive_s = 75};
    o->sched.accept = 0.7;
}

/* "0,1,2,3", "0+1", "0-3" and mixtures; each board once. */
static bool list(struct sim_options *o, const char *v)
{
    o->gpus = 0;
    while (*v) {
        char *end;
        errno = 0;
        long x = strtol(v, &end, 10), last = x;
        if (end != v && *end == '-') {
            v = end + 1;
            last = strtol(v, &end, 10);
        }
        if (end == v || errno || x < 0 || last > 63 || last < x || (*end && *end != ',' && *end != '+'))
            return false;
        for (; x <= last; x++) {
            for (int i = 0; i < o->gpus; i++)
                if (o->gpu[i] == (int)x)
                    return false;
            o->gpu[o->gpus++] = (int)x; /* fits: each of 0 to 63 once */
        }
        v = *end ? end + 1 : end;
    }
    return o->gpus > 0;
}

static bool number(const struct row *r, void *at, const char *v)
{
    char *end;
    errno = 0;
    if (r->kind == REAL) {
        double d = strtod(v, &end);
        if (end == v || *end || errno || !(d >= r->min && d <= r->max))
            return false;
        memcpy(at, &d, sizeof d);
        return true;
    }
    long long x = strtoll(v, &end, 10);
    if (end == v || *end || errno || (double)x < r->min || (double)x > r->max)
        return false;
    switch (r->kind) {
    case U32: memcpy(at, &(uint32_t){(uint32_t)x}, sizeof(uint32_t)); break;
    case U64: memcpy(at, &(uint64_t){(uint64_t)x}, sizeof(uint64_t)); break;
    case SIZE: memcpy(at, &(size_t){(size_t)x}, sizeof(size_t)); break;
    default: memcpy(at, &(int){(int)x}, sizeof(int)); break;
    }
    return true;
}

int sim_option_set(struct sim_options *o, const char *name, size_t n, const char *value, char *why,
                   size_t whylen)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *r = &rows[i];
        if (strlen(r->name) != n || memcmp(r->name, name, n) != 0)
            continue;
        void *at = (char *)o + r->off;
        if (r->kind == FLAG) {
            *(bool *)at = true;
            return 0;
        }
        if (!value) {
            snprintf(why, whylen, "--%s needs a value: %s.", r->name, r->value);
            return -1;
        }
        if (r->kind == FAULT)
            return sim_fault_parse(&o->faults, value, strlen(value), why, whylen) < 0 ? -1 : 1;
        if (r->kind == API) {
            if ((o->api = sim_api_of(value)))
                return 1;
            snprintf(why, whylen, "--api is one of " SIM_API_NAMES ", not \"%s\".", value);
            return -1;
        }
        if (r->kind == TEXT) {
            if (!*value) {
                snprintf(why, whylen, "--%s must not be empty.", r->name);
                return -1;
            }
            memcpy(at, &value, sizeof value);
            return 1;
        }
        if (r->kind == GPUS ? list(o, value) : number(r, at, value))
            return 1;
        if (r->kind == GPUS)
            snprintf(why, whylen, "--gpus takes numbers of boards, each once, as in 0-3 or 0,2, not \"%s\".",
                     value);
        else
            snprintf(why, whylen, "--%s takes a number from %g to %g, not \"%s\".", r->name, r->min, r->max,
                     value);
        return -1;
    }
    snprintf(why, whylen, "There is no option --%.*s; --help lists all.", (int)n, name);
    return -1;
}

void sim_options_help(FILE *out)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        char left[48];
        snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].value ? " " : "",
                 rows[i].value ? rows[i].value : "");
        fprintf(out, "  %-28s %s\n", left, rows[i].help);
    }
}

static const int no_stop = 0;

int sim_engine_run(const struct sim_options *o, void (*ready)(void *self, struct sim_engine *e), void *self)
{
    struct sim_engine *e = calloc(1, sizeof *e);
    char why[256];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), status = 4;
    if (!e || fd < 0)
        fputs("joulemark-sim engine: there is no memory\n", stderr);
    else if (sim_engine_open(e, o, why, sizeof why) < 0)
        fprintf(stderr, "joulemark-sim engine: %s\n", why);
    else {
        ready(self, e);
        status = sim_engine_serve(e, &no_stop, fd) < 0 ? 4 : 0;
        if (o->truth && sim_truth_write(e, o->truth, why, sizeof why) < 0) {
            fprintf(stderr, "joulemark-sim engine: %s\n", why);
            status = 4;
        }
    }
    if (e)
        sim_engine_close(e);
    free(e);
    if (fd >= 0)
        close(fd);
    return status;
}
