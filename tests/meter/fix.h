/* SPDX-License-Identifier: Apache-2.0 */
/* What most tests of meters need: a fake tree, an environment that points at it, a virtual clock. */
#ifndef TESTS_METER_FIX_H
#define TESTS_METER_FIX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "meter/registry.h"
#include "tree.h"

struct fix {
    struct tree t;
    struct jm_meter_env env;
    struct jm_domain_tree tree;
    struct jm_vclock vc;
    struct jm_meter *m;
    struct jm_err err;
};

static inline int fix_setup(void **state)
{
    static struct fix f;
    memset(&f, 0, sizeof f);
    f.t = tree_new();
    f.env.sysfs_root = f.env.proc_root = f.env.dev_root = f.t.root;
    f.env.nvml_lib = "/nonexistent/libnvidia-ml.so.1";
    f.env.amdsmi_lib = "/nonexistent/libamd_smi.so";
    f.env.level_zero_lib = "/nonexistent/libze_loader.so.1";
    f.env.hlml_lib = "/nonexistent/libhlml.so";
    f.env.host = "h";
    f.env.clock = jm_clock_virtual(&f.vc, NULL);
    jm_domain_tree_init(&f.tree);
    *state = &f;
    return 0;
}

static inline int fix_teardown(void **state)
{
    struct fix *f = *state;
    if (f->m)
        f->m->ops->close(f->m);
    jm_domain_tree_release(&f->tree);
    tree_free(&f->t);
    return 0;
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, fix_setup, fix_teardown)

static inline struct jm_meter *fix_open(struct fix *f, const struct jm_meter_ops *ops)
{
    if (ops->open(&f->env, &f->tree, &f->m, &f->err))
        fail_msg("open: %s", f->err.text);
    return f->m;
}

static inline struct jm_probe fix_probe(struct fix *f, const struct jm_meter_ops *ops)
{
    struct jm_probe p = {0};
    assert_int_equal(ops->probe(&f->env, &p), 0);
    return p;
}

/* The channel whose device contains text, NULL: none. */
static inline struct jm_channel *fix_chan(struct fix *f, const char *text)
{
    for (size_t i = 0; i < f->m->n_chan; i++)
        if (strstr(f->m->chan[i].device, text))
            return &f->m->chan[i];
    return NULL;
}

static inline struct jm_reading fix_read(struct fix *f, const char *text)
{
    struct jm_reading r[64];
    assert_true(f->m->n_chan <= 64);
    size_t n = f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    for (size_t i = 0; i < n; i++)
        if (strstr(f->m->chan[r[i].channel].device, text))
            return r[i];
    fail_msg("no reading of %s", text);
    return r[0];
}

static inline enum jm_domain_kind fix_kind(struct fix *f, const char *text)
{
    struct jm_channel *c = fix_chan(f, text);
    assert_non_null(c);
    return f->tree.d[c->domain].kind;
}

#endif
