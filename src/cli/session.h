/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as the commands make one: options, recorder, progress, summary. */
#ifndef JM_CLI_SESSION_H
#define JM_CLI_SESSION_H

#include "cli/cli.h"
#include "cli/meterenv.h"
#include "cli/present.h"
#include "record/record.h"

struct jm_session_opts {
    const char *output, *label;
    bool force, no_edge, strict, no_summary;
    double tolerance; /* percent of the energy of a window; 0: none */
    bool sync_step;
    struct jm_opt_list passports, facts;
    int64_t window_max; /* ns; 0: no window is lengthened */
    double sample_hz;   /* 0: each meter's own */
    int64_t edge_ns;
    int64_t seed;                     /* -1: chosen */
    const struct jm_present *present; /* whose factors are kept with the run; NULL: none */
};

void jm_session_opts_init(struct jm_session_opts *o);

#define JM_OPTS_SESSION(s, m)                                                                                \
    {"output",                                                                                               \
     'o',                                                                                                    \
     JM_OPT_STR,                                                                                             \
     offsetof(struct s, m.output),                                                                           \
     .arg = "FILE",                                                                                          \
     .help = "Run file to write.",                                                                           \
     .deflt = "named by command and time"},                                                                  \
        {"force", 0, JM_OPT_FLAG, offsetof(struct s, m.force), .help = "Write over an existing run file."},  \
        {"tolerance",                                                                                        \
         0,                                                                                                  \
         JM_OPT_NUM,                                                                                         \
         offsetof(struct s, m.tolerance),                                                                    \
         1e-4,                                                                                               \
         100,                                                                                                \
         .arg = "PERCENT",                                                                                   \
         .help = "Refuse a window whose energy may be off by more, at the very most."},                      \
        {"sync-step", 0, JM_OPT_FLAG, offsetof(struct s, m.sync_step),                                       \
         .help = "Load the CPUs in known steps before and after, and find by them how late each meter is."}, \
        {"passport",                                                                                         \
         0,                                                                                                  \
         JM_OPT_LIST,                                                                                        \
         offsetof(struct s, m.passports),                                                                    \
         .arg = "FILE",                                                                                      \
         .help = "Keep a passport of an instrument (joulemark characterize) with the run, and correct its "  \
                 "energies by it. Refused for another device or driver. Repeatable."},                       \
        {"label", 0, JM_OPT_STR, offsetof(struct s, m.label), .help = "Name of the run for people."},        \
        {"fact",                                                                                             \
         0,                                                                                                  \
         JM_OPT_LIST,                                                                                        \
         offsetof(struct s, m.facts),                                                                        \
         .arg = "KEY=VALUE",                                                                                 \
         .help = "Keep with the run what no instrument tells, such as precision=FP8: it stands in the "      \
                 "disclosure as declared (docs/disclosure.md lists the keys). Repeatable."},                 \
        {"sample-rate",                                                                                      \
         0,                                                                                                  \
         JM_OPT_RATE,                                                                                        \
         offsetof(struct s, m.sample_hz),                                                                    \
         0.01,                                                                                               \
         1000,                                                                                               \
         .help = "Readings a second of each channel.",                                                       \
         .deflt = "each meter's own"},                                                                       \
        {"edge",                                                                                             \
         0,                                                                                                  \
         JM_OPT_DURATION,                                                                                    \
         offsetof(struct s, m.edge_ns),                                                                      \
         1e6,                                                                                                \
         10e9,                                                                                               \
         .help = "Longest burst of readings on each side of a window's edge.",                               \
         .deflt = "4 refresh periods, at most 500ms"},                                                       \
    {                                                                                                        \
        "no-edge", 0, JM_OPT_FLAG, offsetof(struct s, m.no_edge),                                            \
            .help =                                                                                          \
                "No bursts: one plain reading at each edge, with the larger uncertainty that this means."    \
    }

/* For commands that choose how long a window is. */
#define JM_OPT_WINDOW_MAX(s, m)                                                                              \
    {                                                                                                        \
        "window-max", 0, JM_OPT_DURATION, offsetof(struct s, m.window_max), 1e9, 3.2e15,                     \
            .help = "Lengthen a measured window up to this, until its energy is within --tolerance."         \
    }

struct jm_lengthen;

struct jm_session {
    struct jm_cli *cli;
    struct jm_recorder *rec;
    struct jm_str path;
    char dir[128];                /* folder of the mark socket, "" where it is not ours */
    char mark_socket[160];        /* "" none */
    char selftest[300];           /* where verdicts of self-tests are kept, "" nowhere */
    bool sync_step;               /* known steps of load at both ends */
    bool metered;                 /* at least one channel */
    bool begun;                   /* at least one window */
    size_t meters_first;          /* meters that could be read at the start */
    struct jm_lengthen *lengthen; /* NULL: no window is lengthened */
    double tolerance;             /* 0.01: 1 % */
    int64_t window_max;
};

/* VERB-20261129-150800.jmr, UTC: the name of a run file that was not given one. */
int jm_session_default_path(const char *verb, int64_t real_ns, struct jm_str *out, struct jm_err *err);
/* The seed that was given, else one drawn anew, short enough to be typed again. */
int64_t jm_session_seed(int64_t given);
/* Creates the run file and opens the meters. verb names the default file ("bench"); source says what is
 * recorded. mark: a socket for marks is made. No readable meter is said on standard error and is no failure
 * here. */
int jm_session_open(struct jm_session *s, struct jm_cli *cli, const struct jm_session_opts *o,
                    const char *verb, const char *source, const struct jm_meter_env *env, bool mark,
                    struct jm_err *err);
/* Self-tests and sampling start; then the steps of --sync-step. */
int jm_session_start(struct jm_session *s, struct jm_err *err);
/* Progress line: what is going on, seconds gone and to go (NAN: open end), watts, and more in words. */
void jm_session_progress(struct jm_session *s, const char *what, double done_s, double of_s,
                         const char *more);
/* Sleeps until mono_ns or the first signal (true), drawing progress; begin is the start of the span. */
bool jm_session_wait(struct jm_session *s, const char *what, int64_t begin, int64_t mono_ns);
/* The time is up for window `id`, which began at t0: when it is to end, which is `end`, or later while its
 * energy is not yet within the tolerance. Says so once it becomes longer. */
int64_t jm_session_lengthen(struct jm_session *s, int id, int64_t t0, int64_t end);
/* Seals the file. Safe after a failure; then rc is passed through and the file is what could be written. */
int jm_session_finish(struct jm_session *s, int rc, struct jm_err *err);
/* The summary of the sealed run as text, or as JSON with --json, into out. Returns JM_EXIT_INVALID for an
 * invalid run or one without a meter. */
int jm_session_summary(struct jm_session *s, const struct jm_present *p, struct jm_str *out,
                       struct jm_err *err);
/* The summary on standard output; returns what jm_session_summary does. */
int jm_session_show(struct jm_session *s, const struct jm_present *p, struct jm_cli *cli, struct jm_err *err);
void jm_session_release(struct jm_session *s);

/* Window helpers that name the window in the error. */
int jm_session_begin(struct jm_session *s, enum jm_role role, const char *name, int trial, int *id,
                     int64_t *t0, struct jm_err *err);

#endif
