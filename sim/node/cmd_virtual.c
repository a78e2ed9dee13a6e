/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim node --minutes: the whole node in virtual time. */
#include "cmd_virtual.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "sim_main.h"
#include "stream.h"

static int say(int status, const char *why)
{
    char text[700];
    snprintf(text, sizeof text, "node: %s", why);
    return sim_fail(status, text);
}

bool sim_node_is_virtual(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--minutes") == 0 || strncmp(argv[i], "--minutes=", 10) == 0)
            return true;
    return false;
}

static int write_to(const char *path, int (*fn)(const struct sim_readings *, FILE *),
                    const struct sim_readings *s)
{
    char why[600];
    FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (f && fn(s, f) == 0 && (f == stdout || fclose(f) == 0))
        return SIM_OK;
    snprintf(why, sizeof why, "%.400s cannot be written: %s.",
             strcmp(path, "-") == 0 ? "standard output" : path, strerror(errno));
    return say(SIM_SYSTEM, why);
}

static int options(struct node_conf *c, int argc, char **argv)
{
    char why[600];
    for (int i = 1; i < argc; i++) {
        char key[64];
        const char *arg = argv[i], *eq = strchr(arg, '=');
        size_t n = eq ? (size_t)(eq - arg) : strlen(arg);
        if (n < 3 || n >= sizeof key || strncmp(arg, "--", 2) != 0) {
            snprintf(why, sizeof why, "\"%.60s\" is no option; --minutes 1 --help lists all.", arg);
            return say(SIM_USAGE, why);
        }
        memcpy(key, arg + 2, n - 2);
        key[n - 2] = 0;
        const char *value = eq ? eq + 1 : i + 1 < argc ? argv[++i] : NULL;
        if (!value) {
            snprintf(why, sizeof why, "--%s needs a value.", key);
            return say(SIM_USAGE, why);
        }
        if (node_conf_say(c, key, value, why, sizeof why))
            return say(SIM_USAGE, why);
    }
    return SIM_OK;
}

int sim_node_virtual(int argc, char **argv)
{
    char why[600];
    struct plant pl;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            node_conf_help();
            return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
        }
    struct node_conf *c = malloc(sizeof *c);
    if (!c)
        return say(SIM_SYSTEM, "There is no memory.");
    node_conf_init(c);
    int rc = options(c, argc, argv);
    if (!rc && plant_make(&pl, &c->plant, why, sizeof why) < 0)
        rc = say(SIM_USAGE, why);
    else if (!rc) {
        struct sim_readings s = {.pl = &pl,
                                 .conf = c->inst,
                                 .host = c->host,
                                 .driver = c->driver,
                                 .truth_step_s = c->truth_step_s,
                                 .clock_error_s = c->clock_error_s,
                                 .clock_bound_s = c->clock_bound_s};
        if (c->ask_between && stream_between(&s, c->between[0], c->between[1], stdout) < 0)
            rc = say(SIM_SYSTEM, "standard output cannot be written.");
        if (!rc && !c->ask_between)
            rc = write_to(*c->readings ? c->readings : "-", stream_readings, &s);
        if (!rc && *c->truth)
            rc = write_to(c->truth, stream_truth, &s);
        plant_free(&pl);
    }
    free(c);
    return rc;
}
