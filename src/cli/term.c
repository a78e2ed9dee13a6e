/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/term.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "cli/cli.h"

#include "base/banned.h"

/* What the terminal says now, which a resize changes; 0: nothing. */
static int now_columns(void)
{
    struct winsize ws;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 20 ? ws.ws_col : 0;
}

static int columns(void)
{
    struct winsize ws;
    int64_t n;
    const char *env = getenv("COLUMNS");
    if (env && jm_num_i64(jm_span_of(env), &n) == 0 && n >= 20 && n <= 1000)
        return (int)n;
    if ((ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0) &&
        ws.ws_col >= 20)
        return ws.ws_col;
    return 80;
}

void jm_term_init(struct jm_term *t)
{
    *t = (struct jm_term){.out_tty = isatty(STDOUT_FILENO) == 1, .err_tty = isatty(STDERR_FILENO) == 1};
    pthread_mutex_init(&t->lock, NULL);
    t->width = columns();
    jm_term_setup(t, JM_COLOR_AUTO, false);
}

void jm_term_setup(struct jm_term *t, int color, bool quiet)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = !term || !term[0] || strcmp(term, "dumb") == 0;
    bool may = color == JM_COLOR_ALWAYS || (color == JM_COLOR_AUTO && !(no && no[0]) && !dumb);
    t->out_color = may && (t->out_tty || color == JM_COLOR_ALWAYS);
    t->err_color = may && (t->err_tty || color == JM_COLOR_ALWAYS);
    if (dumb)
        t->err_tty = false; /* cannot redraw a line */
    t->progress = !quiet;
}

void jm_term_release(struct jm_term *t)
{
    jm_term_progress_end(t);
    pthread_mutex_destroy(&t->lock);
}

/* A line that was drawn in a wider window lies over several rows now. */
static void wipe(struct jm_term *t)
{
    int now = now_columns(), rows = now && t->line_columns > now ? (t->line_columns - 1) / now : 0;
    if (t->line_shown && rows > 0)
        fprintf(stderr, "\r\033[%dA\033[J", rows);
    else if (t->line_shown)
        fputs("\r\033[K", stderr);
    t->line_shown = false;
    t->line_columns = 0;
}

void jm_term_say(struct jm_term *t, const char *text)
{
    pthread_mutex_lock(&t->lock);
    wipe(t);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
    pthread_mutex_unlock(&t->lock);
}

/* Is a line due? The lock is held. */
static bool due(struct jm_term *t)
{
    struct jm_clock clock = jm_clock_system();
    int64_t now = jm_clock_mono(&clock), every = t->err_tty ? 100 * JM_NS_PER_MS : 10 * JM_NS_PER_S;
    if (!t->last_progress && !t->err_tty)
        t->last_progress = now; /* what is over in 10 s needs no line in a log */
    if (t->last_progress && now - t->last_progress < every)
        return false;
    t->last_progress = now;
    return true;
}

/* Characters on the screen: no escapes, no continuation bytes. */
static int shown(const char *s)
{
    int n = 0;
    for (; *s; s++) {
        if (*s == '\033')
            while (*s && *s != 'm')
                s++;
        else
            n += ((unsigned char)*s & 0xc0) != 0x80;
        if (!*s)
            break;
    }
    return n;
}

static void draw(struct jm_term *t, const char *text)
{
    bool fresh = !t->line_shown;
    wipe(t);
    if (t->err_tty && fresh)
        fputs("\r\033[K", stderr);
    fprintf(stderr, t->err_tty ? "%s" : "%s\n", text);
    t->line_shown = t->err_tty;
    t->line_columns = shown(text);
    fflush(stderr);
}

void jm_term_progress_made(struct jm_term *t, jm_term_maker make, void *self)
{
    if (!t->progress)
        return;
    pthread_mutex_lock(&t->lock);
    if (due(t)) {
        int now = now_columns();
        struct jm_str s;
        jm_str_init(&s);
        if (now)
            t->width = now;
        make(self, t->err_tty ? t->width - 1 : 0, t->err_tty && t->err_color, &s);
        draw(t, s.buf ? s.buf : "");
        jm_str_release(&s);
    }
    pthread_mutex_unlock(&t->lock);
}

void jm_term_progress(struct jm_term *t, double fraction, const char *fmt, ...)
{
    if (!t->progress)
        return;
    pthread_mutex_lock(&t->lock);
    if (due(t)) {
        enum { CELLS = 20 };
        char text[512], bar[CELLS + 4] = "", line[600];
        int now = now_columns();
        if (now)
            t->width = now;
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        if (t->err_tty && fraction >= 0) {
            int full = (int)(fmin(fraction, 1) * CELLS);
            bar[0] = '[';
            for (int i = 0; i < CELLS; i++)
                bar[i + 1] = i < full ? '#' : '.';
            bar[CELLS + 1] = ']';
            bar[CELLS + 2] = ' ';
            bar[CELLS + 3] = '\0';
        }
        int room = t->width - 1 - (int)strlen(bar);
        if (t->err_tty)
            snprintf(line, sizeof line, "%s%.*s", bar, room > 0 ? room : 0, text);
        else
            snprintf(line, sizeof line, "%s", text);
        draw(t, line);
    }
    pthread_mutex_unlock(&t->lock);
}

void jm_term_progress_end(struct jm_term *t)
{
    pthread_mutex_lock(&t->lock);
    wipe(t);
    fflush(stderr);
    t->last_progress = 0;
    pthread_mutex_unlock(&t->lock);
}
