/* SPDX-License-Identifier: Apache-2.0 */
/* Answers questions on standard input, one a line, for a test that knows the answers from elsewhere:
 * a word and numbers in, numbers out. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "compute/stat_compare.h"
#include "compute/stat_nnls.h"

#define MOST 4000

static double v[MOST], w[MOST];

static void two(double a, double b)
{
    printf("%.17g %.17g\n", a, b);
}

static void winner(size_t k, double rho, double dof)
{
    struct jm_winner o;
    if (jm_stat_winner(v + 3, v + 3 + k, k, rho, dof, 0.95, &o, NULL))
        puts("refused");
    else
        printf("%zu %.17g %.17g %.17g\n", o.index, o.value, o.interval.lo, o.interval.hi);
}

/* rows cols, pins (1e99: none), then each row: columns and y */
static void nnls(void)
{
    size_t rows = (size_t)v[0], cols = (size_t)v[1];
    const double *at = v + 2 + cols;
    double pin[JM_LSQ_MAX];
    struct jm_lsq l;
    struct jm_nnls f;
    struct jm_identify id;
    for (size_t j = 0; j < cols; j++)
        pin[j] = v[2 + j] == 1e99 ? NAN : v[2 + j];
    jm_lsq_init(&l, cols);
    for (size_t i = 0; i < rows; i++, at += cols + 1)
        if (jm_lsq_row(&l, at, at[cols], 1, NULL))
            return;
    if (jm_lsq_nnls(&l, pin, &f, NULL)) {
        puts("refused");
        return;
    }
    jm_lsq_identify(&l, pin, NULL, &id);
    printf("%.17g %.17g", f.rss, id.condition);
    for (size_t j = 0; j < cols; j++)
        printf(" %.17g", f.x[j]);
    puts("");
}

static void ask(const char *word, size_t n)
{
    struct jm_interval in;
    struct jm_paired p;
    struct jm_tost e;
    struct jm_floor f;
    if (!strcmp(word, "quantile"))
        printf("%.17g %.17g %.17g %.17g %.17g\n", jm_stats_norm_quantile(v[0]),
               jm_stats_t_quantile(v[0], v[1]), jm_stats_chi2_quantile(v[0], v[1]),
               jm_stats_beta_quantile(v[0], v[1], v[2]), jm_stats_t_tail(v[3], v[1]));
    else if (!strcmp(word, "proportion")) {
        jm_stats_clopper_pearson((uint64_t)v[0], (uint64_t)v[1], v[2], &in);
        two(in.lo, in.hi);
    } else if (!strcmp(word, "paired")) { /* margin, then pairs */
        size_t k = (n - 1) / 2;
        if (jm_stat_log_ratios(v + 1, v + 1 + k, k, w, NULL) || jm_stat_paired(w, k, 0.95, &p, NULL) ||
            jm_stat_tost(w, k, v[0], 0.05, &e, NULL) || jm_stat_floor(w, k, 6, 0.95, &f, NULL)) {
            puts("refused");
            return;
        }
        printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", p.ratio, p.interval.lo, p.interval.hi,
               p.p, p.p_less, e.p, e.interval.lo, f.log_floor);
    } else if (!strcmp(word, "abba")) { /* margin, then log ratios, every second one turned */
        bool turned[MOST];
        for (size_t i = 0; i < n; i++)
            turned[i] = i % 2;
        if (n < 5 || jm_stat_abba(v + 1, turned, n - 1, 0.95, &p, NULL) ||
            jm_stat_tost_of(&p, v[0], 0.05, &e, NULL)) {
            puts("refused");
            return;
        }
        printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", p.mean, p.drift, p.se, p.interval.lo,
               p.interval.hi, p.p, e.p, e.interval.hi);
    } else if (!strcmp(word, "winner"))
        winner((size_t)v[0], v[1], v[2]);
    else if (!strcmp(word, "holm")) {
        if (jm_stat_holm(v, n, w, NULL))
            return;
        for (size_t i = 0; i < n; i++)
            printf("%.17g%c", w[i], i + 1 < n ? ' ' : '\n');
    } else if (!strcmp(word, "pairs")) {
        size_t pairs;
        if (jm_stat_pairs_for(v[0], v[1], v[2] != 0, v[3], v[4], &pairs, NULL))
            puts("refused");
        else
            printf("%zu\n", pairs);
    } else if (!strcmp(word, "nnls"))
        nnls();
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        size_t n = 0, len = strcspn(line, " \n");
        char *at = line + len + (line[len] != '\0');
        line[len] = '\0';
        while (*at && n < MOST) {
            size_t k = strcspn(at, " \n");
            if (k && jm_num_double((struct jm_span){at, k}, &v[n++]))
                return 1;
            at += k + (at[k] != '\0');
        }
        ask(line, n);
    }
    free(line);
    return 0;
}
