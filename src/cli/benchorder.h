/* SPDX-License-Identifier: Apache-2.0 */
/* In which order slices or levels come that are measured one after the other (enum jm_bench_order). */
#ifndef JM_CLI_BENCHORDER_H
#define JM_CLI_BENCHORDER_H

#include <stddef.h>
#include <stdint.h>

#include "load/plan.h"

const char *jm_bench_order_name(enum jm_bench_order o);
/* order: n indices of slices. The same trial and seed give the same one. */
void jm_bench_order(enum jm_bench_order o, int trial, uint64_t seed, size_t *order, size_t n);

#endif
