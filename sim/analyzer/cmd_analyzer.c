/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim analyzer: a power analyzer that speaks SCPI. */
#include "analyzer/analyzer.h"
#include "sim_main.h"

#include <stdio.h>

static int help(void)
{
    puts("usage: joulemark-sim analyzer [OPTION]...\n\n"
         "A power analyzer that answers the SCPI commands of Yokogawa's WT210, WT300,\n"
         "WT500 and WT1800, about a load whose true power is known. It never passes for a\n"
         "real one: *IDN? says JOULEMARK,SIM-... It prints one line for each place where\n"
         "it can be reached, tcp://127.0.0.1:PORT, vxi11://... or the path of a\n"
         "pseudo-terminal, and serves until SIGTERM.\n\n"
         "  --model NAME       WT210, WT310, WT310E (default), WT330, WT330E,\n"
         "                     WT330_multichannel, WT500, WT500_multichannel, WT1800, ...\n"
         "  --elements N       elements of it that are used (all)\n"
         "  --port PORT        TCP port (0: a free one)\n"
         "  --vxi11 PORT       VXI-11's core channel (0: a free port)\n"
         "  --portmap PORT     a portmapper that knows where it is; clients ask port 111\n"
         "  --pty              a pseudo-terminal, as a serial port would be\n"
         "  --waveform SPEC    true power of the whole load; joulemark-sim ptd --help\n"
         "                     lists the waveforms\n"
         "  --truth FILE       at the end write what really was; joulemark-sim truth FILE\n"
         "                     gives the energy between any two times of it\n"
         "  --volts V --pf X   the load: 230 V, power factor 0.95,\n"
         "  --crest X          peak over effective current 1.6\n"
         "  --split A,B,C      shares of the elements (equal ones)\n"
         "  --ranges V,A       fixed ranges at the start (auto)\n"
         "  --gain X --noise X relative errors of the analyzer (1, 0); not of the truth\n"
         "  --speed X          its clock runs so much faster than the world's (1)\n"
         "  --bind ADDR        (127.0.0.1)\n"
         "  --seed N --serial TEXT\n"
         "  --fault FAULT      something goes wrong; may be given again:\n\n"
         "faults, from T after the start (@10s) for L (+3s) or on:");
    const char *f;
    for (int i = 0; (f = siman_fault_help(i)); i++)
        printf("  %s\n", f);
    return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
}

int sim_cmd_analyzer(int argc, char **argv)
{
    static struct siman_options o;
    char why[512], text[600];
    siman_options_init(&o);
    if (siman_options_read(&o, argc, argv, why, sizeof why)) {
        snprintf(text, sizeof text, "analyzer: %s", why);
        return sim_fail(SIM_USAGE, text);
    }
    return o.help ? help() : siman_serve(&o);
}
