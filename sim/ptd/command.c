/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a PTDaemon and its answers, as public MLPerf sessions hold them. */
#include "ptd/ptd.h"
#include "simgpu_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ECHO 1000 /* bytes a real one gathers before it sends, and writes to its log, a part of RL */

int simptd_put(struct simptd *p, const char *text, size_t n)
{
    if (p->out_sent == p->out_n)
        p->out_sent = p->out_n = 0;
    if (p->out_n + n > p->out_room) {
        size_t room = 2 * (p->out_n + n);
        char *b = realloc(p->out, room);
        if (!b)
            return -1;
        p->out = b;
        p->out_room = room;
    }
    memcpy(p->out + p->out_n, text, n);
    p->out_n += n;
    return 0;
}

void simptd_reply(struct simptd *p, const char *fmt, ...)
{
    char text[1200];
    int64_t now = simclock_now(&p->clock);
    struct simptd_fault *slow = simptd_fault(p, F_SLOW, now);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text - 2, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n > sizeof text - 3)
        n = (int)sizeof text - 3;
    simptd_say(p, "Response to client sent: %s", text);
    if (simptd_fault(p, F_GARBAGE, now)) {
        static const char junk[] = "\x01\xff\x00\x80,,,;\x1b[2J\x7f";
        simptd_put(p, junk, sizeof junk - 1);
        n = 0;
    }
    memcpy(text + n, "\r\n", 2);
    if (slow)
        p->hold_until_ns = now + (int64_t)(slow->number * 1e9);
    simptd_put(p, text, (size_t)n + 2);
}

static void identify(struct simptd *p)
{
    const struct simptd_fault *f = simptd_fault(p, F_VERSION, simclock_now(&p->clock));
    const char *version = f ? f->text : simptd_version_name(p->o->version);
    int channels = !p->multi ? 1 : p->o->version <= PTD_1_9_2 && p->o->type == 77 ? 2 : p->channels;
    simptd_reply(
        p,
        "%s,1000,1,1,1,1,0,%d,1,version=%s-simulated-00000000,OS=simulated by joulemark,mode=power,1,1,"
        "%d,0,0,no_cal_date,JOULEMARK;SIM-%s;%s;%s",
        p->m->identify, strncmp(p->m->name, "WT310", 5) == 0, version, channels, p->m->product, p->o->serial,
        "F0.00");
}

static void set_range(struct simptd *p, char **word, int words)
{
    bool volts = words > 1 && strcmp(word[1], "V") == 0, amps = words > 1 && strcmp(word[1], "A") == 0;
    const struct simptd_fault *f = simptd_fault(p, F_REFUSE, simclock_now(&p->clock));
    if (words != 3 || (!volts && !amps)) {
        simptd_reply(p, "Invalid number of parameters");
        return;
    }
    double *range = volts ? &p->v_range : &p->a_range;
    bool *is_auto = volts ? &p->v_auto : &p->a_auto;
    if (strcmp(word[2], "Auto") == 0) {
        *is_auto = true;
        /* it has found its range before anyone measures */
        double w = simwall_power_w(p->wall, simclock_now(&p->clock)), a = 0;
        for (int e = 0; e < SIMWT_ELEMENTS; e++)
            a = fmax(a, simwt_amps(&p->o->load, w, e));
        *range = simwt_auto(volts ? p->m->volts : p->m->amps, *range, volts ? p->o->load.volts : a);
        simptd_say(p, "%s range set to Auto", volts ? "Volt" : "Ampere");
    } else {
        char *end;
        double x = strtod(word[2], &end), r = 0;
        if (*word[2] && !*end && isfinite(x))
            r = simwt_range(volts ? p->m->volts : p->m->amps, x);
        if (r == 0 || (f && strcmp(f->text, word[1]) == 0)) { /* own words */
            simptd_reply(p, "Error: the range could not be set");
            return;
        }
        *range = r;
        *is_auto = false;
        simptd_say(p, "%s range set to %.6f%s", volts ? "Volt" : "Amp", r, volts ? "V" : "A");
    }
    simptd_reply(p, "Range %s changed", word[1]);
}

static bool whole(const char *text, int64_t *out)
{
    return simgpu_quantity_z(text, simgpu_units_plain, out) && !strchr(text, '.');
}

static void go(struct simptd *p, char **word, int words)
{
    int64_t interval, rampup;
    const struct simptd_fault *f = simptd_fault(p, F_REFUSE, simclock_now(&p->clock));
    if (p->o->version >= PTD_1_11_1)
        simptd_say(p, "Go command received");
    if (words != 4) {
        simptd_reply(p, "Invalid number of parameters");
    } else if (!whole(word[1], &interval) || interval < 100 || interval > 3600000 ||
               !whole(word[2], &rampup) || rampup < 0 || (f && strcmp(f->text, "GO") == 0)) { /* own words */
        simptd_reply(p, "Error: the measurement could not be started");
    } else if (p->running) { /* own words */
        simptd_reply(p, "Error: a measurement is running");
    } else if (simptd_go(p, interval, rampup, word[3])) {
        simptd_reply(p, "Error: no memory");
    } else {
        simptd_say(p, "Go with mark '%s'", p->mark);
        simptd_reply(p, "Starting untimed measurement, maximum %d samples at %lldms with %lld rampup samples",
                     SIMPTD_SAMPLES, (long long)interval, (long long)rampup);
    }
}

static void stop(struct simptd *p)
{
    if (!p->running) {
        simptd_reply(p, "Error: no measurement to stop");
        return;
    }
    simptd_reply(p, "Stopping untimed measurement");
    simptd_stop(p);
}

static void read_last(struct simptd *p, char **word, int words)
{
    size_t n = p->n, skip = 0;
    int64_t last;
    const struct simptd_fault *f;
    bool all = words == 3 && strcmp(word[1], "*") == 0 && strcmp(word[2], "*") == 0;
    if (words > 3 || (words == 3 && !(p->multi && all)) ||
        (words == 2 && (!whole(word[1], &last) || last < 0))) {
        simptd_reply(p, "Invalid number of parameters");
        return;
    }
    if (words == 2 && (size_t)last < n) {
        skip = n - (size_t)last;
        n = (size_t)last;
    }
    if (all)
        simptd_reply(p, "Last %zu samples from sum channel and channels %d - %d", n, p->first,
                     p->first + p->channels - 1);
    else
        simptd_reply(p, "Last %zu samples", n);
    p->rl_next = skip;
    p->rl_end = p->n;
    p->echo_n = 0;
    if ((f = simptd_fault(p, F_SHORT, simclock_now(&p->clock))))
        p->rl_end -= f->number < (double)n ? (size_t)f->number : n;
    p->rl_on = p->rl_next < p->rl_end;
    if ((f = simptd_fault(p, F_CUT, simclock_now(&p->clock)))) {
        p->cut_on = true;
        p->cut_left = (size_t)f->number;
    }
}

/* A real one writes to its log what it sends, part by part, whatever stands on the line. */
static void echo(struct simptd *p, const char *line, size_t n)
{
    if (p->o->interleave && p->echo_n + n > ECHO) {
        size_t at = 0;
        for (const char *c = line; (c = strstr(c, ",Watts,")); c++)
            if (p->echo_n + (size_t)(c - line) <= ECHO && c > line + 60)
                at = (size_t)(c - line);
        fwrite(line, 1, at, stdout);
        simptd_say(p, "Response to client sent: %s", line + at);
        p->echo_n = 0;
        return;
    }
    p->echo_n += n;
    printf("%s\n", line);
}

void simptd_more(struct simptd *p)
{
    char line[2048];
    while (p->rl_on && p->out_n - p->out_sent < 65536) {
        int n = simptd_line(p, &p->s[p->rl_next], false, line, sizeof line - 2);
        echo(p, line, (size_t)n);
        memcpy(line + n, "\r\n", 2);
        n += 2;
        if (p->cut_on && p->cut_left < (size_t)n) {
            simptd_put(p, line, p->cut_left);
            p->cut_left = 0;
            p->rl_on = false;
            break;
        }
        if (p->cut_on)
            p->cut_left -= (size_t)n;
        simptd_put(p, line, (size_t)n);
        p->rl_on = ++p->rl_next < p->rl_end;
    }
    if (!p->rl_on)
        fflush(stdout);
}

static void watts(struct simptd *p)
{
    if (!p->ran) /* own words */
        simptd_reply(p, "Error: no measurement");
    else
        simptd_reply(p, "Watts,%.6f,%.6f,%.6f,%lld,%lld,%lld",
                     p->watts.valid ? p->watts.sum / (double)p->watts.valid : -1, p->watts.min, p->watts.max,
                     (long long)p->watts.total, (long long)p->watts.errors, (long long)p->watts.valid);
}

static void uncertainty(struct simptd *p)
{
    int64_t known = p->unc.above + p->unc.ok;
    if (!p->ran) /* own words */
        simptd_reply(p, "Error: no measurement");
    else if (!known)
        simptd_reply(p, "Uncertainty,-1.0,10000000.000000,0.000000,%lld,0,0,%lld", (long long)p->unc.total,
                     (long long)p->unc.unknown);
    else
        simptd_reply(p, "Uncertainty,%.6f,%.6f,%.6f,%lld,%lld,%lld,%lld", p->unc.sum / (double)known,
                     p->unc.min, p->unc.max, (long long)p->unc.total, (long long)p->unc.above,
                     (long long)p->unc.ok, (long long)p->unc.unknown);
}

void simptd_command(struct simptd *p, char *line)
{
    char *word[8] = {line}, *rest = line;
    int words = 0;
    bool newer = p->o->version >= PTD_1_10_0;
    while (rest && words < 8) {
        word[words++] = rest;
        char *comma = strchr(rest, ',');
        if (comma)
            *comma = 0;
        rest = comma ? comma + 1 : NULL;
    }
    const char *c = word[0];
    const struct simptd_fault *f;
    if (rest)
        simptd_reply(p, "Invalid number of parameters");
    else if (strcmp(c, "Hello") == 0 && (f = simptd_fault(p, F_HELLO, simclock_now(&p->clock))))
        simptd_reply(p, "%s", f->text);
    else if (strcmp(c, "Hello") == 0)
        simptd_reply(p, "Hello, PTDaemon here!");
    else if (strcmp(c, "Identify") == 0)
        identify(p);
    else if (strcmp(c, "RR") == 0)
        simptd_reply(p, "Ranges,%d,%.6f,%d,%.6f", p->a_auto, p->a_range, p->v_auto, p->v_range);
    else if (strcmp(c, "SR") == 0)
        set_range(p, word, words);
    else if (strcmp(c, "Go") == 0)
        go(p, word, words);
    else if (strcmp(c, "Stop") == 0)
        stop(p);
    else if (newer && strcmp(c, p->m->dc ? "DC-RL" : "RL") == 0)
        read_last(p, word, words);
    else if (newer && strcmp(c, "Watts") == 0)
        watts(p);
    else if (newer && strcmp(c, "Uncertainty") == 0)
        uncertainty(p);
    else
        simptd_reply(p, "Unknown command");
}
