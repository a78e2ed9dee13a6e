/* SPDX-License-Identifier: Apache-2.0 */
/* What readings mean together. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* Two figures are one quantity within this: the spread of figures that one service samples one after the
 * other. The loss of a supply, which must be told from it, is 4 % (Titanium) to 15 %. */
#define SAME   0.025
#define SAME_W 3.0

static int rank(const struct jm_rf_reading *r)
{
    int k = 0;
    if (r->status != JM_S_OK)
        k += 8;
    if (strcmp(r->property, "MetricValue") == 0)
        k += 4; /* a report's unit is not sure */
    if (r->excerpt)
        k += 2;
    if (strcmp(r->property, "PowerLimitWatts") == 0)
        k += 1;
    return k;
}

/* A sensor seldom says which outlet or supply it is in: the resource that refers to it does. */
static void inherit(struct jm_rf_reading *keep, const struct jm_rf_reading *gone)
{
    bool place = gone->of >= JM_RF_PSU && gone->of <= JM_RF_PDU;
    if (place && gone->of != JM_RF_PDU && !keep->owner[0])
        snprintf(keep->owner, sizeof keep->owner, "%s", gone->owner[0] ? gone->owner : gone->uri);
    if (keep->of != gone->of && place &&
        (keep->of == JM_RF_RAIL || keep->of == JM_RF_NODE || keep->of == JM_RF_STORAGE ||
         keep->of == JM_RF_NIC || keep->of == JM_RF_PDU)) {
        keep->of = gone->of;
        keep->scope = gone->scope;
        snprintf(keep->name, sizeof keep->name, "%s", gone->name);
    } else if (keep->of == gone->of && keep->scope == JM_RF_SIDE_UNKNOWN) {
        keep->scope = gone->scope;
    }
}

void jm_rf_dedupe(struct jm_rf_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct jm_rf_reading *a = &s->r[i];
        if (a->repeat)
            continue;
        for (size_t j = i + 1; j < s->n; j++) {
            struct jm_rf_reading *b = &s->r[j];
            if (b->repeat || b->kind != a->kind || b->unit != a->unit || strcmp(a->source, b->source) != 0)
                continue;
            if (rank(b) < rank(a)) {
                a->repeat = true;
                inherit(b, a);
                break;
            }
            b->repeat = true;
            inherit(a, b);
        }
        /* one resource that gives its counter in J and in kWh */
        for (size_t j = 0; j < s->n && !a->repeat; j++) {
            const struct jm_rf_reading *b = &s->r[j];
            if (j != i && strcmp(a->property, "EnergykWh") == 0 && strcmp(b->property, "EnergyJoules") == 0 &&
                strcmp(a->uri, b->uri) == 0 && b->status == JM_S_OK && !a->excerpt)
                a->repeat = true;
        }
    }
}

static const double factors[] = {1e-3, 1, 1e3, 3.6e3, 3.6e6};

double jm_rf_factor(double delta, double dt_s, double power_w, double within)
{
    double found = 0;
    if (!(delta > 0) || !(dt_s > 0) || !(power_w > 0) || !(within > 0))
        return 0;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (fabs(delta * factors[i] / dt_s / power_w - 1) <= within) {
            if (found > 0)
                return 0;
            found = factors[i];
        }
    return found;
}

double jm_rf_factor_against(double value, double sure_j, double within)
{
    return jm_rf_factor(value, 1, sure_j, within);
}

static bool same(double a, double b)
{
    return fabs(a - b) <= SAME_W || fabs(a - b) <= SAME * fmax(fabs(a), fabs(b));
}

/* The nearer of the two; where they cannot be told apart, or neither is near, that is said. */
static enum jm_rf_side side_of(double v, double input, double output)
{
    if (isnan(v) || (isnan(input) && isnan(output)))
        return JM_RF_IS_UNKNOWN;
    bool in = !isnan(input) && same(v, input), out = !isnan(output) && same(v, output);
    if (in && out)
        return fabs(input - output) < 0.02 * input   ? JM_RF_IS_UNKNOWN
               : fabs(v - input) <= fabs(v - output) ? JM_RF_IS_INPUT
                                                     : JM_RF_IS_OUTPUT;
    if (in)
        return JM_RF_IS_INPUT;
    if (out)
        return JM_RF_IS_OUTPUT;
    return JM_RF_IS_OTHER;
}

struct sums {
    double last[64];
    size_t n_last;
};

static void take_supply(struct jm_rf_audit *a, const struct jm_rf_reading *r, struct sums *s)
{
    bool ok = r->status == JM_S_OK;
    bool input = r->scope == JM_RF_AC_INPUT || r->scope == JM_RF_DC_INPUT;
    if (ok && r->kind == JM_RF_INSTANT && r->scope == JM_RF_SIDE_UNKNOWN && r->unit == JM_U_W) {
        a->unstated = (isnan(a->unstated) ? 0 : a->unstated) + r->value;
        a->unstated_have++;
    }
    if (input && r->kind == JM_RF_INSTANT && r->unit == JM_U_W) {
        if (r->status == JM_S_IMPLAUSIBLE)
            a->input_bogus = true;
        if (ok) {
            a->input = (isnan(a->input) ? 0 : a->input) + r->value;
            a->input_have++;
        }
    } else if (r->scope == JM_RF_DC_OUTPUT && r->kind == JM_RF_INSTANT) {
        if (ok) {
            a->output = (isnan(a->output) ? 0 : a->output) + r->value;
            a->output_have++;
        }
    } else if (strcmp(r->property, "LastPowerOutputWatts") == 0 && ok && s->n_last < 64) {
        s->last[s->n_last++] = r->value;
    }
}

static void say(struct jm_rf_audit *a)
{
    static const char *const is[] = {"of unstated side", "the input of the supplies",
                                     "the output of the supplies",
                                     "neither input nor output of the supplies"};
    size_t n = 0;
#define SAY(...) n += n < sizeof a->text ? (size_t)snprintf(a->text + n, sizeof a->text - n, __VA_ARGS__) : 0
    a->text[0] = '\0';
    if (!isnan(a->consumed))
        SAY("%.4g W consumed is %s", a->consumed, is[a->consumed_is]);
    if (!isnan(a->mean))
        SAY("%s%.4g W mean over %.4g min is %s", n ? "; " : "", a->mean, a->interval_min, is[a->mean_is]);
    if (a->outside)
        SAY("; the value now is outside the interval's %.4g to %.4g W: another quantity or stale, not mixed",
            a->min, a->max);
    if (a->input_bogus)
        SAY("; an input of a supply is its rating, not a reading");
    if (a->last_total)
        SAY("; LastPowerOutputWatts repeats the total on each supply");
    else if (a->last_suspect)
        SAY("; LastPowerOutputWatts is stale or wrong");
#undef SAY
}

/* Supplies are counted by their names and places: the old resource and the new one may both list them. */
static bool supersedes(const struct jm_rf_set *s, const char *chassis)
{
    for (size_t i = 0; i < s->n; i++)
        if ((!chassis || jm_rf_below(s->r[i].uri, chassis)) && s->r[i].of == JM_RF_PSU &&
            strstr(s->r[i].source, "#/PowerSupplies/") && s->r[i].status == JM_S_OK)
            return true;
    return false;
}

void jm_rf_audit(const struct jm_rf_set *s, const char *chassis, struct jm_rf_audit *a)
{
    struct sums last = {.n_last = 0};
    bool old = supersedes(s, chassis);
    char seen[64][JM_RF_URI];
    size_t n_seen = 0;
    *a = (struct jm_rf_audit){.consumed = NAN,
                              .input = NAN,
                              .output = NAN,
                              .last_output = NAN,
                              .unstated = NAN,
                              .mean = NAN,
                              .min = NAN,
                              .max = NAN,
                              .interval_min = NAN};
    for (size_t i = 0; i < s->n; i++) {
        const struct jm_rf_reading *r = &s->r[i];
        if (r->repeat || (chassis && !jm_rf_below(r->uri, chassis)))
            continue;
        if (r->of == JM_RF_PSU) {
            const char *part = strstr(r->source, "#/PowerSupplies/");
            if (old != (part != NULL))
                continue; /* the same supplies once more, by another resource */
            char who[JM_RF_URI];
            size_t cut = part ? (size_t)(part - r->source) + 16 : 0;
            snprintf(who, sizeof who, "%.*s",
                     (int)(part ? cut + strcspn(r->source + cut, "/") : strlen(r->uri)),
                     part ? r->source : r->uri);
            size_t k = 0;
            while (k < n_seen && strcmp(seen[k], who) != 0)
                k++;
            if (k == n_seen && n_seen < 64)
                snprintf(seen[n_seen++], sizeof seen[0], "%s", who);
            take_supply(a, r, &last);
            continue;
        }
        if (r->of != JM_RF_NODE || r->status != JM_S_OK || r->unit != JM_U_W)
            continue;
        if (r->kind == JM_RF_INSTANT &&
            (isnan(a->consumed) || strcmp(r->property, "PowerConsumedWatts") == 0))
            a->consumed = r->value;
        bool metrics = strstr(r->source, "/PowerMetrics/") != NULL;
        if (metrics && strcmp(r->property, "MetricValue") != 0) {
            double *to = r->kind == JM_RF_MEAN ? &a->mean : r->kind == JM_RF_MIN ? &a->min : &a->max;
            if (isnan(*to))
                *to = r->value;
            if (!isnan(r->interval_s))
                a->interval_min = r->interval_s / 60;
        }
    }
    a->supplies = n_seen;
    if (a->input_bogus) {
        a->input = NAN;
        a->input_have = 0;
    }
    a->last_have = last.n_last;
    double sum = 0;
    bool equal = last.n_last > 1, zero = false;
    for (size_t i = 0; i < last.n_last; i++) {
        sum += last.last[i];
        equal = equal && last.last[i] == last.last[0];
        zero = zero || last.last[i] == 0;
    }
    if (last.n_last) {
        /* each supply with the total: the sum would be the multiple */
        double per_supply = isnan(a->output) || !a->output_have ? NAN : a->output / (double)a->output_have;
        a->last_total = equal && !zero &&
                        ((!isnan(a->mean) && same(last.last[0], a->mean) && !same(sum, a->output)) ||
                         (!isnan(per_supply) && last.last[0] > 1.5 * per_supply &&
                          (same(last.last[0], a->output) || last.last[0] > 1.2 * per_supply)));
        a->last_output = a->last_total ? last.last[0] : sum;
        a->last_suspect = !a->last_total && !isnan(a->consumed) &&
                          (zero || sum < 0.7 * a->consumed || sum > 1.3 * a->consumed);
    }
    double output = !isnan(a->output) ? a->output : a->last_suspect ? NAN : a->last_output;
    a->consumed_is = side_of(a->consumed, a->input, output);
    a->mean_is = side_of(a->mean, a->input, output);
    /* LastPowerOutputWatts alone that equals the consumption does not say on which side both are */
    if (isnan(a->output) && isnan(a->input)) {
        a->consumed_is = JM_RF_IS_UNKNOWN;
        a->mean_is = JM_RF_IS_UNKNOWN;
    }
    a->outside = !isnan(a->consumed) && !isnan(a->min) && !isnan(a->max) && a->max > 0 &&
                 (a->consumed < a->min || a->consumed > a->max);
    say(a);
}

/* --- units that a report leaves open
 * -------------------------------------------------------------------------------- */
/* "CPU_0_Energy_0" and "CPU_0_Power_0" below one chassis are of one thing. */
static bool siblings(const char *energy, const char *power)
{
    const char *e = strstr(energy, "_Energy_"), *p = strstr(power, "_Power_");
    return e && p && e - energy == p - power && strncmp(energy, power, (size_t)(e - energy)) == 0 &&
           strcmp(e + 8, p + 7) == 0;
}

#define PART_MOST_W 10000 /* no single board or part draws more */

void jm_rf_decide(struct jm_rf_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct jm_rf_reading *r = &s->r[i];
        if (r->unit_sure || r->unit != JM_U_J || (r->status != JM_S_OK && r->status != JM_S_STALE))
            continue;
        for (size_t j = 0; j < s->n && !r->unit_sure; j++) {
            const struct jm_rf_reading *o = &s->r[j];
            if (j == i || !o->unit_sure || o->unit != JM_U_J || o->status != JM_S_OK ||
                strcmp(o->source, r->source) != 0)
                continue;
            double f = jm_rf_factor_against(r->value, o->value, 0.3);
            if (f > 0) {
                r->value *= f;
                r->factor *= f;
                r->step *= f;
                r->unit_sure = true;
            }
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        struct jm_rf_reading *r = &s->r[i];
        bool part = r->scope == JM_RF_BOARD || r->scope == JM_RF_COMPONENT;
        if (r->unit != JM_U_W || strcmp(r->property, "MetricValue") != 0 || !part || r->value <= PART_MOST_W)
            continue;
        double f = 0;
        for (size_t j = 0; j < s->n && f <= 0; j++)
            if (s->r[j].unit_sure && s->r[j].unit == JM_U_J && siblings(s->r[j].source, r->source) &&
                strcmp(s->r[j].property, "MetricValue") == 0 && s->r[j].factor < 1)
                f = s->r[j].factor;
        if (f > 0) { /* the counter beside it is in mJ: this is in mW */
            r->value *= f;
            r->factor *= f;
            r->step *= f;
        } else if (r->status == JM_S_OK) {
            r->status = JM_S_IMPLAUSIBLE;
        }
    }
}
