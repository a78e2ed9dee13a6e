/* SPDX-License-Identifier: Apache-2.0 */
/* spl.txt, the power log of the MLCommons power tools (PTDaemon samples, one a second):
 *
 *   Time,MM-DD-YYYY HH:MM:SS.mmm,Watts,W,Volts,V,Amps,A,PF,pf,Mark,<session>_<mode>
 *   Time,...,Mark,m,Ch1,Watts,W,Volts,V,Amps,A,PF,pf,Ch2,...       (several channels)
 *   Time,...,Mark,m,Analyzer1,Time,...,Mark,m,Analyzer2,...           (several analyzers)
 *
 * Lines end with LF or CRLF; a blank last line is usual from v4.1 on. Sentinels, as established from the
 * published sessions: -1 the reading was nan, inf or 9.91E37; -2 in all four fields a missed sample; Watts
 * and Amps <= -3 the over-range mark -(3 + value).
 *
 * The first group of a line with channels is the sum of what they say, sentinels included; that of a merge of
 * analyzers the sum of their absolute values (power-dev issue 329). So where a channel or an analyzer has a
 * sentinel, the line has it, and its true power is the sum of the decoded parts. */
#ifndef JM_WIRE_SPL_H
#define JM_WIRE_SPL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define JM_SPL_CHANNELS 12

enum jm_spl_kind { JM_SPL_GOOD, JM_SPL_BAD /* -1 */, JM_SPL_MISSED /* -2 */, JM_SPL_OVER_RANGE };

/* Micro-units: 1000000 is 1 W, 1 V, 1 A, PF 1. */
struct jm_spl_values {
    int64_t watts, volts, amps, pf;
};

struct jm_spl_row {
    int64_t time_ns;          /* as written, read as UTC */
    struct jm_spl_values sum; /* the first group: what published results use */
    struct jm_span mark;
    int n_channels; /* channels or analyzers that follow; 0: none */
    bool analyzers; /* they are whole analyzers */
    struct jm_spl_values channel[JM_SPL_CHANNELS];
    enum jm_spl_kind kind; /* of the whole line, its channels and analyzers looked at */
    int64_t decoded_uw;    /* its true power, where kind is good or over-range */
};

/* One line (without its line end). JM_EAGAIN: blank, or not starting with "Time" (such lines are skipped by
 * the public checkers too); JM_EPARSE with a sentence for a broken one. */
int jm_spl_parse(struct jm_span line, struct jm_spl_row *row, struct jm_err *err);

enum jm_spl_kind jm_spl_kind_of(const struct jm_spl_values *v);
/* Of a good group: *ratio P / (V x A), else the log's PF; *tangent P x tan(phi) in W, phi of the log's PF,
 * else of that ratio. false: it has neither V and A nor PF, or no power. */
bool jm_spl_factors(const struct jm_spl_values *v, double *ratio, double *tangent);
/* The true Watts of a good or over-range group, in micro-watts; false for the others. */
bool jm_spl_decode_watts(const struct jm_spl_values *v, int64_t *uw);

/* "MM-DD-YYYY HH:MM:SS[.fraction]" as ns since 1970, read as UTC. The date must exist. */
int jm_spl_time(struct jm_span s, int64_t *ns);
/* Would the text be a time with day and month exchanged? */
bool jm_spl_time_swapped(struct jm_span s);

#endif
