/* SPDX-License-Identifier: Apache-2.0 */
#include "model/embodied.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/span.h"
#include "base/str.h"

#include "base/banned.h"

#define YEAR (365.25 * 86400)

static int with_unit(struct jm_span s, const char *const *unit, const double *scale, double *out)
{
    for (size_t i = 0; unit[i]; i++) {
        struct jm_span u = jm_span_of(unit[i]);
        if (jm_span_ends(s, u) && jm_num_double(jm_span_trim(jm_span_sub(s, 0, s.n - u.n)), out) == 0) {
            *out *= scale[i];
            return 0;
        }
    }
    return -1;
}

int jm_embodied_parse(const char *text, struct jm_embodied *out, struct jm_err *err)
{
    static const char *const mass[] = {"kgCO2e", "kg", "tCO2e", "t", "gCO2e", "g", NULL}, *const time[] = {
                                                                                              "years", "year",
                                                                                              "y",     "d",
                                                                                              "h",     NULL};
    static const double gram[] = {1e3, 1e3, 1e6, 1e6, 1, 1}, second[] = {YEAR, YEAR, YEAR, 86400, 3600};
    struct jm_span rest = jm_span_of(text), f;
    struct jm_embodied e = {.share = 1};
    jm_span_field(&rest, ',', &f);
    if (with_unit(jm_span_trim(f), mass, gram, &e.grams) || !(e.grams > 0) || e.grams > 1e12)
        return jm_err_set(
            err, JM_EUSAGE,
            "\"%.60s\" is no embodied mass like 1312kg,life=4y (share=0.5 and source=TEXT may follow)", text);
    while (jm_span_field(&rest, ',', &f)) {
        f = jm_span_trim(f);
        if (jm_span_starts(f, JM_SPAN("life="))) {
            if (with_unit(jm_span_sub(f, 5, f.n), time, second, &e.life_s) || !(e.life_s > 0))
                return jm_err_set(err, JM_EUSAGE, "life= takes a time like 4y");
        } else if (jm_span_starts(f, JM_SPAN("share="))) {
            if (jm_num_double(jm_span_sub(f, 6, f.n), &e.share) || !(e.share > 0) || e.share > 1)
                return jm_err_set(err, JM_EUSAGE, "share= takes a part of the machine above 0 and up to 1");
        } else if (jm_span_starts(f, JM_SPAN("source="))) {
            size_t n = f.n - 7 < sizeof e.source ? f.n - 7 : sizeof e.source - 1;
            snprintf(e.source, sizeof e.source, "%.*s", (int)n, f.p + 7);
            jm_text_plain(e.source, strlen(e.source), false);
        } else {
            return jm_err_set(err, JM_EUSAGE,
                              "\"%.*s\" is not one of life=, share= and source=", (int)(f.n > 40 ? 40 : f.n),
                              f.p);
        }
    }
    if (!(e.life_s > 0))
        return jm_err_set(
            err, JM_EUSAGE,
            "an embodied mass without the life of the machine says nothing of a run; add life=4y");
    *out = e;
    return 0;
}

double jm_embodied_grams(const struct jm_embodied *e, double seconds)
{
    return e->grams * seconds / e->life_s * e->share;
}
