/* SPDX-License-Identifier: Apache-2.0 */
/* Opens every instrument of a configuration, each in a thread of its own, so that one that does not answer
 * delays the others by nothing. Each works on a copy of the domain tree; what it adds is put into the common
 * one afterwards, in the order of the entries, so that a run is the same however fast each was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/opening.h"
#include "base/banned.h"

#define AT_ONCE 512

/* Its exchanges have a bound each; opening has a few of them. A BMC that takes half a second for each of a
 * hundred resources is not dead: while replies come it is waited for, MOST timeouts in all. */
#define MOST 25

static int64_t patience(const struct jm_instrument *in)
{
    return 3 * in->timeout_ns + 2 * JM_NS_PER_S;
}

/* Waits for it and takes what came of it. */
static int collect(struct jm_opening *o, const struct jm_instrument *in, int64_t began, bool keep,
                   struct jm_domain_tree *tree, struct jm_opened *out, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int64_t until = began + patience(in), last = began + MOST * in->timeout_ns, now;
    unsigned heard = jm_opening_heard(o), more;
    jm_opening_wait(o, until);
    while (jm_opening_waits(o) && (now = jm_clock_mono(&clock)) < last &&
           (more = jm_opening_heard(o)) != heard) {
        heard = more;
        until = now + patience(in);
        jm_opening_wait(o, until < last ? until : last);
    }
    int rc = jm_opening_take(o, tree, out, err);
    if (rc == 0)
        out->rc = jm_err_set(&out->why, JM_ETIMEOUT, "%s: it could not be opened within %.3g s%s", in->name,
                             (double)(jm_clock_mono(&clock) - began) / 1e9,
                             heard ? ", though it answers; say a longer timeout" : "");
    if (out->later && !keep) {
        jm_opening_drop(out->later);
        out->later = NULL;
    }
    return rc < 0 ? rc : 0;
}

static int open_batch(const struct jm_meter_env *env, const struct jm_instrument *const *in, size_t n,
                      bool keep, struct jm_domain_tree *tree, struct jm_opened *out, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_opening *o[AT_ONCE] = {NULL};
    int64_t began = jm_clock_mono(&clock);
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = jm_opening_new(env, in[i], tree, keep, &o[i], err);
    for (size_t i = 0; i < n && o[i]; i++) {
        if (rc)
            jm_opening_drop(o[i]);
        else
            rc = collect(o[i], in[i], began, keep, tree, &out[i], err);
    }
    for (size_t i = 0; i < n && !rc; i++) { /* while others were waited for it may have come */
        struct jm_opened again;
        if (!out[i].later)
            continue;
        rc = jm_opening_take(out[i].later, tree, &again, err);
        if (rc > 0) {
            out[i].later = NULL;
            jm_opened_release(&out[i]);
            out[i] = again;
        }
        rc = rc > 0 ? 0 : rc;
    }
    return rc;
}

int jm_instruments_open_all(const struct jm_meter_env *env, const struct jm_instrument *const *in, size_t n,
                            bool keep, struct jm_domain_tree *tree, struct jm_opened *out, struct jm_err *err)
{
    memset(out, 0, n * sizeof *out);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i += AT_ONCE)
        rc = open_batch(env, in + i, n - i < AT_ONCE ? n - i : AT_ONCE, keep, tree, out + i, err);
    for (size_t i = 0; rc && i < n; i++)
        jm_opened_release(&out[i]);
    return rc;
}
