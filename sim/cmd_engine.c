/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim engine: one simulated engine until SIGTERM. */
#include "sim_main.h"

#include "engine/options.h"

#include <string.h>
#include <unistd.h>

static void say(void *self, struct sim_engine *e)
{
    (void)self;
    const char *host = strchr(e->opt.host, ':') ? "[::1]" : e->opt.host;
    printf("{\"simulated\":true,\"url\":\"http://%s:%d\",\"model\":\"%s\",\"pid\":%d}\n", host, e->http.port,
           e->opt.served, (int)getpid());
    fflush(stdout);
}

int sim_cmd_engine(int argc, char **argv)
{
    struct sim_options o;
    char why[256];
    sim_options_init(&o);
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            puts("usage: joulemark-sim engine [OPTION…]\n\n"
                 "Serves a simulated model over HTTP (OpenAI-compatible) until SIGTERM. One line of JSON "
                 "says where.\n");
            sim_options_help(stdout);
            puts("  --list-faults                what --fault, the header X-Joulemark-Fault and MODEL+FAULT "
                 "can do");
            return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
        }
        if (strcmp(a, "--list-faults") == 0) {
            sim_fault_help(stdout);
            return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
        }
        if (strncmp(a, "--", 2) != 0) {
            fprintf(stderr, "joulemark-sim engine: \"%s\" is no option; --help lists all\n", a);
            return SIM_USAGE;
        }
        const char *eq = strchr(a, '=');
        size_t n = eq ? (size_t)(eq - a) - 2 : strlen(a) - 2;
        int used = sim_option_set(&o, a + 2, n,
                                  eq             ? eq + 1
                                  : i + 1 < argc ? argv[i + 1]
                                                 : NULL,
                                  why, sizeof why);
        if (used < 0) {
            fprintf(stderr, "joulemark-sim engine: %s\n", why);
            return SIM_USAGE;
        }
        if (!eq)
            i += used;
    }
    return sim_engine_run(&o, say, NULL);
}
