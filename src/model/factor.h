/* SPDX-License-Identifier: Apache-2.0 */
/* What a kilowatt-hour costs, emits or drinks: a constant, or a step function of UTC time. A factor knows
 * what it is (kind, basis, average or marginal), where it holds, of which year it is and who says so; a line
 * that it does not fit refuses it. */
#ifndef JM_MODEL_FACTOR_H
#define JM_MODEL_FACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

enum jm_factor_what { JM_FACTOR_PRICE, JM_FACTOR_CARBON, JM_FACTOR_WATER, JM_FACTOR_WHATS };

/* What a carbon factor counts. Scope 2 of the GHG Protocol takes generation factors: emissions of the power
 * stations. Life-cycle factors add fuel supply, building and end of life (scope 3). */
enum jm_factor_kind { JM_FACTOR_UNKNOWN, JM_FACTOR_GENERATION, JM_FACTOR_LIFECYCLE, JM_FACTOR_KINDS };

enum jm_factor_basis {
    JM_FACTOR_LOCATION, /* the grid where it is drawn */
    JM_FACTOR_CONTRACT, /* a contract or certificate: market-based */
    JM_FACTOR_RESIDUAL, /* what certificates left over: market-based without a contract */
    JM_FACTOR_BASES
};

struct jm_factor_step {
    int64_t t0, t1; /* Unix time, ns, UTC; [t0, t1) */
    double value;
    bool estimated; /* by the source itself: estimated, or a forecast */
};

struct jm_factor {
    enum jm_factor_what what;
    enum jm_factor_kind kind;
    enum jm_factor_basis basis;
    bool marginal;     /* of the next kilowatt-hour, not of the mean one */
    char zone[32];     /* "FR", "US-CAL-CISO" */
    char name[64];     /* "France" */
    char unit[24];     /* "gCO2e/kWh", "EUR/kWh", "L/kWh" */
    char vintage[48];  /* "2023", "2026-03-29 to 2026-03-30", "" not given */
    char source[256];  /* who says so: attribution, or a file with its SHA-256 */
    char licence[64];  /* "" not known */
    char contract[96]; /* id of the instrument, of a market-based factor */
    char note[200];    /* what to know of it; "" */
    double constant;   /* NAN: by time */
    double year_mean;  /* of a tariff over its year by the clock; NAN not known */
    struct jm_factor_step *step;
    size_t n, cap;
};

struct jm_factor_set {
    struct jm_factor *f;
    size_t n, cap;
};

const char *jm_factor_what_name(int v);  /* "price", "carbon", "water" */
const char *jm_factor_kind_name(int v);  /* "unknown", "generation", "life-cycle" */
const char *jm_factor_basis_name(int v); /* "location", "contract", "residual-mix" */

/* A new factor at the end of the set, zeroed, NANs where there is no number. NULL: no memory. */
struct jm_factor *jm_factor_add(struct jm_factor_set *s, enum jm_factor_what what, struct jm_span zone);
void jm_factor_set_release(struct jm_factor_set *s);
/* JM_ELIMIT beyond JM_FACTOR_STEPS, JM_EINVAL: t1 <= t0 or no finite value, JM_ENOMEM. */
#define JM_FACTOR_STEPS ((size_t)1 << 20)
int jm_factor_step_add(struct jm_factor *f, int64_t t0, int64_t t1, double value, bool estimated);
/* Orders the steps; JM_ECONFLICT: two say different things of one time (the same said twice is dropped).
 * Fills vintage from the steps where there is none. */
int jm_factor_done(struct jm_factor *f, struct jm_err *err);

/* Index of the first step that ends after t; n: none. */
size_t jm_factor_at(const struct jm_factor *f, int64_t t);

/* The mean over [t0, t1), each instant alike, and what is known of it. */
struct jm_factor_mean {
    double value;     /* NAN unless the whole interval is covered */
    double covered;   /* share of the interval */
    double estimated; /* share of what is covered */
    int64_t missing;  /* first instant without a value */
};
void jm_factor_mean(const struct jm_factor *f, int64_t t0, int64_t t1, struct jm_factor_mean *out);

/* May this factor stand in a scope 2 line? NULL: yes; else why not. */
const char *jm_factor_scope2(const struct jm_factor *f);

/* Units. Carbon in g/kWh: g, kg, t, lb (with CO2, CO2e, CO2eq or nothing behind) by kWh, MWh or GWh. Returns
 * the multiplier into g/kWh; NAN: not one of them. */
double jm_factor_carbon_unit(struct jm_span unit);
/* "EUR/kWh", "EUR/MWh", "€/kWh", "EUR": the multiplier into currency/kWh and the currency. NAN. */
double jm_factor_price_unit(struct jm_span unit, char currency[4]);
/* Time as the services write it: RFC 3339, seconds left out or not ("2026-03-29T01:00Z"), a blank for the T;
 * without a zone only when utc is true. */
int jm_factor_time(struct jm_span s, bool utc, int64_t *real_ns, struct jm_err *err);
/* FR is the country of "FR", "FR-COR" and "DE-LU" of "DE". */
bool jm_factor_same_zone(const char *a, const char *b);

#endif
