/* SPDX-License-Identifier: Apache-2.0 */
/* Every threshold of the audit, in one place, each with its source. */
#ifndef JM_AUDIT_THRESHOLD_H
#define JM_AUDIT_THRESHOLD_H

/* Window lengths of the profiles, s: below 5 s the refresh of a 100 ms counter is 1 % of the window; 60 s is
 * the minimum of valid power data of MLPerf Power; 600 s the duration of its Server and Offline scenarios. */
#define JM_TH_SCREENING_S   5.0
#define JM_TH_CLAIM_S       60.0
#define JM_TH_PUBLICATION_S 600.0
/* A t interval over fewer runs has a factor above 12. */
#define JM_TH_CLAIM_TRIALS 3
/* Counter and gauge of one board: published comparisons of the two agree within 1 % on busy GPUs
 * (ml-energy/zeus issue 12); gains of single cards differ by up to 15 %, but both instruments of a card share
 * them. */
#define JM_TH_COUNTER_GAUGE_REL 0.05
/* Two counters that move alike to this are one register under two names (read some 100 us apart). */
#define JM_TH_MIRROR_REL 2e-4
/* What power supplies lose between input and output: 4 to 12 % in captures of real BMCs (Lenovo XCC 6 and 10
 * %, Dell iDRAC9 10 %, Supermicro 9 %); the best efficiency that 80 PLUS asks for is 96 % (Titanium, half
 * load). */
#define JM_TH_PSU_LOSS_LOW  0.04
#define JM_TH_PSU_LOSS_HIGH 0.12
#define JM_TH_PSU_BEST      0.985
/* The most that may be left unexplained: supplies (80 PLUS asks for 80 % and more from 20 % load on), and
 * fans, boards, network and storage of a node whose GPUs and packages are measured. */
#define JM_TH_UNEXPLAINED_PSU  0.20
#define JM_TH_UNEXPLAINED_NODE 0.45
#define JM_TH_UNEXPLAINED_SITE 0.60 /* a PUE of 2.5, beyond what buildings report */
/* A gauge that follows another one: later than the slowest honest sampling of a BMC, clearly more like it
 * then, and one that stands still while the other moves. */
#define JM_TH_FOLLOW_LAG_S 3.0
#define JM_TH_FOLLOW_GAIN  0.05
#define JM_TH_FOLLOW_STILL 0.02
#define JM_TH_FOLLOW_SWING 0.95 /* a mean swings less than what it is the mean of */
#define JM_TH_FOLLOW_ALIKE 0.03 /* energies of two on one domain, of which one averages */
/* Steady: throughput of the second half against the first. */
#define JM_TH_STEADY_REL 0.10
/* ... by more than the scatter of its tenths explains: t(0.975, 8), five batches a half. */
#define JM_TH_STEADY_T 2.306
/* Trials that drift: enough of them for a slope with an error, how far from first to last, and how surely
 * (one run in twenty without a drift, and of those only what drifts as far). */
#define JM_TH_TRIALS_DRIFT_N 4
#define JM_TH_TRIALS_DRIFT   0.01
#define JM_TH_TRIALS_DRIFT_P 0.05
/* Measured seconds from which on a run is expected to tell phases apart. */
#define JM_TH_PHASES_S 60
/* A machine that has settled: power changes by less than 1 % and temperature by less than 1 degree a minute;
 * what is left of a warm-up matters from 2 % of the power on. */
#define JM_TH_WARM_DRIFT   0.01
#define JM_TH_WARM_CELSIUS 1.0
#define JM_TH_WARM_REL     0.02
/* A level of a ladder that draws more power than the one above it: single GPUs differ by less between two
 * minutes at one load; and how much of what was offered must be answered (with an open loop at or below the
 * capacity all of it is, but for what is under way at the edges). */
#define JM_TH_LADDER_POWER   0.01
#define JM_TH_LADDER_REACHED 0.10
/* Share of failed requests that is a warning, and an error. */
#define JM_TH_FAILED_WARN  0.01
#define JM_TH_FAILED_ERROR 0.50
/* Bias from requests cut by an edge. */
#define JM_TH_BIAS 0.01
/* Asked against counted lengths: MLPerf-style comparisons need the same work. */
#define JM_TH_LENGTH_REL 0.05
/* Client lag above 5 % of the median time per token, or its own core above 80 %: the client is the limit. */
#define JM_TH_CLIENT_CPU 0.80
#define JM_TH_CLIENT_LAG 0.05
/* Tokens of the engine against those of the client: 1.00 +- 0.02 is healthy, 1.05 and more is not, below 0.95
 * is anomalous (AIPerf, cross-checks of server metrics). */
#define JM_TH_ENGINE_HEALTHY 0.02
#define JM_TH_ENGINE_MILD    1.05
#define JM_TH_ENGINE_LOW     0.95
/* Share of the engine's texts that show requests that are not ours: one or two may be health checks. */
#define JM_TH_ENGINE_FOREIGN 0.20
/* A GPU busy for less than this, beside a process on a whole core, or a host without idle CPU. */
#define JM_TH_ENGINE_GPU  0.70
#define JM_TH_ENGINE_CORE 0.90
#define JM_TH_ENGINE_HOST 0.95
/* Without a text for this long, and this share of the window. */
#define JM_TH_ENGINE_GAP_S 5.0
#define JM_TH_ENGINE_GAP   0.05
/* Prefix-cache hits among prompts that are meant to be unique: a chat template alone can give some. */
#define JM_TH_ENGINE_HITS 0.05
/* Token events that shared a read with the one before: the gap of each is 0 and another one is too long, so
 * from a tenth on the upper percentiles of the gaps are those of the lumps. */
#define JM_TH_SHARED 0.10
/* Wall-clock step inside a window, s; what adjtimex may slew (500 ppm, and as much for the kernel's own) is
 * none. */
#define JM_TH_CLOCK_STEP_S 0.05
#define JM_TH_CLOCK_SLEW   0.001
/* Boot time running on without the monotonic clock, s. */
#define JM_TH_SUSPEND_S 0.1
/* Gaps in a gauge, share of the window. */
#define JM_TH_GAP_WARN  0.001
#define JM_TH_GAP_ERROR 0.05
/* MLPerf: plain mean against time-weighted mean (99th percentile over 8,482 published sessions: 0.058 %). */
#define JM_TH_MLPERF_MEAN_REL 0.001
/* MLPerf: largest gap between samples; above 2.1 s in 3 of 8,482 published sessions. */
#define JM_TH_MLPERF_GAP_S 2.1

/* Counter against power in another unit: gains of two instruments of one device differ by up to 15 % (cards
 * against boards, arXiv 2312.02741), decimal and hour factors by 10 and more; so many counts must have been
 * seen. */
#define JM_TH_UNIT_REL    0.15
#define JM_TH_UNIT_COUNTS 3
/* Frozen: constant over so many readings and seconds while what is inside moved by more than this; 8-bit
 * sensors of BMCs step by up to 78 W (DGX H100, PWR_SYSTEM). */
#define JM_TH_FROZEN_READINGS 10
#define JM_TH_FROZEN_S        10.0
#define JM_TH_FROZEN_W        160.0
#define JM_TH_FROZEN_REL      0.10
/* Stale: so much longer at one value than between its other changes. Slowest mean in use: 60 s (iDRAC). */
#define JM_TH_STALE_CHANGES 20
#define JM_TH_STALE_TIMES   30
#define JM_TH_STALE_S       60.0
/* Half a step against the mean: MLPerf Power fails an uncertainty above 1 %. */
#define JM_TH_QUANTUM_REL 0.01
/* Clock of an instrument against this host's, s: one request over a slow BMC is below. */
#define JM_TH_FOREIGN_CLOCK_S 5.0

/* Files of other tools. Share of requests from which it is no oddity of single ones any more. */
#define JM_TH_FOREIGN_FEW 0.01
/* Server's count against text tokenised again: AIPerf calls 1.00 +- 0.02 healthy. */
#define JM_TH_FOREIGN_RETOKENIZED 0.02
/* Share of cached prompt tokens that is worth a warning. */
#define JM_TH_FOREIGN_CACHED 0.05
/* Time per token with and without the prefill. */
#define JM_TH_FOREIGN_TPOT 0.02
/* Window of the energy against that of the tokens. */
#define JM_TH_FOREIGN_WINDOW_WARN  0.01
#define JM_TH_FOREIGN_WINDOW_ERROR 0.10
/* What one GPU can draw, W (B300: 1400 W), and how many there may be where the file does not say. */
#define JM_TH_FOREIGN_GPU_W 1500.0
#define JM_TH_FOREIGN_GPUS  72.0
/* What they can draw in a year is more than any file without a time is of, s. */
#define JM_TH_FOREIGN_LONGEST_S 31536000.0
/* AIPerf: collection goes on for two periods of 333 ms. */
#define JM_TH_FOREIGN_GRACE_S 0.666
/* Numbers of one file that must add up: rounding of rates to two digits is below. */
#define JM_TH_FOREIGN_SUM_REL 0.01
/* A number that does not follow from the file's own requests. */
#define JM_TH_FOREIGN_DIFFERS 0.05
/* Requests' span beyond the stated duration. */
#define JM_TH_FOREIGN_SPAN_REL 0.01
/* Share of the time with fewer requests in flight than 90 % of the most. */
#define JM_TH_FOREIGN_RAMP_LEVEL 0.90
#define JM_TH_FOREIGN_RAMP       0.20
/* Energy per output token over that per token, from which on it must be said which one is meant. */
#define JM_TH_FOREIGN_DENOMINATOR 2.0
/* A grid's carbon intensity changes by less than this factor from year to year and source to source. */
#define JM_TH_FOREIGN_GRID 3.0
/* g/kWh; lignite has 1000 to 1200 (IPCC AR5 WG III annex III, table A.III.2: coal up to 910, direct and life
 * cycle). */
#define JM_TH_FOREIGN_COAL 1400.0

/* Logs of devices. Near idle: below this share of what 95 % of the values lie under (idle boards draw 10 to
 * 25 % of their limit); worth a warning from this share of the window on. */
#define JM_TH_LOG_IDLE_LEVEL 0.35
#define JM_TH_LOG_IDLE       0.20
/* Readings closer than this share of the refresh period are repeats; further apart than this many of their
 * averaging windows, they show a part of the time only. */
#define JM_TH_LOG_FAST  0.6
#define JM_TH_LOG_ALIAS 2.0
/* How near to a power of ten the ratio of counter and power must be to be one (gains of boards: 0.87 to 1.15;
 * both instruments of a board share theirs). */
#define JM_TH_LOG_UNIT 0.08

#endif
