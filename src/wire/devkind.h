/* SPDX-License-Identifier: Apache-2.0 */
/* What a number about a device is, for those who read it from a text or from a foreign library. */
#ifndef JM_WIRE_DEVKIND_H
#define JM_WIRE_DEVKIND_H

#include "model/nvml_meaning.h"

/* A quantity. */
struct jm_dev_kind {
    const char *name; /* of the channel: "power.average", "energy" */
    enum jm_channel_kind kind;
    enum jm_unit unit;
    int text10;  /* the source's numbers are in the unit x 10^text10: -3 for mW */
    int scale10; /* of the channel */
    enum jm_gauge_sem sem;
    int64_t window_ns, period_ns;
    enum jm_provenance provenance;
    unsigned flags;
    double sane_max; /* 0: none */
    const char *scope, *source;
};

/* The gauge kind of an NVIDIA power query by product name and driver ("" and 0: not known). */
struct jm_dev_kind jm_dev_nvml(enum jm_nvml_query q, struct jm_span product, int driver_major,
                               const char *source);
/* The same quantity where somebody takes a look at it every look_ns only (DCGM's watch, an exporter) and
 * shows that until the next: what lies between two looks is not in it. */
void jm_dev_sampled(struct jm_dev_kind *k, int64_t look_ns);

/* DCGM's marks for values that it does not have (dcgm_structs.h: INT32, INT64 and FP64 blanks and the three
 * above each). The status says which: not known, not found, not supported, no permission. */
bool jm_dcgm_blank(double v, enum jm_status *why);
bool jm_dcgm_blank_i64(int64_t v, enum jm_status *why);

/* Decimal text in the unit x 10^text10 as an integer at scale10, exact where its digits allow. JM_S_ABSENT:
 * NaN or infinity; JM_S_GAP: no number; a blank as above; JM_S_IMPLAUSIBLE: too large or below 0. */
enum jm_status jm_dev_native(struct jm_span text, int text10, int scale10, int64_t *out);

#endif
