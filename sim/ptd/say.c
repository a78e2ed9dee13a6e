/* SPDX-License-Identifier: Apache-2.0 */
/* What a PTDaemon writes to its standard output (ptd_logs.txt of a session), by version. */
#include "ptd/ptd.h"

#include <string.h>
#include <time.h>

void simptd_stamp(int64_t t_ns, char out[32])
{
    time_t s = (time_t)(t_ns / 1000000000);
    struct tm tm;
    localtime_r(&s, &tm);
    snprintf(out, 32, "%02d-%02d-%04d %02d:%02d:%02d.%03d", tm.tm_mon + 1, tm.tm_mday, tm.tm_year + 1900,
             tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(t_ns % 1000000000 / 1000000));
}

void simptd_say(struct simptd *p, const char *fmt, ...)
{
    char stamp[32];
    va_list ap;
    simptd_stamp(simclock_now(&p->clock) + p->offset_ns, stamp);
    printf("%s: ", stamp);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

void simptd_banner(struct simptd *p)
{
    const struct simptd_options *o = p->o;
    const char *rule = "  ****************************************************************************";
    const char *half = "                      ***********************************";
    if (o->interface_flag == 'g')
        puts("GPIB interface specified.");
    else if (o->interface_flag == 'y')
        puts("Yokogawa ethernet/USB interface specified.");
    printf("Selected power %s 'Yokogawa %.*s%s' from joulemark sim ptd (SIMULATED)\n",
           o->version >= PTD_1_11_1 ? "analyzer" : "meter", (int)strcspn(p->m->name, "_"), p->m->name,
           p->multi ? ":MULTICHANNEL" : "");
    printf("%s\n%s\n                      SIMULATED PTDaemon: NOT A MEASUREMENT\n"
           "                        Version %s-simulated-00000000\n%s\n"
           "         joulemark sim ptd says what a PTDaemon says about a known waveform.\n"
           "                It is not SPEC's tool and holds nothing of it.\n%s\n\n\n",
           rule, half, simptd_version_name(o->version), half, rule);
    if (o->log)
        printf("Redirecting data output to file %s\n", o->log);
    fflush(stdout);
}

/* "500.0E-03", "20.0E+00": how a WT writes a range. */
static void engineering(double x, char out[24])
{
    int e = x < 1 ? -3 : 0;
    snprintf(out, 24, "%.1fE%c%02d", e ? x * 1000 : x, e ? '-' : '+', e ? 3 : 0);
}

/* "ERROR: Bad watts reading nan from WT330"; a WT210 answers with IEEE 488.2's number for it. */
void simptd_say_bad(struct simptd *p, const char *what, const char *value)
{
    bool old = strncmp(p->m->name, "WT210", 5) == 0;
    if (old)
        value = strcmp(value, "nan") == 0 ? "99100000000000005192630646116011999232.000000"
                                          : "98999999999999990711585962894188183552.000000";
    simptd_say(p, "ERROR: Bad %s reading %s from %s", what, value,
               old                                     ? "Yokogawa"
               : strncmp(p->m->name, "WT500", 5) == 0  ? "WT500"
               : strncmp(p->m->name, "WT31", 4) == 0   ? "WT310"
               : strncmp(p->m->name, "WT33", 4) == 0   ? "WT330"
               : strncmp(p->m->name, "WT1800", 6) == 0 ? "WT1800"
                                                       : "WT5000");
    char a[24], v[24];
    engineering(p->a_range, a);
    engineering(p->v_range, v);
    printf("Buffer was %s;%d;%s;%d\n", a, p->a_auto, v, p->v_auto);
    fflush(stdout);
}

/* How a version names the channel at the end of a sentence. */
static void ending(const struct simptd *p, int channel, char out[40])
{
    out[0] = 0;
    if (p->multi)
        snprintf(out, 40, ", %schannel %d", p->o->version >= PTD_1_11_1 ? "logical " : "", channel);
}

void simptd_say_unknown(struct simptd *p, int channel)
{
    char end[40];
    ending(p, channel, end);
    if (p->o->version <= PTD_1_9_2)
        simptd_say(p, "WARNING: Uncertainty unknown for the last measurement sample! channel %d", channel);
    else
        simptd_say(p, "WARNING: Uncertainty unknown for the last measurement sample%s!", end);
}

void simptd_say_above(struct simptd *p, double percent, int channel)
{
    char end[40];
    ending(p, channel, end);
    if (p->o->version <= PTD_1_9_2)
        simptd_say(p, "WARNING: Uncertainty %.2f%% above 1.00%% limit for the last measurement sample!",
                   percent);
    else
        simptd_say(p, "WARNING: Uncertainty %.2f%%, which is above 1.00%% limit for the last sample%s!",
                   percent, end);
}
