/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped table: carbon intensity of electricity by country, its vintage and attribution in each row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "base/num.h"
#include "factor/factor.h"
#include "factor/tables.h"

#include "base/banned.h"

static void copy(char *to, size_t cap, struct jm_span s)
{
    snprintf(to, cap, "%.*s", jm_span_is(s, "-") ? 0 : (int)s.n, s.p);
}

static bool row(struct jm_span line, struct jm_country *c)
{
    struct jm_span f[10];
    if (!line.n || line.p[0] == '#')
        return false;
    for (size_t i = 0; i < sizeof f / sizeof *f; i++)
        if (!jm_span_field(&line, '\t', &f[i]))
            return false;
    *c = (struct jm_country){.value = NAN};
    copy(c->iso2, sizeof c->iso2, f[0]);
    copy(c->iso3, sizeof c->iso3, f[1]);
    copy(c->name, sizeof c->name, f[2]);
    copy(c->unit, sizeof c->unit, f[4]);
    copy(c->kind, sizeof c->kind, f[5]);
    copy(c->currency, sizeof c->currency, f[7]);
    copy(c->attribution, sizeof c->attribution, f[8]);
    copy(c->licence, sizeof c->licence, f[9]);
    if (!jm_span_is(f[3], "-") && jm_num_double(f[3], &c->value))
        return false;
    return jm_num_i64(f[6], &c->year) == 0;
}

static bool next(struct jm_span *rest, struct jm_country *c)
{
    struct jm_span line;
    while (jm_span_line(rest, &line))
        if (row(line, c))
            return true;
    return false;
}

static struct jm_span table(void)
{
    return (struct jm_span){(const char *)jm_carbon_tsv, jm_carbon_tsv_len};
}

bool jm_country_at(size_t i, struct jm_country *out)
{
    struct jm_span rest = table();
    bool have;
    do
        have = next(&rest, out);
    while (have && i--);
    return have;
}

int jm_country_find(struct jm_span what, struct jm_country *out, struct jm_err *err)
{
    struct jm_span rest = table(), w = jm_span_trim(what);
    struct jm_country c, best = {0};
    unsigned least = ~0u;
    while (next(&rest, &c)) {
        if (jm_span_ieq(w, jm_span_of(c.iso2)) || jm_span_ieq(w, jm_span_of(c.iso3)) ||
            jm_span_ieq(w, jm_span_of(c.name))) {
            *out = c;
            return 0;
        }
        unsigned d = w.n > 3 ? jm_near_distance(w, jm_span_of(c.name)) : ~0u;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    char near[96] = "";
    if (least < ~0u && jm_near_plausible(least, w.n))
        snprintf(near, sizeof near, " Did you mean %s (%s)?", best.name, best.iso2);
    else if (jm_span_ieq(w, JM_SPAN("UK")))
        snprintf(near, sizeof near, " Did you mean GB?");
    else if (jm_span_ieq(w, JM_SPAN("EU")))
        snprintf(near, sizeof near, " A factor is of a country, where the electricity is made.");
    return jm_err_set(
        err, JM_EABSENT,
        "\"%.*s\" is no country of the shipped table (ISO 3166 codes like FR or FRA; \"joulemark "
        "factors\" lists them).%s",
        (int)(w.n > 40 ? 40 : w.n), w.p, near);
}
