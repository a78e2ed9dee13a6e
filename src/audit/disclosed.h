/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says of one item of the disclosure: text in the report's arena, NULL: nothing, or an
 * error, which err then says. */
#ifndef JM_AUDIT_DISCLOSED_H
#define JM_AUDIT_DISCLOSED_H

#include "audit/audit.h"

/* First character of a text that says why the item does not apply. */
#define JM_SAID_NA '\1'

const char *jm_said_boundary(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_denominator(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_isl(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_osl(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_workload(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_level(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_accelerators(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_telemetry(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_limit(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_clock(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_temperature(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_windows(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_idle(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_tool(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_percentiles(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_outcomes(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_trials(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_uncertainty(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_calibration(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_accuracy(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_wue(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_pue(const struct jm_run *run, struct jm_report *r, struct jm_err *err);
const char *jm_said_factors(const struct jm_run *run, struct jm_report *r, struct jm_err *err);

#endif
