/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: every function that can fail returns 0 or a negative JM_E*, and fills a caller-owned jm_err with
 * one complete sentence (what, on what, why, what to do). On success the jm_err is untouched. */
#ifndef JM_BASE_ERR_H
#define JM_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

enum jm_ecode {
    JM_OK = 0,
    JM_EINVAL = -1,       /* the caller's argument is wrong */
    JM_ENOMEM = -2,       /* out of memory */
    JM_EIO = -3,          /* the system failed to read or write */
    JM_EDENIED = -4,      /* no permission */
    JM_EABSENT = -5,      /* not there */
    JM_EUNSUPPORTED = -6, /* there, but it cannot do this */
    JM_EPARSE = -7,       /* the bytes do not follow the format */
    JM_ERANGE = -8,       /* a number does not fit */
    JM_EFULL = -9,        /* no space left */
    JM_ETIMEOUT = -10,
    JM_ESTATE = -11,   /* called at the wrong moment */
    JM_EVERSION = -12, /* made by a newer version */
    JM_ECORRUPT = -13, /* damaged */
    JM_ENET = -14,     /* connection refused, reset, unreachable */
    JM_ETLS = -15,
    JM_ELIMIT = -16,    /* a stated limit was reached */
    JM_EUSAGE = -17,    /* a command line or configuration is wrong */
    JM_ECONFLICT = -18, /* two things that must agree do not */
    JM_EAGAIN = -19     /* nothing to read now */
};

struct jm_err {
    int code;
    char text[1024];
};

/* Sets err (may be NULL) and returns code, so that a caller writes return jm_err_set(err, JM_EIO, "...",
 * ...). */
int jm_err_set(struct jm_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int jm_err_vset(struct jm_err *err, int code, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

/* The same from errno: ": <strerror>" is appended. EACCES and EPERM become JM_EDENIED, ENOENT JM_EABSENT,
 * ENOSPC and EDQUOT JM_EFULL, ENOMEM JM_ENOMEM, everything else JM_EIO. */
int jm_err_sys(struct jm_err *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text of err and returns its code. */
int jm_err_prefix(struct jm_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Short name of a code ("denied", "absent", ...), for JSON and logs. */
const char *jm_ecode_name(int code);

#endif
