/* SPDX-License-Identifier: Apache-2.0 */
/* In which order slices come that are measured one after the other, trial by trial: as written each time;
 * forth and back (A B, B A), which is free of a linear drift; or drawn anew for each trial. */
#ifndef JM_CLI_BENCHORDER_H
#define JM_CLI_BENCHORDER_H

#include <stddef.h>
#include <stdint.h>

enum jm_bench_order { JM_ORDER_WRITTEN, JM_ORDER_ABBA, JM_ORDER_RANDOM };
#define JM_BENCH_ORDERS "as-written|abba|random"

const char *jm_bench_order_name(enum jm_bench_order o);
/* order: n indices of slices. The same trial and seed give the same one. */
void jm_bench_order(enum jm_bench_order o, int trial, uint64_t seed, size_t *order, size_t n);

#endif
