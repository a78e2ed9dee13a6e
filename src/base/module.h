/* SPDX-License-Identifier: Apache-2.0 */
/* Optional parts: shared objects that bring a library of their own and use nothing of this one. */
#ifndef JM_BASE_MODULE_H
#define JM_BASE_MODULE_H

#include "base/err.h"

struct jm_module {
    const char *file;   /* "joulemark-tls.so" */
    const char *symbol; /* const void *symbol(void): a struct that begins with int abi */
    int abi;
    const char *what;  /* "https": "... is not available, because" */
    const char *needs; /* "OpenSSL 3's headers (libssl-dev)" */
};

/* Loads it: $JM_MODULE_DIR, else modules/ beside the program, else the installed place. JM_EABSENT with a
 * sentence that says how to get it, JM_EVERSION when it is of another build. The module stays loaded. */
int jm_module_load(const struct jm_module *m, const void **ops, struct jm_err *err);

#endif
