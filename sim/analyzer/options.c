/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/analyzer.h"
#include "simgpu_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int kind;
    bool number;
    const char *help;
} faults[] = {
    {"silent", AF_SILENT, false, "silent@T+L     it answers no more"},
    {"garbage", AF_GARBAGE, false, "garbage@T+L    answers are no text"},
    {"half", AF_HALF, false, "half@T+L       the second half of an answer is missing"},
    {"close", AF_CLOSE, false, "close@T        it closes the connection"},
    {"die", AF_DIE, false, "die@T          the process ends, status 1"},
    {"nan", AF_NAN, false, "nan@T+L        readings are NAN"},
    {"inf", AF_INF, false, "inf@T+L        readings are INF, over range"},
    {"over", AF_OVER, true, "over=CREST@T+L the peak of the current is over range"},
    {"slow", AF_SLOW, true, "slow=S@T+L     answers come so many seconds late"},
    {"idn", AF_IDN, false, "idn            it says that it is something else"},
};

const char *siman_fault_help(int i)
{
    return i >= 0 && (size_t)i < sizeof faults / sizeof *faults ? faults[i].help : NULL;
}

void siman_options_init(struct siman_options *o)
{
    *o = (struct siman_options){.waveform = "load:idle=120W,load=600W,before=15s,length=3600s",
                                .serial = "SIM0001",
                                .bind = "127.0.0.1",
                                .m = simwt_find("WT310E"),
                                .vxi11 = -1,
                                .portmap = -1,
                                .speed = 1,
                                .gain = 1,
                                .load = {.volts = 230, .pf = .95, .crest = 1.6, .hz = 50}};
}

/* KIND[=NUMBER][@TIME[+LENGTH]] */
static bool fault(struct siman_options *o, const char *text)
{
    struct siman_fault f = {.length_ns = INT64_MAX / 4};
    const char *at = strchr(text, '@'), *end = at ? at : text + strlen(text);
    const char *eq = memchr(text, '=', (size_t)(end - text));
    size_t n = (size_t)((eq ? eq : end) - text), i = 0;
    int64_t ppb;
    while (i < sizeof faults / sizeof *faults && !simgpu_is(text, n, faults[i].name))
        i++;
    if (i == sizeof faults / sizeof *faults || o->faults == SIMAN_FAULTS || faults[i].number != (eq != NULL))
        return false;
    f.kind = faults[i].kind;
    if (eq) {
        if (!simgpu_quantity(eq + 1, (size_t)(end - eq - 1), simgpu_units_gain, &ppb) || ppb < 0)
            return false;
        f.number = (double)ppb / 1e9;
    }
    if (at) {
        size_t len = strcspn(++at, "+");
        if (!simgpu_quantity(at, len, simgpu_units_time, &f.at_ns) || f.at_ns < 0 ||
            (at[len] &&
             (!simgpu_quantity_z(at + len + 1, simgpu_units_time, &f.length_ns) || f.length_ns < 0)))
            return false;
    }
    o->fault[o->faults++] = f;
    return true;
}

static bool pair(const char *text, double *a, double *b)
{
    char first[32];
    size_t n = strcspn(text, ",");
    if (n == 0 || n >= sizeof first || !text[n])
        return false;
    memcpy(first, text, n);
    first[n] = 0;
    return simwt_number(first, 0, 1000, a) && simwt_number(text + n + 1, 0, 100, b);
}

/* 1 taken, 0 no such option, -1 a wrong value */
static int option(struct siman_options *o, const char *name, const char *v)
{
    int64_t q = 0;
    bool ok;
    if (strcmp(name, "waveform") == 0)
        ok = (o->waveform = v) != NULL;
    else if (strcmp(name, "truth") == 0)
        ok = (o->truth = v) != NULL;
    else if (strcmp(name, "bind") == 0)
        ok = (o->bind = v) != NULL;
    else if (strcmp(name, "serial") == 0)
        ok = strlen(o->serial = v) < 32 && !strpbrk(v, ";,\r\n");
    else if (strcmp(name, "model") == 0)
        ok = (o->m = simwt_find(v)) != NULL;
    else if (strcmp(name, "port") == 0) {
        ok = simgpu_quantity_z(v, simgpu_units_plain, &q) && q >= 0 && q <= 65535;
        o->port = (int)q;
        o->tcp = true;
    } else if (strcmp(name, "vxi11") == 0 || strcmp(name, "portmap") == 0) {
        ok = simgpu_quantity_z(v, simgpu_units_plain, &q) && q >= 0 && q <= 65535;
        *(*name == 'v' ? &o->vxi11 : &o->portmap) = (int)q;
    } else if (strcmp(name, "elements") == 0) {
        ok = simgpu_quantity_z(v, simgpu_units_plain, &q) && q >= 1 && q <= SIMWT_ELEMENTS;
        o->elements = (int)q;
    } else if (strcmp(name, "speed") == 0)
        ok = simwt_number(v, .001, 1000, &o->speed);
    else if (strcmp(name, "gain") == 0)
        ok = simwt_number(v, 0, 9, &o->gain);
    else if (strcmp(name, "noise") == 0)
        ok = simwt_number(v, 0, 1, &o->noise);
    else if (strcmp(name, "volts") == 0)
        ok = simwt_number(v, 1, 1000, &o->load.volts);
    else if (strcmp(name, "pf") == 0)
        ok = simwt_number(v, .01, 1, &o->load.pf);
    else if (strcmp(name, "crest") == 0)
        ok = simwt_number(v, 1, 9, &o->load.crest);
    else if (strcmp(name, "ranges") == 0)
        ok = pair(v, &o->volt_range, &o->amp_range);
    else if (strcmp(name, "split") == 0)
        ok = (o->split = simwt_split(v, o->load.split));
    else if (strcmp(name, "seed") == 0) {
        ok = simgpu_quantity_z(v, simgpu_units_plain, &q);
        o->seed = (uint64_t)q;
    } else if (strcmp(name, "fault") == 0)
        ok = fault(o, v);
    else
        return 0;
    return ok ? 1 : -1;
}

int siman_options_read(struct siman_options *o, int argc, char **argv, char *why, size_t n)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *eq = strchr(a, '=');
        char name[32];
        size_t len = eq ? (size_t)(eq - a) : strlen(a);
        if (strcmp(a, "--help") == 0) {
            o->help = true;
            return 0;
        }
        if (strcmp(a, "--pty") == 0) {
            o->pty = true;
            continue;
        }
        int r = 0;
        if (strncmp(a, "--", 2) == 0 && len - 2 < sizeof name) {
            memcpy(name, a + 2, len - 2);
            name[len - 2] = 0;
            const char *v = eq ? eq + 1 : i + 1 < argc ? argv[++i] : NULL;
            if (!v) {
                snprintf(why, n, "%.60s needs a value.", a);
                return -EINVAL;
            }
            r = option(o, name, v);
            if (r < 0) {
                snprintf(why, n, "--%s cannot be \"%.80s\"; see --help.", name, v);
                return -EINVAL;
            }
        }
        if (r == 0) {
            snprintf(why, n, "%.60s is no option; see --help.", a);
            return -EINVAL;
        }
    }
    if (!o->elements)
        o->elements = o->m->elements;
    o->tcp = o->tcp || (!o->pty && o->vxi11 < 0 && o->portmap < 0);
    return 0;
}
