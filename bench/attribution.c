/* SPDX-License-Identifier: Apache-2.0 */
/* How far is an allocation of energy from the truth? Table of bench/attribution. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"


static const char *const name[] = {"A token", "B time", "C equal", "D free", "D2"};

#include "batching_file.h"
static int write_run(int argc, char **argv)
{
    struct batching b;
    struct jm_err err = {0};
    struct batching_opts o = {.seed = 1, .seconds = argc > 3 ? strtod(argv[3], NULL) : 240, .rate = argc > 4 ? strtod(argv[4], NULL) : 6, .idle_s = 10, .jitter_s = .002, .gpus = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 1, .pools=getenv("POOLS"), .abort_share = getenv("PLAIN")?0:.03, .cached_share=getenv("PLAIN")?0:.2, .bursts_s=getenv("BURST")?10:0, .isl=getenv("FIX")?512:0, .osl=getenv("FIX")?128:0};
    struct batching_file f = {.slices = true, .groups = o.pools, .no_idle=getenv("NOIDLE"), .no_engine=getenv("NOQUEUE")};
    if (!batching_run(&o, &b) || batching_write(&b, argv[2], &f, &err)) { fprintf(stderr, "%s\n", err.text); return 1; }
    double p = 0, j = 0; for (size_t i = 0; i < b.n_requests; i++) if (!b.request[i].burst) { p += b.request[i].prefill; j += b.request[i].joules; }
    printf("%zu requests, truth prefill %.2f %%\n", b.n_requests, 100 * p / j);
    batching_release(&b);
    return 0;
}
int main(int argc, char **argv)
{
    if (argc > 2) return write_run(argc, argv);
    static const double rates[] = {0.5, 2, 6, 12};
    struct allocate_opts ao = {
        .no_steps = getenv("NOSTEPS"), .no_queue = getenv("NOQUEUE"), .summed = getenv("SUMMED")};
    for (int m = 0; m < ALLOCATE_METHODS; m++) {
        printf("%-8s", name[m]);
        for (int r = 0; r < 4; r++) {
            double bias = 0, net = 0, *e = NULL;
            size_t n = 0;
            int d2 = 0;
            long cl = 0;
            double res = 0, worst = 0, ts = 0;
            for (int seed = 1; seed <= 5; seed++) {
                struct batching_opts o = {.seed = (uint64_t)seed,
                                          .seconds = 180,
                                          .rate = rates[r],
                                          .idle_s = 10,
                                          .jitter_s = 0.002,
                                          .linear = getenv("LINEAR"),
                                          .pools = getenv("POOLS"),
                                          .counter_s = getenv("SLOW") ? 1 : 0.1,
                                          .bursts_s = getenv("BURST") ? 10 : 0,
                                          .isl = getenv("FIX") ? 512 : 0,
                                          .osl = getenv("FIX") ? 128 : 0};
                struct batching b;
                struct allocate_result x;
                if (!batching_run(&o, &b) || allocate(&b, &ao, m, &x))
                    return 1;
                bias += (x.share - x.truth) * 20;
                worst = fmax(worst, fabs(x.share - x.truth) * 100);
                net += (x.net - x.net_truth) * 20;
                ts += x.truth * 20;
                e = realloc(e, (n + x.n) * sizeof *e);
                memcpy(e + n, x.error, x.n * sizeof *e);
                n += x.n;
                d2 += x.fit[0].method == JM_PHASE_D2;
                cl += labs(x.closure_mj);
                res += x.fit[0].residual / 5;
                if (m == 4 && x.fit[0].method != JM_PHASE_D2)
                    fprintf(stderr, "%s (cond %g cv %g %g)\n", x.fit[0].why, x.fit[0].condition,
                            x.fit[0].cv_prefill, x.fit[0].cv_decode);
                if (m == 4 && argc > 1 && seed == 1) {
                    struct jm_phase_fit *f = &x.fit[0];
                    fprintf(stderr,
                            "w %g %g %g %g cond %g cv %g %g res %g win %zu blocks %zu share off %g %g\n",
                            f->w[0], f->w[1], f->w[2], f->w[3], f->condition, f->cv_prefill, f->cv_decode,
                            f->residual, f->windows, f->blocks, f->share_offset.lo, f->share_offset.hi);
                }
                free(x.error);
                batching_release(&b);
            }
            double med = allocate_quantile(e, n, .5);
            printf(" | %+6.2f (w%5.2f of %4.1f) %5.2f %5.1f d2 %d cl %ld net %+.1f", bias, worst, ts,
                   100 * med, 100 * allocate_quantile(e, n, .9), d2, cl, net);
            free(e);
        }
        printf("\n");
    }
}
