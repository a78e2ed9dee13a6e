/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a few members of a document in one pass, without memory: at every level a bit a path says which
 * paths still fit; what fits none is skipped. */
#include <string.h>

#include "wire/jsontok.h"

#include "base/banned.h"

static int add_path(struct jm_jsonscan *s, const char *text, struct jm_err *err)
{
    size_t k = 0;
    const char *p = text;
    while (*p) {
        struct jm_span seg = {0};
        if (p[0] == '[' && p[1] == ']') {
            p += 2;
        } else {
            if (p != text && *p == '.')
                p++;
            seg.p = p;
            while (*p && *p != '.' && *p != '[')
                p++;
            seg.n = (size_t)(p - seg.p);
            if (!seg.n || (*p == '.' && !p[1]))
                return jm_err_set(err, JM_EINVAL, "\"%s\" is not a path into a JSON document", text);
        }
        if (k == JM_JSONSCAN_SEGMENTS)
            return jm_err_set(err, JM_EINVAL, "path \"%s\" has more than %d parts", text,
                              JM_JSONSCAN_SEGMENTS);
        s->path[s->n].seg[k++] = seg;
    }
    if (!k)
        return jm_err_set(err, JM_EINVAL, "an empty path into a JSON document was asked for");
    s->path[s->n++].n = k;
    return 0;
}

int jm_jsonscan_init(struct jm_jsonscan *s, const char *const *paths, size_t n, struct jm_err *err)
{
    s->n = 0;
    if (n > JM_JSONSCAN_PATHS)
        return jm_err_set(err, JM_EINVAL, "more than %d paths were asked for", JM_JSONSCAN_PATHS);
    for (size_t i = 0; i < n; i++) {
        int rc = add_path(s, paths[i], err);
        if (rc)
            return rc;
    }
    return 0;
}

struct level {
    uint32_t fit;          /* paths whose parts up to here are matched and that go on */
    uint32_t end;          /* paths that end at this object or array */
    struct jm_jtoken open; /* its bracket */
};

/* Paths of fit whose part at depth d is this key (key NULL: an item of an array). */
static uint32_t narrow(const struct jm_jsonscan *s, uint32_t fit, size_t d, const struct jm_jtoken *key)
{
    uint32_t out = 0;
    char buf[64];
    struct jm_span name = {0};
    if (key) {
        name = key->raw;
        if (key->escaped) {
            size_t n = jm_json_unescape(key->raw, buf, sizeof buf);
            name = (struct jm_span){buf, n <= sizeof buf ? n : 0};
        }
    }
    for (; fit; fit &= fit - 1) {
        size_t i = (size_t)__builtin_ctz(fit);
        if (s->path[i].n <= d)
            continue;
        struct jm_span seg = s->path[i].seg[d];
        if (key ? seg.p && seg.n == name.n && memcmp(seg.p, name.p, seg.n) == 0 : !seg.p)
            out |= UINT32_C(1) << i;
    }
    return out;
}

/* Paths of fit that have just d parts. */
static uint32_t ends_here(const struct jm_jsonscan *s, uint32_t fit, size_t d)
{
    uint32_t out = 0;
    for (; fit; fit &= fit - 1) {
        size_t i = (size_t)__builtin_ctz(fit);
        if (s->path[i].n == d)
            out |= UINT32_C(1) << i;
    }
    return out;
}

static void store(struct jm_jsonfound *found, uint32_t which, const struct jm_jtoken *v)
{
    for (; which; which &= which - 1) {
        struct jm_jsonfound *f = &found[__builtin_ctz(which)];
        f->v = *v;
        f->hits++;
    }
}

int jm_jsonscan_run(const struct jm_jsonscan *s, struct jm_span doc, struct jm_jsonfound *found,
                    struct jm_err *err)
{
    struct jm_jsontok t;
    struct level stack[JM_JSONSCAN_SEGMENTS + 1];
    size_t d = 0; /* parts matched by what encloses the current value */
    uint32_t fit = s->n == JM_JSONSCAN_PATHS ? UINT32_MAX : (UINT32_C(1) << s->n) - 1;
    memset(found, 0, s->n * sizeof *found);
    jm_jsontok_init(&t, doc, JM_JSONTOK_DEPTH);
    for (;;) {
        struct jm_jtoken v;
        int rc = jm_jsontok_next(&t, &v, err);
        if (rc || v.type == JM_J_END)
            return rc;
        if (v.type == JM_J_OBJECT_END || v.type == JM_J_ARRAY_END) {
            struct level *l = &stack[--d];
            l->open.raw.n = (size_t)(v.raw.p + 1 - l->open.raw.p);
            store(found, l->end, &l->open);
            bool item = d && stack[d - 1].open.type == JM_J_ARRAY;
            fit = item ? narrow(s, stack[d - 1].fit, d - 1, NULL) : 0;
            continue;
        }
        if (v.type == JM_J_KEY) {
            fit = narrow(s, stack[d - 1].fit, d - 1, &v);
            continue;
        }
        uint32_t end = ends_here(s, fit, d), deeper = fit & ~end;
        if (!deeper || (v.type != JM_J_OBJECT && v.type != JM_J_ARRAY)) {
            rc = jm_jsontok_skip(&t, &v, err);
            if (rc)
                return rc;
            store(found, end, &v);
            continue;
        }
        stack[d++] = (struct level){deeper, end, v};
        fit = v.type == JM_J_ARRAY ? narrow(s, deeper, d - 1, NULL) : 0;
    }
}
