/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as SVG, drawn here so that a report needs no script. Colours come from CSS classes (s0..s7) of the
 * page. */
#ifndef JM_SHOW_SVG_H
#define JM_SHOW_SVG_H

#include "base/str.h"
#include "model/report.h"

/* Seconds of a bucket of a series of tokens a second: whole ones, of which the last may be a part. */
double jm_svg_bucket(const struct jm_series *d);
/* Power of all series of unit W over time, windows shaded; output tokens/s and requests under way under it on
 * the same time axis. */
void jm_svg_timeline(const struct jm_report *r, struct jm_str *s);
/* Requests running and waiting in the engine over time, the use of its KV cache under it; nothing where no
 * text told. */
void jm_svg_engine(const struct jm_report *r, struct jm_str *s);
/* Bars of energy by domain of the first measured window. */
void jm_svg_energy(const struct jm_report *r, struct jm_str *s);
/* A latency histogram with a logarithmic time axis and its p50 and p99. */
void jm_svg_histogram(const struct jm_report *r, const struct jm_histogram *h, struct jm_str *s);

/* Text made safe for HTML and SVG. */
void jm_svg_escape(struct jm_str *s, const char *t);
/* A round step for about n ticks over [0, max] or [lo, hi]: 1, 2 or 5 times a power of ten. */
double jm_svg_step(double range, int n);

#define JM_SVG_SERIES 12 /* drawn at most; the others are in the table */

#endif
