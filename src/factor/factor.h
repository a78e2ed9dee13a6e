/* SPDX-License-Identifier: Apache-2.0 */
/* Where factors come from: the shipped yearly table, what stands on a command line, files (stored answers of
 * services, tables, tariffs). Nothing is fetched here. */
#ifndef JM_FACTOR_FACTOR_H
#define JM_FACTOR_FACTOR_H

#include "model/factor.h"
#include "wire/tzif.h"

/* A row of the shipped table (carbon.tsv): life-cycle, a yearly mean. */
struct jm_country {
    char iso2[4], iso3[4], name[48], unit[16], kind[16], currency[4] /* "" none assumed */, attribution[80],
        licence[24];
    double value; /* NAN: the source has no usable one */
    int64_t year;
};
/* By either code or by name. JM_EABSENT with the nearest that is known. */
int jm_country_find(struct jm_span what, struct jm_country *out, struct jm_err *err);
/* Row i, for listing; false behind the last. */
bool jm_country_at(size_t i, struct jm_country *out);

/* "FR,DE,ES" of the shipped table, "FR=40g/kWh@2024:generation", "DE=0g/kWh@2026:generation:contract=GO 12",
 * "DE=690g/kWh@2024:generation:residual". JM_EUSAGE, JM_EABSENT. */
int jm_factor_carbon_given(const char *text, struct jm_factor_set *set, struct jm_err *err);
/* "FR=0.058,DE=91EUR/MWh@2026" (a bare number is a kilowatt-hour's in the country's currency). */
int jm_factor_price_given(const char *text, struct jm_factor_set *set, struct jm_err *err);
/* Any file of wire/factorfile.h, or a tariff (*.yaml, *.yml). zoneinfo: directory of the tz database; NULL:
 * the system's. */
int jm_factor_open(const char *path, const char *zoneinfo, struct jm_factor_set *set, struct jm_err *err);
/* A time-of-use tariff (docs/factors.md). */
int jm_factor_tariff(struct jm_span yaml, const char *zoneinfo, struct jm_factor_set *set,
                     struct jm_err *err);
/* When all are there: one price a zone, one carbon factor a zone of each kind, basis and sort. JM_EUSAGE. */
int jm_factor_check(const struct jm_factor_set *set, struct jm_err *err);

#endif
