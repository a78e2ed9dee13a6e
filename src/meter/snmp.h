/* SPDX-License-Identifier: Apache-2.0 */
/* PDUs by SNMP: the table of what their agents hold (snmp_pdus.tsv), the talk with one, and the meter. */
#ifndef JM_METER_SNMP_H
#define JM_METER_SNMP_H

#include "meter/instrument.h"
#include "wire/snmp.h"

/* ---- table */

enum jm_pdu_part {
    JM_PDU_DEVICE,
    JM_PDU_INLET,
    JM_PDU_CORD,
    JM_PDU_PHASE,
    JM_PDU_OUTLET,
    JM_PDU_OBJECT,
    JM_PDU_PORT
};
enum jm_pdu_quantity { JM_PDU_POWER, JM_PDU_ENERGY, JM_PDU_VA, JM_PDU_PF, JM_PDU_CURRENT, JM_PDU_VOLTAGE };

struct jm_pdu_row {
    struct jm_span vendor, source;
    struct jm_snmp_oid enterprise; /* n 0: any */
    enum jm_pdu_part part;
    enum jm_pdu_quantity quantity;
    int scale10; /* in W, Wh, VA, 1, A, V */
    uint64_t modulus;
    struct jm_snmp_oid oid, reset, exp, avail; /* n 0: none */
    int64_t tail, without;                     /* last number of the index, and what it never is; -1: any */
    bool reset_scalar;                         /* reset is one object, not a column */
    int exp_sign;
    bool caliber; /* avail is RFC 7460's caliber */
    bool total;   /* avail is RFC 7460's mode of the interval, of the first number of the index */
};
/* Takes the next row off *rest (begin with jm_pdu_table()); false at the end. */
struct jm_span jm_pdu_table(void);
bool jm_pdu_next(struct jm_span *rest, struct jm_pdu_row *row);
/* Stands in the OIDs of a row for the number that a product has in its maker's tree. */
#define JM_PDU_PRODUCT UINT32_MAX
/* Puts the number of sysObjectID there; false: the row is of another maker's agents. */
bool jm_pdu_product(struct jm_pdu_row *row, const struct jm_snmp_oid *system);

/* ---- talk */

struct jm_snmp_io {
    int fd;
    struct jm_snmp_peer peer;
    int timeout_ms; /* of one exchange, all tries together */
    int32_t request;
    int64_t learnt_ms; /* when peer.time was true */
    uint32_t learnt_time;
    uint8_t out[JM_SNMP_MSG_MAX], in[JM_SNMP_MSG_MAX];
    int64_t t0, t1;              /* of the last exchange, by the clock given to ask */
    const struct jm_meter *tell; /* gets what cannot be decoded, and while it is opened all; NULL: nobody */
    const char *origin;
    bool opening;
};
/* address: HOST or HOST:PORT. */
int jm_snmp_io_open(struct jm_snmp_io *io, const char *address, struct jm_err *err);
void jm_snmp_io_close(struct jm_snmp_io *io);
/* One request and its answer: 0, or -errno: -ETIMEDOUT; -EACCES: user, keys or level are wrong (*why says
 * which); -EBADMSG: nothing that can be decoded. Never allocates. pdu's varbinds are valid until the next. */
int jm_snmp_io_ask(struct jm_snmp_io *io, const struct jm_clock *clock, struct jm_snmp_pdu *pdu,
                   const char **why);
/* Every object below base in order; what visit returns, when not 0, ends the walk and is passed on. At most
 * limit objects. */
typedef int (*jm_snmp_visit)(void *self, const struct jm_snmp_oid *oid, const struct jm_snmp_value *v);
int jm_snmp_io_walk(struct jm_snmp_io *io, const struct jm_clock *clock, const struct jm_snmp_oid *base,
                    size_t limit, jm_snmp_visit visit, void *self, const char **why);
/* One object: 1, 0 where there is none, or as ask. */
int jm_snmp_io_get(struct jm_snmp_io *io, const struct jm_clock *clock, const struct jm_snmp_oid *oid,
                   struct jm_snmp_value *v, const char **why);

/* ---- meter */

struct jm_snmp_conf {
    const char *address;
    int version; /* 0: 2c, 1: 3 */
    struct jm_secret community, privacy;
    int auth; /* 0: sha, 1: sha256 */
    const char *context, *vendor;
    const char *outlets; /* "1-12,A3"; NULL: those with a feed, else all */
    double power_scale;
    bool phases;
};

/* What is asked for at each reading. */
struct jm_snmp_slot {
    struct jm_snmp_oid oid;
    size_t at, end; /* its pair in binds */
    bool ok;
    uint8_t status; /* where it is not */
    int64_t num;
    int64_t t0, t1;
};
enum { JM_SNMP_NO_SLOT = -1 };
struct jm_snmp_chan {
    int value, reset, avail; /* slots; value JM_SNMP_NO_SLOT: a sum */
    int64_t factor;          /* 36 for Wh */
    int scale10;             /* of the text or float of a value */
    bool conflict, seen;
    int64_t last_reset;
    uint32_t *sum; /* channels of a sum */
    size_t n_sum;
    struct jm_reading last;
};
struct jm_snmp {
    struct jm_snmp_io io;
    struct jm_snmp_slot *slot;
    size_t n_slot, n_counter_slots, batch;
    uint8_t *binds;
    size_t n_binds, cap_binds;
    struct jm_snmp_chan *chan; /* as many as the meter has channels */
    size_t n_chan;
    int64_t uptime;
    bool uptime_known, rebooted, first;
    char origin[64];
};

/* Makes channels of what the agent holds. */
int jm_snmp_find(struct jm_meter *m, const struct jm_meter_env *env, const struct jm_instrument *in,
                 struct jm_domain_tree *tree, struct jm_err *err);

#endif
