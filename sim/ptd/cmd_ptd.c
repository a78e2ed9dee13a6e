/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim ptd: a stand-in for a PTDaemon. */
#include "ptd/ptd.h"
#include "sim_main.h"

#include "simgpu_wave.h"

#include <errno.h>
#include <string.h>

static int help(void)
{
    puts("usage: joulemark-sim ptd [OPTION]... [TYPE [PORT]]\n\n"
         "Speaks as a PTDaemon does in public MLPerf sessions, about a simulated Yokogawa whose\n"
         "true power is known, so that a Director can be tried without licence and without\n"
         "analyzer. It never passes for the real thing: Identify names JOULEMARK as the maker\n"
         "and its log says SIMULATED. It serves one client after the other until SIGTERM.\n\n"
         "In the public form, as a Director launches it (joulemark-sim-ptd takes the same, and\n"
         "both read more options from JOULEMARK_SIM_PTD):\n"
         "  -l FILE               write each sample to FILE (spl.txt's lines)\n"
         "  -p PORT               listen there (8888); 0 takes a free one, which it says\n"
         "  -c FIRST[,N]          channels of a multichannel analyzer\n"
         "  -b BOARD -D -n -g -y -U   interface of the analyzer; taken, and of no effect\n"
         "  TYPE                  8 WT210, 35 WT500, 47 WT1800, 48 WT500 multichannel, 49 WT310E,\n"
         "                        52 WT330E, 66 WT5000, 77 WT330 multichannel, 508, 549, 586 DC (49)\n"
         "  PORT                  where the analyzer would be; of no effect\n\n"
         "Our own:\n"
         "  --waveform SPEC       true power of the whole load (below)\n"
         "  --truth FILE          at the end write what really was: joulemark-sim truth FILE\n"
         "                        gives the energy between any two times of it\n"
         "  --model NAME          another model of that type (WT310, WT330, ...)\n"
         "  --ptd-version V       1.9.1, 1.9.2, 1.10.0 or 1.11.1, with their texts (1.11.1)\n"
         "  --interleave          write RL's data into the log as a real one does: not line-safe\n"
         "  --volts V --pf X --crest X   the load: 230, 0.95, peak over effective current 1.6\n"
         "  --split A,B,C         shares of the elements (equal ones)\n"
         "  --ranges V,A          fixed ranges at the start (auto)\n"
         "  --gain X --noise X    errors of the analyzer, relative (1, 0); not of the truth\n"
         "  --phase 449ms         where in a second its samples end; --jitter 5ms of the stamps\n"
         "  --speed X             its clock runs so much faster than the world's (1)\n"
         "  --bind ADDR           (127.0.0.1)\n"
         "  --seed N --serial TEXT\n"
         "  --fault FAULT         something goes wrong; may be given again (below)\n\n"
         "waveforms:");
    const struct simwall_help *w;
    for (int i = 0; (w = simwall_help(i)); i++)
        printf("  %s\n      %s\n", w->form, w->text);
    puts("  const:400W, cycle:700W@4s,300W@11s, burst:... and the others of joulemark-sim gpu\n\n"
         "faults, at T after Go (@10s; @testing:10s, @start:10s), for L (+3s), else for good:");
    const char *f;
    for (int i = 0; (f = simptd_fault_help(i)); i++)
        printf("  %s\n", f);
    return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
}

int sim_cmd_ptd(int argc, char **argv)
{
    static struct simptd_options o;
    char why[512], text[600];
    simptd_options_init(&o);
    if (simptd_options_read(&o, argc, argv, why, sizeof why)) {
        snprintf(text, sizeof text, "ptd: %s", why);
        return sim_fail(SIM_USAGE, text);
    }
    return o.help ? help() : simptd_serve(&o);
}
