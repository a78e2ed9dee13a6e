/* SPDX-License-Identifier: Apache-2.0 */
/* What was found out about an instrument: how often it refreshes, over how long it averages, how late it is,
 * and how it stands to a better one. A small file of JSON, kept with the runs; schema "joulemark.passport/1".
 */
#ifndef JM_MODEL_PASSPORT_H
#define JM_MODEL_PASSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

#define JM_PASSPORT_SCHEMA "joulemark.passport/1"
#define JM_PASSPORT_MAX    (1u << 20)
#define JM_PASSPORT_ROWS   4096

/* A number that was found, with a 95 % interval; all NAN: it was not found, and the row says why. */
struct jm_trait {
    double value, lo, hi;
};

struct jm_passport_row {
    char device[96], channel[64], source[64], meter[32];
    struct jm_trait period, window, lag; /* s */
    struct jm_trait duty;                /* window over period, where that is below 1 */
    struct jm_trait gain, offset;        /* against the better instrument: shown = offset + gain x true; W */
    char against[160];                   /* which one that was; "" none */
    char note[192];                      /* why something is missing, or what a number is not; "" */
};

struct jm_passport {
    char date[40], host[96], driver[64], joulemark[32], load[96],
        run[65]; /* run: SHA-256 of the run it rests on */
    struct jm_passport_row *row;
    size_t n;
};

void jm_passport_release(struct jm_passport *p);
struct jm_passport_row *jm_passport_add(struct jm_passport *p); /* traits NAN; NULL: no memory */
void jm_passport_write(const struct jm_passport *p, struct jm_str *out);
/* JM_EPARSE, JM_EVERSION, JM_ELIMIT. Free with jm_passport_release also after a failure. */
int jm_passport_read(struct jm_span text, struct jm_passport *out, struct jm_err *err);
/* The row of a channel of a device, or NULL. */
const struct jm_passport_row *jm_passport_find(const struct jm_passport *p, const char *device,
                                               const char *channel);

#endif
