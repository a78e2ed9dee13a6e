/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of smart plugs: power, energy and time, no socket. Sources: Shelly's API documentation (Gen1,
 * Gen2), Tasmota's documentation (Status 8), the Kasa and Tapo protocols as python-kasa describes them.
 *
 * The key decides the unit: Gen1 counts watt-minutes, its energy meters and Gen2 watt-hours, Tasmota kWh,
 * Kasa W and kWh or mW and Wh. */
#ifndef JM_WIRE_PLUG_H
#define JM_WIRE_PLUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "model/words.h"

#define JM_PLUG_METERS 16

struct jm_plug_meter {
    char part[24]; /* "0", "em:0"; "" for the only one */
    enum jm_status power_status, energy_status;
    double power_w, energy_j; /* meaningless unless ok */
    double step_j;            /* of the counter as written */
    int64_t refreshed; /* Unix s by the plug's clock at which the counter was last moved on; 0: not said */
};

struct jm_plug_reply {
    struct jm_plug_meter m[JM_PLUG_METERS];
    size_t n;
    int64_t unix_s; /* the plug's clock, 0: not said or not set */
};

/* JM_EPARSE with a sentence where the body is no reply of that kind; a plug that measures nothing is
 * JM_EABSENT. */
int jm_plug_shelly1(struct jm_span body, struct jm_plug_reply *out, struct jm_err *err); /* /status */
int jm_plug_shelly2(struct jm_span body, struct jm_plug_reply *out,
                    struct jm_err *err); /* /rpc/Shelly.GetStatus, or one component's status */
int jm_plug_tasmota(struct jm_span body, struct jm_plug_reply *out, struct jm_err *err); /* Status 8 or 10 */
int jm_plug_kasa(struct jm_span body, struct jm_plug_reply *out,
                 struct jm_err *err); /* emeter.get_realtime, decoded */
int jm_plug_tapo(struct jm_span body, struct jm_plug_reply *out,
                 struct jm_err *err); /* get_energy_usage, decrypted: mW, and Wh since midnight */

#define JM_KASA_CHILD 64
/* The outlets of a strip in an answer to system.get_sysinfo, by the ids that ask for them; 0: it is none. */
size_t jm_plug_kasa_children(struct jm_span body, char id[][JM_KASA_CHILD], size_t most);

/* Kasa's framing: a length of four bytes, then each byte XOR the one before it (171 first). */
void jm_kasa_encode(struct jm_span text, struct jm_str *out); /* with the length */
void jm_kasa_decode(const unsigned char *in, size_t n,
                    char *out); /* without it; in and out may be the same */

#endif
