/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured in turn: slices, levels of a ladder, or one load that pauses between its trials. Each time
 * it has a load of its own with a warm-up and a window, followed to the end of its last request. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_impl.h"
#include "cli/signals.h"

#include "base/banned.h"

/* Which comes when in a trial, and a fact of it. */
static void order_of(struct jm_bench_run *b, int trial, const struct jm_bench_item *item, size_t *order,
                     size_t n)
{
    enum jm_bench_order how = b->how.order < 0 ? JM_ORDER_WRITTEN : (enum jm_bench_order)b->how.order;
    jm_bench_order(how, trial, b->lc.seed, order, n);
    struct jm_str names;
    char key[64];
    if (n < 2)
        return;
    jm_str_init(&names);
    for (size_t i = 0; i < n; i++)
        jm_str_addf(&names, "%s%s", i ? ", " : "", item[order[i]].name);
    snprintf(key, sizeof key, "plan.order.%d", trial);
    if (!names.failed)
        jm_bench_fact(b, key, names.buf);
    jm_str_release(&names);
}

/* "short", "short, trial 2 of 3", "trial 2 of 3" */
static void name_of(const struct jm_bench_run *b, const struct jm_bench_item *x, int trial, char out[80])
{
    char count[40] = "";
    if (!isnan(b->how.until))
        snprintf(count, sizeof count, "trial %d", trial + 1);
    else if (b->how.trials > 1)
        snprintf(count, sizeof count, "trial %d of %d", trial + 1, (int)b->how.trials);
    snprintf(out, 80, "%.36s%s%s", x->name, x->name[0] && count[0] ? ", " : "", count);
}

/* The level 0: the engine has its model and nothing to do. What the load before left (clocks, queues of the
 * engine) may settle for as long as a load would warm up. */
static int no_load(struct jm_bench_run *b, const struct jm_bench_item *x, const char *name, int trial,
                   struct jm_err *err)
{
    int id = -1;
    int rc = jm_bench_rest(b, JM_R_COOLDOWN, "settle", trial, b->warmup, NULL, err);
    if (!rc)
        rc = jm_bench_rest(b, JM_R_IDLE, name, trial, b->duration, &id, err);
    if (!rc && id >= 0) {
        jm_bench_window_number(b, id, "level", x->level);
        jm_bench_window_number(b, id, "offered", 0);
    }
    return rc;
}

static int once(struct jm_bench_run *b, const struct jm_bench_item *x, int trial, struct jm_err *err)
{
    char name[80], before[80];
    name_of(b, x, trial, name);
    if (!x->plan)
        return no_load(b, x, name, trial, err);
    b->part = x->part;
    int rc = jm_bench_new_load(b, x->plan, err);
    snprintf(before, sizeof before, "warm-up%s%.60s", x->name[0] ? " " : "", x->name);
    if (!rc)
        rc = jm_bench_warm_up(b, before, trial, b->warmup, err);
    if (!rc)
        rc = jm_bench_window(b, name, trial, x, err);
    if (!rc)
        rc = jm_bench_drain(b, err);
    jm_bench_load_facts(b);
    b->part = NULL;
    return rc;
}

int jm_bench_turns(struct jm_bench_run *b, const struct jm_bench_item *item, size_t n, struct jm_err *err)
{
    size_t *order = malloc((n ? n : 1) * sizeof *order);
    int rc = order ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the order of what is measured");
    bool stop = false, any = false;
    for (int trial = 0; !rc && !stop && trial < b->how.trials && !jm_signals_stop; trial++) {
        order_of(b, trial, item, order, n);
        for (size_t i = 0; !rc && i < n && !jm_signals_stop; i++) {
            if ((trial || i) && (rc = jm_bench_cool_down(b, trial, err)))
                break;
            if (jm_signals_stop)
                break;
            rc = once(b, &item[order[i]], trial, err);
            if (rc && any)
                jm_err_prefix(err, "what was measured before is in %s; %s", b->s->path.buf,
                              item[order[i]].name);
            any = true;
        }
        if (!rc)
            rc = jm_bench_enough(b, trial + 1, &stop, err);
    }
    free(order);
    if (!rc && b->lost)
        rc = jm_err_set(err, b->lost, "requests could not be written to the run file");
    return rc;
}

int jm_bench_in_turn(struct jm_bench_run *b, struct jm_err *err)
{
    const struct jm_plan *all = b->plan;
    struct jm_bench_item again = {.plan = all, .name = "", .level = NAN, .offered = NAN};
    if (!all->sequential)
        return jm_bench_turns(b, &again, 1, err);
    struct jm_plan *one = calloc(all->slices, sizeof *one);
    struct jm_bench_item *item = calloc(all->slices, sizeof *item);
    int rc = one && item ? 0 : jm_err_set(err, JM_ENOMEM, "out of memory for the slices");
    for (size_t i = 0; !rc && i < all->slices; i++) {
        one[i] = *all;
        one[i].slice = &all->slice[i];
        one[i].slices = 1;
        item[i] = (struct jm_bench_item){.plan = &one[i],
                                         .name = all->slice[i].name,
                                         .part = all->slice[i].name,
                                         .slice = all->slice[i].name,
                                         .level = NAN,
                                         .offered = NAN};
    }
    if (!rc)
        rc = jm_bench_turns(b, item, all->slices, err);
    free(item);
    free(one);
    return rc;
}
