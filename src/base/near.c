/* SPDX-License-Identifier: Apache-2.0 */
#include "base/near.h"

#include "base/banned.h"

#define LONGEST 40

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned jm_near_distance(struct jm_span a, struct jm_span b)
{
    unsigned d[LONGEST + 1][LONGEST + 1];
    if (a.n > LONGEST || b.n > LONGEST)
        return LONGEST;
    for (unsigned i = 0; i <= a.n; i++)
        d[i][0] = i;
    for (unsigned j = 0; j <= b.n; j++)
        d[0][j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        for (unsigned j = 1; j <= b.n; j++) {
            char x = lower(a.p[i - 1]), y = lower(b.p[j - 1]);
            unsigned v = least(d[i - 1][j - 1] + (x != y), least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b.p[j - 2]) && y == lower(a.p[i - 2]))
                v = least(v, d[i - 2][j - 2] + 1);
            d[i][j] = v;
        }
    }
    return d[a.n][b.n];
}
