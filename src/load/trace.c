/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace: records (lines, or the objects of a JSON array), the survey of the whole file, and rows by
 * number. */
#include "load/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "load/plan.h"

#include "base/banned.h"

#define LINE_MOST   ((size_t)16 << 20)
#define READ_FIRST  ((size_t)64 << 10)
#define TOKENS_MOST INT64_C(100000000)
#define ROWS_MOST   INT64_C(2000000000)

struct place {
    int64_t t, offset;
};

struct index { /* of a file whose times are out of order */
    struct place *v;
    size_t n;
};

struct jm_trace {
    char *path;
    struct jm_trace_opts o;
    const struct jm_trace_format *format;
    struct jm_trace_parse parse;
    struct jm_trace_facts facts;
    struct index *index; /* of the first reader; NULL: read in the order of the file */
    bool owner;
    /* records */
    int fd;
    char *buf;
    size_t cap, at, end; /* of the bytes in buf, those from at to end are still to be read */
    int64_t offset;      /* in the file, of buf[at] */
    int64_t line;        /* of the record that was read last, from 1 */
    bool array, eof, closed;
    int64_t skip; /* bytes before the first record */
    int64_t next; /* number of the row that is read next */
};

/* --- records
 * ------------------------------------------------------------------------------------------------------ */
static size_t line_most(const struct jm_trace *t)
{
    return t->o.line_most ? t->o.line_most : LINE_MOST;
}

/* More bytes behind those in the buffer. 1: some came, 0: the file ends. */
static int fill(struct jm_trace *t, struct jm_err *err)
{
    if (t->eof)
        return 0;
    if (t->at > 0) {
        memmove(t->buf, t->buf + t->at, t->end - t->at);
        t->end -= t->at;
        t->at = 0;
    }
    if (t->end == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : READ_FIRST;
        if (t->cap > line_most(t))
            return jm_err_set(
                err, JM_ELIMIT,
                "%s:%lld: a line is longer than %zu MiB: this is no trace, or its line ends are "
                "missing",
                t->path, (long long)t->line + 1, line_most(t) >> 20);
        char *p = realloc(t->buf, cap);
        if (!p)
            return jm_err_set(err, JM_ENOMEM, "out of memory while reading %s", t->path);
        t->buf = p;
        t->cap = cap;
    }
    ssize_t n = read(t->fd, t->buf + t->end, t->cap - t->end);
    if (n < 0)
        return jm_err_sys(err, errno, "%s cannot be read", t->path);
    t->eof = n == 0;
    t->end += (size_t)n;
    return n > 0;
}

static void use(struct jm_trace *t, size_t n)
{
    t->at += n;
    t->offset += (int64_t)n;
}

/* 1: *out is a line without its end, 0: no more. */
static int next_line(struct jm_trace *t, struct jm_span *out, struct jm_err *err)
{
    size_t seen = 0;
    for (;;) {
        const char *from = t->buf ? t->buf + t->at : "", *nl = NULL;
        if (t->end > t->at)
            nl = memchr(from + seen, '\n', t->end - t->at - seen);
        if (nl || (t->eof && t->end > t->at)) {
            size_t n = nl ? (size_t)(nl - from) : t->end - t->at;
            *out = (struct jm_span){from, n};
            use(t, n + (nl != NULL));
            t->line++;
            return 1;
        }
        seen = t->end - t->at;
        int rc = fill(t, err);
        if (rc < 0 || (rc == 0 && t->end == t->at))
            return rc;
    }
}

/* The next object of an array of objects; lines are counted where they end. */
static int next_object(struct jm_trace *t, struct jm_span *out, struct jm_err *err)
{
    size_t i = 0;
    int depth = 0, rc;
    bool string = false, escape = false, inside = false;
    while (!t->closed) {
        if (t->at + i == t->end) {
            if ((rc = fill(t, err)) < 0)
                return rc;
            if (rc == 0)
                return jm_err_set(err, JM_EPARSE, "%s:%lld: the file ends inside its array: it was cut off",
                                  t->path, (long long)t->line);
            continue;
        }
        char c = t->buf[t->at + i++];
        t->line += c == '\n';
        if (!inside) {
            if (c == ']') {
                t->closed = true;
            } else if (c == '{') {
                use(t, i - 1);
                i = 1;
                inside = true;
                depth = 1;
                continue;
            } else if (!memchr(" \t\r\n,[", c, 7)) {
                return jm_err_set(err, JM_EPARSE, "%s:%lld: an array of objects was expected here", t->path,
                                  (long long)t->line);
            }
            use(t, i);
            i = 0;
        } else if (string) {
            string = escape || c != '"';
            escape = !escape && c == '\\';
        } else if (c == '"') {
            string = true;
            escape = false;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            *out = (struct jm_span){t->buf + t->at, i};
            use(t, i);
            return 1;
        }
    }
    return 0;
}

static int next_record(struct jm_trace *t, struct jm_span *out, int64_t *offset, struct jm_err *err)
{
    for (;;) {
        *offset = t->offset;
        int rc = t->array ? next_object(t, out, err) : next_line(t, out, err);
        if (rc != 1)
            return rc;
        if (t->array)
            *offset = t->offset - (int64_t)out->n;
        if (jm_span_trim(*out).n)
            return 1;
    }
}

static int seek(struct jm_trace *t, int64_t offset, struct jm_err *err)
{
    if (lseek(t->fd, offset, SEEK_SET) != offset)
        return jm_err_sys(err, errno, "%s cannot be read from its middle", t->path);
    t->at = t->end = 0;
    t->offset = offset;
    t->eof = t->closed = false;
    return 0;
}

/* To the first record, past what names the columns. */
static int to_first(struct jm_trace *t, struct jm_err *err)
{
    struct jm_span line;
    int64_t offset;
    int rc = seek(t, t->skip, err);
    t->line = t->array ? 1 : 0;
    t->next = 0;
    if (rc == 0 && t->format->header && (rc = next_record(t, &line, &offset, err)) == 1)
        rc = t->format->head(&t->parse, line, err);
    if (rc < 0 && t->format->header && !t->array)
        jm_err_prefix(err, "%s:%lld", t->path, (long long)t->line);
    return rc < 0 ? rc : 0;
}

/* --- rows
 * ---------------------------------------------------------------------------------------------------------
 */
static int check_row(const struct jm_trace *t, const struct jm_trace_row *r, struct jm_err *err)
{
    const char *what = NULL;
    if (r->isl < -1 || r->osl < -1)
        what = "a length is negative";
    else if (r->isl > TOKENS_MOST || r->osl > TOKENS_MOST)
        what = "a length is larger than any model can hold";
    else if (r->isl == 0)
        what = "a prompt of 0 tokens cannot be sent";
    if (!what)
        return 0;
    return jm_err_set(err, JM_EPARSE, "%s; correct the line, or leave it out (it was read as %s)", what,
                      t->format->name);
}

/* The next row of the file as it stands. 1: a row; 0: the end; 2: a request that failed in the original. */
static int next_row(struct jm_trace *t, struct jm_trace_row *r, int64_t *offset, struct jm_err *err)
{
    struct jm_span rec;
    int rc = next_record(t, &rec, offset, err);
    if (rc != 1)
        return rc;
    *r = (struct jm_trace_row){.t = -1, .isl = -1, .osl = -1, .session = -1};
    rc = t->format->row(&t->parse, rec, r, err);
    if (rc == 1)
        rc = check_row(t, r, err) ? JM_EPARSE : 1;
    if (rc < 0)
        jm_err_prefix(err, "%s:%lld", t->path, (long long)t->line);
    return rc == 0 ? 2 : rc;
}

/* Brings a row to what the model can hold. False: it is left out. */
static bool fit(const struct jm_trace *t, struct jm_trace_row *r, bool *cut)
{
    int64_t most = t->o.most_tokens, osl = r->osl > 0 ? r->osl : t->o.default_osl > 0 ? t->o.default_osl : 1;
    *cut = most > 0 && r->isl > 0 && r->isl + osl > most;
    if (!*cut)
        return true;
    if (t->o.oversize == JM_OVERSIZE_SKIP)
        return false;
    if (osl > most / 2)
        osl = most / 2 > 0 ? most / 2 : 1;
    if (r->osl > osl)
        r->osl = osl;
    if (r->isl > most - osl)
        r->isl = most - osl > 0 ? most - osl : 1;
    return true;
}

static bool before(const struct jm_trace *t, const struct jm_trace_row *r)
{
    return r->t >= 0 && t->o.from > 0 && r->t < t->facts.first;
}

static void count(struct jm_trace_facts *f, const struct jm_trace_row *r)
{
    f->rows++;
    f->images += r->images > 0;
    f->blocks |= r->blocks > 0;
    f->texts |= r->turns > 0;
    f->sessions |= r->session >= 0 || r->turns > 1;
    if ((int64_t)r->turns > f->most_turns)
        f->most_turns = (int64_t)r->turns;
    if (r->isl > f->most_isl)
        f->most_isl = r->isl;
    if (r->osl > f->most_osl)
        f->most_osl = r->osl;
    f->mean_isl += ((double)(r->isl > 0 ? r->isl : 0) - f->mean_isl) / (double)f->rows;
    f->mean_osl += ((double)(r->osl > 0 ? r->osl : 0) - f->mean_osl) / (double)f->rows;
}

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int add_place(struct index *x, size_t *cap, int64_t t, int64_t offset)
{
    if (x->n == *cap) {
        size_t more = *cap ? *cap + *cap / 2 : 1024;
        struct place *v = realloc(x->v, more * sizeof *v);
        if (!v)
            return JM_ENOMEM;
        x->v = v;
        *cap = more;
    }
    x->v[x->n++] = (struct place){t, offset};
    return 0;
}

/* First pass: is everything readable, which times, in order? */
static int times(struct jm_trace *t, struct jm_err *err)
{
    struct jm_trace_facts *f = &t->facts;
    struct jm_trace_row r;
    int64_t offset, last = INT64_MIN, first = INT64_MAX, latest = INT64_MIN, rows = 0;
    int rc = to_first(t, err);
    if (rc)
        return rc;
    while ((rc = next_row(t, &r, &offset, err)) > 0) {
        if (++rows > ROWS_MOST)
            return jm_err_set(err, JM_ELIMIT, "%s has more rows than can be", t->path);
        if (r.t < 0)
            continue;
        f->reordered += r.t < last;
        last = r.t;
        first = r.t < first ? r.t : first;
        latest = r.t > latest ? r.t : latest;
    }
    if (rc < 0)
        return rc;
    f->first = first == INT64_MAX ? 0 : first + t->o.from;
    f->span = first == INT64_MAX ? -1 : latest > f->first ? latest - f->first : 0;
    return 0;
}

/* Second pass: what is sent. */
static int survey(struct jm_trace *t, struct jm_err *err)
{
    struct jm_trace_facts *f = &t->facts;
    struct jm_trace_row r;
    int64_t offset, longest = 0, longest_line = 0;
    size_t cap = 0;
    int rc = to_first(t, err);
    while (rc == 0 && (rc = next_row(t, &r, &offset, err)) > 0) {
        bool cut;
        if (rc == 2) {
            f->failed++;
        } else if (before(t, &r)) {
            f->before++;
        } else {
            bool sent = fit(t, &r, &cut);
            f->oversize += cut;
            if (cut && r.isl > longest) {
                longest = r.isl;
                longest_line = t->line;
            }
            if (sent)
                count(f, &r);
            if (sent && t->index && add_place(t->index, &cap, r.t, offset))
                return jm_err_set(err, JM_ENOMEM, "out of memory for the index of %s", t->path);
        }
        rc = 0;
    }
    if (rc < 0)
        return rc;
    if (t->index && t->index->n)
        qsort(t->index->v, t->index->n, sizeof *t->index->v, by_time);
    if (f->oversize && t->o.oversize == JM_OVERSIZE_REFUSE)
        return jm_err_set(err, JM_ERANGE,
                          "%s: %lld of %lld requests do not fit the model's length of %lld tokens (the first "
                          "long one in line %lld): let them be clipped or left out (--trace-oversize clip, "
                          "skip)",
                          t->path, (long long)f->oversize, (long long)f->rows, (long long)t->o.most_tokens,
                          (long long)longest_line);
    if (!f->rows)
        return jm_err_set(err, JM_EPARSE, "%s holds no request that could be sent%s%s", t->path,
                          f->failed ? ": all of them failed in the original" : "",
                          f->before ? " after the given beginning" : "");
    return 0;
}

static int find_format(struct jm_trace *t, struct jm_err *err)
{
    struct jm_span rec = {0};
    int64_t offset;
    int rc;
    /* a byte order mark is no part of the text */
    while ((rc = fill(t, err)) == 1 && t->end < 4)
        ;
    if (rc < 0)
        return rc;
    t->skip = t->end >= 3 && memcmp(t->buf, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (size_t i = (size_t)t->skip; i < t->end; i++)
        if (!strchr(" \t\r\n", t->buf[i])) {
            t->array = t->buf[i] == '[';
            break;
        }
    use(t, (size_t)t->skip);
    t->line = t->array;
    rc = next_record(t, &rec, &offset, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return jm_err_set(err, JM_EPARSE, "%s is empty: a trace has at least one request", t->path);
    if (t->o.format && strcmp(t->o.format, "auto") != 0) {
        if (!(t->format = jm_trace_format_find(t->o.format)))
            return jm_err_set(err, JM_EINVAL, "a trace format \"%.40s\" is not known: %s", t->o.format,
                              jm_trace_formats());
        return 0;
    }
    if (!(t->format = jm_trace_format_of(rec)))
        return jm_err_set(err, JM_EPARSE,
                          "%s:%lld: this is no trace that is known (%s); a plain one is CSV with the columns "
                          "t_s,isl,osl",
                          t->path, (long long)t->line, jm_trace_formats());
    return 0;
}

static int open_file(struct jm_trace *t, struct jm_err *err)
{
    struct stat st;
    t->fd = open(t->path, O_RDONLY | O_CLOEXEC);
    if (t->fd < 0)
        return jm_err_sys(err, errno, "%s cannot be opened", t->path);
    if (fstat(t->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return jm_err_set(err, JM_EINVAL, "%s is no regular file: a trace is read more than once", t->path);
    t->facts.bytes = st.st_size;
    return 0;
}

static struct jm_trace *new_trace(const char *path, const struct jm_trace_opts *o)
{
    struct jm_trace *t = calloc(1, sizeof *t);
    if (t && !(t->path = strdup(path))) {
        free(t);
        t = NULL;
    }
    if (t) {
        t->o = *o;
        t->fd = -1;
    }
    return t;
}

int jm_trace_open(const char *path, const struct jm_trace_opts *o, struct jm_trace **out, struct jm_err *err)
{
    struct jm_trace *t = new_trace(path, o);
    if (!t)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    t->owner = true;
    int rc = open_file(t, err);
    if (rc == 0)
        rc = find_format(t, err);
    if (rc == 0)
        rc = times(t, err);
    if (rc == 0 && t->facts.reordered && !(t->index = calloc(1, sizeof *t->index)))
        rc = jm_err_set(err, JM_ENOMEM, "out of memory for the index of %s", path);
    if (rc == 0)
        rc = survey(t, err);
    if (rc == 0)
        rc = jm_file_sha256(path, t->facts.sha256, err);
    if (rc == 0)
        rc = to_first(t, err);
    if (rc) {
        jm_trace_free(t);
        return rc;
    }
    snprintf(t->facts.format, sizeof t->facts.format, "%s", t->format->name);
    t->o.format = NULL;
    *out = t;
    return 0;
}

const struct jm_trace_facts *jm_trace_facts(const struct jm_trace *t)
{
    return &t->facts;
}

int jm_trace_dup(const struct jm_trace *from, struct jm_trace **out, struct jm_err *err)
{
    struct jm_trace *t = new_trace(from->path, &from->o);
    if (!t)
        return jm_err_set(err, JM_ENOMEM, "out of memory for %s", from->path);
    int rc = open_file(t, err);
    t->format = from->format;
    t->facts = from->facts;
    t->index = from->index;
    t->array = from->array;
    t->skip = from->skip;
    if (rc == 0)
        rc = to_first(t, err);
    if (rc) {
        jm_trace_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

int jm_trace_at(struct jm_trace *t, int64_t k, struct jm_trace_row *row, struct jm_err *err)
{
    int64_t offset;
    int rc = 0;
    bool cut;
    if (k < 0 || !t->facts.rows)
        return jm_err_set(err, JM_EINVAL, "a trace has no row %lld", (long long)k);
    k %= t->facts.rows;
    if (t->index) {
        rc = seek(t, t->index->v[k].offset, err);
        if (rc == 0)
            rc = next_row(t, row, &offset, err);
        if (rc == 1)
            fit(t, row, &cut);
        return rc == 1 ? 0 : rc < 0 ? rc : JM_ECONFLICT;
    }
    if (k < t->next && (rc = to_first(t, err)))
        return rc;
    while ((rc = next_row(t, row, &offset, err)) > 0)
        if (rc == 1 && !before(t, row) && fit(t, row, &cut) && t->next++ == k)
            return 0;
    return rc < 0 ? rc : jm_err_set(err, JM_ECONFLICT, "%s became shorter while it was read", t->path);
}

void jm_trace_free(struct jm_trace *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    if (t->owner && t->index) {
        free(t->index->v);
        free(t->index);
    }
    jm_trace_parse_release(&t->parse);
    free(t->buf);
    free(t->path);
    free(t);
}
