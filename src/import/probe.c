/* SPDX-License-Identifier: Apache-2.0 */
#include "import/probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

#define LOOKED_AT (4u << 20)
#define LEVELS    5

static void add(struct jm_probe *p, const char *path, const struct jm_jtoken *v)
{
    if (p->n == JM_PROBE_KEYS)
        return;
    snprintf(p->key[p->n].path, sizeof p->key[0].path, "%s", path);
    p->key[p->n++].v = *v;
}

/* One value; t has just given it. Names are gathered down to LEVELS; of arrays only the first item. Ends
 * quietly where the text does. */
static bool walk(struct jm_probe *p, struct jm_jsontok *t, const struct jm_jtoken *v, const char *path,
                 int level)
{
    struct jm_jtoken k, x;
    char name[112];
    size_t head = strlen(path);
    bool deep = level < LEVELS && p->n < JM_PROBE_KEYS;
    bool first = true;
    if (v->type != JM_J_OBJECT && v->type != JM_J_ARRAY)
        return true;
    for (;; first = false) {
        if (jm_jsontok_next(t, &k, NULL))
            return false;
        if (k.type == JM_J_OBJECT_END || k.type == JM_J_ARRAY_END)
            return true;
        x = k;
        snprintf(name, sizeof name, "%s[]", path);
        if (v->type == JM_J_OBJECT) {
            if (jm_jsontok_next(t, &x, NULL))
                return false;
            snprintf(name, sizeof name, "%s%s%.*s", path, head ? "." : "", k.raw.n < 64 ? (int)k.raw.n : 64,
                     k.raw.p);
        }
        if (deep && (v->type == JM_J_OBJECT || first)) {
            if (v->type == JM_J_OBJECT)
                add(p, name, &x);
            if (!walk(p, t, &x, name, level + 1))
                return false;
        } else if (jm_jsontok_skip(t, &x, NULL)) {
            return false;
        }
    }
}

static void json(struct jm_probe *p)
{
    struct jm_jsontok t;
    struct jm_jtoken v;
    struct jm_span text = jm_span_sub(p->f->text, 0, LOOKED_AT);
    jm_jsontok_init(&t, text, 128);
    if (jm_jsontok_next(&t, &v, NULL) || (v.type != JM_J_OBJECT && v.type != JM_J_ARRAY))
        return;
    p->json = true;
    p->list = v.type == JM_J_ARRAY;
    if (walk(p, &t, &v, "", 0))
        p->many = jm_span_trim(jm_span_sub(text, t.at, text.n)).n > 0;
}

void jm_probe_look(struct jm_probe *p, const char *path, const struct jm_ifile *f)
{
    struct stat st;
    struct jm_span rest;
    *p = (struct jm_probe){.path = path, .f = f};
    p->dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (!f)
        return;
    p->sqlite = jm_span_starts(f->all, JM_SPAN("SQLite format 3"));
    rest = jm_span_sub(f->text, 0, 4096);
    while (jm_span_line(&rest, &p->line) && !jm_span_trim(p->line).n)
        continue;
    if (!p->sqlite)
        json(p);
}

const struct jm_jtoken *jm_probe_key(const struct jm_probe *p, const char *path)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->key[i].path, path) == 0)
            return &p->key[i].v;
    return NULL;
}

bool jm_probe_is(const struct jm_probe *p, const char *path, const char *text)
{
    const struct jm_jtoken *v = jm_probe_key(p, path);
    return v && v->type == JM_J_STRING && jm_jtoken_is(v, text);
}

int jm_probe_score(const struct jm_probe *p, const struct jm_probe_mark *marks)
{
    int sum = 0;
    if (!p->json)
        return 0;
    for (; marks->path; marks++) {
        bool there = jm_probe_key(p, marks->path) != NULL;
        if (!there && !marks->points)
            return 0;
        sum += there ? marks->points : 0;
    }
    return sum < 0 ? 0 : sum > 100 ? 100 : sum;
}
