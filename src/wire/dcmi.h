/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of IPMI replies that carry power or energy: DCMI 1.5 Get Power Reading (6.6.1), Intel Node Manager's
 * statistics (0xC8) and the energy counter of Lenovo's SD650 family. A body begins with the completion
 * code. */
#ifndef JM_WIRE_DCMI_H
#define JM_WIRE_DCMI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "model/words.h"

enum {
    JM_IPMI_CC_BUSY = 0xc0,
    JM_IPMI_CC_INVALID = 0xc1,
    JM_IPMI_CC_TIMEOUT = 0xc3,
    JM_IPMI_CC_DENIED = 0xd4,
    JM_IPMI_CC_STATE = 0xd5,
    JM_IPMI_CC_OTHER = 0xff
};
/* "node busy", "invalid command", ...; "unknown" for the others. */
const char *jm_ipmi_cc_text(unsigned cc);
/* What a completion code says of the reading: ok, a gap that may pass (busy, 0xff), unsupported, denied. */
enum jm_status jm_ipmi_cc_status(unsigned cc);

struct jm_dcmi_power {
    unsigned cc; /* completion code; nothing else is meaningful unless it is 0 */
    uint16_t current_w, min_w, max_w;
    uint16_t average_w; /* since the statistics began, or over period_ms: seldom the last second */
    uint32_t time_s;    /* the BMC's clock, often unset */
    uint32_t period_ms; /* what minimum, maximum and average are over: days, with many BMCs */
    bool active;        /* bit 6 of the state: the BMC says that it measures */
};
/* 0, or JM_EPARSE: too short, or not of group 0xDC. */
int jm_dcmi_power(struct jm_span body, struct jm_dcmi_power *out);
/* Whether current_w is a measurement: 0 W and 65535 W are what BMCs say that have none. Below the minimum or
 * above the maximum of the same statistics it is of something else: conflict. A BMC that says it does not
 * measure may still give a good value (openbmc/openbmc#3257): *declared is set then. */
enum jm_status jm_dcmi_status(const struct jm_dcmi_power *p, bool *declared);

struct jm_nm_stats {
    unsigned cc;
    uint16_t current_w, min_w, max_w, average_w;
    uint32_t time_s, period_s;
    bool active, measuring; /* the policy is enabled; measurements are in progress */
};
/* Intel Node Manager Get Statistics (NetFn 2Eh, cmd C8h), mode 1: power of the whole platform. */
int jm_nm_stats(struct jm_span body, struct jm_nm_stats *out);
enum jm_status jm_nm_status(const struct jm_nm_stats *p);

struct jm_lenovo_energy {
    unsigned cc;
    int64_t mj;      /* counter */
    int64_t time_ms; /* the counter's own stamp */
};
/* Lenovo SD650, NetFn 3Ah cmd 32h, data 04 02 00 00 00. */
int jm_lenovo_energy(struct jm_span body, struct jm_lenovo_energy *out);

/* "dc 4c 01" and line ends, as `ipmitool raw` prints a reply: into out, which gets the completion code 0 in
 * front. Bytes written, or JM_EPARSE, JM_ELIMIT. */
int jm_ipmi_hex(struct jm_span text, uint8_t *out, size_t cap);

#endif
