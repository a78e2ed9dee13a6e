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
         "Speaks as a PTDaemon does in public MLPerf sessions, about a simulated Yokogawa\n"
         "whose true power is known: a Director can be tried without licence and without\n"
         "analyzer. It never passes for the real thing: Identify names JOULEMARK as the\n"
         "maker and its log says SIMULATED. It serves one client after the other until\n"
         "SIGTERM.\n\n"
         "In the public form, as a Director launches it. joulemark-sim-ptd takes the same\n"
         "as one word, and both read more options from JOULEMARK_SIM_PTD:\n"
         "  -l FILE            write each sample to FILE (the lines of spl.txt)\n"
         "  -p PORT            listen there (8888); 0 takes a free one, which it says\n"
         "  -c FIRST[,N]       channels of a multichannel analyzer\n"
         "  -b BOARD -D -n -g -y -U   interface of the analyzer; taken, of no effect\n"
         "  TYPE               8 WT210, 35 WT500, 47 WT1800, 48 WT500 multichannel,\n"
         "                     49 WT310E, 52 WT330E, 66 WT5000, 77 WT330 multichannel,\n"
         "                     508, 549, 586 DC (49)\n"
         "  PORT               where the analyzer would be; of no effect\n\n"
         "Our own:\n"
         "  --waveform SPEC    true power of the whole load (below)\n"
         "  --truth FILE       at the end write what really was; joulemark-sim truth FILE\n"
         "                     gives the energy between any two times of it\n"
         "  --model NAME       another model of that type (WT310, WT330, ...)\n"
         "  --ptd-version V    1.9.1, 1.9.2, 1.10.0 or 1.11.1, in their words (1.11.1)\n"
         "  --interleave       write RL's data into the log as a real one does, with\n"
         "                     messages in the middle of lines\n"
         "  --volts V --pf X   the load: 230 V, power factor 0.95,\n"
         "  --crest X          peak over effective current 1.6\n"
         "  --split A,B,C      shares of the elements (equal ones)\n"
         "  --ranges V,A       fixed ranges at the start (auto)\n"
         "  --gain X --noise X relative errors of the analyzer (1, 0); not of the truth\n"
         "  --phase 449ms      where in a second its samples end\n"
         "  --jitter 5ms       of its stamps (0)\n"
         "  --speed X          its clock runs so much faster than the world's (1)\n"
         "  --bind ADDR        (127.0.0.1)\n"
         "  --seed N --serial TEXT\n"
         "  --fault FAULT      something goes wrong; may be given again (below)\n\n"
         "waveforms:");
    const struct simwall_help *w;
    for (int i = 0; (w = simwall_help(i)); i++)
        printf("  %s\n      %s\n", w->form, w->text);
    puts("  const:400W, cycle:700W@4s,300W@11s and the others of joulemark-sim gpu\n\n"
         "faults, from T after Go (@10s, @testing:10s, @start:10s) for L (+3s) or on:");
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
