/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks side by side, regularly: so that wall-clock steps and suspends are seen, and every stamp has a
 * date. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/internal.h"

#include "base/banned.h"

/* NTP slews by at most 500 ppm (adjtimex(2)); what is more, and more than the reading of the clocks can blur,
 * is a step. */
#define STEP_NS  (2 * JM_NS_PER_MS)
#define SLEW_PPM 1000
#define SLEPT_NS (10 * JM_NS_PER_MS)

static void say(struct jm_recorder *r, int64_t t, const char *what, int64_t ns)
{
    struct jm_mark m = {.t = t};
    struct jm_err e = {0};
    snprintf(m.name, sizeof m.name, "%s %+.6f s", what, (double)ns / 1e9);
    if (!jm_record_error(r, NULL) && jm_run_put_mark(r->w, &m, &e))
        jm_record_fail(r, &e);
    jm_logf(r->cfg.log, JM_LOG_WARN, "record", "%s", m.name);
}

static void compare(struct jm_recorder *r, const struct jm_clock_pair *a, const struct jm_clock_pair *b)
{
    int64_t dm = b->mono0 - a->mono0, blur = (a->mono1 - a->mono0) + (b->mono1 - b->mono0),
            step = b->real - a->real - dm, slept = b->boot - a->boot - dm;
    if (slept > SLEPT_NS + blur) {
        r->pairs.suspends++;
        r->pairs.slept_ns += slept;
        say(r, b->mono0, "suspended", slept);
        step -= slept; /* the wall clock went on meanwhile */
    }
    if (llabs(step) > STEP_NS + blur + dm / 1000000 * SLEW_PPM) {
        r->pairs.steps++;
        say(r, b->mono0, "wall clock stepped", step);
    }
}

void jm_record_pairs(struct jm_recorder *r, int64_t now)
{
    struct jm_clock_pair p;
    struct jm_err e = {0};
    if (now < r->pairs.next)
        return;
    jm_clock_pair(&r->clock, &p);
    if (r->pairs.has_last)
        compare(r, &r->pairs.last, &p);
    r->pairs.last = p;
    r->pairs.has_last = true;
    if (!jm_record_error(r, NULL) && jm_run_put_clock_pair(r->w, &p, &e))
        jm_record_fail(r, &e);
    r->pairs.next += r->cfg.pair_ns;
    if (r->pairs.next <= now)
        r->pairs.next = now + r->cfg.pair_ns;
}
