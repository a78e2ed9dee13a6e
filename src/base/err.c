/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

int jm_err_vset(struct jm_err *err, int code, const char *fmt, va_list ap)
{
    if (err) {
        char text[sizeof err->text];
        vsnprintf(text, sizeof text, fmt, ap); /* fmt's arguments may point into err->text */
        memcpy(err->text, text, sizeof text);
        err->code = code;
    }
    return code;
}

int jm_err_set(struct jm_err *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    jm_err_vset(err, code, fmt, ap);
    va_end(ap);
    return code;
}

int jm_err_sys(struct jm_err *err, int errnum, const char *fmt, ...)
{
    int code = JM_EIO;
    switch (errnum) {
    case EACCES:
    case EPERM: code = JM_EDENIED; break;
    case ENOENT: code = JM_EABSENT; break;
    case ENOSPC:
    case EDQUOT: code = JM_EFULL; break;
    case ENOMEM: code = JM_ENOMEM; break;
    default: break;
    }
    if (err) {
        va_list ap;
        char why[128];
        va_start(ap, fmt);
        jm_err_vset(err, code, fmt, ap);
        va_end(ap);
        size_t n = strlen(err->text);
        const char *s = strerror_r(errnum, why, sizeof why);
        snprintf(err->text + n, sizeof err->text - n, ": %s", s);
    }
    return code;
}

int jm_err_prefix(struct jm_err *err, const char *fmt, ...)
{
    if (!err)
        return JM_EIO;
    char text[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, ": %s", err->text);
    memcpy(err->text, text, sizeof text);
    return err->code;
}

const char *jm_ecode_name(int code)
{
    static const char *const names[] = {"ok",      "invalid",     "memory",  "io",       "denied",
                                        "absent",  "unsupported", "parse",   "range",    "full",
                                        "timeout", "state",       "version", "corrupt",  "network",
                                        "tls",     "limit",       "usage",   "conflict", "again"};
    size_t i = (size_t)(code < 0 ? -(long)code : code);
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}
