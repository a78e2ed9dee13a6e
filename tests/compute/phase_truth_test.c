/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations held against simulated truths that are not of the model's form (bench/batching.h); the bounds
 * are those of the published figures: phase share within 1 percentage point, median error a request at
 * most 1.5 %. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../bench/allocate.h"
#include "../../bench/batching_file.h"
#include "compute/compute.h"
#include "run/run.h"

#define SEEDS 3
static const double rates[] = {0.5, 2, 6, 12};

static struct batching_opts options(int seed, double rate)
{
    return (struct batching_opts){
        .seed = (uint64_t)seed, .seconds = 180, .rate = rate, .idle_s = 10, .jitter_s = 0.002};
}

struct sum {
    double bias, median, p90;
};

/* Means over seeds; the closure of each must be exact. */
static struct sum over_seeds(double rate, enum allocate_method m, const struct allocate_opts *ao, bool pools)
{
    struct sum s = {0};
    for (int seed = 1; seed <= SEEDS; seed++) {
        struct batching_opts o = options(seed, rate);
        struct batching b;
        struct allocate_result x;
        o.pools = pools;
        assert_true(batching_run(&o, &b));
        assert_int_equal(allocate(&b, ao, m, &x), 0);
        assert_int_equal(x.closure_mj, 0);
        if (m == ALLOCATE_D2 && !pools)
            assert_int_equal(x.fit[0].method, JM_PHASE_D2);
        s.bias += 100 * (x.share - x.truth) / SEEDS;
        s.median += 100 * x.median / SEEDS;
        s.p90 += 100 * x.p90 / SEEDS;
        free(x.error);
        batching_release(&b);
    }
    return s;
}

#define AT_MOST(what, got, most)                                                                             \
    do {                                                                                                     \
        if (!((got) <= (most)))                                                                              \
            fail_msg("%g req/s: %s is %.3f, not at most %.3f", rates[i], what, (double)(got),                \
                     (double)(most));                                                                        \
    } while (0)

static void against_truth(void **state)
{
    struct allocate_opts known = {0}, blind = {.no_steps = true, .no_queue = true};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct sum d2 = over_seeds(rates[i], ALLOCATE_D2, &known, false),
                   time = over_seeds(rates[i], ALLOCATE_TIME, &known, false),
                   equal = over_seeds(rates[i], ALLOCATE_EQUAL, &known, false),
                   token = over_seeds(rates[i], ALLOCATE_TOKEN, &known, false),
                   client = over_seeds(rates[i], ALLOCATE_D2, &blind, false);
        AT_MOST("bias of the prefill share", fabs(d2.bias), 1);
        AT_MOST("median error a request", d2.median, 1.5);
        AT_MOST("bias without the engine's counters", fabs(client.bias), 1);
        AT_MOST("median error without them", client.median, 1.5);
        AT_MOST("median error against time-share", d2.median, (rates[i] < 1 ? 1 : 0.5) * time.median);
        AT_MOST("bias against time-share", fabs(d2.bias), (rates[i] < 1 ? 1 : 0.5) * fabs(time.bias));
        AT_MOST("median error against tokens", d2.median, 0.5 * token.median);
        AT_MOST("median error against equal tokens", d2.median, 0.5 * equal.median);
        AT_MOST("bias against equal tokens", fabs(d2.bias), 0.5 * fabs(equal.bias));
    }
}

static void pools_apart(void **state)
{
    struct allocate_opts o = {0};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct sum s = over_seeds(rates[i], ALLOCATE_D2, &o, true);
        AT_MOST("bias of the prefill share with pools", fabs(s.bias), 0.2);
    }
}

/* The same through a run file: refreshes that are polled, texts of the engine, aborted and cached requests.
 */
static const struct jm_phases *of_run(const struct batching *b, const struct batching_file *f,
                                      struct jm_run **run, struct jm_report **r)
{
    char path[64];
    struct jm_err err = {0};
    struct jm_compute_opts o;
    snprintf(path, sizeof path, "phase_truth.%d.jmr", (int)getpid());
    if (batching_write(b, path, f, &err) || jm_run_open(path, run, &err))
        fail_msg("%s", err.text);
    unlink(path);
    jm_compute_defaults(&o);
    if (jm_compute(*run, &o, r, &err))
        fail_msg("%s", err.text);
    assert_non_null((*r)->phases);
    if ((*r)->phases->why)
        fail_msg("%s", (*r)->phases->why);
    return (*r)->phases;
}

static void through_a_run(void **state)
{
    (void)state;
    for (int pools = 0; pools < 2; pools++) {
        struct batching_opts o = options(5, 6);
        struct batching_file f = {.groups = pools, .slices = true, .no_idle = pools};
        struct batching b;
        struct jm_run *run;
        struct jm_report *r;
        double truth = 0, all = 0, *error;
        size_t n = 0;
        int64_t sum = 0;
        o.pools = pools;
        o.abort_share = 0.05;
        o.cached_share = 0.2;
        assert_true(batching_run(&o, &b));
        const struct jm_phases *p = of_run(&b, &f, &run, &r);
        assert_int_equal(p->n_units, pools ? 2 : 1);
        assert_int_equal(p->method, JM_PHASE_D2);
        assert_int_equal(p->provenance, JM_P_SIMULATED);
        assert_int_equal(p->closure_mj, 0);
        assert_non_null(strstr(p->label, "allocation, not measurement; method D2; residual "));
        assert_true((error = malloc(p->n_requests * sizeof *error)) != NULL);
        for (size_t i = 0; i < p->n_requests; i++) {
            const struct jm_request_energy *e = &p->request[i];
            const struct batching_request *q = &b.request[e->id - 1];
            sum += e->prefill_mj + e->decode_mj;
            if (isfinite(e->joules))
                error[n++] = fabs(e->joules / q->joules - 1);
        }
        for (size_t i = 0; i < b.n_requests; i++) {
            truth += b.request[i].prefill;
            all += b.request[i].joules;
        }
        /* every millijoule of the window has one owner */
        assert_true(sum + p->split[0].idle_mj == p->split[0].total_mj);
        double headline = jm_report_find(r, "energy", JM_B_GPU, r->windows[p->split[1].window].id)->q.value;
        assert_true(fabs((double)p->split[0].total_mj / 1e3 - headline) < 1e-3);
        double share = p->split[0].share, median = allocate_quantile(error, n, 0.5);
        if (!(fabs(share - truth / all) < 0.01) || !(median < 0.03))
            fail_msg("pools %d: share %.4f of %.4f, median error %.4f", pools, share, truth / all, median);
        assert_int_equal(p->n_dists, 5); /* all, two slices, two tenants */
        for (size_t i = 1; i < 5; i++)   /* whose slice it is stands beside it */
            assert_true(p->dist[i].tenant && (i < 3) == (p->dist[i].slice != NULL));
        assert_true(p->dist[0].n == p->dist[1].n + p->dist[2].n && p->dist[0].failed > 0);
        assert_true(p->guessed_prompts > 0 && p->cached_tokens > 0);
        free(error);
        jm_report_free(r);
        jm_run_close(run);
        batching_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_truth),
        cmocka_unit_test(pools_apart),
        cmocka_unit_test(through_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
