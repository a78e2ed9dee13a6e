/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's management library: loaded when it is there, its symbols each optional, without its headers. */
#ifndef JM_METER_DYNLIB_H
#define JM_METER_DYNLIB_H

#include <stdbool.h>

#include "base/err.h"

struct jm_dynlib {
    void *handle;
    bool simulated; /* it says that its values are made up */
    char file[256]; /* the name that was loaded */
};

/* Loads the first of the names that is there; names end with NULL. JM_EABSENT with the loader's own words on
 * the first. Nothing is called. */
int jm_dynlib_open(struct jm_dynlib *lib, const char *const *names, struct jm_err *err);
/* The first of the symbols that it has (newest name first, all of one ABI), NULL: none. */
void *jm_dynlib_symbol(const struct jm_dynlib *lib, const char *const *names);
void jm_dynlib_close(struct jm_dynlib *lib);

/* For a table X(member, prototype, names...): members of the struct, and their loading into api->member from
 * lib. */
#define JM_DYNLIB_MEMBER(member, type, ...) __typeof__(type) member;
#define JM_DYNLIB_LOAD(api, lib, member, ...)                                                                \
    {                                                                                                        \
        void *found_ = jm_dynlib_symbol((lib), (const char *const[]){__VA_ARGS__, NULL});                    \
        memcpy(&(api)->member, &found_, sizeof found_);                                                      \
    }

#endif
