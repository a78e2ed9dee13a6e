/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for a PTDaemon: it says what the public command corpus of MLPerf Power says, about a simulated
 * analyzer whose true power is known. It never passes for the real thing: its banner says SIMULATED, Identify
 * names JOULEMARK as the maker. Texts that no public file shows are marked "own words" where they are made.
 */
#ifndef SIM_PTD_H
#define SIM_PTD_H

#include "wall/wall.h"
#include "wall/wt.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SIMPTD_FAULTS  32
#define SIMPTD_LINE    1024
#define SIMPTD_CHAN    (SIMWT_ELEMENTS + 1) /* 0 is the sum */
#define SIMPTD_SAMPLES 500000

enum simptd_version { PTD_1_9_1, PTD_1_9_2, PTD_1_10_0, PTD_1_11_1 };

enum simptd_fault_kind {
    F_NONE,
    F_REFUSE,  /* SR of a number is answered with an error; text: V, A or GO */
    F_LOSE,    /* number: so many samples go missing at the time */
    F_OVER,    /* number: the crest factor of the current becomes so high */
    F_NAN,     /* readings are nan */
    F_INF,     /* readings are inf */
    F_DIE,     /* the process ends with status 1 */
    F_CLOSE,   /* the connection is closed */
    F_SILENT,  /* no command is answered any more */
    F_SLOW,    /* number: every reply comes so many seconds late */
    F_GARBAGE, /* replies are no text */
    F_VERSION, /* text: the version that Identify says */
    F_HELLO,   /* text: what Hello gets */
    F_JUMP,    /* number: the clock of the stamps is moved by so many seconds */
    F_DUP,     /* a sample has the stamp of the one before it */
    F_SHORT,   /* number: RL sends so many lines fewer than it announces */
    F_LATE,    /* number: seconds from start until the port is open */
    F_NOSTART, /* ends at once, status 1 */
    F_CUT      /* number: the first bytes of an RL answer, then the connection is closed */
};

enum simptd_phase { PHASE_ANY, PHASE_RANGING, PHASE_TESTING, PHASE_START };

struct simptd_fault {
    int kind;
    enum simptd_phase phase;
    double number;
    char text[64];
    int64_t at_ns, length_ns; /* from Go of that phase, or from the start */
    bool done;
};

struct simptd_options {
    const char *log, *waveform, *truth, *model, *serial, *bind;
    int port, type, first, channels; /* channels 0: none said */
    int version;
    bool dc, interleave, interval_set, help;
    char interface_flag, board[16], device_port[128];
    double speed, noise, gain;
    uint64_t seed;
    int64_t jitter_ns, phase_ns;
    struct simwt_load load;
    bool load_split;
    double volt_range, amp_range; /* at the start; 0: auto */
    struct simptd_fault fault[SIMPTD_FAULTS];
    int faults;
};

struct simptd_sample {
    int64_t t_ns; /* as stamped */
    struct {
        double w, v, a, pf; /* as written, sentinels and all */
    } ch[SIMPTD_CHAN];
};

/* One measurement, for the truth. */
struct simptd_span {
    char mark[256];
    int64_t go_ns, stop_ns, first_ns, last_ns; /* first block begins, last block ends */
    int64_t samples, errors;
    double said_j; /* what good samples said x interval */
};

struct simptd {
    struct simptd_options *o;
    const struct simwt_model *m;
    struct simwall *wall;
    struct simclock clock;
    int64_t start_ns, offset_ns; /* clock jumps */
    FILE *log;
    int channels, first; /* elements that are shown */
    bool multi;
    /* ranges */
    bool v_auto, a_auto;
    double v_range, a_range;
    /* the measurement */
    bool running, stopping, ran;
    enum simptd_phase phase;
    char mark[256];
    int64_t interval_ns, go_ns, next_ns, end_ns;
    int64_t rampup;
    struct simptd_sample *s;
    size_t n, room;
    struct {
        double sum, min, max;
        int64_t total, errors, valid;
    } watts;
    struct {
        double sum, min, max;
        int64_t total, above, ok, unknown;
    } unc;
    struct simptd_span *span;
    size_t spans, span_room;
    uint64_t draws;
    /* the client */
    int listener, client;
    char in[SIMPTD_LINE];
    size_t in_n;
    bool in_drop;
    char *out;
    size_t out_n, out_room, out_sent;
    int64_t hold_until_ns; /* slow: real answers wait */
    size_t rl_next, rl_end;
    size_t echo_n; /* interleave: bytes since the last echo prefix */
    size_t cut_left;
    bool rl_on, cut_on, quit;
    int status;
};

/* options.c: argv in the public form and with our own options; 0, or a status with a sentence said. */
void simptd_options_init(struct simptd_options *o);
int simptd_options_read(struct simptd_options *o, int argc, char **argv, char *why, size_t n);
const char *simptd_version_name(int v);
/* fault.c */
int simptd_fault_parse(struct simptd_options *o, const char *text, char *why, size_t n);
const char *simptd_fault_help(int i); /* NULL past the last */
/* The fault of that kind that is in force now, NULL: none. */
struct simptd_fault *simptd_fault(struct simptd *p, int kind, int64_t now_ns);

/* say.c: standard output, one line with a stamp. */
void simptd_say(struct simptd *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void simptd_stamp(int64_t t_ns, char out[32]); /* "07-28-2025 08:09:12.507", local time */
void simptd_banner(struct simptd *p);
void simptd_say_bad(struct simptd *p, const char *what, const char *value);
void simptd_say_unknown(struct simptd *p, int channel);
void simptd_say_above(struct simptd *p, double percent, int channel);

/* measure.c */
int simptd_go(struct simptd *p, int64_t interval_ms, int64_t rampup, const char *mark);
void simptd_tick(struct simptd *p); /* takes every sample that is due */
void simptd_stop(struct simptd *p);
void simptd_complete(struct simptd *p);
int64_t simptd_next(const struct simptd *p); /* when there is something to do; INT64_MAX: nothing */
/* One line of the log (with its mark) or of RL, without its end; returns its length. */
int simptd_line(const struct simptd *p, const struct simptd_sample *s, bool mark, char *out, size_t n);
int simptd_write_truth(const struct simptd *p, char *why, size_t n);

/* command.c: one command line from the client. */
void simptd_command(struct simptd *p, char *line);
void simptd_reply(struct simptd *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts the next part of an RL answer into the output. */
void simptd_more(struct simptd *p);
int simptd_put(struct simptd *p, const char *text, size_t n);

/* serve.c */
int simptd_serve(struct simptd_options *o);

#endif
