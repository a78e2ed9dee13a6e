/* SPDX-License-Identifier: Apache-2.0 */
/* VXI-11 (TCP/IP Instrument Protocol, revision 1.0, its core channel) over ONC RPC (RFC 5531, records of TCP
 * in its section 11), and the one question to a portmapper (RFC 1833). Calls are made, replies are taken
 * apart. */
#ifndef JM_WIRE_VXI11_H
#define JM_WIRE_VXI11_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define JM_VXI11_PORTMAP 111  /* port of the portmapper */
#define JM_VXI11_DATA    1024 /* bytes that one call carries at most */
#define JM_VXI11_CALL    (JM_VXI11_DATA + 128)
#define JM_VXI11_DEVICE  64 /* "inst0", "gpib0,5" */

enum jm_vxi11_proc {
    JM_VXI11_GETPORT = 3, /* of the portmapper: where the core channel is */
    JM_VXI11_CREATE_LINK = 10,
    JM_VXI11_WRITE = 11,
    JM_VXI11_READ = 12,
    JM_VXI11_CLEAR = 15,
    JM_VXI11_DESTROY_LINK = 23
};

struct jm_vxi11_call {
    enum jm_vxi11_proc proc;
    uint32_t xid; /* the reply has the same */
    uint32_t link, timeout_ms;
    struct jm_span data; /* create_link: the device; write: what is sent */
    bool end;            /* write: the last piece of a message */
    uint32_t max;        /* read: no more bytes than that */
};
/* The call with its record mark, which a datagram leaves away (4 bytes). 0: data is too long. */
size_t jm_vxi11_call(const struct jm_vxi11_call *c, uint8_t out[JM_VXI11_CALL]);

enum jm_vxi11_taken { JM_VXI11_OK, JM_VXI11_MORE, JM_VXI11_BAD };
/* The first whole record of buf[n], whose fragments are joined in place: message[size] begins at buf + 4 and
 * used bytes are of it. BAD: longer than max. */
enum jm_vxi11_taken jm_vxi11_record(uint8_t *buf, size_t n, size_t max, size_t *size, size_t *used);

struct jm_vxi11_reply {
    bool other;          /* of another call; nothing else is said */
    const char *refused; /* the RPC layer refuses: why, else NULL */
    uint32_t error;      /* of the device; 0: none */
    uint32_t port;       /* getport; 0: the program is not there */
    uint32_t link, max;  /* create_link: max is the longest piece that it takes */
    uint32_t size;       /* write: bytes taken */
    struct jm_span data; /* read */
    bool end;            /* read: the message is complete */
};
/* A message without its record mark. */
enum jm_vxi11_taken jm_vxi11_reply(enum jm_vxi11_proc proc, uint32_t xid, struct jm_span message,
                                   struct jm_vxi11_reply *out);
/* "the device is locked by another link", ... */
const char *jm_vxi11_error_text(uint32_t error);
enum { JM_VXI11_ETIMEOUT = 15 };

/* "HOST", "HOST:PORT", "[::1]:PORT", each with "/DEVICE" and "?portmap=PORT" behind it. */
struct jm_vxi11_address {
    struct jm_span host;
    char device[JM_VXI11_DEVICE]; /* "inst0" where it is not said */
    int port;                     /* of the core channel; 0: ask the portmapper */
    int portmap;
};
bool jm_vxi11_address(struct jm_span text, struct jm_vxi11_address *out);

#endif
