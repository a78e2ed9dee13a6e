/* SPDX-License-Identifier: Apache-2.0 */
/* INI files as Python's configparser reads them, in memory. */
#ifndef JM_MLPERF_INI_H
#define JM_MLPERF_INI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/span.h"

struct jm_ini_item {
    char *section, *key, *value; /* as written, blanks at the ends gone; lines of a value joined by LF */
    int line;
    bool used;
};
struct jm_ini {
    struct jm_ini_item *item; /* a section without options is one item with key NULL */
    size_t n, cap;
    const char *file;
};

/* At most 1 MiB and 4096 items. JM_EUSAGE: "FILE:LINE: …". */
int jm_ini_parse(struct jm_span text, const char *file, struct jm_ini *out, struct jm_err *err);
void jm_ini_release(struct jm_ini *ini);
/* Case-insensitive; NULL: not there. Marks it used. */
struct jm_ini_item *jm_ini_find(struct jm_ini *ini, const char *section, const char *key);
bool jm_ini_has(const struct jm_ini *ini, const char *section);

#endif
