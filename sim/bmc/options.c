/* SPDX-License-Identifier: Apache-2.0 */
#include "bmc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_main.h"
#include "simgpu_text.h"

void sim_bmc_options_init(struct sim_bmc_options *o, bool pdu)
{
    *o = (struct sim_bmc_options){.pdu = pdu,
                                  .waveform = "const:400W",
                                  .bind = "127.0.0.1",
                                  .outlets = 8,
                                  .period_ns = INT64_C(1000000000),
                                  .window_ns = pdu ? INT64_C(1000000000) : INT64_C(5000000000),
                                  .lag_ns = 400000000,
                                  .quantum_w = 1,
                                  .gain = 1,
                                  .efficiency = pdu ? 1 : 0.94};
}

static bool time_of(const char *v, int64_t least, int64_t *out)
{
    return simgpu_quantity_z(v, simgpu_units_time, out) && *out >= least && *out <= INT64_C(3600000000000);
}

static bool plain(const char *v, double lo, double hi, double *out)
{
    char *end;
    *out = strtod(v, &end);
    return end != v && !*end && *out >= lo && *out <= hi;
}

/* 1 taken, 0 no such option, -1 a wrong value */
static int option(struct sim_bmc_options *o, const char *name, const char *v)
{
    double x = 0;
    bool ok = *v != 0, number = false;
    if (strcmp(name, "waveform") == 0)
        o->waveform = v;
    else if (strcmp(name, "bind") == 0)
        o->bind = v;
    else if (strcmp(name, "user") == 0)
        ok = strlen(o->user = v) < 64 && !strchr(v, ':');
    else if (strcmp(name, "password") == 0)
        ok = strlen(o->password = v) < 64;
    else if (strcmp(name, "period") == 0)
        ok = time_of(v, 1000000, &o->period_ns);
    else if (strcmp(name, "window") == 0)
        ok = time_of(v, 0, &o->window_ns);
    else if (strcmp(name, "lag") == 0)
        ok = time_of(v, 0, &o->lag_ns);
    else if (strcmp(name, "offset") == 0) {
        number = plain(v, -1e9, 1e9, &x);
        ok = number;
        o->offset_ns = (int64_t)(x * 1e9);
    } else if (strcmp(name, "quantum") == 0)
        ok = plain(v, 1e-3, 1e6, &o->quantum_w);
    else if (strcmp(name, "gain") == 0)
        ok = plain(v, 0.01, 100, &o->gain);
    else if (strcmp(name, "efficiency") == 0)
        ok = plain(v, 0.1, 1, &o->efficiency);
    else if (strcmp(name, "port") == 0) {
        ok = plain(v, 0, 65535, &x);
        o->port = (int)x;
    } else if (strcmp(name, "outlets") == 0) {
        ok = plain(v, 1, 999, &x);
        o->outlets = (int)x;
    } else if (strcmp(name, "seed") == 0) {
        ok = plain(v, 0, 1e15, &x);
        o->seed = (int64_t)x;
    } else
        return 0;
    return ok ? 1 : -1;
}

int sim_bmc_options_read(struct sim_bmc_options *o, int argc, char **argv, char *why, size_t n)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *eq = strchr(a, '=');
        char name[32];
        size_t len = eq ? (size_t)(eq - a) : strlen(a);
        if (strcmp(a, "--help") == 0) {
            o->help = true;
            return 0;
        }
        int r = 0;
        if (o->pdu && strcmp(a, "--pass-persist") == 0) {
            o->pass = true;
            continue;
        }
        if (strncmp(a, "--", 2) == 0 && len - 2 < sizeof name) {
            memcpy(name, a + 2, len - 2);
            name[len - 2] = 0;
            const char *v = eq ? eq + 1 : i + 1 < argc ? argv[++i] : NULL;
            if (!v) {
                snprintf(why, n, "%.60s needs a value.", a);
                return -1;
            }
            r = option(o, name, v);
            if (r < 0) {
                snprintf(why, n, "--%s cannot be \"%.80s\"; see --help.", name, v);
                return -1;
            }
        }
        if (r == 0) {
            snprintf(why, n, "%.60s is no option; see --help.", a);
            return -1;
        }
    }
    return 0;
}

void sim_bmc_help(bool pdu)
{
    printf("usage: joulemark-sim %s [OPTION]...\n\n"
           "%s that speaks Redfish over HTTP, about a load whose true power is\n"
           "known. It never passes for a real one: Manufacturer is JOULEMARK, Model says\n"
           "SIMULATED. It prints where it can be reached, and serves until SIGTERM.\n\n"
           "  --waveform SPEC    true power of the load: const:400W, load:..., or\n"
           "                     state:FILE,base=150W,gain=1.1 for the GPUs of a sim gpu or sim\n"
           "                     node; joulemark-sim ptd --help lists them all\n"
           "  --port PORT        TCP port (0: a free one)\n"
           "  --bind ADDR        (127.0.0.1)\n"
           "  --user NAME --password TEXT\n"
           "                     ask for these by Basic authentication\n"
           "  --period T         between refreshes (1s)\n"
           "  --window T         what a value is the mean of (%s); 0: the instant\n"
           "  --lag T            from a refresh until it can be read (400ms)\n"
           "  --quantum W        smallest step (1)\n"
           "  --gain X           shown over true (1)\n"
           "  --offset S         seconds that its own clock is ahead (0)\n",
           pdu ? "pdu" : "bmc", pdu ? "A rack PDU" : "A BMC", pdu ? "1s" : "5s");
    puts(pdu ? "  --outlets N        outlets, which share the load equally (8)\n"
               "  --pass-persist     speak with net-snmp's snmpd instead, on standard streams; its\n"
               "                     configuration has: pass_persist .1.3.6.1.4.1.13742.6\n"
               "                     /usr/bin/joulemark-sim pdu --pass-persist ..."
             : "  --efficiency X     of the supply: it shows the input beside the output (0.94)");
}

static int command(int argc, char **argv, bool pdu)
{
    struct sim_bmc_options o;
    char why[512], text[600];
    sim_bmc_options_init(&o, pdu);
    if (sim_bmc_options_read(&o, argc, argv, why, sizeof why)) {
        snprintf(text, sizeof text, "%s: %s", pdu ? "pdu" : "bmc", why);
        return sim_fail(SIM_USAGE, text);
    }
    if (!o.help)
        return o.pass ? sim_bmc_pass(&o) : sim_bmc_serve(&o);
    sim_bmc_help(pdu);
    return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
}

int sim_cmd_bmc(int argc, char **argv)
{
    return command(argc, argv, false);
}

int sim_cmd_pdu(int argc, char **argv)
{
    return command(argc, argv, true);
}
