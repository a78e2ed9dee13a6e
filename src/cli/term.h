/* SPDX-License-Identifier: Apache-2.0 */
/* What standard error and standard output are connected to, and the progress line. Safe to use from several
 * threads. */
#ifndef JM_CLI_TERM_H
#define JM_CLI_TERM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct jm_term {
    bool out_tty, err_tty;
    bool out_color, err_color;
    int width; /* columns of the terminal, 80 where there is none */
    bool progress;
    pthread_mutex_t lock;
    bool line_shown;       /* a progress line is on the screen */
    int line_columns;      /* how long it is */
    int64_t last_progress; /* CLOCK_MONOTONIC ns */
};

/* color: enum jm_color of cli.h. NO_COLOR (set and not empty) and TERM=dumb switch auto off. */
void jm_term_init(struct jm_term *t);
void jm_term_setup(struct jm_term *t, int color, bool quiet);
void jm_term_release(struct jm_term *t);

/* A line on standard error, "joulemark: " is not added. */
void jm_term_say(struct jm_term *t, const char *text);
/* Progress: a bar that is redrawn (at most 10 times a second) on a terminal, else one plain line every 10 s.
 * fraction: 0 to 1, or NAN where the end is not known. */
void jm_term_progress(struct jm_term *t, double fraction, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a line that is made to fit: make is called when one is due, with the columns of the terminal
 * as they are now, 0 for a line of a log. Columns count as characters without escapes. */
typedef void (*jm_term_maker)(void *self, int columns, bool color, struct jm_str *out);
void jm_term_progress_made(struct jm_term *t, jm_term_maker make, void *self);
/* Takes the progress line away. */
void jm_term_progress_end(struct jm_term *t);

#endif
