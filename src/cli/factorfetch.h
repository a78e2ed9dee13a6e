/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a service for carbon intensities or prices of the past, once: the answer is stored as it came and
 * read from there ever after. */
#ifndef JM_CLI_FACTORFETCH_H
#define JM_CLI_FACTORFETCH_H

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

struct jm_factor_fetch {
    const char *what; /* "uk", "emaps:FR", "entsoe:10YFR-RTE------C", "watttime:CAISO_NORTH" */
    const char *since, *until;
    const char *cache;      /* directory */
    const char *token_file; /* NULL: none */
    const char *base;       /* address instead of the service's own; NULL */
    bool offline;           /* only what is stored */
};

/* path: where the answer lies, appended. *asked: it was fetched now. JM_EUSAGE, JM_EABSENT (offline and not
 * stored), JM_ENET, ... No sentence holds the token. What cannot be read as factors is not stored. */
int jm_factor_fetch(const struct jm_factor_fetch *f, const struct jm_clock *clock, struct jm_str *path,
                    bool *asked, struct jm_err *err);

#endif
