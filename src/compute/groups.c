/* SPDX-License-Identifier: Apache-2.0 */
/* Replica groups and pools of a merged run (env group.N.*): the energy of all GPUs of each, and what of the
 * load is its own: tokens count once a replica, prompts belong to a prefill pool, tokens after the first one
 * to a decode pool. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/calc.h"
#include "compute/ratio.h"

#include "base/banned.h"

/* The GPUs of group k serve. False where there is no such group. */
static bool serve(struct jm_calc *c, size_t k, const char **name, const char **role)
{
    struct jm_tree_facts *f = &c->tree;
    const struct jm_domain *d = c->r->tree->d;
    char key[64];
    snprintf(key, sizeof key, "group.%zu.name", k);
    *name = jm_run_env(c->run, key);
    snprintf(key, sizeof key, "group.%zu.role", k);
    *role = jm_run_env(c->run, key);
    snprintf(key, sizeof key, "group.%zu.gpus", k);
    struct jm_span rest = jm_span_of(jm_run_env(c->run, key)), one;
    if (!*name || !*role)
        return false;
    while (rest.n && jm_span_field(&rest, ',', &one)) {
        bool found = false;
        for (size_t i = 0; one.n && i < f->n; i++)
            if (f->has_gpu[i] && jm_span_is(one, d[i].key))
                f->serving[i] = found = true;
        f->absent += one.n && !found;
    }
    for (size_t i = f->n; i-- > 0;)
        if (f->serving[i] && d[i].parent >= 0)
            f->serving[d[i].parent] |= f->has_gpu[i];
    return true;
}

static void nobody(struct jm_tree_facts *f)
{
    memset(f->serving, 0, f->n);
    f->absent = 0;
    f->sut_known = true;
}

/* The facts of the tree as if only these GPUs served. Returns false where there is no such group. */
static bool only(struct jm_calc *c, size_t k, const char **name, const char **role)
{
    nobody(&c->tree);
    return serve(c, k, name, role);
}

static int keep(struct jm_calc *c, struct jm_groups_kept *k)
{
    struct jm_tree_facts *f = &c->tree;
    *k = (struct jm_groups_kept){malloc(f->n + 1), f->absent, f->sut_known};
    if (!k->serving)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the groups");
    memcpy(k->serving, f->serving, f->n);
    return 0;
}

void jm_groups_restore(struct jm_calc *c, struct jm_groups_kept *k)
{
    struct jm_tree_facts *f = &c->tree;
    if (!k->serving)
        return;
    memcpy(f->serving, k->serving, f->n);
    f->absent = k->absent;
    f->sut_known = k->sut_known;
    free(k->serving);
    k->serving = NULL;
}

int jm_groups_select(struct jm_calc *c, const char *role, const char *name, struct jm_groups_kept *k)
{
    const char *n, *r;
    int rc = keep(c, k);
    if (rc)
        return rc;
    nobody(&c->tree);
    for (size_t i = 0;; i++) {
        char key[64];
        snprintf(key, sizeof key, "group.%zu.name", i);
        n = jm_run_env(c->run, key);
        snprintf(key, sizeof key, "group.%zu.role", i);
        r = jm_run_env(c->run, key);
        if (!n || !r)
            return 0;
        if (strcmp(r, role) == 0 && (!name || strcmp(n, name) == 0))
            serve(c, i, &n, &r);
    }
}

static void tokens(const struct jm_calc *c, const struct jm_calc_window *w, struct jm_group_energy *g)
{
    const struct jm_tally *t = &w->tally;
    if (!c->r->has_requests || w->w->role != JM_R_MEASURE || jm_run_env(c->run, "conflict.sut"))
        return;
    if (strcmp(g->role, "prefill") == 0 && !t->unknown_input) {
        g->per = "input token";
        g->tokens = t->input;
    } else if (strcmp(g->role, "decode") == 0 && !t->unknown_output) {
        g->per = "decode token";
        g->tokens = t->output - (double)t->prefilled;
    }
    if (g->per && !(g->tokens > 0))
        g->per = NULL;
}

static int one(struct jm_calc *c, const struct jm_calc_window *w, const char *name, const char *role,
               struct jm_group_energy *g)
{
    struct jm_cut cut;
    int rc = jm_cut_make(c, w, JM_B_GPU, JM_CUT_MEASURED, &cut);
    if (rc)
        return rc;
    *g = (struct jm_group_energy){.name = jm_report_text(c->r, "%s", name),
                                  .role = jm_report_text(c->r, "%s", role),
                                  .window = w->index,
                                  .have = cut.have,
                                  .of = cut.of,
                                  .seconds = w->seconds,
                                  .joules = NAN,
                                  .lo = NAN,
                                  .hi = NAN,
                                  .tokens = NAN,
                                  .provenance = cut.provenance};
    if (!g->name || !g->role)
        return jm_err_set(c->err, JM_ENOMEM, "out of memory for the groups");
    if (cut.have && cut.have == cut.of) { /* a part of it is no group */
        double half = jm_energy_halfwidth(&cut.e, jm_calc_level(c), isfinite(cut.e.gain_bound));
        g->joules = cut.e.joules;
        g->lo = cut.e.joules - half;
        g->hi = cut.e.joules + half;
        g->gain_unknown = !isfinite(cut.e.gain_bound);
    }
    tokens(c, w, g);
    return 0;
}

int jm_groups_make(struct jm_calc *c)
{
    struct jm_tree_facts *f = &c->tree;
    const char *name, *role;
    size_t k = 0;
    char key[64];
    while (snprintf(key, sizeof key, "group.%zu.name", k) > 0 && jm_run_env(c->run, key))
        k++;
    if (!k || !f->n)
        return 0;
    struct jm_groups_kept kept;
    int rc = keep(c, &kept);
    c->r->groups = jm_report_alloc(c->r, k * c->n_win * sizeof *c->r->groups);
    if (!rc && !c->r->groups && c->n_win)
        rc = jm_err_set(c->err, JM_ENOMEM, "out of memory for the groups");
    for (size_t i = 0; !rc && i < c->n_win; i++)
        for (size_t g = 0; !rc && g < k; g++)
            if (only(c, g, &name, &role))
                rc = one(c, &c->win[i], name, role, &c->r->groups[c->r->n_groups++]);
    jm_groups_restore(c, &kept);
    return rc;
}
