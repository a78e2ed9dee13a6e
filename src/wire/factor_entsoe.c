/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of ENTSO-E's transparency platform. Actual generation by type (A75) becomes two carbon
 * intensities of what is produced in the zone, without imports: by the direct emissions of the power stations
 * and by the life cycle. Day-ahead prices (A44) become a price. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "wire/factorfile.h"
#include "wire/xmlpull.h"

#include "base/banned.h"

/* g/kWh. IPCC AR5, working group III, annex III, table A.III.2: medians; direct emissions, and life cycle
 * with albedo. Biogenic CO2 of biomass is no direct emission there. NAN: AR5 has no value (gas of coal, oil,
 * peat, oil shale, waste, other). Pumped storage makes nothing. */
static const struct source {
    const char *code;
    double generation, lifecycle;
} table[] = {{"B01", 0, 230},   {"B02", 760, 820}, {"B03", NAN, NAN}, {"B04", 370, 490},
             {"B05", 760, 820}, {"B06", NAN, NAN}, {"B07", NAN, NAN}, {"B08", NAN, NAN},
             {"B09", 0, 38},    {"B11", 0, 24},    {"B12", 0, 24},    {"B13", 0, 17},
             {"B14", 0, 12},    {"B16", 0, 48},    {"B18", 0, 12},    {"B19", 0, 11}};
#define WITHOUT_MOST 0.1 /* share without a factor beyond which an interval has no intensity */

static const struct {
    const char *eic, *zone;
} area[] = {{"10YFR-RTE------C", "FR"},   {"10Y1001A1001A83F", "DE"},   {"10Y1001A1001A82H", "DE-LU"},
            {"10YES-REE------0", "ES"},   {"10YGB----------A", "GB"},   {"10YNL----------L", "NL"},
            {"10YBE----------2", "BE"},   {"10YIT-GRTN-----B", "IT"},   {"10YPL-AREA-----S", "PL"},
            {"10YAT-APG------L", "AT"},   {"10YCH-SWISSGRIDZ", "CH"},   {"10YPT-REN------W", "PT"},
            {"10YSE-1--------K", "SE"},   {"10YNO-0--------C", "NO"},   {"10YFI-1--------U", "FI"},
            {"10YDK-1--------W", "DK-1"}, {"10YDK-2--------M", "DK-2"}, {"10YCZ-CEPS-----N", "CZ"},
            {"10YHU-MAVIR----U", "HU"},   {"10YRO-TEL------P", "RO"},   {"10YSK-SEPS-----K", "SK"},
            {"10YSI-ELES-----O", "SI"},   {"10YHR-HEP------M", "HR"},   {"10YLT-1001A0008Q", "LT"},
            {"10YLV-1001A00074", "LV"},   {"10Y1001A1001A39I", "EE"},   {"10YGR-HTSO-----Y", "GR"},
            {"10Y1001A1001A59C", "IE"},   {"10YIE-1001A00010", "IE"},   {"10YCA-BULGARIA-R", "BG"},
            {"10Y1001A1001A44P", "SE-1"}, {"10Y1001A1001A45N", "SE-2"}, {"10Y1001A1001A46L", "SE-3"},
            {"10Y1001A1001A47J", "SE-4"}, {"10YNO-1--------2", "NO-1"}, {"10YNO-2--------T", "NO-2"},
            {"10YNO-3--------J", "NO-3"}, {"10YNO-4--------9", "NO-4"}, {"10Y1001A1001A48H", "NO-5"},
            {"10Y1001A1001A73I", "IT-NO"}};

#define SEQUENCES 9 /* auctions of one day; there are three */

struct entry {
    int64_t t0, t1;
    double v;
    int source;       /* index into table, -1: no factor for it */
    int64_t sequence; /* of the auction, where a zone has several; 0: not said */
};

struct doc {
    struct entry *e;
    size_t n, cap;
    char kind[8], zone[32], reason[200], currency[4], unit[8], psr[8], curve[8], resolution[12];
    bool consumption, prices;
    int64_t start, end;
    int64_t sequence;
    int64_t position, last; /* of A03: what is not said goes on */
    double value, last_value;
    bool have;
};

static void keep(char *to, size_t cap, struct jm_span s)
{
    snprintf(to, cap, "%.*s", (int)(s.n < cap ? s.n : cap - 1), s.p);
}

static int64_t minutes(const char *resolution)
{
    static const struct {
        const char *name;
        int m;
    } r[] = {{"PT15M", 15}, {"PT30M", 30}, {"PT60M", 60}, {"PT1H", 60}, {"P1D", 1440}};
    for (size_t i = 0; i < sizeof r / sizeof *r; i++)
        if (strcmp(r[i].name, resolution) == 0)
            return r[i].m;
    return 0;
}

static int add(struct doc *d, int64_t from, int64_t to, double v, struct jm_err *err)
{
    int64_t step = minutes(d->resolution) * 60 * JM_NS_PER_S;
    int source = -1;
    if (d->consumption && !d->prices)
        return 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].code, d->psr) == 0)
            source = (int)i;
    if (strcmp(d->psr, "B10") == 0 || strcmp(d->psr, "B25") == 0) /* pumped and other storage */
        return 0;
    for (int64_t p = from; p < to; p++) {
        if (d->n >= JM_FACTOR_STEPS)
            return jm_err_set(err, JM_ELIMIT, "ENTSO-E: more than %zu points", JM_FACTOR_STEPS);
        if (d->n == d->cap) {
            size_t cap = d->cap ? 2 * d->cap : 256;
            struct entry *e = realloc(d->e, cap * sizeof *e);
            if (!e)
                return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
            d->e = e;
            d->cap = cap;
        }
        int64_t t0 = d->start + (p - 1) * step;
        d->e[d->n++] = (struct entry){t0, t0 + step, v, source, d->sequence};
    }
    return 0;
}

/* What was said last holds up to position `next`, where blocks may be longer than one (curve A03). */
static int flush(struct doc *d, int64_t next, struct jm_err *err)
{
    int rc = 0;
    if (d->last)
        rc = add(d, d->last, strcmp(d->curve, "A03") == 0 ? next : d->last + 1, d->last_value, err);
    d->last = 0;
    return rc;
}

static int64_t positions(const struct doc *d)
{
    int64_t m = minutes(d->resolution);
    return m && d->end > d->start ? (d->end - d->start) / (m * 60 * JM_NS_PER_S) : 0;
}

static int point(struct doc *d, struct jm_err *err)
{
    int64_t n = positions(d);
    if (!minutes(d->resolution))
        return jm_err_set(err, JM_EPARSE, "ENTSO-E: a resolution of \"%s\" is not known", d->resolution);
    if (d->position < 1 || d->position > n || (d->last && d->position <= d->last))
        return jm_err_set(err, JM_EPARSE,
                          "ENTSO-E: position %lld in a period of %lld points, or not after the one before it",
                          (long long)d->position, (long long)n);
    int rc = flush(d, d->position, err);
    if (!rc && d->have) {
        d->last = d->position;
        d->last_value = d->value;
    }
    d->have = false;
    return rc;
}

static int text(struct doc *d, struct jm_span name, bool interval, struct jm_span s, struct jm_err *err)
{
    double v;
    if (jm_span_is(name, "psrType")) {
        keep(d->psr, sizeof d->psr, s);
    } else if (jm_span_is(name, "type") && !d->kind[0]) {
        keep(d->kind, sizeof d->kind, s);
    } else if (jm_span_is(name, "curveType")) {
        keep(d->curve, sizeof d->curve, s);
    } else if (jm_span_is(name, "resolution")) {
        keep(d->resolution, sizeof d->resolution, s);
    } else if (jm_span_is(name, "text") && !d->reason[0]) {
        jm_xml_text(s, d->reason, sizeof d->reason);
    } else if (jm_span_is(name, "currency_Unit.name")) {
        keep(d->currency, sizeof d->currency, s);
    } else if (jm_span_is(name, "price_Measure_Unit.name") ||
               jm_span_is(name, "quantity_Measure_Unit.name")) {
        keep(d->unit, sizeof d->unit, s);
    } else if (jm_span_is(name, "inBiddingZone_Domain.mRID") || jm_span_is(name, "in_Domain.mRID") ||
               jm_span_is(name, "outBiddingZone_Domain.mRID")) {
        d->consumption |= jm_span_is(name, "outBiddingZone_Domain.mRID");
        if (!d->zone[0])
            keep(d->zone, sizeof d->zone, s);
    } else if (interval && (jm_span_is(name, "start") || jm_span_is(name, "end"))) {
        return jm_factor_time(s, false, jm_span_is(name, "start") ? &d->start : &d->end, err);
    } else if (jm_span_is(name, "classificationSequence_AttributeInstanceComponent.position")) {
        if (jm_num_i64(s, &d->sequence) || d->sequence < 1 || d->sequence > SEQUENCES)
            return jm_err_set(err, JM_EPARSE, "ENTSO-E: a sequence that is no number from 1 to %d",
                              SEQUENCES);
    } else if (jm_span_is(name, "position")) {
        if (jm_num_i64(s, &d->position))
            return jm_err_set(err, JM_EPARSE, "ENTSO-E: a position that is no number");
    } else if (jm_span_is(name, "quantity") || jm_span_is(name, "price.amount")) {
        if (jm_num_double(s, &v))
            return jm_err_set(err, JM_EPARSE, "ENTSO-E: a %.*s that is no number", (int)name.n, name.p);
        d->value = v;
        d->have = true;
    }
    return 0;
}

static int read(struct jm_span in, struct doc *d, struct jm_err *err)
{
    struct jm_xml x;
    struct jm_xml_event e;
    struct jm_span at = {"", 0};
    bool interval = false, series = false;
    int rc;
    jm_xml_init(&x, in);
    while (!(rc = jm_xml_next(&x, &e, err)) && e.kind != JM_XML_END_OF_TEXT) {
        if (e.kind == JM_XML_OPEN) {
            at = e.name;
            if (jm_span_is(at, "Publication_MarketDocument"))
                d->prices = true;
            if (jm_span_is(at, "TimeSeries")) {
                series = true;
                d->consumption = false;
                d->sequence = 0;
                d->psr[0] = d->curve[0] = '\0';
            } else if (jm_span_is(at, "Period")) {
                d->start = d->end = d->last = 0;
                d->resolution[0] = '\0';
            } else if (jm_span_is(at, "timeInterval")) {
                interval = series;
            } else if (jm_span_is(at, "Point")) {
                d->position = 0;
                d->have = false;
            }
        } else if (e.kind == JM_XML_TEXT) {
            rc = text(d, at, interval, e.text, err);
        } else {
            if (jm_span_is(e.name, "timeInterval"))
                interval = false;
            else if (jm_span_is(e.name, "TimeSeries"))
                series = false;
            else if (jm_span_is(e.name, "Point"))
                rc = point(d, err);
            else if (jm_span_is(e.name, "Period"))
                rc = flush(d, positions(d) + 1, err);
            at = (struct jm_span){"", 0};
        }
        if (rc)
            break;
    }
    return rc;
}

/* Series of different resolution: all of them in pieces of the finest. */
static int refine(struct doc *d, struct jm_err *err)
{
    int64_t least = INT64_MAX;
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        least = d->e[i].t1 - d->e[i].t0 < least ? d->e[i].t1 - d->e[i].t0 : least;
    for (size_t i = 0; i < d->n; i++)
        n += (size_t)((d->e[i].t1 - d->e[i].t0) / least); /* each is a multiple of a quarter of an hour */
    if (n == d->n)
        return 0;
    if (n > JM_FACTOR_STEPS)
        return jm_err_set(err, JM_ELIMIT, "ENTSO-E: more than %zu points", JM_FACTOR_STEPS);
    struct entry *e = malloc(n * sizeof *e);
    if (!e)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
    n = 0;
    for (size_t i = 0; i < d->n; i++)
        for (int64_t t = d->e[i].t0; t + least <= d->e[i].t1; t += least)
            e[n++] = (struct entry){t, t + least, d->e[i].v, d->e[i].source, 0};
    free(d->e);
    d->e = e;
    d->n = d->cap = n;
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int d = (x->t0 > y->t0) - (x->t0 < y->t0);
    return d ? d : (x->t1 > y->t1) - (x->t1 < y->t1);
}

/* Prices of one zone come as several series: of one auction in hours and in quarters, and of other auctions.
 * The lowest sequence counts, which is the market's coupling, and of it the finest. */
static int by_worth(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int64_t dx = x->t1 - x->t0, dy = y->t1 - y->t0;
    int d = (x->sequence > y->sequence) - (x->sequence < y->sequence);
    d = d ? d : (dx > dy) - (dx < dy);
    return d ? d : by_begin(a, b);
}

/* The entries that none of more worth overlaps, to the front in order of time. Returns how many were left
 * out. */
static size_t the_best(struct doc *d)
{
    size_t kept = 0, i = 0, n = d->n;
    if (n)
        qsort(d->e, n, sizeof *d->e, by_worth);
    while (i < n) {
        size_t before = kept, k = i;
        for (; k < n && d->e[k].sequence == d->e[i].sequence &&
               d->e[k].t1 - d->e[k].t0 == d->e[i].t1 - d->e[i].t0;
             k++) {
            size_t lo = 0, hi = before;
            while (lo < hi) { /* the first of them that ends after this one begins */
                size_t mid = (lo + hi) / 2;
                if (d->e[mid].t1 <= d->e[k].t0)
                    lo = mid + 1;
                else
                    hi = mid;
            }
            if (lo == before || d->e[lo].t0 >= d->e[k].t1)
                d->e[kept++] = d->e[k];
        }
        i = k;
        if (before)
            qsort(d->e, kept, sizeof *d->e, by_begin);
    }
    d->n = kept;
    return n - kept;
}

static int step(struct jm_factor *f, int64_t t0, int64_t t1, double v, bool estimated, struct jm_err *err)
{
    int rc = jm_factor_step_add(f, t0, t1, v, estimated);
    return rc == JM_ENOMEM ? jm_err_set(err, rc, "out of memory for the factors")
           : rc            ? jm_err_set(err, JM_EPARSE, "ENTSO-E: values beyond what can be taken")
                           : 0;
}

/* Of the intervals of the document: every source's power in each, weighed by its factor. */
static int weigh(struct doc *d, struct jm_factor *gen, struct jm_factor *life, struct jm_err *err)
{
    int most = 0, left_out = 0;
    double worst = 0;
    qsort(d->e, d->n, sizeof *d->e, by_begin);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < d->n;) {
            size_t k = i;
            int64_t t0 = d->e[i].t0, t1 = d->e[i].t1;
            double mw = 0, none = 0, g = 0, l = 0;
            int have = 0;
            for (; k < d->n && d->e[k].t0 == t0; k++) {
                double v = d->e[k].v > 0 ? d->e[k].v : 0;
                const struct source *s = d->e[k].source >= 0 ? &table[d->e[k].source] : NULL;
                if (d->e[k].t1 != t1)
                    return jm_err_set(err, JM_EPARSE, "ENTSO-E: intervals that overlap in part");
                have++;
                mw += v;
                if (!s || isnan(s->lifecycle)) {
                    none += v;
                    continue;
                }
                g += v * s->generation;
                l += v * s->lifecycle;
            }
            i = k;
            if (pass == 0) {
                most = have > most ? have : most;
                continue;
            }
            if (!(mw > none) || none > WITHOUT_MOST * mw) {
                left_out++;
                continue;
            }
            worst = fmax(worst, none / mw);
            int rc = step(gen, t0, t1, g / (mw - none), have < most, err);
            if (!rc)
                rc = step(life, t0, t1, l / (mw - none), have < most, err);
            if (rc)
                return rc;
        }
    for (int k = 0; k < 2; k++) {
        struct jm_factor *f = k ? life : gen;
        int n = snprintf(f->note, sizeof f->note, "production in the zone, without imports");
        if (worst > 0)
            n += snprintf(f->note + n, sizeof f->note - (size_t)n,
                          "; up to %.1f %% of it of sources without a factor", 100 * worst);
        if (left_out)
            snprintf(f->note + n, sizeof f->note - (size_t)n,
                     "; %d intervals left out: too much of unknown sources", left_out);
    }
    return 0;
}

int jm_factor_entsoe(struct jm_span in, struct jm_factor_set *set, struct jm_err *err)
{
    struct doc d = {0};
    int rc = read(in, &d, err);
    size_t from = set->n;
    if (!rc && !d.n)
        rc = jm_err_set(err, d.reason[0] ? JM_EUSAGE : JM_EPARSE, "ENTSO-E: %s",
                        d.reason[0] ? d.reason : "the document has no series with points");
    jm_text_plain(d.zone, strlen(d.zone), false);
    for (size_t i = 0; i < sizeof area / sizeof *area; i++)
        if (strcmp(d.zone, area[i].eic) == 0)
            snprintf(d.zone, sizeof d.zone, "%s", area[i].zone);
    struct jm_span zone = jm_span_of(d.zone);
    if (!rc && d.prices) {
        char unit[16], cur[4] = "";
        snprintf(unit, sizeof unit, "%s/%s", d.currency, d.unit);
        double scale = jm_factor_price_unit(jm_span_of(unit), cur);
        struct jm_factor *f = jm_factor_add(set, JM_FACTOR_PRICE, zone);
        if (!f)
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
        else if (!isfinite(scale))
            rc = jm_err_set(err, JM_EUSAGE, "ENTSO-E: prices without a unit that is known (\"%s\")", unit);
        size_t left_out = rc ? 0 : the_best(&d);
        for (size_t i = 0; !rc && i < d.n; i++)
            rc = step(f, d.e[i].t0, d.e[i].t1, d.e[i].v * scale, false, err);
        if (!rc) {
            snprintf(f->unit, sizeof f->unit, "%s/kWh", cur);
            snprintf(f->source, sizeof f->source, "ENTSO-E transparency platform, day-ahead prices (A44)");
            int k = snprintf(f->note, sizeof f->note, "wholesale: without grid fees, taxes and margin");
            if (left_out)
                snprintf(f->note + k, sizeof f->note - (size_t)k,
                         "; %zu values of other auctions or in coarser steps left out", left_out);
        }
    } else if (!rc && strcmp(d.kind, "A75") != 0) {
        rc = jm_err_set(err, JM_EUSAGE,
                        "ENTSO-E: a document of type %s; generation by type (A75) or day-ahead prices (A44) "
                        "are what factors are made of",
                        d.kind[0] ? d.kind : "none");
    } else if (!rc) {
        if (!jm_factor_add(set, JM_FACTOR_CARBON, zone) || !jm_factor_add(set, JM_FACTOR_CARBON, zone)) {
            rc = jm_err_set(err, JM_ENOMEM, "out of memory for the factors");
        } else {
            struct jm_factor *gen = &set->f[from], *life = &set->f[from + 1];
            gen->kind = JM_FACTOR_GENERATION;
            life->kind = JM_FACTOR_LIFECYCLE;
            for (int k = 0; k < 2; k++) {
                struct jm_factor *f = k ? life : gen;
                snprintf(f->unit, sizeof f->unit, "%s", k ? "gCO2e/kWh" : "gCO2/kWh");
                snprintf(f->source, sizeof f->source,
                         "ENTSO-E transparency platform, generation by type (A75), with %s factors of IPCC "
                         "AR5",
                         k ? "life-cycle" : "direct");
            }
            rc = refine(&d, err);
            if (!rc)
                rc = weigh(&d, gen, life, err);
        }
    }
    free(d.e);
    return rc;
}
