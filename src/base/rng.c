/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include <math.h>

#include "base/banned.h"

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void jm_rng_init(struct jm_rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&seed);
}

void jm_rng_init_stream(struct jm_rng *r, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed;
    uint64_t a = splitmix(&x);
    jm_rng_init(r, a ^ (stream * 0xd1342543de82ef95u + 1));
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t jm_rng_u64(struct jm_rng *r)
{
    uint64_t *s = r->s, out = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

double jm_rng_unit(struct jm_rng *r)
{
    return (double)(jm_rng_u64(r) >> 11) * 0x1p-53;
}

uint64_t jm_rng_below(struct jm_rng *r, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do
        x = jm_rng_u64(r);
    while (x >= limit);
    return x % n;
}

double jm_rng_exp(struct jm_rng *r, double mean)
{
    return -mean * log1p(-jm_rng_unit(r));
}

double jm_rng_normal(struct jm_rng *r)
{
    /* Box-Muller; 1 - u keeps the logarithm finite */
    double u = 1.0 - jm_rng_unit(r), v = jm_rng_unit(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
