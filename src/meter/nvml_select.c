/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs: the rules of CUDA_VISIBLE_DEVICES (CUDA C Programming Guide, "CUDA Environment Variables"), so
 * that the same text selects the same boards as in the engine:
 *
 *   an index counts devices; here in PCI bus order, as with CUDA_DEVICE_ORDER=PCI_BUS_ID. CUDA's default
 * order (fastest first) is the same where all devices are alike; NVML's own order is neither. "GPU-8932f937"
 * is any unique beginning of a UUID "MIG-<uuid>", "MIG-GPU-<uuid>/<gi>/<ci>" are a slice: power exists for
 * the whole board only, so its parent is taken the first entry that names nothing ends the list: those before
 * it count, those after it do not
 *
 * A device that is named twice counts once. */
#include "meter/nvml.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/banned.h"

static int by_ordinal(const struct jm_nvml_session *s, int64_t want)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->gpu[i].ret == JM_NVML_OK && s->gpu[i].ordinal == want)
            return (int)i;
    return -1;
}

/* -1: none, -2: several */
static int by_uuid(const struct jm_nvml_session *s, struct jm_span prefix)
{
    int found = -1;
    for (size_t i = 0; i < s->n; i++) {
        if (s->gpu[i].ret != JM_NVML_OK || !jm_span_starts(jm_span_of(s->gpu[i].uuid), prefix))
            continue;
        if (found >= 0)
            return -2;
        found = (int)i;
    }
    return found;
}

static int by_mig_uuid(const struct jm_nvml_session *s, struct jm_span want)
{
    const struct jm_nvml_api *a = &s->api;
    int found = -1;
    for (size_t i = 0; i < s->n; i++) {
        unsigned max = 0;
        if (s->gpu[i].ret != JM_NVML_OK || !s->gpu[i].mig || !a->mig_max || !a->mig_by_index || !a->uuid ||
            a->mig_max(s->gpu[i].dev, &max) != JM_NVML_OK)
            continue;
        for (unsigned k = 0; k < max && k < 64; k++) { /* the index has holes */
            jm_nvml_dev mig;
            char uuid[96];
            if (a->mig_by_index(s->gpu[i].dev, k, &mig) != JM_NVML_OK ||
                a->uuid(mig, uuid, sizeof uuid) != JM_NVML_OK)
                continue;
            uuid[sizeof uuid - 1] = '\0';
            if (!jm_span_starts(jm_span_of(uuid), want))
                continue;
            if (found >= 0 && found != (int)i)
                return -2;
            found = (int)i;
        }
    }
    return found;
}

static int find(const struct jm_nvml_session *s, struct jm_span entry)
{
    int64_t index;
    if (jm_span_starts(entry, JM_SPAN("MIG-GPU-"))) { /* up to driver 470; the new form of CUDA's guide */
        struct jm_span rest = jm_span_sub(entry, 4, entry.n), uuid;
        jm_span_field(&rest, '/', &uuid);
        return uuid.n > 4 ? by_uuid(s, uuid) : -1;
    }
    if (jm_span_starts(entry, JM_SPAN("MIG-")))
        return entry.n > 4 ? by_mig_uuid(s, entry) : -1;
    if (jm_span_starts(entry, JM_SPAN("GPU-")))
        return entry.n > 4 ? by_uuid(s, entry) : -1;
    if (entry.n && entry.p[0] >= '0' && entry.p[0] <= '9' && jm_num_i64(entry, &index) == 0)
        return by_ordinal(s, index);
    return -1;
}

static bool alike(const struct jm_nvml_session *s)
{
    const char *first = NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (s->gpu[i].ret != JM_NVML_OK)
            continue;
        if (first && strcmp(first, s->gpu[i].name) != 0)
            return false;
        first = s->gpu[i].name;
    }
    return true;
}

void jm_nvml_select(struct jm_nvml_session *s, const char *list)
{
    s->note[0] = '\0';
    s->n_selected = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->gpu[i].selected = !list && s->gpu[i].ret == JM_NVML_OK;
        s->n_selected += s->gpu[i].selected;
    }
    if (!list)
        return;
    struct jm_span rest = jm_span_of(list), entry;
    while (jm_span_field(&rest, ',', &entry)) {
        entry = jm_span_trim(entry);
        int i = find(s, entry);
        if (i < 0) {
            snprintf(s->note, sizeof s->note, "\"%.*s\" %s: it and what follows it select nothing",
                     (int)(entry.n < 64 ? entry.n : 64), entry.n ? entry.p : "",
                     i == -2 ? "begins more than one UUID" : "is no device here");
            return;
        }
        if (entry.p[0] != 'G' && entry.p[0] != 'M' && !alike(s))
            snprintf(s->note, sizeof s->note,
                     "the GPUs differ: indices count in PCI bus order, as with CUDA_DEVICE_ORDER=PCI_BUS_ID");
        if (!s->gpu[i].selected)
            s->n_selected++;
        s->gpu[i].selected = true;
    }
}
