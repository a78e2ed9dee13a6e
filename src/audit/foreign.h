/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of files that other tools wrote. What they share: the claims by metric and statistic, what the
 * file's requests say together, and findings. */
#ifndef JM_AUDIT_FOREIGN_H
#define JM_AUDIT_FOREIGN_H

#include "audit/checks.h"

/* The value in the metric's unit, NAN where the file does not state it. window: index, or -2 for any. stat
 * NULL: the mean, the sum or the only one. */
double jm_foreign_claim(const struct jm_report *r, int window, const char *metric, const char *stat);
/* The same with the claim itself; NULL. */
const struct jm_claim *jm_foreign_find(const struct jm_report *r, int window, const char *metric,
                                       const char *stat);
int jm_foreign_windows(const struct jm_report *r); /* that are looked at one by one: 200 at most */
bool jm_foreign_is(const struct jm_run *run, const char *kind); /* import.kind begins with it */
bool jm_foreign_placed(const struct jm_run *run);               /* the file has no start times */

/* A finding about a window, with evidence. */
int jm_foreign_say(struct jm_report *r, struct jm_err *err, const char *id, enum jm_severity sev, int window,
                   const char *evidence, const char *fmt, ...) __attribute__((format(printf, 7, 8)));

/* What the requests say together. */
struct jm_foreign_sum {
    int64_t ok, bad, tokens, counted; /* counted: ok ones with output tokens */
    int64_t chunked, chunks,
        chunk_tokens;           /* ok ones whose chunks and tokens are both known; of them the totals */
    int64_t fewer, more;        /* of those: fewer chunks than tokens, more chunks than tokens */
    int64_t shared;             /* chunks with the stamp of the one before */
    int64_t same_length;        /* output tokens of all counted ones; -1: they differ */
    int64_t asked, over, exact; /* with a wish; above it; just it */
    int64_t prompt, cached, cached_known;
    int64_t backwards;   /* a stamp before the one that comes before it */
    int64_t first, last; /* start and end over all, -1 */
    double longest_s;    /* the longest request */
};
/* window: requests that began in it; -1: all. */
void jm_foreign_sum(const struct jm_run *run, const struct jm_report *r, int window,
                    struct jm_foreign_sum *s);

/* foreign_tokens.c */
int jm_foreign_chunks(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_requested(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_counted(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_lengths(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_cache(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_first(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_tpot(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_zeros(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* foreign_energy.c */
int jm_foreign_energy_window(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_lifetime(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_gpu_mean(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_blank(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_clamped(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_per_success(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_grace(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_boundary(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* foreign_device.c */
int jm_foreign_log_idle(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_log_sampling(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_log_units(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_log_repeated(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_log_stamps(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_log_silent(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_dcgm(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* foreign_tools.c */
int jm_foreign_modelled(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_pue(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_rows(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_scope(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_method(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_value(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_denominator(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_carbon(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* foreign_sums.c */
int jm_foreign_totals(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_range(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_percentile(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_differs(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_left_out(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_rates(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_nothing(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* foreign_time.c */
int jm_foreign_wall_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_span(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_ramp(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_queue(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_foreign_duplicates(const struct jm_run *run, struct jm_report *r, struct jm_err *err);

#endif
