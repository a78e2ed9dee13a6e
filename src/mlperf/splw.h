/* SPDX-License-Identifier: Apache-2.0 */
/* spl.txt as the Director writes it, from what PTDaemon's RL gives. */
#ifndef JM_MLPERF_SPLW_H
#define JM_MLPERF_SPLW_H

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "mlperf/source.h"

/* Longest line of samples that is taken. */
#define JM_MLPERF_SAMPLE_LINE 4096

/* "Time,…,PF,x[,Watts,…,PF,y]…" becomes "Time,…,PF,x,Mark,<mark>[,Ch1,Watts,…,PF,y]…" (no line end). A line
 * that is no sample is JM_EPARSE. row, when not NULL, gets the values. */
int jm_mlperf_spl_line(struct jm_span rl, const char *mark, int first_channel, struct jm_str *out,
                       struct jm_spl_row *row, struct jm_err *err);

/* The largest good Volts and Amps of a phase, for the ranges of the next one: of the sum and of the channels
 * that the configuration names, as the public tool has it. volts: the text as it came ("210.990000"); amps:
 * the largest times 1.1 as Python prints it ("20.948766300000003"), the public tool's margin. */
struct jm_mlperf_peaks {
    int64_t volts, amps; /* micro-units; negative: none yet */
    char volts_text[40], amps_text[40];
    int64_t rows, bad, missed, over, reversed; /* reversed: Watts below 0 that are no sentinel */
    int64_t over_amps;                         /* largest decoded one, micro-amperes */
    int64_t last_ns;                           /* stamp of the last sample */
    int64_t other_amps;                        /* largest of the channels that do not count */
    int first, last;                           /* channels that count, by number */
};
/* Channels first to last count; 0, 0: all. */
void jm_mlperf_peaks_init(struct jm_mlperf_peaks *p, int first, int last);
/* line: as RL gave it; first_channel: number of its first group after the sum; row: its values. */
void jm_mlperf_peaks_add(struct jm_mlperf_peaks *p, struct jm_span line, int first_channel,
                         const struct jm_spl_row *row);
/* JM_EABSENT: no good sample. */
int jm_mlperf_peaks_ranges(const struct jm_mlperf_peaks *p, struct jm_mlperf_ranges *out, struct jm_err *err);

/* The spl.txt of several analyzers from their own ones, in bounded memory. A row is made for each sample of
 * the first analyzer, with the sample of every other that lies nearest to it in time (at most half a second
 * off):
 *
 *   Time,<t>,Watts,<sum>,Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark,<mark>,Analyzer1,<line>,Analyzer2,…
 *
 * The public tool adds line by line, whatever their times, and adds |Watts| with the sentinels in it (a
 * missed sample counts 2 W, one over range 3 W too much, a bad one 0 W, a reversed one as if it consumed).
 * Here a sum is only formed of known parts: over-range samples are decoded, and where a part is bad, missed,
 * below 0 or has no sample near, the sum is the sentinel -1.000000, which every checker leaves out. What has
 * no sample is written as a line of -1 at the row's time. */
struct jm_mlperf_merged {
    int64_t rows, unknown, unmatched; /* unknown: rows without a sum; unmatched: parts without a sample */
};
int jm_mlperf_spl_merge(const char *const *in, size_t n, const char *mark, const char *out,
                        struct jm_mlperf_merged *done, struct jm_err *err);

#endif
