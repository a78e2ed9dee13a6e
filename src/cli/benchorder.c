/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/benchorder.h"

#include "base/rng.h"

#include "base/banned.h"

#define STREAM 0x6f72646572u /* apart from the streams of arrivals and prompts */

const char *jm_bench_order_name(enum jm_bench_order o)
{
    static const char *const names[] = {"as-written", "abba", "random"};
    return names[o];
}

void jm_bench_order(enum jm_bench_order o, int trial, uint64_t seed, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = o == JM_ORDER_ABBA && trial % 2 ? n - 1 - i : i;
    if (o != JM_ORDER_RANDOM)
        return;
    struct jm_rng rng;
    jm_rng_init_stream(&rng, seed, STREAM + (uint64_t)trial);
    for (size_t i = n; i-- > 1;) { /* Fisher and Yates: each order is as likely */
        size_t k = (size_t)jm_rng_below(&rng, i + 1), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
}
