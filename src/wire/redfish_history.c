/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of means that a service keeps: HPE's power meters (HpePowerMeter: PowerDetail, in older firmware
 * Samples) and IBM's history of a supply (InputPowerHistoryItems). The newest entry counts. See
 * wire/redfish.h. */
#include "wire/redfish_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static int64_t time_of(const struct jm_json *entry)
{
    int64_t t = jm_rf_stamp(jm_json_get(entry, "Time"));
    return t ? t : jm_rf_stamp(jm_json_get(entry, "Date"));
}

/* Services list the newest first; where times are told, they decide. */
static const struct jm_json *newest(const struct jm_json *list, int64_t *t)
{
    const struct jm_json *best = jm_json_at(list, 0);
    *t = time_of(best);
    for (size_t i = 1; i < jm_json_len(list); i++) {
        const struct jm_json *e = jm_json_at(list, i);
        if (time_of(e) > *t) {
            best = e;
            *t = time_of(e);
        }
    }
    return best;
}

static void entry_of(struct jm_rf_body *b, const char *list, const struct jm_json *items, double interval_s,
                     bool supply)
{
    static const struct {
        const char *key;
        enum jm_rf_kind kind;
        enum jm_rf_of of;
    } rows[] = {{"Average", JM_RF_MEAN, JM_RF_NODE},       {"Minimum", JM_RF_MIN, JM_RF_NODE},
                {"Peak", JM_RF_MAX, JM_RF_NODE},           {"Maximum", JM_RF_MAX, JM_RF_NODE},
                {"CpuWatts", JM_RF_MEAN, JM_RF_CPU},       {"DimmWatts", JM_RF_MEAN, JM_RF_MEMORY},
                {"GpuWatts", JM_RF_MEAN, JM_RF_GPUS},      {"FanWatts", JM_RF_MEAN, JM_RF_FANS},
                {"SharedFanWatts", JM_RF_MEAN, JM_RF_FANS}};
    int64_t t;
    const struct jm_json *e = newest(items, &t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct jm_json *v = jm_json_get(e, rows[i].key);
        struct jm_rf_reading *r = v ? jm_rf_add(b, rows[i].key) : NULL;
        if (!r)
            continue;
        r->kind = rows[i].kind;
        if (!supply || rows[i].of != JM_RF_NODE) {
            r->of = rows[i].of;
            r->scope = rows[i].of == JM_RF_NODE   ? JM_RF_SIDE_UNKNOWN
                       : rows[i].of == JM_RF_GPUS ? JM_RF_BOARD
                                                  : JM_RF_COMPONENT;
        } else {
            r->of = JM_RF_PSU;
            r->scope = JM_RF_AC_INPUT;
        }
        r->interval_s = interval_s;
        r->time = t;
        jm_rf_put(r, v, 1);
        snprintf(r->source, sizeof r->source, "%.140s#/%.30s/%.30s", b->uri, list, rows[i].key);
        snprintf(r->name, sizeof r->name, "%.40s %.40s", b->set->id[0] ? b->set->id : list, rows[i].key);
        if (r->status == JM_S_OK && r->value == 0) /* what is not metered is written as 0 */
            r->status = JM_S_ABSENT;
    }
}

void jm_rf_history(struct jm_rf_body *b)
{
    static const char *const lists[] = {"PowerDetail", "Samples"};
    struct jm_span type = {NULL, 0};
    jm_json_str(jm_json_get(b->root, "@odata.type"), &type);
    const struct jm_json *items = jm_json_path(b->root, "Oem.IBM.InputPowerHistoryItems");
    if (jm_json_is_array(items) && jm_json_len(items)) /* IBM: one entry each 30 s, of the input */
        entry_of(b, "InputPowerHistoryItems", items, 30, true);
    if (!jm_span_ihas(type, "PowerMeter"))
        return;
    /* "FastPowerMeter": 10 s for 20 minutes, "PowerMeter": 5 minutes for a day */
    const char *id = b->set->id;
    double interval_s = strcmp(id, "FastPowerMeter") == 0 ? 10 : strcmp(id, "PowerMeter") == 0 ? 300 : NAN;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        items = jm_json_get(b->root, lists[i]);
        if (jm_json_is_array(items) && jm_json_len(items)) {
            entry_of(b, lists[i], items, interval_s, false);
            return;
        }
    }
}
