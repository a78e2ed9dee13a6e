/* SPDX-License-Identifier: Apache-2.0 */
/* How far is an allocation of energy from the truth? The table of bench/attribution, and its bounds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "allocate.h"
#include "batching_file.h"

#define RATES 4
static const double rates[RATES] = {0.5, 2, 6, 12};

struct row {
    const char *name;
    enum allocate_method method;
    struct allocate_opts o;
    bool linear, pools, marginal;
    double counter_s;
    bool bound; /* share within a point, median within 1.5 % */
};

static const struct row table[] = {
    {"A  J/output token", ALLOCATE_TOKEN, .bound = false},
    {"B  time-share", ALLOCATE_TIME, .bound = false},
    {"C  J/token, prompt = output", ALLOCATE_EQUAL, .bound = false},
    {"D  regression, idle free", ALLOCATE_FREE, .bound = false},
    {"D2 regression, idle pinned", ALLOCATE_D2, .bound = true},
    {"D2 no queue times", ALLOCATE_D2, {.no_queue = true}, .bound = true},
    {"D2 no engine metrics at all", ALLOCATE_D2, {.no_steps = true, .no_queue = true}, .bound = true},
    {"D2 idle 50 % too low", ALLOCATE_D2, {.idle = 0.5}},
    {"D2 idle 50 % too high", ALLOCATE_D2, {.idle = 1.5}},
    {"D2 counter at 1 s", ALLOCATE_D2, .counter_s = 1},
    {"D2 linear truth", ALLOCATE_D2, .linear = true, .bound = true},
    {"D2 pools, by their counters", ALLOCATE_D2, .pools = true},
    {"D2 pools, sum of counters *", ALLOCATE_D2, {.summed = true}, .pools = true, .marginal = true},
};

struct cell {
    double bias, truth, median, p90;
    int64_t closure;
    int d2;
    bool ok;
};

static struct cell of(const struct row *r, double rate, int seeds, double seconds)
{
    struct cell c = {.ok = true};
    double *all = NULL;
    size_t n = 0;
    for (int s = 1; s <= seeds && c.ok; s++) {
        struct batching_opts o = {.seed = (uint64_t)s,
                                  .seconds = seconds,
                                  .rate = rate,
                                  .idle_s = 10,
                                  .jitter_s = 0.002,
                                  .linear = r->linear,
                                  .pools = r->pools,
                                  .counter_s = r->counter_s};
        struct batching b;
        struct allocate_result x;
        c.ok = batching_run(&o, &b) && allocate(&b, &r->o, r->method, &x) == 0;
        if (c.ok) {
            double *v = realloc(all, (n + x.n + 1) * sizeof *v);
            c.bias += 100 * (r->marginal ? x.net - x.net_truth : x.share - x.truth) / seeds;
            c.truth += 100 * (r->marginal ? x.net_truth : x.truth) / seeds;
            c.closure += llabs(x.closure_mj);
            c.d2 += x.fit[0].method == JM_PHASE_D2;
            if (v) {
                memcpy(v + n, x.error, x.n * sizeof *v);
                n += x.n;
                all = v;
            }
            c.ok = v != NULL;
            free(x.error);
        }
        batching_release(&b);
    }
    c.median = 100 * allocate_quantile(all, n, 0.5);
    c.p90 = 100 * allocate_quantile(all, n, 0.9);
    free(all);
    return c;
}

static int write_run(const char *path, double rate, int gpus, double seconds)
{
    struct batching_opts o = {.seed = 1,
                              .seconds = seconds,
                              .rate = rate,
                              .idle_s = 10,
                              .jitter_s = 0.002,
                              .gpus = gpus,
                              .abort_share = 0.03,
                              .cached_share = 0.2};
    struct batching_file f = {.slices = true};
    struct batching b;
    struct jm_err err = {0};
    double prefill = 0, joules = 0;
    int rc = batching_run(&o, &b) ? batching_write(&b, path, &f, &err) : 1;
    for (size_t i = 0; !rc && i < b.n_requests; i++) {
        prefill += b.request[i].prefill;
        joules += b.request[i].joules;
    }
    if (rc)
        fprintf(stderr, "bench/attribution: %s\n", err.text[0] ? err.text : "out of memory");
    else
        printf("%zu requests; in truth prefill is %.2f %% of what they took\n", b.n_requests,
               100 * prefill / joules);
    batching_release(&b);
    return rc ? 1 : 0;
}

static int usage(void)
{
    fputs("usage: bench/attribution [BUILD] [--seeds N] [--seconds S] [--check] [--write RUN.jmr [RATE "
          "[GPUS]]]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    double seeds = 5, seconds = 180, rate = 6, gpus = 1;
    const char *path = NULL;
    int broken = 0, check = 0;
    for (int i = 1; i < argc; i++) {
        double *to = strcmp(argv[i], "--seeds") == 0     ? &seeds
                     : strcmp(argv[i], "--seconds") == 0 ? &seconds
                                                         : NULL;
        if (to && i + 1 < argc && jm_num_double(jm_span_of(argv[i + 1]), to) == 0 && *to >= 1 && *to <= 1e5) {
            i++;
        } else if (strcmp(argv[i], "--check") == 0) {
            check = 1;
        } else if (strcmp(argv[i], "--write") == 0 && i + 1 < argc) {
            path = argv[++i];
            if (i + 1 < argc && argv[i + 1][0] != '-' && jm_num_double(jm_span_of(argv[++i]), &rate))
                return usage();
            if (i + 1 < argc && argv[i + 1][0] != '-' && jm_num_double(jm_span_of(argv[++i]), &gpus))
                return usage();
        } else {
            return usage();
        }
    }
    if (!(rate > 0 && rate < 1e4) || !(gpus >= 1 && gpus <= 16))
        return usage();
    if (path)
        return write_run(path, rate, (int)gpus, seconds);
    printf("%-29s %s\n%-29s", "", "prefill share off by, pp   median | p90 error of a request, %",
           "requests a second");
    for (int k = 0; k < RATES; k++)
        printf("%7g", rates[k]);
    for (int k = 0; k < RATES; k++)
        printf("%13g", rates[k]);
    printf("\n");
    int64_t closure = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *r = &table[i];
        struct cell c[RATES];
        printf("%-29s", r->name);
        for (int k = 0; k < RATES; k++) {
            c[k] = of(r, rates[k], (int)seeds, seconds);
            if (!c[k].ok)
                return 1;
            printf("%+7.2f", c[k].bias);
            closure += c[k].closure;
            broken += r->bound && (fabs(c[k].bias) > 1 || c[k].median > 1.5 || c[k].d2 < seeds);
        }
        for (int k = 0; k < RATES && !r->marginal; k++)
            printf("%7.2f |%4.*f", c[k].median, c[k].p90 < 9.95 ? 1 : 0, c[k].p90);
        printf("\n");
    }
    printf("%-29s", "prefill share, truth, %");
    for (int k = 0; k < RATES; k++)
        printf("%7.1f", of(&table[4], rates[k], (int)seeds, seconds).truth);
    printf("\n* of the marginal energy: who pays for the idle power of two boards is not a matter of truth\n"
           "left over when all parts are taken from the counters: %lld mJ\n",
           (long long)closure);
    if (check && (broken || closure)) {
        fprintf(stderr, "bench/attribution: a bound is broken\n");
        return 1;
    }
    return 0;
}
