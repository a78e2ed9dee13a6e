/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim-ptd: joulemark-sim ptd as one word, for whoever launches a PTDaemon by its path. */
#include "sim_main.h"

#include <stdio.h>

int sim_fail(int status, const char *text)
{
    fprintf(stderr, "joulemark-sim: %s\n", text);
    return status;
}

int main(int argc, char **argv)
{
    return sim_cmd_ptd(argc, argv);
}
