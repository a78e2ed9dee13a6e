/* SPDX-License-Identifier: Apache-2.0 */
/* An MLPerf Inference power session as its files say it, read once in bounded memory, whatever their size:
 *
 *   <dir>/performance/{power,ranging,run_1}/...   (submission layout; <dir>/{power,ranging,run_1} and run_1
 * itself are found too)
 *
 * Nothing is concluded here: what the numbers mean is for the files beside this one. Every pointer is owned
 * by the session (one arena). A file that is absent, cut or hostile leaves its part marked so and never fails
 * the others. Layouts: mlcommons/power-dev (client and server), mlcommons/inference (LoadGen, submission
 * checker). */
#ifndef JM_MLPERF_SESSION_H
#define JM_MLPERF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "import/mlperf_round.h"

enum jm_mlperf_mode { JM_MLPERF_RANGING, JM_MLPERF_TESTING, JM_MLPERF_MODES };

/* The files of a session, in the order of the public tool. */
enum jm_mlperf_file_id {
    JM_MLPERF_CLIENT_JSON,
    JM_MLPERF_CLIENT_LOG,
    JM_MLPERF_PTD_LOGS,
    JM_MLPERF_SERVER_JSON,
    JM_MLPERF_SERVER_LOG,
    JM_MLPERF_RANGING_DETAIL,
    JM_MLPERF_RANGING_SUMMARY,
    JM_MLPERF_RANGING_SPL,
    JM_MLPERF_RUN_DETAIL,
    JM_MLPERF_RUN_SUMMARY,
    JM_MLPERF_RUN_SPL,
    JM_MLPERF_FILES
};

struct jm_mlperf_file {
    const char *rel; /* "run_1/spl.txt" */
    bool present;
    const char *error; /* why it could not be read (whole); NULL: it could */
    int64_t bytes;
    bool has_crlf; /* any line ends CRLF */
    /* Over its bytes; with every line end as CRLF; as LF. "": none. The last two are there where client.json
     * or server.json records another hash than sha1, or where they equal it. */
    char sha1[41], sha1_crlf[41], sha1_lf[41];
};

struct jm_mlperf_stamp {
    double unix_s, mono_s;
};

struct jm_mlperf_message {
    const char *cmd, *reply;
    double cmd_time, reply_time; /* NaN where there is none (ptd_messages) */
};

struct jm_mlperf_hash {
    const char *path, *sha1;
};

struct jm_mlperf_ptd_config {
    int64_t device_type; /* -1: not given */
    const char *command; /* argv joined by blanks, NULL: none */
    const char *interface_flag, *dc_flag, *device_port,
        *channel; /* channel: JSON text as written; NULL: null */
};

/* client.json or server.json. */
struct jm_mlperf_side {
    bool present;
    const char *broken; /* why it is no such document (nothing below is set then); NULL: it is */
    const char
        *missing;    /* members that the public checker requires and that are not there, "a, b"; or NULL */
    const char *odd; /* what is of another type or size than the public tool writes, first found; NULL */
    const char *version, *uuid_client, *uuid_server, *session_name;
    bool has_timezone, has_debug, debug;
    int64_t timezone_s; /* to add to local time for UTC */
    struct jm_mlperf_hash *sources, *results;
    size_t n_sources, n_results;
    struct jm_mlperf_message *messages, *ptd;
    size_t n_messages, n_ptd;
    struct jm_mlperf_stamp phase[JM_MLPERF_MODES][8];
    int n_phase[JM_MLPERF_MODES];
    struct jm_mlperf_ptd_config *config; /* a null entry of a list is device_type -1 and NULLs */
    size_t n_config;
    bool has_config, config_is_list;
};

/* mlperf_log_detail.txt and mlperf_log_summary.txt of one mode. */
struct jm_mlperf_loadgen {
    bool present;
    int64_t begin,
        end; /* first JSON message with that key (the submission checker), ns as written; -1: none */
    int64_t checker_begin, checker_end; /* first line naming it in any case (the power checker); -1: none */
    bool checker_timeless; /* ... where that line holds no time, at which the power checker gives up */
    bool old_format;       /* text lines from before LoadGen 1.0 */
    int64_t lines, errors, warnings, broken;
    struct jm_mlperf_fact {
        const char *key, *text; /* text: a string's content, or a number or truth value as written */
        bool is_number, is_bool;
        double number;
    } * facts; /* first value a key, detail log, then "summary.<key>" of the summary; bounded */
    size_t n_facts;
};

/* Samples of one spl.txt. Counts over the file and strictly inside the load window (begin < t < end). */
struct jm_mlperf_samples {
    int64_t rows, good, bad, missed, over; /* by sentinel: -1, -2, -(3+x) */
    int64_t nonpositive;                   /* what "value > 0" drops: bad, missed, over and plain 0 */
    /* exact sums in 1e-6 W: of all values as written, and of the positive ones */
    int64_t sum_all_uw, sum_positive_uw, n_positive;
    int64_t sum_decoded_uw; /* of the good and the over-range ones, decoded */
    /* the same in double precision, added one by one in file order: digit for digit what public checkers got
     */
    double plain_all_w, plain_positive_w;
    int64_t sum_pf_micro, n_pf; /* PF > 0 */
    int64_t min_uw, max_uw;     /* of decoded values, where good or over is not 0 */
    bool overflow;              /* a sum does not fit and is of no use */
};
/* Sums over the good samples of one input inside the load window, for the analyzer's accuracy (inputs.c).
 * ratio: P / (V x A), else the PF of the log; tangent: P x tan(phi), phi of the log's PF, else of that ratio.
 * A sample that has neither is in n alone. */
struct jm_mlperf_input {
    int64_t n, n_known;
    double watts, volts, amps; /* of n */
    double known_watts, ratio, tangent;
};
/* The same over the good samples of the whole file, each divided by its Watts: what PTDaemon's own mean of
 * the uncertainty is made of. */
struct jm_mlperf_doubt {
    int64_t n;
    double ratio, inputs, tangent; /* sums over inputs of ratio, 1 and tangent, divided by the sum's Watts */
};
#define JM_MLPERF_INPUTS 12
struct jm_mlperf_power {
    bool present;
    struct jm_mlperf_samples file, window;
    int64_t broken, out_of_order, duplicate_stamps,
        marks_other;          /* lines; marks_other: mark of another session or mode */
    int64_t other_lines;      /* neither blank nor beginning with "Time": the public checkers skip them */
    const char *first_broken; /* the sentence, NULL: none */
    const char *first_mark;   /* of the first sample, NULL: none */
    int64_t first_ns, last_ns, max_gap_ns; /* UTC (v1.0: time zone added), -1: none; gap: between samples that
                                              touch the window */
    int channels, analyzers;               /* 0: the sum only */
    bool crlf, blank_last;
    /* time-weighted over [begin, end]: each sample is the mean over the time since the one before it (1 s),
     * over-range ones decoded, bad and missed ones bridged by their neighbours */
    double joules, seconds, bridged_s, over_s; /* NaN: the log does not cover the window */
    bool covers_begin, covers_end;
    double max_volts, max_amps;         /* over good samples of the whole file, for the ranges; NaN: none */
    double channel_volts, channel_amps; /* the same over their channels */
    int64_t
        sum_off; /* good samples whose Watts are not the sum over channels or analyzers (by 1e-5 W each) */
    int64_t frozen_rows; /* longest run of good samples of the load with the same Watts */
    struct jm_mlperf_input input[1 + JM_MLPERF_INPUTS]; /* the sum, then each channel or analyzer */
    struct jm_mlperf_doubt doubt;
};

/* A message of ptd_logs.txt with its place. */
enum jm_mlperf_event_kind { JM_MLPERF_EV_INFO, JM_MLPERF_EV_WARNING, JM_MLPERF_EV_ERROR };
struct jm_mlperf_event {
    int64_t t_ns;      /* as written, read as UTC; -1: no stamp */
    int64_t line_t_ns; /* the stamp that its line begins with, -1: none: the power checker knows only that */
    int64_t line;
    uint8_t kind, analyzer; /* analyzer from 1; 1 where there are no sections */
    bool inner;             /* it begins in the middle of a line, after another message or echoed data */
    bool upper;             /* "ERROR:" and "WARNING:" as against "Error:" and "Warning:" */
    const char *text;       /* after the stamp; shared between equal ones */
};
#define JM_MLPERF_EVENTS 131072
struct jm_mlperf_ptd_log {
    bool present;
    int analyzers;
    struct jm_mlperf_event
        *events; /* warnings, errors, Go, Completed test, uncertainty and range notes, in file order */
    size_t n_events;
    /* Beyond JM_MLPERF_EVENTS, or beyond half of what was left at the last "Go with mark" (so that a long
     * ranging cannot crowd out the test): counted only. */
    int64_t dropped, dropped_errors, dropped_warnings;
    int64_t lines, not_line_safe; /* lines cut by another message */
};

struct jm_mlperf_session {
    char dir[4096], root[4096]; /* dir holds power/, ranging/, run_1/; root is what was asked for */
    struct jm_mlperf_round round;
    const char *claimed_scenario; /* of the folder; NULL: none */
    struct jm_mlperf_file file[JM_MLPERF_FILES];
    const char **others; /* files of power/, ranging/, run_1/ beyond these */
    size_t n_others;
    struct jm_mlperf_side client, server;
    struct jm_mlperf_loadgen loadgen[JM_MLPERF_MODES];
    struct jm_mlperf_power power[JM_MLPERF_MODES];
    struct jm_mlperf_ptd_log ptd_log;
    int64_t bytes; /* read in all */
    struct jm_mlperf_arena *arena;
};

enum jm_mlperf_read_flags {
    JM_MLPERF_READ_ALL = 0,
    JM_MLPERF_NO_PTD_LOG = 1, /* for a quick look: not ptd_logs.txt */
    JM_MLPERF_NO_HASHES = 2
};

/* Is there a session at path (any of the layouts)? */
bool jm_mlperf_session_at(const char *path);
/* JM_EABSENT: no session there; JM_ENOMEM. Everything else is in the session's parts. */
int jm_mlperf_session_read(const char *path, unsigned flags, struct jm_mlperf_session **out,
                           struct jm_err *err);
/* The same, taken for a session of that round whatever path and date say (jm_mlperf_round_named). */
int jm_mlperf_session_read_as(const char *path, unsigned flags, const struct jm_mlperf_round *as,
                              struct jm_mlperf_session **out, struct jm_err *err);
void jm_mlperf_session_free(struct jm_mlperf_session *s);

/* The fact of a key, NULL: none. Old spellings of a key are looked up too. */
const struct jm_mlperf_fact *jm_mlperf_fact(const struct jm_mlperf_loadgen *lg, const char *key);
double jm_mlperf_number(const struct jm_mlperf_loadgen *lg, const char *key); /* NaN: none or no number */

/* The load window of a mode in UTC (v1.0: time zone added); false: not known. */
bool jm_mlperf_window(const struct jm_mlperf_session *s, enum jm_mlperf_mode mode, int64_t *begin,
                      int64_t *end);

#endif
