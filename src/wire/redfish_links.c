/* SPDX-License-Identifier: Apache-2.0 */
/* The links that lead from a body to more. See wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static void link_add(struct jm_rf_body *b, const struct jm_json *v, const char *key,
                     enum jm_rf_link_kind kind)
{
    struct jm_rf_set *s = b->set;
    struct jm_span uri;
    if (!jm_json_str(v, &uri) && !jm_json_str(jm_json_get(v, "@odata.id"), &uri) &&
        !jm_json_str(jm_json_get(v, "href"), &uri)) /* iLO 4 */
        return;
    if (!uri.n || uri.p[0] != '/' || uri.n >= JM_RF_URI || memchr(uri.p, '#', uri.n))
        return;
    if (s->n_links == s->lim.links) {
        s->dropped++;
        return;
    }
    if (s->n_links == s->links_cap) {
        size_t cap = s->links_cap ? s->links_cap * 2 : 32;
        struct jm_rf_link *more = realloc(s->link, cap * sizeof *more);
        if (!more) {
            b->rc = jm_err_set(b->err, JM_ENOMEM, "out of memory for the links of %s", b->uri);
            return;
        }
        s->link = more;
        s->links_cap = cap;
    }
    struct jm_rf_link *l = &s->link[s->n_links];
    l->kind = kind;
    snprintf(l->key, sizeof l->key, "%s", key);
    jm_rf_uri(l->uri, uri);
    for (size_t i = 0; i < s->n_links; i++)
        if (strcmp(s->link[i].uri, l->uri) == 0)
            return;
    s->n_links++;
}

/* "Oem.Hpe.Links.FastPowerMeter", "Oem.Hp.links.FastPowerMeter": means of 10 s, where the resource itself has
 * one of 20 minutes. The slower ones tell nothing more. */
static void oem_links(struct jm_rf_body *b)
{
    const struct jm_json *oem = jm_json_get(b->root, "Oem"), *maker;
    const char *key;
    void *it = NULL;
    while (jm_json_is_object(oem) && jm_json_next(oem, &it, &key, &maker)) {
        const struct jm_json *links = jm_json_get(maker, "Links");
        if (!links)
            links = jm_json_get(maker, "links");
        const struct jm_json *fast = jm_json_get(links, "FastPowerMeter");
        if (jm_json_is_object(fast))
            link_add(b, fast, "FastPowerMeter", JM_RF_LINK_FOLLOW);
    }
}

void jm_rf_links(struct jm_rf_body *b)
{
    static const char *const keys[] = {"Chassis",
                                       "Systems",
                                       "PowerEquipment",
                                       "TelemetryService",
                                       "Power",
                                       "EnvironmentMetrics",
                                       "PowerSubsystem",
                                       "PowerSupplies",
                                       "Metrics",
                                       "Sensors",
                                       "RackPDUs",
                                       "FloorPDUs",
                                       "PowerShelves",
                                       "TransferSwitches",
                                       "ElectricalBuses",
                                       "Switchgear",
                                       "PowerDistribution",
                                       "Outlets",
                                       "OutletGroups",
                                       "Mains",
                                       "Branches",
                                       "Feeders",
                                       "Subfeeds",
                                       "Processors",
                                       "ProcessorMetrics",
                                       "Memory",
                                       "MetricReports",
                                       "Facilities",
                                       "SessionService",
                                       "Fabrics",
                                       "Switches"};
    const struct jm_json *v, *members = jm_json_get(b->root, "Members");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        v = jm_json_get(b->root, keys[i]);
        if (jm_json_is_object(v))
            link_add(b, v, keys[i], JM_RF_LINK_FOLLOW);
        else if (jm_json_is_array(v)) /* a list of supplies in place of their collection */
            for (size_t k = 0; k < jm_json_len(v) && k < 256; k++)
                link_add(b, jm_json_at(v, k), keys[i], JM_RF_LINK_FOLLOW);
    }
    for (size_t i = 0; i < jm_json_len(members) && jm_json_is_array(members) && !b->rc; i++)
        if (jm_json_len(jm_json_at(members, i)) <= 1)
            link_add(b, jm_json_at(members, i), "Members", JM_RF_LINK_MEMBER);
    oem_links(b);
    if ((v = jm_json_get(b->root, "Members@odata.nextLink")))
        link_add(b, v, "nextLink", JM_RF_LINK_NEXT);
}
