/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a few members of a document in one pass, without memory: the paths are a tree, and the place in
 * it goes down and up with the document; what is below no node is skipped. */
#include <string.h>

#include "wire/jsontok.h"

#include "base/banned.h"

enum { ROOT = 0, NOWHERE = 0xffff };

static bool same(struct jm_span a, struct jm_span b)
{
    return !a.p ? !b.p : b.p && a.n == b.n && a.p[0] == b.p[0] && memcmp(a.p, b.p, a.n) == 0;
}

/* The node for this part below another; made when it is not there. NOWHERE: no room. */
static size_t grow(struct jm_jsonscan *s, size_t at, struct jm_span seg)
{
    uint16_t *link = &s->node[at].child;
    while (*link) {
        if (same(s->node[*link].seg, seg))
            return *link;
        link = &s->node[*link].next;
    }
    if (s->nodes == JM_JSONSCAN_NODES)
        return NOWHERE;
    *link = (uint16_t)s->nodes;
    s->node[s->nodes] = (struct jm_jsonscan_node){.seg = seg};
    return s->nodes++;
}

static int add_path(struct jm_jsonscan *s, const char *text, struct jm_err *err)
{
    size_t k = 0, at = ROOT;
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
        if (k++ == JM_JSONSCAN_SEGMENTS)
            return jm_err_set(err, JM_EINVAL, "path \"%s\" has more than %d parts", text,
                              JM_JSONSCAN_SEGMENTS);
        at = grow(s, at, seg);
        if (at == NOWHERE)
            return jm_err_set(err, JM_EINVAL, "the paths asked for have more than %d parts",
                              JM_JSONSCAN_NODES);
    }
    if (!k)
        return jm_err_set(err, JM_EINVAL, "an empty path into a JSON document was asked for");
    s->node[at].end |= UINT32_C(1) << s->n++;
    return 0;
}

int jm_jsonscan_init(struct jm_jsonscan *s, const char *const *paths, size_t n, struct jm_err *err)
{
    s->n = 0;
    s->nodes = 1;
    s->node[ROOT] = (struct jm_jsonscan_node){0};
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
    size_t at;             /* node of this object or array */
    struct jm_jtoken open; /* its bracket */
};

static size_t member(const struct jm_jsonscan *s, size_t at, const struct jm_jtoken *key)
{
    char buf[64];
    struct jm_span name = key->raw;
    if (key->escaped) {
        size_t n = jm_json_unescape(key->raw, buf, sizeof buf);
        name = (struct jm_span){buf, n <= sizeof buf ? n : 0};
    }
    if (name.n)
        for (size_t i = s->node[at].child; i; i = s->node[i].next)
            if (s->node[i].seg.p && same(s->node[i].seg, name))
                return i;
    return NOWHERE;
}

static size_t item(const struct jm_jsonscan *s, size_t at)
{
    for (size_t i = s->node[at].child; i; i = s->node[i].next)
        if (!s->node[i].seg.p)
            return i;
    return NOWHERE;
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
    size_t d = 0, at = ROOT; /* levels that are open; the node of the value to come */
    memset(found, 0, s->n * sizeof *found);
    jm_jsontok_init(&t, doc, JM_JSONTOK_DEPTH);
    for (;;) {
        struct jm_jtoken v;
        int rc = jm_jsontok_next(&t, &v, err);
        if (rc || v.type == JM_J_END)
            return rc;
        if (v.type == JM_J_KEY) {
            at = member(s, stack[d - 1].at, &v);
            continue;
        }
        if (v.type == JM_J_OBJECT_END || v.type == JM_J_ARRAY_END) {
            struct level *l = &stack[--d];
            l->open.raw.n = (size_t)(v.raw.p + 1 - l->open.raw.p);
            store(found, s->node[l->at].end, &l->open);
            at = d && stack[d - 1].open.type == JM_J_ARRAY ? item(s, stack[d - 1].at) : NOWHERE;
            continue;
        }
        if (at == NOWHERE || !s->node[at].child || (v.type != JM_J_OBJECT && v.type != JM_J_ARRAY)) {
            rc = jm_jsontok_skip(&t, &v, err);
            if (rc)
                return rc;
            if (at != NOWHERE)
                store(found, s->node[at].end, &v);
            continue;
        }
        stack[d++] = (struct level){at, v};
        at = v.type == JM_J_ARRAY ? item(s, at) : NOWHERE;
    }
}
