/* SPDX-License-Identifier: Apache-2.0 */
/* SNMP messages of version 2c and 3 (first byte: which, and with which keys), and all that is in them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/snmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_snmp_peer peer = {.version = 2, .community = "public", .user = "u"};
    struct jm_snmp_pdu pdu;
    struct jm_snmp_oid oid, inner;
    struct jm_snmp_value v;
    char text[32];
    int64_t x;
    if (!n || n > JM_SNMP_MSG_MAX)
        return 0;
    if (p[0] & 1) {
        peer.version = 3;
        peer.auth = p[0] & 2 ? JM_SNMP_NOAUTH : p[0] & 4 ? JM_SNMP_SHA1 : JM_SNMP_SHA256;
        peer.engine_n = p[0] & 8 ? 5 : 0;
        peer.priv = p[0] & 16;
    }
    uint8_t *msg = malloc(n); /* the message ends where its memory does */
    if (!msg)
        return 0;
    memcpy(msg, p + 1, n - 1);
    int rc = jm_snmp_decode(&peer, msg, n - 1, &pdu);
    size_t guard = 0;
    while (rc == JM_SNMP_TAKEN && jm_snmp_next(&pdu.varbinds, &oid, &v) == 1) {
        if (!oid.n || oid.n > JM_SNMP_OID_MAX || guard++ > n)
            abort();
        jm_snmp_oid_text(&oid, text, sizeof text);
        jm_snmp_value_oid(&v, &inner);
        jm_snmp_value_number(&v, (int)(p[0] % 7) - 3, &x);
    }
    /* as a list by itself, which reaches values without a message around them */
    struct jm_span rest = {(char *)msg, n - 1};
    for (guard = 0; jm_snmp_next(&rest, &oid, &v) == 1; guard++)
        if (guard > n)
            abort();
    jm_snmp_oid_parse((struct jm_span){(const char *)p, n}, &oid);
    free(msg);
    return 0;
}
