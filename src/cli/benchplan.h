/* SPDX-License-Identifier: Apache-2.0 */
/* From the options of bench to the plan of its load, and what the run keeps of it. */
#ifndef JM_CLI_BENCHPLAN_H
#define JM_CLI_BENCHPLAN_H

#include "cli/present.h"
#include "load/plan.h"

/* Options of the load's shape, in struct jm_bench_opts. */
struct jm_shape_opts {
    const char *slices;     /* YAML */
    int arrivals;           /* -1: not given */
    double burstiness;      /* 0: not given */
    struct jm_slice parsed; /* isl, osl, turns, think, prefix, cancel, ramp's stage */
    bool sessions;
    const char *trace;
    int trace_format, oversize, scenario; /* scenario: 0 none */
    double time_scale;
    int64_t trace_from, max_requests;
    const char *benchmark;
    struct {
        double from, to;
        int64_t duration;
        int exponential;
        bool given, users;
    } ramp;
};

void jm_shape_opts_init(struct jm_shape_opts *o);

struct jm_bench_opts;
/* The plan; err is of usage. */
int jm_bench_plan(const struct jm_bench_opts *o, struct jm_plan **out, struct jm_err *err);
/* Has it an end of its own? */
bool jm_plan_ends(const struct jm_plan *p);
/* plan.* and contract.* of the run. */
void jm_bench_note_plan(const struct jm_plan *p, const struct jm_present *present,
                        void (*put)(void *self, const char *key, const char *value), void *self);

int jm_bench_parse_length(void *at, const char *text, struct jm_err *err);
int jm_bench_parse_prefix(void *at, const char *text, struct jm_err *err);
int jm_bench_parse_cancel(void *at, const char *text, struct jm_err *err);
int jm_bench_parse_think(void *at, const char *text, struct jm_err *err);
int jm_bench_parse_until(void *at, const char *text, struct jm_err *err);
int jm_bench_parse_levels(void *at, const char *text, struct jm_err *err);
int jm_bench_parse_ramp(void *at, const char *text, struct jm_err *err);
/* Rows for the member m (a struct jm_shape_opts) of struct s. */
#define JM_OPTS_ARRIVE(s, m)                                                                                 \
    {"arrivals",                                                                                             \
     0,                                                                                                      \
     JM_OPT_ENUM,                                                                                            \
     offsetof(struct s, m.arrivals),                                                                         \
     .choices = "poisson|constant|gamma",                                                                    \
     .help = "With --rate: how requests arrive.",                                                            \
     .deflt = "poisson"},                                                                                    \
        {"burstiness",                                                                                       \
         0,                                                                                                  \
         JM_OPT_NUM,                                                                                         \
         offsetof(struct s, m.burstiness),                                                                   \
         1e-3,                                                                                               \
         1e6,                                                                                                \
         .help = "Of gamma arrivals, as in vLLM: 1 is Poisson, below 1 they come in bursts."},               \
        {"ramp",                                                                                             \
         0,                                                                                                  \
         JM_OPT_PARSE,                                                                                       \
         offsetof(struct s, m.ramp),                                                                         \
         .arg = "TEXT",                                                                                      \
         .parse = jm_bench_parse_ramp,                                                                       \
         .help = "Rate or users that change: \"1/s..8/s over 60s\", \"1..64 over 60s\", then perhaps "       \
                 "exponential."},                                                                            \
        {"slices",                                                                                           \
         0,                                                                                                  \
         JM_OPT_STR,                                                                                         \
         offsetof(struct s, m.slices),                                                                       \
         .arg = "FILE",                                                                                      \
         .help = "Several loads at once, or one after the other, from YAML (examples/slices.yaml)."},        \
    {                                                                                                        \
        "max-requests", 0, JM_OPT_INT, offsetof(struct s, m.max_requests), 1, 1e12,                          \
            .help = "Send at most so many in all."                                                           \
    }
#define JM_OPTS_ASK(s, m)                                                                                    \
    {"shared-prefix",                                                                                        \
     0,                                                                                                      \
     JM_OPT_PARSE,                                                                                           \
     offsetof(struct s, m.parsed),                                                                           \
     .arg = "TEXT",                                                                                          \
     .parse = jm_bench_parse_prefix,                                                                         \
     .help = "Prompts begin with one of G prefixes of N tokens: \"4 x 1024\"."},                             \
        {"turns",                                                                                            \
         0,                                                                                                  \
         JM_OPT_PARSE,                                                                                       \
         offsetof(struct s, m.parsed.turns),                                                                 \
         .arg = "LENGTH",                                                                                    \
         .parse = jm_bench_parse_length,                                                                     \
         .help = "Conversations of so many turns (3, 2..6), each sent with the history so far."},            \
        {"think-time",                                                                                       \
         0,                                                                                                  \
         JM_OPT_PARSE,                                                                                       \
         offsetof(struct s, m.parsed),                                                                       \
         .arg = "TIME",                                                                                      \
         .parse = jm_bench_parse_think,                                                                      \
         .help = "From an answer to the next turn: 2s, or \"exponential 2s\".",                              \
         .deflt = "0s"},                                                                                     \
    {                                                                                                        \
        "cancel", 0, JM_OPT_PARSE, offsetof(struct s, m.parsed),                                             \
            .arg = "TEXT", .parse = jm_bench_parse_cancel,                                                   \
            .help = "Requests the client gives up: \"10 % after 500ms\", \"10 % after 20 tokens\"."          \
    }
#define JM_OPTS_TRACE(s, m)                                                                                  \
    {"trace",                                                                                                \
     0,                                                                                                      \
     JM_OPT_STR,                                                                                             \
     offsetof(struct s, m.trace),                                                                            \
     .group = "Traces and scenarios",                                                                        \
     .arg = "FILE",                                                                                          \
     .help = "Replay a trace: Mooncake, Azure, BurstGPT, ShareGPT, Bailian, weka or CSV. With --rate or "    \
             "--concurrency its lengths alone."},                                                            \
        {"trace-format",                                                                                     \
         0,                                                                                                  \
         JM_OPT_ENUM,                                                                                        \
         offsetof(struct s, m.trace_format),                                                                 \
         .arg = "NAME",                                                                                      \
         .choices = "auto|mooncake|azure|burstgpt|sharegpt|bailian|weka|timed|csv",                          \
         .help = "Where its content does not say it.",                                                       \
         .deflt = "auto"},                                                                                   \
        {"time-scale",                                                                                       \
         0,                                                                                                  \
         JM_OPT_NUM,                                                                                         \
         offsetof(struct s, m.time_scale),                                                                   \
         1e-6,                                                                                               \
         1e9,                                                                                                \
         .help = "2 plays the trace twice as fast.",                                                         \
         .deflt = "1"},                                                                                      \
        {"trace-from",                                                                                       \
         0,                                                                                                  \
         JM_OPT_DURATION,                                                                                    \
         offsetof(struct s, m.trace_from),                                                                   \
         0,                                                                                                  \
         1e18,                                                                                               \
         .help = "Leave out the beginning of the trace."},                                                   \
        {"trace-oversize",                                                                                   \
         0,                                                                                                  \
         JM_OPT_ENUM,                                                                                        \
         offsetof(struct s, m.oversize),                                                                     \
         .choices = "refuse|clip|skip",                                                                      \
         .help = "What becomes of requests that the model cannot hold.",                                     \
         .deflt = "refuse"},                                                                                 \
        {"sessions", 0, JM_OPT_FLAG, offsetof(struct s, m.sessions),                                         \
         .help = "Play the conversations of ShareGPT turn by turn, not only their first words."},            \
        {"scenario",                                                                                         \
         0,                                                                                                  \
         JM_OPT_ENUM,                                                                                        \
         offsetof(struct s, m.scenario),                                                                     \
         .choices = "none|mlperf-server|mlperf-offline",                                                     \
         .help =                                                                                             \
             "In the manner of MLPerf Inference, with its latency constraints; unofficial. Server takes "    \
             "its target from --rate.",                                                                      \
         .deflt = "none"},                                                                                   \
    {                                                                                                        \
        "benchmark", 0, JM_OPT_STR, offsetof(struct s, m.benchmark),                                         \
            .arg = "NAME",                                                                                   \
            .help = "Of the scenario: llama2-70b-99, llama3.1-8b, llama3.1-405b, mixtral-8x7b, "             \
                    "deepseek-r1, gptj, some with -interactive."                                             \
    }

#endif
