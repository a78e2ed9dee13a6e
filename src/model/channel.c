/* SPDX-License-Identifier: Apache-2.0 */
#include "model/channel.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

static const char *const kinds[] = {"counter", "gauge", "state"};
static const char *const sems[] = {"instant", "block-mean", "trailing-mean", "partial"};

/* Every power of ten that a double holds exactly. */
static double power_of_ten(int n)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    return n < (int)(sizeof exact / sizeof exact[0]) ? exact[n] : pow(10, n);
}

double jm_channel_value(const struct jm_channel *c, int64_t native)
{
    double v;
    if (c->flags & JM_CHF_DOUBLE)
        memcpy(&v, &native, sizeof v);
    else
        v = c->kind == JM_CH_COUNTER ? (double)(uint64_t)native : (double)native;
    /* dividing by an exact power of ten rounds once; multiplying by its inverse would round twice */
    if (c->scale10 < 0)
        v /= power_of_ten(-c->scale10);
    else if (c->scale10 > 0)
        v *= power_of_ten(c->scale10);
    return c->scale2 ? ldexp(v, c->scale2) : v;
}

const char *jm_channel_kind_name(int kind)
{
    return kind >= 0 && kind < 3 ? kinds[kind] : NULL;
}

const char *jm_gauge_sem_name(int sem)
{
    return sem >= 0 && sem < 4 ? sems[sem] : NULL;
}

int jm_channel_kind_parse(struct jm_span s)
{
    for (int i = 0; i < 3; i++)
        if (jm_span_is(s, kinds[i]))
            return i;
    return -1;
}

int jm_gauge_sem_parse(struct jm_span s)
{
    for (int i = 0; i < 4; i++)
        if (jm_span_is(s, sems[i]))
            return i;
    return -1;
}
