/* SPDX-License-Identifier: Apache-2.0 */
/* Reading folders of MLPerf results on the command line: options, threads, progress, Ctrl-C. */
#ifndef JM_CLI_MLPERF_ROUNDS_H
#define JM_CLI_MLPERF_ROUNDS_H

#include "cli/cli.h"
#include "mlperf/rounds.h"

struct jm_mlperf_cli {
    int64_t jobs; /* 0: one a core */
    bool check;
    struct jm_opt_list reported;
    struct jm_round_filter filter;
    const char *as_round;
};
void jm_mlperf_cli_init(struct jm_mlperf_cli *c);

/* Rows for the member m (a struct jm_mlperf_cli) of struct s. */
#define JM_OPTS_ROUNDS(s, m)                                                                                 \
    {"model",                                                                                                \
     0,                                                                                                      \
     JM_OPT_STR,                                                                                             \
     offsetof(struct s, m.filter.model),                                                                     \
     .arg = "LIST",                                                                                          \
     .help = "Only these benchmarks: names or their beginnings (llama2-70b is llama2-70b-99 too), or "       \
             "patterns with *.",                                                                             \
     .group = "Which results"},                                                                              \
        {"scenario",    0,                                                                                   \
         JM_OPT_STR,    offsetof(struct s, m.filter.scenario),                                               \
         .arg = "LIST", .help = "Only these: Offline, Server, Interactive, SingleStream, MultiStream."},     \
        {"division",    0,                                                                                   \
         JM_OPT_STR,    offsetof(struct s, m.filter.division),                                               \
         .arg = "LIST", .help = "Only closed or open."},                                                     \
        {"availability", 0,                                                                                  \
         JM_OPT_STR,     offsetof(struct s, m.filter.availability),                                          \
         .arg = "LIST",  .help = "Only available, preview or rdi."},                                         \
        {"submitter",   0,                                                                                   \
         JM_OPT_STR,    offsetof(struct s, m.filter.submitter),                                              \
         .arg = "LIST", .help = "Only submitters with this in their name."},                                 \
        {"system",      0,                                                                                   \
         JM_OPT_STR,    offsetof(struct s, m.filter.system),                                                 \
         .arg = "LIST", .help = "Only systems with this in their folder or name."},                          \
        {"accelerator", 0,                                                                                   \
         JM_OPT_STR,    offsetof(struct s, m.filter.accelerator),                                            \
         .arg = "LIST", .help = "Only accelerators with this in their name."},                               \
        {"round",       0,                                                                                   \
         JM_OPT_STR,    offsetof(struct s, m.filter.round),                                                  \
         .arg = "LIST", .help = "Only these rounds, e.g. v4.1,v5.1."},                                       \
        {"check",                                                                                            \
         0,                                                                                                  \
         JM_OPT_FLAG,                                                                                        \
         offsetof(struct s, m.check),                                                                        \
         .help = "Judge each session by the rules; --no-check reads less and is quicker.",                   \
         .deflt = "on",                                                                                      \
         .group = "Reading"},                                                                                \
        {"as-round",                                                                                         \
         0,                                                                                                  \
         JM_OPT_STR,                                                                                         \
         offsetof(struct s, m.as_round),                                                                     \
         .arg = "ROUND",                                                                                     \
         .help = "Take every session for one of this round, e.g. v3.1, whatever its path and date say."},    \
        {"reported",                                                                                         \
         0,                                                                                                  \
         JM_OPT_LIST,                                                                                        \
         offsetof(struct s, m.reported),                                                                     \
         .arg = "FILE",                                                                                      \
         .help = "A table of published results that does not lie beside the logs; may be "                   \
                 "given again."},                                                                            \
    {                                                                                                        \
        "jobs", 'j', JM_OPT_INT, offsetof(struct s, m.jobs), 1, 256,                                         \
            .arg = "N", .help = "Read with N threads.", .deflt = "one a core"                                \
    }

/* jm_mlperf_rounds with progress on standard error; the first Ctrl-C ends it with what was read. Nothing
 * found is JM_EABSENT. */
int jm_mlperf_cli_read(struct jm_cli *cli, const struct jm_mlperf_cli *c, const char *const *dirs, size_t n,
                       struct jm_round_table *t, struct jm_err *err);

#endif
