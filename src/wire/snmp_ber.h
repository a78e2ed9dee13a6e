/* SPDX-License-Identifier: Apache-2.0 */
/* BER inside wire/snmp: reading forwards, writing backwards (lengths are then known). */
#ifndef JM_WIRE_SNMP_BER_H
#define JM_WIRE_SNMP_BER_H

#include "wire/snmp.h"

struct ber_w {
    uint8_t *buf;
    size_t at; /* what is written begins here and ends at the end of buf */
    bool full;
};
void ber_bytes(struct ber_w *w, const void *p, size_t n);
void ber_head(struct ber_w *w, uint8_t tag, size_t end); /* around buf[at, end) */
void ber_int(struct ber_w *w, uint8_t tag, int64_t v);
void ber_octets(struct ber_w *w, const void *p, size_t n);

/* Takes one element off *rest. */
bool ber_take(struct jm_span *rest, uint8_t *tag, struct jm_span *contents);
/* The same where it must have this tag. */
bool ber_want(struct jm_span *rest, uint8_t tag, struct jm_span *contents);
bool ber_want_int(struct jm_span *rest, int64_t *out);
bool ber_number(struct jm_span contents, int64_t *out); /* two's complement of 1 to 8 bytes */

#endif
