/* SPDX-License-Identifier: Apache-2.0 */
#include "import/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

static char separator(struct jm_span line)
{
    static const char seps[] = {',', ';', '\t'};
    char best = ',';
    size_t most = 0;
    for (size_t s = 0; s < sizeof seps; s++) {
        size_t n = 0;
        bool in = false;
        for (size_t i = 0; i < line.n; i++) {
            in ^= line.p[i] == '"';
            n += !in && line.p[i] == seps[s];
        }
        if (n > most) {
            most = n;
            best = seps[s];
        }
    }
    return best;
}

static bool blank(const struct jm_csv_field *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (jm_span_trim(f[i].raw).n)
            return false;
    return true;
}

int jm_table_open(struct jm_table *t, const struct jm_ifile *f, struct jm_err *err)
{
    struct jm_span rest = f->text, line = {NULL, 0};
    struct jm_err why = {0};
    int rc;
    while (jm_span_line(&rest, &line) && !jm_span_trim(line).n)
        continue;
    t->sep = separator(jm_span_sub(line, 0, 65536));
    t->n_head = t->n = t->mark = 0;
    t->short_rows = t->headers = t->changed = 0;
    t->follow = false;
    jm_csv_init(&t->csv, f->text, t->sep);
    do
        rc = jm_csv_row(&t->csv, t->head, JM_TABLE_COLUMNS, &t->n_head, &why);
    while (rc > 0 && blank(t->head, t->n_head));
    if (rc < 0)
        return jm_err_set(err, JM_EPARSE, "%s, %s", f->path, why.text);
    return rc ? 0 : jm_err_set(err, JM_EPARSE, "%s holds no line of column names", f->path);
}

/* A head inside the file: the first or second name stands where it stood, and at least three cells, and half
 * of them, are names of columns. Numbers are none. */
static bool head_again(const struct jm_table *t)
{
    size_t n = 0, named = 0;
    bool place = false;
    for (size_t i = 0; i < 2 && i < t->n && i < t->n_head && !place; i++)
        place = jm_span_trim(t->f[i].raw).n &&
                jm_span_ieq(jm_span_trim(t->f[i].raw), jm_span_trim(t->head[i].raw));
    for (size_t i = 0; place && i < t->n; i++) {
        struct jm_span s = jm_span_trim(t->f[i].raw);
        named += s.n > 0;
        for (size_t k = 0; s.n && k < t->n_head; k++)
            if (jm_span_ieq(s, jm_span_trim(t->head[k].raw))) {
                n++;
                break;
            }
    }
    return n >= 3 && 2 * n >= named;
}

int jm_table_row(struct jm_table *t, const struct jm_ifile *f, struct jm_err *err)
{
    struct jm_err why = {0};
    for (;;) {
        int rc = jm_csv_row(&t->csv, t->f, JM_TABLE_COLUMNS, &t->n, &why);
        if (rc < 0)
            return jm_err_set(err, JM_EPARSE, "%s, %s", f->path, why.text);
        if (!rc)
            return 0;
        jm_ifile_used(f, f->text.p + t->csv.at, &t->mark);
        if (blank(t->f, t->n))
            continue;
        if (t->n == t->n_head && jm_span_eq(t->f[0].raw, t->head[0].raw) &&
            jm_span_eq(t->f[t->n - 1].raw, t->head[t->n - 1].raw) &&
            (t->n < 3 || jm_span_eq(t->f[1].raw, t->head[1].raw))) {
            t->headers++;
            continue;
        }
        if (t->follow && head_again(t)) {
            memcpy(t->head, t->f, t->n * sizeof *t->f);
            t->n_head = t->n;
            t->headers++;
            t->changed++;
            continue;
        }
        t->short_rows += t->n != t->n_head;
        return 1;
    }
}

int jm_table_col(const struct jm_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_head; i++)
        if (jm_span_ieq(jm_span_trim(t->head[i].raw), jm_span_of(name)))
            return (int)i;
    return -1;
}

struct jm_span jm_table_span(const struct jm_table *t, int col)
{
    return col >= 0 && (size_t)col < t->n ? jm_span_trim(t->f[col].raw) : (struct jm_span){NULL, 0};
}

bool jm_table_num(const struct jm_table *t, int col, double *v)
{
    struct jm_span s = jm_table_span(t, col);
    char text[64];
    double d;
    if (!s.n || s.n >= sizeof text)
        return false;
    if (jm_num_double(s, &d)) {
        ptrdiff_t comma = t->sep == ',' ? -1 : jm_span_chr(s, ',');
        if (comma < 0)
            return false;
        snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
        text[comma] = '.';
        if (jm_num_double(jm_span_of(text), &d))
            return false;
    }
    *v = d;
    return true;
}

char *jm_table_text(const struct jm_table *t, int col, char *buf, size_t cap)
{
    buf[0] = '\0';
    if (col >= 0 && (size_t)col < t->n)
        jm_csv_text(&t->f[col], buf, cap);
    jm_text_plain(buf, strlen(buf), false);
    if (strcmp(buf, "nan") == 0 || strcmp(buf, "None") == 0)
        buf[0] = '\0';
    return buf;
}

bool jm_table_looks(const struct jm_probe *p, const char *const *names)
{
    struct jm_csv_field f[JM_TABLE_COLUMNS];
    struct jm_csv csv;
    size_t n;
    if (!p->f || p->dir || p->json || p->sqlite || !p->line.n)
        return false;
    jm_csv_init(&csv, p->line, separator(p->line));
    if (jm_csv_row(&csv, f, JM_TABLE_COLUMNS, &n, NULL) <= 0)
        return false;
    for (; *names; names++) {
        bool found = false;
        for (size_t i = 0; i < n && !found; i++)
            found = jm_span_ieq(jm_span_trim(f[i].raw), jm_span_of(*names));
        if (!found)
            return false;
    }
    return true;
}

void jm_table_note(struct jm_table_note *x, const char *fmt, ...)
{
    va_list ap;
    if (x->n++)
        return;
    va_start(ap, fmt);
    vsnprintf(x->first, sizeof x->first, fmt, ap);
    va_end(ap);
}

void jm_table_told(struct jm_build *b, const char *key, const struct jm_table_note *x, const char *what)
{
    if (x->n == 1)
        jm_build_env(b, key, "%s", x->first);
    else if (x->n)
        jm_build_env(b, key, "%lld %s; the first: %s", (long long)x->n, what, x->first);
}
