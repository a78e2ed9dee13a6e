/* SPDX-License-Identifier: Apache-2.0 */
#include "import/json_walk.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define DEPTH 128

void jm_jdocs_init(struct jm_jdocs *d, const struct jm_ifile *f)
{
    *d = (struct jm_jdocs){.f = f};
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int tokens_at(struct jm_jsontok *t, const struct jm_ifile *f, struct jm_span in)
{
    jm_jsontok_init(t, in, DEPTH);
    t->base = in.p - f->all.p;
    return 0;
}

static int broken(const struct jm_ifile *f, const struct jm_jsontok *t, struct jm_err *err)
{
    char where[64];
    int64_t at = t->base + (int64_t)t->at;
    if (!err)
        return JM_EPARSE;
    const char *p = f->all.p + (at < (int64_t)f->all.n ? at : (int64_t)f->all.n);
    return jm_err_prefix(err, "%s, %s", f->path, jm_ifile_where(f, p, where));
}

/* Goes past the end of an object or array, giving used pages back on the way. */
static int skip(const struct jm_ifile *f, struct jm_jsontok *t, struct jm_jtoken *v, size_t *mark,
                struct jm_err *err)
{
    int until = t->depth - 1;
    const char *from = v->raw.p;
    struct jm_jtoken x;
    if (v->type != JM_J_OBJECT && v->type != JM_J_ARRAY)
        return 0;
    while (t->depth > until) {
        int rc = jm_jsontok_next(t, &x, err);
        if (rc)
            return rc;
        jm_ifile_used(f, t->in.p + t->at, mark);
    }
    v->raw = (struct jm_span){from, (size_t)(t->in.p + t->at - from)};
    return 0;
}

int jm_jdocs_next(struct jm_jdocs *d, struct jm_jtoken *doc, struct jm_err *err)
{
    struct jm_jsontok t;
    struct jm_span s = d->f->text;
    while (d->at < s.n && blank(s.p[d->at]))
        d->at++;
    if (d->at >= s.n)
        return 0;
    tokens_at(&t, d->f, jm_span_sub(s, d->at, s.n));
    int rc = jm_jsontok_next(&t, doc, err);
    if (!rc)
        rc = skip(d->f, &t, doc, &d->mark, err);
    if (rc)
        return broken(d->f, &t, err), rc;
    d->at += t.at;
    d->n++;
    return 1;
}

void jm_jiter_init(struct jm_jiter *it, const struct jm_ifile *f, const struct jm_jtoken *of)
{
    struct jm_jtoken first;
    *it = (struct jm_jiter){.f = f, .object = of->type == JM_J_OBJECT};
    if (of->type != JM_J_OBJECT && of->type != JM_J_ARRAY)
        return;
    tokens_at(&it->t, f, of->raw);
    it->mark = (size_t)(of->raw.p - f->all.p);
    it->open = jm_jsontok_next(&it->t, &first, NULL) == 0;
}

int jm_jiter_next(struct jm_jiter *it, struct jm_jtoken *key, struct jm_jtoken *v, struct jm_err *err)
{
    struct jm_jtoken k;
    if (!it->open)
        return 0;
    int rc = jm_jsontok_next(&it->t, &k, err);
    if (!rc && (k.type == JM_J_OBJECT_END || k.type == JM_J_ARRAY_END)) {
        it->open = false;
        return 0;
    }
    *v = k;
    if (!rc && it->object)
        rc = jm_jsontok_next(&it->t, v, err);
    if (!rc)
        rc = skip(it->f, &it->t, v, &it->mark, err);
    if (rc) {
        it->open = false;
        return broken(it->f, &it->t, err), rc;
    }
    if (key && it->object)
        *key = k;
    return 1;
}

bool jm_jmember(const struct jm_ifile *f, const struct jm_jtoken *object, const char *name,
                struct jm_jtoken *v)
{
    struct jm_jiter it;
    struct jm_jtoken key, x;
    bool found = false;
    if (object->type != JM_J_OBJECT)
        return false;
    jm_jiter_init(&it, f, object);
    while (jm_jiter_next(&it, &key, &x, NULL) > 0)
        if (jm_jtoken_is(&key, name)) {
            *v = x;
            found = true;
        }
    return found;
}

bool jm_jpath(const struct jm_ifile *f, const struct jm_jtoken *object, const char *path, struct jm_jtoken *v)
{
    char name[128];
    struct jm_span rest = jm_span_of(path), one;
    struct jm_jtoken at = *object;
    while (jm_span_field(&rest, '.', &one)) {
        if (one.n >= sizeof name)
            return false;
        memcpy(name, one.p, one.n);
        name[one.n] = '\0';
        struct jm_jtoken next;
        if (!jm_jmember(f, &at, name, &next))
            return false;
        at = next;
    }
    *v = at;
    return true;
}

double jm_jpath_num(const struct jm_ifile *f, const struct jm_jtoken *object, const char *path)
{
    struct jm_jtoken v;
    double d;
    return jm_jpath(f, object, path, &v) && jm_jnum(&v, &d) ? d : NAN;
}

int jm_jfind(const struct jm_ifile *f, const struct jm_jtoken *object, const char *const *names, size_t n,
             struct jm_jtoken *v, struct jm_err *err)
{
    struct jm_jiter it;
    struct jm_jtoken key, x;
    int rc;
    for (size_t i = 0; i < n; i++)
        v[i] = (struct jm_jtoken){.type = JM_J_END};
    if (object->type != JM_J_OBJECT)
        return 0;
    jm_jiter_init(&it, f, object);
    while ((rc = jm_jiter_next(&it, &key, &x, err)) > 0)
        for (size_t i = 0; i < n; i++)
            if (jm_jtoken_is(&key, names[i]))
                v[i] = x;
    return rc;
}

int jm_jcols_open(const struct jm_ifile *f, const struct jm_jtoken *object, struct jm_jcol *c, size_t n,
                  struct jm_err *err)
{
    struct jm_jiter it;
    struct jm_jtoken key, x;
    char where[64];
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        c[i].have = c[i].row = false;
        c[i].array = (struct jm_jtoken){.type = JM_J_END, .raw = object->raw};
    }
    if (object->type == JM_J_OBJECT) {
        jm_jiter_init(&it, f, object);
        while ((rc = jm_jiter_next(&it, &key, &x, err)) > 0)
            for (size_t i = 0; i < n; i++)
                if (jm_jtoken_is(&key, c[i].name))
                    c[i].array = x;
    }
    for (size_t i = 0; !rc && i < n; i++) {
        const struct jm_jtoken *a = &c[i].array;
        if (a->type == JM_J_ARRAY) {
            struct jm_jtoken first;
            struct jm_jiter look;
            jm_jiter_init(&look, f, a);
            c[i].have = jm_jiter_next(&look, NULL, &first, NULL) > 0;
            jm_jiter_init(&c[i].it, f, a);
        } else if (a->type != JM_J_NULL && a->type != JM_J_END) {
            rc = jm_err_set(err, JM_EPARSE, "%s, %s: \"%s\" is no array", f->path,
                            jm_ifile_where(f, a->raw.p, where), c[i].name);
        }
        if (!rc && c[i].need && !c[i].have)
            rc = jm_err_set(err, JM_EPARSE, "%s, %s: there is no array \"%s\"", f->path,
                            jm_ifile_where(f, object->raw.p, where), c[i].name);
    }
    return rc;
}

int jm_jcols_row(struct jm_jcol *c, size_t n, struct jm_err *err)
{
    const struct jm_jcol *with = NULL, *without = NULL;
    char where[64];
    for (size_t i = 0; i < n; i++) {
        if (!c[i].have)
            continue;
        int rc = jm_jiter_next(&c[i].it, NULL, &c[i].v, err);
        if (rc < 0)
            return rc;
        c[i].row = rc > 0;
        if (rc > 0)
            with = &c[i];
        else
            without = &c[i];
    }
    if (with && without)
        return jm_err_set(
            err, JM_EPARSE,
            "%s: the arrays of the requests differ in length: \"%s\" has ended, \"%s\" goes on at %s; "
            "which values belong together is not known",
            with->it.f->path, without->name, with->name, jm_ifile_where(with->it.f, with->v.raw.p, where));
    return with != NULL;
}

bool jm_jnum(const struct jm_jtoken *v, double *out)
{
    double d;
    if (v->type != JM_J_NUMBER || jm_jtoken_double(v, &d) || !isfinite(d))
        return false;
    *out = d;
    return true;
}

bool jm_jint(const struct jm_jtoken *v, int64_t *out)
{
    return v->type == JM_J_NUMBER && jm_jtoken_i64(v, out) == 0;
}

bool jm_jtime(const struct jm_jtoken *v, int exponent, int64_t *ns)
{
    int64_t exact;
    double d;
    if (!jm_jnum(v, &d))
        return false;
    if (jm_num_fixed(v->raw, -9 - exponent, &exact) == 0) {
        if (exact > INT64_MAX / 2 || exact < INT64_MIN / 2)
            return false;
        *ns = exact;
        return true;
    }
    d *= pow(10, 9 + exponent);
    if (!(fabs(d) < (double)(INT64_MAX / 2)))
        return false;
    *ns = llround(d);
    return true;
}

bool jm_jtext(const struct jm_jtoken *v, char *buf, size_t cap)
{
    size_t n;
    if (!cap)
        return false;
    switch (v->type) {
    case JM_J_STRING:
    case JM_J_KEY:
        memset(buf, 0, cap);
        n = jm_json_unescape(v->raw, buf, cap - 1);
        if (n > cap - 1)
            n = strlen(buf);
        break;
    case JM_J_NUMBER:
    case JM_J_TRUE:
    case JM_J_FALSE:
        n = v->raw.n < cap - 1 ? v->raw.n : cap - 1;
        memcpy(buf, v->raw.p, n);
        break;
    default: return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!buf[i])
            buf[i] = '?';
    buf[n] = '\0';
    return true;
}

int jm_jsum(const struct jm_ifile *f, const struct jm_jtoken *array, double *sum, int64_t *n,
            struct jm_err *err)
{
    struct jm_jiter it;
    struct jm_jtoken v;
    double d;
    int rc;
    *sum = 0;
    *n = 0;
    jm_jiter_init(&it, f, array);
    while ((rc = jm_jiter_next(&it, NULL, &v, err)) > 0)
        if (jm_jnum(&v, &d)) {
            *sum += d;
            ++*n;
        }
    return rc;
}
