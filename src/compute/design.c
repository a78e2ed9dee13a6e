/* SPDX-License-Identifier: Apache-2.0 */
/* Sizing before anything runs: power as it is declared over tokens as they are hoped for. */
#include "compute/impact.h"

#include "compute/convert.h"

#include "base/banned.h"

#define YEAR_H 8760.0

void jm_design(struct jm_design *d)
{
    d->j_per_token = d->watts / d->tokens_s;
    d->j_per_token_facility = jm_facility(d->j_per_token, d->pue);
    d->kwh_per_mtok = jm_kwh_per_mtok(d->j_per_token_facility);
    d->kwh_year = d->watts * YEAR_H / 1000;
    d->kwh_year_facility = jm_facility(d->kwh_year, d->pue);
}

double jm_design_per_mtok(const struct jm_design *d, double per_kwh)
{
    return d->kwh_per_mtok * per_kwh;
}

double jm_design_per_year(const struct jm_design *d, double per_kwh)
{
    return d->kwh_year_facility * per_kwh;
}
