/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ptd_log.h"

#include <string.h>

#include "base/num.h"
#include "wire/spl.h"

#include "base/banned.h"

#define STAMP        23 /* MM-DD-YYYY HH:MM:SS.mmm */
#define MAX_ANALYZER 64

void jm_ptd_log_init(struct jm_ptd_log *p)
{
    *p = (struct jm_ptd_log){.analyzer = 1, .analyzers = 1};
}

/* The next stamp with its ": " at or after from; s.n: there is none. */
static size_t next_stamp(struct jm_span s, size_t from, int64_t *t)
{
    for (size_t i = from + STAMP; i + 1 < s.n; i++) {
        const char *c = memchr(s.p + i, ':', s.n - 1 - i);
        if (!c)
            break;
        i = (size_t)(c - s.p);
        if (s.p[i + 1] == ' ' && s.p[i - 4] == '.' && jm_spl_time(jm_span_sub(s, i - STAMP, STAMP), t) == 0)
            return i - STAMP;
    }
    return s.n;
}

/* Does the word of n letters stand before the colon at p + at? */
static bool before(struct jm_span s, size_t at, const char *word, size_t n)
{
    return at >= n && memcmp(s.p + at - n, word, n) == 0;
}

/* "ERROR:" counts more than "WARNING:", capitals more than the others. */
static void classify(struct jm_ptd_message *m)
{
    struct jm_span s = m->text;
    int best = 0;
    for (size_t at = 0; at < s.n; at++) {
        const char *colon = memchr(s.p + at, ':', s.n - at);
        if (!colon)
            break;
        at = (size_t)(colon - s.p);
        int found = before(s, at, "ERROR", 5)     ? 4
                    : before(s, at, "Error", 5)   ? 3
                    : before(s, at, "WARNING", 7) ? 2
                    : before(s, at, "Warning", 7) ? 1
                                                  : 0;
        best = found > best ? found : best;
    }
    m->kind = best >= 3 ? JM_PTD_ERROR : best ? JM_PTD_WARNING : JM_PTD_INFO;
    m->upper = best == 4 || best == 2;
    m->note = false;
}

/* How the measurement went. Answers to the client other than samples are notes too. */
static bool is_note(struct jm_span s)
{
    static const char *const begin[] = {
        "Go with mark ", "Go command ",    "Stop command ", "Completed test",    "Uncertainty ",
        "Avg watts ",    "Volt range ",    "Ampere range ", "Amp range ",        "Voltage range ",
        "Connected to ", "Connection is ", "Accepted ",     "Analyzer identity", "Firmware ",
        "Requested ",    "Attempting to ", "Shutting ",     "Version ",          "Starting "};
    static const char answer[] = "Response to client sent: ";
    for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++)
        if (jm_span_starts(s, jm_span_of(begin[i])))
            return true;
    if (!jm_span_starts(s, JM_SPAN(answer)))
        return false;
    s = jm_span_sub(s, sizeof answer - 1, s.n);
    return s.n && s.p[0] != ',' && !jm_span_starts(s, JM_SPAN("Time,"));
}

static void section(struct jm_ptd_log *p, struct jm_span line)
{
    int64_t i;
    line = jm_span_trim(line);
    if (jm_span_starts(line, JM_SPAN("Analyzer ")) && jm_num_i64(jm_span_sub(line, 9, line.n), &i) == 0 &&
        i > 0 && i <= MAX_ANALYZER) {
        p->analyzer = (int)i;
        if (p->analyzer > p->analyzers)
            p->analyzers = p->analyzer;
    }
}

int jm_ptd_log_line(struct jm_ptd_log *p, struct jm_span line, int64_t number, jm_ptd_fn fn, void *self)
{
    struct jm_ptd_message m = {.t_ns = -1, .line_t_ns = -1, .line = number};
    int64_t t;
    if (line.n < 6)
        return 0;
    size_t at = next_stamp(line, 0, &t);
    if (line.p[0] == 'A')
        section(p, line);
    m.analyzer = p->analyzer;
    if (at) { /* what stands before the first stamp */
        m.text = jm_span_sub(line, 0, at);
        classify(&m);
        p->not_line_safe += at < line.n;
        int rc = m.kind != JM_PTD_INFO ? fn(self, &m) : 0;
        if (rc)
            return rc;
    } else {
        m.line_t_ns = t;
    }
    bool cut = at > 0;
    while (at < line.n) {
        size_t from = at + STAMP + 2;
        m.t_ns = t;
        m.inner = at > 0;
        at = next_stamp(line, from, &t);
        if (at < line.n && !cut) {
            cut = true;
            p->not_line_safe++;
        }
        m.text = jm_span_trim(jm_span_sub(line, from, at - from));
        classify(&m);
        m.note = m.kind == JM_PTD_INFO && is_note(m.text);
        int rc = fn(self, &m);
        if (rc)
            return rc;
    }
    return 0;
}
