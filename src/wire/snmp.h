/* SPDX-License-Identifier: Apache-2.0 */
/* SNMP messages (RFC 3416, RFC 3412) as bytes: BER in and out, versions 2c and 3 with the user-based security
 * model (RFC 3414, RFC 7860, RFC 3826). Nothing is allocated and no state is shared, so that each instrument
 * can have a thread of its own: net-snmp keeps its USM users in one unlocked list of the process. */
#ifndef JM_WIRE_SNMP_H
#define JM_WIRE_SNMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

#define JM_SNMP_OID_MAX 64
#define JM_SNMP_MSG_MAX 16384 /* bytes of a message that is made or taken */

struct jm_snmp_oid {
    uint32_t id[JM_SNMP_OID_MAX];
    size_t n;
};
/* ".1.3.6.1" or "1.3.6.1"; false: no OID, or longer than JM_SNMP_OID_MAX. */
bool jm_snmp_oid_parse(struct jm_span text, struct jm_snmp_oid *out);
/* Dotted text without a leading dot, cut at cap; returns out. */
char *jm_snmp_oid_text(const struct jm_snmp_oid *o, char *out, size_t cap);
bool jm_snmp_oid_below(const struct jm_snmp_oid *o, const struct jm_snmp_oid *base); /* or equal */
int jm_snmp_oid_cmp(const struct jm_snmp_oid *a, const struct jm_snmp_oid *b);
bool jm_snmp_oid_add(struct jm_snmp_oid *o, uint32_t id);

enum jm_snmp_type {
    JM_SNMP_INTEGER = 0x02,
    JM_SNMP_OCTETS = 0x04,
    JM_SNMP_NULL = 0x05,
    JM_SNMP_OID = 0x06,
    JM_SNMP_IPADDRESS = 0x40,
    JM_SNMP_COUNTER32 = 0x41,
    JM_SNMP_GAUGE32 = 0x42,
    JM_SNMP_TICKS = 0x43,
    JM_SNMP_OPAQUE = 0x44,
    JM_SNMP_COUNTER64 = 0x46,
    JM_SNMP_NO_OBJECT = 0x80,
    JM_SNMP_NO_INSTANCE = 0x81,
    JM_SNMP_END = 0x82
};

struct jm_snmp_value {
    enum jm_snmp_type type;
    bool is_int;   /* num holds it: integers, counters, gauges, ticks up to 2^63 - 1 */
    bool is_float; /* Opaque with a float or double inside: real holds it */
    int64_t num;
    double real;
    struct jm_span bytes; /* contents, borrowed */
};
bool jm_snmp_value_oid(const struct jm_snmp_value *v, struct jm_snmp_oid *out);
/* A number at a power-of-ten scale: integers are taken as they are with scale10 0; octets with decimal text
 * ("1.23") and floats become the mantissa at 10^scale10, rounded. False: no number. */
bool jm_snmp_value_number(const struct jm_snmp_value *v, int scale10, int64_t *out);

enum jm_snmp_pdu_tag {
    JM_SNMP_GET = 0xa0,
    JM_SNMP_GETNEXT = 0xa1,
    JM_SNMP_RESPONSE = 0xa2,
    JM_SNMP_GETBULK = 0xa5,
    JM_SNMP_REPORT = 0xa8
};

struct jm_snmp_pdu {
    uint8_t tag;
    int32_t request;
    int32_t error, index;    /* of GETBULK: non-repeaters and max-repetitions */
    struct jm_span varbinds; /* contents of the list */
};
enum { JM_SNMP_TOO_BIG = 1, JM_SNMP_NO_SUCH_NAME = 2, JM_SNMP_GEN_ERR = 5, JM_SNMP_NO_ACCESS = 6 };

/* Appends (oid, NULL) at buf + *at; false: no room. */
bool jm_snmp_ask(uint8_t *buf, size_t cap, size_t *at, const struct jm_snmp_oid *oid);
/* Takes the next pair off *rest: 1, 0 at the end, JM_EPARSE. */
int jm_snmp_next(struct jm_span *rest, struct jm_snmp_oid *oid, struct jm_snmp_value *v);

enum jm_snmp_auth { JM_SNMP_NOAUTH, JM_SNMP_SHA1, JM_SNMP_SHA256 };

/* Who is talked to. Version 2c: community. Version 3: user and keys, and what discovery found. */
struct jm_snmp_peer {
    int version; /* 2: 2c, 3 */
    char community[128];
    char user[64];
    enum jm_snmp_auth auth;
    bool priv;                                /* AES-128-CFB */
    uint8_t auth_secret[32], priv_secret[32]; /* of the passwords, not yet of the engine */
    uint8_t auth_key[32], priv_key[32];       /* localised to engine */
    uint8_t engine[32];
    size_t engine_n; /* 0: not discovered */
    uint32_t boots, time;
    uint64_t salt; /* of the next message; begins at a random number */
    char context[64];
};
/* The key of a password (RFC 3414 A.2: its repetition to 1 MiB hashed). False: shorter than 8 bytes. */
bool jm_snmp_password(enum jm_snmp_auth auth, struct jm_span password, uint8_t key[32]);
/* The keys of both secrets at peer->engine. */
void jm_snmp_localize(struct jm_snmp_peer *p);

/* A whole message in out; its length, or JM_ELIMIT. id: of the message (version 3), and of the request. With
 * no engine known, a version 3 message is the question for it. */
int jm_snmp_encode(struct jm_snmp_peer *p, const struct jm_snmp_pdu *pdu, uint8_t *out, size_t cap);

enum jm_snmp_taken {
    JM_SNMP_TAKEN,       /* pdu is an answer */
    JM_SNMP_ENGINE,      /* engine, boots or time were learnt: ask again */
    JM_SNMP_WRONG_USER,  /* the peer does not know the user */
    JM_SNMP_WRONG_KEY,   /* wrong authentication key, or the reply's own is wrong */
    JM_SNMP_WRONG_LEVEL, /* the peer does not serve this security level */
    JM_SNMP_WRONG_PRIV   /* the peer cannot decrypt what it is sent */
};
/* Decodes msg in place (it is decrypted there). One of jm_snmp_taken, or JM_EPARSE; JM_EDENIED where it is of
 * another community or not as secure as what is asked. */
int jm_snmp_decode(struct jm_snmp_peer *p, uint8_t *msg, size_t n, struct jm_snmp_pdu *pdu);

/* AES-128 of one block (FIPS 197), encryption only: all that CFB needs. */
void jm_aes128(const uint8_t key[16], const uint8_t in[16], uint8_t out[16]);
/* Whole blocks; iv is of the message. */
void jm_aes128_cbc(const uint8_t key[16], const uint8_t iv[16], bool decrypt, uint8_t *data, size_t n);
void jm_aes128_cfb(const uint8_t key[16], const uint8_t iv[16], bool decrypt, uint8_t *data, size_t n);

#endif
