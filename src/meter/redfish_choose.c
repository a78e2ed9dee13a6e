/* SPDX-License-Identifier: Apache-2.0 */
/* Which readings of a service become channels, and which resources hold them. See meter/redfish_impl.h. */
#include "meter/redfish_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* --- which readings
 * ------------------------------------------------------------------------------------------- */
static bool is_part(const struct jm_rf_reading *r)
{
    return r->of != JM_RF_NODE && r->of != JM_RF_PDU && r->of != JM_RF_OUTLET;
}

/* Supplies are in the old Power resource and in PowerSubsystem, or among the sensors: once is enough. */
static bool listed_twice(const struct jm_rf_set *s, const struct jm_rf_reading *r)
{
    static const char *const places[] = {"#/PowerSupplies/", "/PowerSupplies/"};
    for (size_t k = 0; k < 2; k++) {
        if (strstr(k == 0 ? r->source : r->uri, places[k]))
            return false; /* nothing better */
        bool other = false;
        for (size_t i = 0; i < s->n; i++)
            if (s->r[i].of == JM_RF_PSU && s->r[i].unit == JM_U_W && s->r[i].kind == JM_RF_INSTANT &&
                s->r[i].status == JM_S_OK && r->unit == JM_U_W &&
                strstr(k == 0 ? s->r[i].source : s->r[i].uri, places[k])) {
                if (k == 1 && strcmp(s->r[i].source, r->source) == 0)
                    return false; /* the sensor that the supply's own resource copies */
                other = true;
            }
        if (other)
            return true;
    }
    return false;
}

/* When requests are few, the whole comes before its parts. */
static size_t weight(const struct jm_rf_reading *r)
{
    switch (r->of) {
    case JM_RF_NODE:
    case JM_RF_PDU:
    case JM_RF_OUTLET:
    case JM_RF_MAINS: return 10000;
    case JM_RF_PSU: return 500;
    case JM_RF_GPU:
    case JM_RF_GPUS: return r->step >= 1 && r->unit == JM_U_W ? 1 : 20;
    case JM_RF_CPU:
    case JM_RF_MODULE: return 10;
    default: return 1;
    }
}

bool jm_redfish_usable(const struct jm_rf_set *s, const struct jm_rf_reading *r, int parts)
{
    if (r->repeat || r->status != JM_S_OK || !r->unit_sure || (r->unit != JM_U_W && r->unit != JM_U_J))
        return false;
    if (r->of == JM_RF_PSU && listed_twice(s, r))
        return false;
    if (r->kind == JM_RF_MEAN) { /* where nothing says the value of now, or of the whole */
        if (strcmp(r->property, "MetricValue") == 0)
            return false;
        if (r->of != JM_RF_NODE && r->of != JM_RF_PSU)
            return false;
        for (size_t i = 0; r->of == JM_RF_PSU && i < s->n; i++)
            if (s->r[i].of == JM_RF_PSU && s->r[i].kind == JM_RF_INSTANT && s->r[i].status == JM_S_OK)
                return false;
        return strcmp(r->property, "AveragePowerOutputWatts") != 0;
    }
    if (r->kind != JM_RF_INSTANT && r->kind != JM_RF_COUNTER)
        return false;
    if (parts == 1)
        return !is_part(r);
    bool main = r->of != JM_RF_RAIL && r->of != JM_RF_PHASE && r->of != JM_RF_MEMORY &&
                r->of != JM_RF_STORAGE && r->of != JM_RF_NIC;
    return parts == 2 || main;
}

void jm_redfish_part(const struct jm_rf_reading *r, bool first, char out[64])
{
    const char *end = strstr(r->source, "#/"), *from;
    char id[64];
    out[0] = '\0';
    if (first && (r->of == JM_RF_NODE || r->of == JM_RF_PDU))
        return;
    const char *list = strstr(r->source, "#/PowerSupplies/");
    const char *whose = r->owner[0] ? r->owner : r->uri;
    const char *supply = strstr(whose, "/PowerSupplies/"), *outlet = strstr(whose, "/Outlets/");
    if (list) {
        snprintf(out, 64, "psu%.*s", (int)(strcspn(list + 16, "/") < 8 ? strcspn(list + 16, "/") : 8),
                 list + 16);
        return;
    }
    const char *named = supply ? supply + 15 : outlet ? outlet + 9 : NULL;
    if (named) {
        snprintf(out, 64, "%.*s", (int)(strcspn(named, "/#") < 60 ? strcspn(named, "/#") : 60), named);
        return;
    }
    size_t n = end ? (size_t)(end - r->source) : strlen(r->source);
    const char *cut = strstr(r->source, "/EnvironmentMetrics");
    if (!cut)
        cut = strstr(r->source, "/ProcessorMetrics");
    if (cut && (size_t)(cut - r->source) < n)
        n = (size_t)(cut - r->source);
    for (from = r->source + n; from > r->source && from[-1] != '/'; from--)
        ;
    snprintf(id, sizeof id, "%.*s",
             (int)((size_t)(r->source + n - from) < 60 ? (size_t)(r->source + n - from) : 60), from);
    if (strcmp(id, "Power") == 0) /* an entry of PowerControl */
        snprintf(id, sizeof id, "%.60s", jm_rf_of_name((int)r->of));
    static const char *const tails[] = {"_Power_0", "_Energy_0", "_Power", "_Energy"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (jm_span_ends(jm_span_of(id), jm_span_of(tails[i]))) {
            id[strlen(id) - strlen(tails[i])] = '\0';
            break;
        }
    /* "3" of the processors would be the third supply as well */
    bool number = id[0] && strspn(id, "0123456789") == strlen(id);
    snprintf(out, 64, "%s%s", number ? jm_rf_of_name((int)r->of) : "", id);
}

size_t jm_redfish_chassis(const char *uri)
{
    const char *at = strstr(uri, "/Chassis/");
    return at ? (size_t)(at - uri) + 9 + strcspn(at + 9, "/#") : 0;
}

/* n: its jm_redfish_chassis. */
static bool same_chassis(const char *uri, size_t n, const char *other)
{
    return strncmp(other, uri, n) == 0 && (other[n] == '/' || other[n] == '#');
}

/* Names that promise the whole are many: a sensor that shows less than half of another figure of its chassis
 * is a part. */
void jm_redfish_wholes(struct jm_rf_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct jm_rf_reading *r = &s->r[i];
        size_t n = jm_redfish_chassis(r->uri);
        if (!n || r->of != JM_RF_NODE || strcmp(r->property, "Reading") != 0 || r->unit != JM_U_W ||
            r->kind != JM_RF_INSTANT || r->status != JM_S_OK)
            continue;
        for (size_t j = 0; j < s->n; j++) {
            const struct jm_rf_reading *o = &s->r[j];
            if (o->of == JM_RF_NODE && o->unit == JM_U_W && o->kind == JM_RF_INSTANT &&
                o->status == JM_S_OK && same_chassis(r->uri, n, o->uri) && r->value < o->value / 2) {
                r->of = JM_RF_RAIL;
                r->scope = JM_RF_COMPONENT;
                break;
            }
        }
    }
}

bool jm_redfish_fed(const struct jm_rf_set *s, const struct jm_instrument *in)
{
    char part[64];
    for (size_t i = 0; in->n_feed && i < s->n; i++) {
        jm_redfish_part(&s->r[i], false, part);
        if (!s->r[i].repeat && jm_instrument_feed(in, part))
            return true;
    }
    return false;
}

bool jm_redfish_in_total(const struct jm_redfish *f, const struct jm_rf_reading *supply)
{
    size_t n = jm_redfish_chassis(supply->uri);
    for (size_t i = 0; n && i < f->n_spots; i++) {
        const struct jm_rf_reading *r = &f->spot[i].what;
        if (r->of == JM_RF_PDU && r->unit == JM_U_W && r->kind == JM_RF_INSTANT &&
            r->scope != JM_RF_DC_OUTPUT && same_chassis(supply->uri, n, r->uri))
            return true;
    }
    return false;
}

bool jm_redfish_watchable(const struct jm_rf_set *s, const struct jm_rf_reading *r, int parts)
{
    struct jm_rf_reading sure = *r;
    char mine[64], other[64];
    sure.unit_sure = true;
    if (r->unit_sure || r->unit != JM_U_J || r->kind != JM_RF_COUNTER || !jm_redfish_usable(s, &sure, parts))
        return false;
    jm_redfish_part(r, false, mine);
    for (size_t i = 0; i < s->n; i++) {
        const struct jm_rf_reading *w = &s->r[i];
        if (w->unit != JM_U_W || w->kind != JM_RF_INSTANT || w->of != r->of ||
            !jm_redfish_usable(s, w, parts))
            continue;
        jm_redfish_part(w, false, other);
        if (strcmp(mine, other) == 0)
            return true;
    }
    return false;
}

bool jm_redfish_same(const struct jm_rf_reading *a, const struct jm_rf_reading *b)
{
    return a->kind == b->kind && a->unit == b->unit && strcmp(a->source, b->source) == 0;
}

static size_t resource_of(struct jm_redfish *f, const char *uri)
{
    for (size_t i = 0; i < f->n_resources; i++)
        if (strcmp(f->resource[i].uri, uri) == 0)
            return i;
    snprintf(f->resource[f->n_resources].uri, JM_RF_URI, "%s", uri);
    return f->n_resources++;
}

/* The resources to ask: the fewest that hold all spots, greedily; a reading's copies count as well. */
void jm_redfish_cover(struct jm_redfish *f, const struct jm_rf_set *s, size_t most, size_t *left_out)
{
    bool *done = calloc(f->n_spots ? f->n_spots : 1, sizeof *done);
    size_t kept = 0;
    *left_out = 0;
    while (done && f->n_resources < most) {
        size_t best = 0;
        const char *uri = NULL;
        for (size_t i = 0; i < s->n; i++) {
            const char *u = s->r[i].uri;
            bool report = strcmp(s->r[i].property, "MetricValue") == 0;
            size_t k = 0;
            if (i && strcmp(s->r[i - 1].uri, u) == 0) /* its first reading may be missing, others not */
                continue;
            for (size_t p = 0; p < f->n_spots; p++) {
                if (done[p] || (report && strcmp(f->spot[p].what.property, "MetricValue") != 0))
                    continue;
                for (size_t j = i; j < s->n && strcmp(s->r[j].uri, u) == 0; j++)
                    if (s->r[j].status == JM_S_OK && jm_redfish_same(&s->r[j], &f->spot[p].what)) {
                        k += weight(&f->spot[p].what);
                        break;
                    }
            }
            if (k > best) {
                best = k;
                uri = u;
            }
        }
        if (!uri)
            break;
        size_t at = resource_of(f, uri);
        for (size_t p = 0; p < f->n_spots; p++)
            for (size_t j = 0; j < s->n && !done[p]; j++)
                if (strcmp(s->r[j].uri, uri) == 0 && s->r[j].status == JM_S_OK &&
                    jm_redfish_same(&s->r[j], &f->spot[p].what)) {
                    f->spot[p].resource = at;
                    done[p] = true;
                }
    }
    for (size_t p = 0; done && p < f->n_spots; p++) {
        if (done[p])
            f->spot[kept++] = f->spot[p];
        else
            ++*left_out;
    }
    if (done)
        f->n_spots = kept;
    free(done);
}

/* The whole's figure first, so that it keeps its place when requests are few. */
int jm_redfish_order(const void *a, const void *b)
{
    const struct jm_rf_reading *x = &((const struct jm_redfish_spot *)a)->what,
                               *y = &((const struct jm_redfish_spot *)b)->what;
    int kx = (int)x->of * 4 + (x->kind == JM_RF_INSTANT ? 0 : x->kind == JM_RF_COUNTER ? 1 : 2);
    int ky = (int)y->of * 4 + (y->kind == JM_RF_INSTANT ? 0 : y->kind == JM_RF_COUNTER ? 1 : 2);
    int px = strcmp(x->property, "PowerConsumedWatts") != 0,
        py = strcmp(y->property, "PowerConsumedWatts") != 0;
    return kx != ky ? kx - ky : px != py ? px - py : strcmp(x->source, y->source);
}
