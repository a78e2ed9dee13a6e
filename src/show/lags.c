/* SPDX-License-Identifier: Apache-2.0 */
#include "show/lags.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static const char *name_of(const struct jm_report *r, const struct jm_lag_row *l, char buf[128])
{
    const struct jm_channel *c = &r->channels[l->channel];
    snprintf(buf, 128, "%.60s of %.60s", c->name, c->device);
    return buf;
}

static void said(const struct jm_lag_row *l, char *out, size_t cap)
{
    if (isfinite(l->lag))
        snprintf(out, cap, "%.0f ms +-%.0f ms%s", 1e3 * l->lag, 1e3 * 1.96 * l->u,
                 l->used ? ", its readings were moved by it" : "");
    else
        snprintf(out, cap, "not found: %s", l->why);
}

void jm_show_lags_text(struct jm_out *o)
{
    char name[128], text[256];
    if (!o->r->n_lags)
        return;
    jm_out_section(o, o->r->lag_reference < 0 ? "Lag behind the steps of load"
                                              : "Lag behind the fastest instrument that followed the load");
    for (size_t i = 0; i < o->r->n_lags; i++) {
        const struct jm_lag_row *l = &o->r->lags[i];
        jm_out_add(o, "  ");
        jm_out_cell(o, name_of(o->r, l, name), 36, false);
        jm_out_add(o, "  ");
        said(l, text, sizeof text);
        jm_out_wrap(o, text, 40, 40);
    }
}

void jm_show_lags_json(struct jm_jsonw *w, const struct jm_report *r)
{
    if (!r->n_lags)
        return;
    jm_jsonw_key(w, "lags");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_lags; i++) {
        const struct jm_lag_row *l = &r->lags[i];
        const struct jm_channel *c = &r->channels[l->channel];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "channel", c->name);
        jm_jsonw_kstr(w, "device", c->device);
        jm_jsonw_kstr(w, "verdict", l->verdict);
        jm_jsonw_knum(w, "lag_s", l->lag);
        jm_jsonw_knum(w, "u_s", l->u);
        jm_jsonw_knum(w, "correlation", l->r);
        jm_jsonw_knum(w, "confidence", l->confidence);
        jm_jsonw_kbool(w, "corrected", l->used);
        if (r->lag_reference >= 0)
            jm_jsonw_kstr(w, "behind",
                          r->lag_reference == l->channel ? "itself" : r->channels[r->lag_reference].name);
        if (l->why[0])
            jm_jsonw_kstr(w, "why", l->why);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}
