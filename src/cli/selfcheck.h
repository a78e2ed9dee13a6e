/* SPDX-License-Identifier: Apache-2.0 */
/* bench --selfcheck: the load generator against a server of its own, whose send times are the truth. */
#ifndef JM_CLI_SELFCHECK_H
#define JM_CLI_SELFCHECK_H

#include "cli/cli.h"

struct jm_selfcheck_opts {
    const char *streams; /* "1,100,1000"; NULL: the default */
    bool on, tls;
    int64_t measure; /* ns a row, 0: the default */
    int64_t threads; /* 0: one, on one core */
    bool curl;       /* the other transport */
};

/* Measures and writes the table or the JSON to standard output. Returns an exit status. */
int jm_selfcheck(struct jm_cli *cli, const struct jm_selfcheck_opts *o, struct jm_err *err);

#endif
