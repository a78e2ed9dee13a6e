/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "mlperf/rounds.h"

#include "base/banned.h"

enum how { WHOLE, BEGINNING, PART };

static bool one(struct jm_span want, const char *value, enum how how)
{
    char w[256];
    snprintf(w, sizeof w, "%.*s", (int)(want.n < 255 ? want.n : 255), want.p);
    if (strpbrk(w, "*?["))
        return fnmatch(w, value, FNM_CASEFOLD) == 0;
    size_t n = strlen(w);
    switch (how) {
    case PART: return strcasestr(value, w) != NULL;
    case BEGINNING: return strncasecmp(value, w, n) == 0 && (!value[n] || value[n] == '-' || value[n] == '_');
    case WHOLE: break;
    }
    return strcasecmp(value, w) == 0;
}

static bool list(const char *wanted, const char *value, enum how how, bool unknown)
{
    struct jm_span rest, item;
    if (!wanted)
        return true;
    if (!value)
        return unknown;
    rest = jm_span_of(wanted);
    while (jm_span_field(&rest, ',', &item))
        if (one(jm_span_trim(item), value, how))
            return true;
    return false;
}

bool jm_round_passes(const struct jm_round_filter *f, const struct jm_round_row *r, bool unknown)
{
    /* a system is called by its folder or by its description, either is right */
    bool system = !f->system || (r->system && list(f->system, r->system, PART, false)) ||
                  list(f->system, r->system_name, PART, unknown && !r->system);
    bool round =
        list(f->round, r->round, WHOLE, unknown) || (r->round && list(f->round, r->round + 1, WHOLE, false));
    return system && round && list(f->model, r->benchmark, BEGINNING, unknown) &&
           list(f->scenario, r->scenario, WHOLE, unknown) && list(f->division, r->division, WHOLE, unknown) &&
           list(f->availability, r->availability, WHOLE, unknown) &&
           list(f->submitter, r->submitter, PART, unknown) &&
           list(f->accelerator, r->accelerator, PART, unknown);
}
