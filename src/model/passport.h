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
    char driver[64], firmware[96];       /* that it was found under; "" nothing tells */
    struct jm_trait period, window, lag; /* s */
    struct jm_trait duty;                /* window over period, where that is below 1 */
    struct jm_trait gain, offset;        /* against the better instrument: shown = offset + gain x true; W */
    double from_w, to_w;                 /* what it showed meanwhile, W: gain and offset hold there; NAN */
    char against[160];                   /* which one that was; "" none */
    /* The better one reads the very same domain: gain and offset are errors of this instrument, which can be
     * taken out. Else they are a relation between two places, and no correction. */
    bool same;
    double against_gain, against_offset; /* accuracy that the better one states: relative, and W; NAN */
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

/* ---- is it of that instrument? */

/* A channel as a run has it; "" where nothing tells. */
struct jm_passport_for {
    const char *device, *channel, *meter, *host;
    char driver[64], firmware[96];
};

/* Fills driver and firmware of a channel by the facts of its meter (keys as in a run's environment): the
 * driver of a GPU, the kernel of what the kernel reads, the identity of a configured instrument. */
typedef const char *(*jm_passport_fact_fn)(const void *self, const char *key);
void jm_passport_identify(struct jm_passport_for *x, const char *instance, jm_passport_fact_fn fact,
                          const void *self);

enum jm_passport_match {
    JM_PASSPORT_OTHER, /* another device or channel */
    JM_PASSPORT_FITS,
    JM_PASSPORT_DRIVER, /* the same one under another driver, firmware or host */
    JM_PASSPORT_FIRMWARE,
    JM_PASSPORT_HOST
};
/* A device that has no name of its own in the world ("package-0", "outlet 3") is the same one only on the
 * same host or in an instrument with the same identity. */
enum jm_passport_match jm_passport_match(const struct jm_passport *p, const struct jm_passport_row *r,
                                         const struct jm_passport_for *x);
/* Is it a passport of any of these channels? JM_ECONFLICT with one sentence: another device, driver or
 * firmware. any_driver: another driver or firmware is accepted. */
int jm_passport_fits(const struct jm_passport *p, const struct jm_passport_for *x, size_t n, bool any_driver,
                     struct jm_err *err);

/* A passport as it is used: the file's bytes stand behind it by their hash. */
struct jm_passport_file {
    struct jm_passport p;
    char name[96], sha256[65];
    bool any_driver;
};
/* Reads the text and fills p and sha256; name: of the file. Release p in any case. */
int jm_passport_take(struct jm_span text, const char *name, struct jm_passport_file *out, struct jm_err *err);
/* Names of raw entries of a run that are passports. */
#define JM_PASSPORT_RAW "passport/"

#endif
