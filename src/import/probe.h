/* SPDX-License-Identifier: Apache-2.0 */
/* What a file looks like inside, so that importers tell theirs by content and not by name. One look for all.
 */
#ifndef JM_IMPORT_PROBE_H
#define JM_IMPORT_PROBE_H

#include <stdbool.h>

#include "import/json_walk.h"

#define JM_PROBE_KEYS 600

struct jm_probe {
    const char *path;
    bool dir;
    const struct jm_ifile *f; /* NULL: a folder, or not readable */
    bool json;                /* begins with an object or array */
    bool list;           /* the first document is an array; its first item is what keys speak of ("[].x") */
    bool many;           /* another document follows the first (JSON lines) */
    bool sqlite;         /* an SQLite database that is no run file */
    struct jm_span line; /* the first line that is not blank, at most 4096 bytes */
    struct {
        char path[112]; /* "metrics.ttft.avg", "benchmarks[].config": up to four names deep, first items only
                         */
        struct jm_jtoken v;
    } key[JM_PROBE_KEYS]; /* of the first 4 MiB of the first document */
    int n;
};

/* f: the opened file, or NULL. */
void jm_probe_look(struct jm_probe *p, const char *path, const struct jm_ifile *f);
/* NULL: no such member. */
const struct jm_jtoken *jm_probe_key(const struct jm_probe *p, const char *path);
bool jm_probe_is(const struct jm_probe *p, const char *path, const char *text);

/* A row of a format's marks: how much the presence of a key speaks for it. */
struct jm_probe_mark {
    const char *path;
    int points; /* 0: it must be there; negative: speaks against */
};
/* 0..100 from marks (ended by path == NULL); 0 when a needed key is absent. */
int jm_probe_score(const struct jm_probe *p, const struct jm_probe_mark *marks);

#endif
