/* SPDX-License-Identifier: Apache-2.0 */
/* The unit of a counter by physics, while it is read: what it moves on in a time must be the power beside it
 * in some unit. A counter whose unit nobody stated (telemetry reports of GH200 and GB200 mix J and mJ) has no
 * value until two stretches in a row agree on one; one whose unit is stated and three stretches contradict is
 * a conflict. */
#include "meter/redfish_impl.h"

#include "base/clock.h"
#include "meter/meter.h"

#include "base/banned.h"

#define STRETCH JM_NS_PER_S
#define WITHIN  0.35
#define OPEN    2
#define REFUSED 3

static void look(struct jm_redfish_spot *s, const struct jm_reading *r, const struct jm_reading *w)
{
    struct jm_redfish_unit *u = &s->unit;
    int64_t t = r->t0 + (r->t1 - r->t0) / 2;
    double joules = (double)r->value / 1e3, watts = (double)w->value / 1e3;
    if (u->t && t - u->t < STRETCH)
        return;
    double f =
        u->t ? jm_rf_factor(joules - u->joules, (double)(t - u->t) / 1e9, (watts + u->watts) / 2, WITHIN) : 0;
    bool fell = u->t && joules < u->joules;
    if (!fell && f > 0) { /* where nothing fits (idle, a step of load), nothing is learnt */
        u->agreed = f == u->factor ? u->agreed + 1 : 1;
        u->factor = f;
    }
    u->t = t;
    u->joules = joules;
    u->watts = watts;
    if (u->open && u->agreed >= OPEN) {
        s->what.factor *= u->factor; /* from the next reading on */
        *u = (struct jm_redfish_unit){.open = false};
    }
}

void jm_redfish_watch(struct jm_redfish *f, struct jm_reading *out)
{
    for (size_t p = 0; p < f->n_spots; p++) {
        struct jm_redfish_spot *s = &f->spot[p];
        struct jm_reading *r = &out[p];
        if (s->what.unit != JM_U_J || r->status != JM_S_OK)
            continue;
        bool was_open = s->unit.open;
        if (s->power >= 0 && out[s->power].status == JM_S_OK)
            look(s, r, &out[s->power]);
        bool contradicted = !s->unit.open && s->unit.agreed >= REFUSED && s->unit.factor != 1;
        if (was_open || contradicted) {
            r->status = JM_S_CONFLICT;
            r->value = 0;
        }
    }
}
