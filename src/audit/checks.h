/* SPDX-License-Identifier: Apache-2.0 */
/* The checks, by subject. Each adds findings; an error makes what it concerns invalid. */
#ifndef JM_AUDIT_CHECKS_H
#define JM_AUDIT_CHECKS_H

#include "audit/audit.h"

typedef int (*jm_check_fn)(const struct jm_run *run, struct jm_report *r, struct jm_err *err);

/* checks_run.c */
int jm_check_run_cut(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_simulated(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_meters(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_window(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_tolerance(const struct jm_run *run, struct jm_report *r,
                       struct jm_err *err); /* checks_bound.c */
int jm_check_trials(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_trials_drift(const struct jm_run *run, struct jm_report *r,
                          struct jm_err *err); /* checks_trials.c */
/* checks_phases.c */
int jm_check_phases(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_warm.c */
int jm_check_warm(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_ladder.c */
int jm_check_ladder(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_changed(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_energy.c */
int jm_check_energy_status(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_partial(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_counter_gauge(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_mirrored(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_gaps(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_gain(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_throttle(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_limit_change(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_fast_polling(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_estimate(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_instrument.c */
int jm_check_instruments(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_configured(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_reconcile.c */
int jm_check_reconcile_child(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_reconcile_ac_dc(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_reconcile_disagree(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_reconcile_unexplained(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_reconcile_shared(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_reconcile_follow(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_load.c */
int jm_check_sut(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_tokens(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_failures(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_steady(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_bias(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_lengths(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_client_energy(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_client(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_short(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_shared(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_bundled(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_loaded(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_engine.c */
int jm_check_engine_absent(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_reset(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_tokens(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_requests(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_others(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_preempted(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_host(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_queue(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_engine_hits(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_plan.c */
int jm_check_unsent(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_scenario(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_merge.c */
int jm_check_merge_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_merge_coverage(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_merge_missing(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
/* checks_mlperf.c */
int jm_check_mlperf_result(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_mlperf_samples(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
int jm_check_mlperf_mean(const struct jm_run *run, struct jm_report *r, struct jm_err *err);

/* audit.c: evidence on the newest finding; JM_ENOMEM when f is NULL. */
int jm_finding_at(struct jm_report *r, struct jm_finding *f, int window, struct jm_err *err,
                  const char *evidence, ...) __attribute__((format(printf, 5, 6)));
double jm_seconds_apart(int64_t a, int64_t b); /* a - b in s, without overflow, whatever a file says */
/* Windows that the run is about: measured ones, or the idle ones of a run that has no other. */
enum jm_role jm_main_role(const struct jm_report *r);
/* jm_run_number of key, else of other. */
double jm_run_number_or(const struct jm_run *run, const char *key, const char *other);

#endif
