/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** (Blackman and Vigna, public domain algorithm), seeded by splitmix64: the same seed gives the
 * same sequence on every machine. */
#ifndef JM_BASE_RNG_H
#define JM_BASE_RNG_H

#include <stdint.h>

struct jm_rng {
    uint64_t s[4];
};

void jm_rng_init(struct jm_rng *r, uint64_t seed);
/* An independent stream for (seed, stream), e.g. one for arrivals and one for prompts. */
void jm_rng_init_stream(struct jm_rng *r, uint64_t seed, uint64_t stream);
uint64_t jm_rng_u64(struct jm_rng *r);
double jm_rng_unit(struct jm_rng *r);                /* [0, 1), 53 bits */
uint64_t jm_rng_below(struct jm_rng *r, uint64_t n); /* [0, n), unbiased; n > 0 */
double jm_rng_exp(struct jm_rng *r, double mean);    /* exponential */
double jm_rng_normal(struct jm_rng *r);              /* standard normal */

#endif
