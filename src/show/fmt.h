/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and words for people, shared by the renderers. */
#ifndef JM_SHOW_FMT_H
#define JM_SHOW_FMT_H

#include "base/span.h"
#include "base/str.h"
#include "model/report.h"

/* A value with four significant digits and, for J, W and s, an SI prefix: "3.120 MJ", "0.2717 J/token", "16.3
 * ms". Missing: "–" (ascii: "-"). buf holds JM_FMT bytes. */
#define JM_FMT 64
const char *jm_fmt_value(char buf[JM_FMT], double v, const char *unit);
/* The number alone, as above without unit and prefix. */
const char *jm_fmt_number(char buf[JM_FMT], double v);
/* Half-width of the interval in the same prefix as the value: "± 0.012", or as a share where that would
 * vanish in the digits shown: "± 0.0037 %"; "" where there is none. */
const char *jm_fmt_pm(char buf[JM_FMT], const struct jm_quantity *q);
/* Numerator or denominator with its name: "3.120 MJ energy", "12,000,000 output tokens". */
const char *jm_fmt_part(char buf[JM_FMT], const char *name, double v);
/* A tick label: as jm_fmt_value, without trailing zeros. */
const char *jm_fmt_tick(char buf[JM_FMT], double v, const char *unit);
/* "12,345" */
const char *jm_fmt_count(char buf[JM_FMT], int64_t n);
/* A whole amount that may be negative (money at a negative price), "-1,234". NAN: "–" */
const char *jm_fmt_amount(char buf[JM_FMT], double v);
/* "p99", "p99.9", "mean" for NAN. */
const char *jm_fmt_quantile(char buf[JM_FMT], double q);
/* Seconds as "60 s", "10 min", "1 h 2 min". */
const char *jm_fmt_duration(char buf[JM_FMT], double s);
/* Local stamp of a report: mono → RFC 3339. */
const char *jm_fmt_time(const struct jm_report *r, int64_t mono, char buf[JM_FMT]);

/* a - b in seconds, without overflow, whatever a file says. */
double jm_fmt_seconds(int64_t a, int64_t b);

/* Text of a run file is foreign. The next character of s that may be shown: well-formed UTF-8, a blank for
 * line ends and tabs, U+FFFD for what is malformed, a control character, no character at all or turns the
 * direction of writing. Returns where the one after it begins; NULL at the end. */
const char *jm_fmt_next(const char *s, struct jm_span *one);

/* Title of a metric for people: "J per output token". */
const char *jm_fmt_metric(const char *id);

/* The energy result that heads a report: j_per.output_token at the widest boundary that has one (gpu before a
 * device that holds GPUs which do not serve), else any energy ratio, else energy; mean power where nothing
 * but idle was measured; NULL: none.
 */
const struct jm_result *jm_fmt_headline(const struct jm_report *r);
/* More than one measured window stands in the summary, so that each row must say which it is of. */
bool jm_fmt_many_windows(const struct jm_report *r);
/* The boundary counts just the devices that the GPU boundary counts in the same window. */
bool jm_fmt_same_as_gpu(const struct jm_report *r, const struct jm_result *x);
/* Results that are worth a row in a summary: no per-trial ones where there is one over trials; those of idle
 * windows where nothing else was measured. */
bool jm_fmt_in_summary(const struct jm_report *r, const struct jm_result *x);
/* The row of that metric, boundary and quantile which a summary shows. */
const struct jm_result *jm_fmt_find(const struct jm_report *r, const char *metric, enum jm_boundary b,
                                    double quantile);
/* Lists show at most JM_FMT_ALIKE findings of one id and severity: is this one left out; and how many are, if
 * it is the last one shown. */
#define JM_FMT_ALIKE 5
bool jm_fmt_repeats(const struct jm_report *r, size_t finding);
size_t jm_fmt_more(const struct jm_report *r, size_t finding);
/* "valid", "valid with findings", "INVALID". */
const char *jm_fmt_validity(enum jm_validity v);
bool jm_fmt_estimate(const struct jm_result *x);

#endif
