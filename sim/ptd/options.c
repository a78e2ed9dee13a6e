/* SPDX-License-Identifier: Apache-2.0 */
#include "ptd/ptd.h"
#include "simgpu_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Device numbers of the public tool; which ones 59 and 61 are no public file says. */
static const struct {
    int type;
    const char *model;
} types[] = {
    {8, "WT210"},
    {35, "WT500"},
    {47, "WT1800"},
    {48, "WT500_multichannel"},
    {49, "WT310E"},
    {52, "WT330E"},
    {66, "WT5000"},
    {59, "WT1800_multichannel"},
    {61, "WT5000_multichannel"},
    {77, "WT330_multichannel"},
    {508, "WT210_DC"},
    {549, "WT310_DC"},
    {586, "WT330_DC"},
};

static const char *const versions[] = {"1.9.1", "1.9.2", "1.10.0", "1.11.1"};

const char *simptd_version_name(int v)
{
    return versions[v];
}

void simptd_options_init(struct simptd_options *o)
{
    *o = (struct simptd_options){.waveform = "load:idle=120W,load=600W,before=15s,length=3600s",
                                 .port = 8888,
                                 .type = -1,
                                 .first = 1,
                                 .version = PTD_1_11_1,
                                 .bind = "127.0.0.1",
                                 .serial = "SIM0001",
                                 .speed = 1,
                                 .gain = 1,
                                 .phase_ns = 449000000,
                                 .load = {.volts = 230, .pf = .95, .crest = 1.6, .hz = 50}};
    snprintf(o->device_port, sizeof o->device_port, "SIM");
}

static int fail(char *why, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int fail(char *why, size_t n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, n, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

static bool whole(const char *text, int64_t lo, int64_t hi, int *out)
{
    int64_t v;
    if (!simgpu_quantity_z(text, simgpu_units_plain, &v) || strchr(text, '.') || v < lo || v > hi)
        return false;
    *out = (int)v;
    return true;
}

static bool channels(struct simptd_options *o, const char *text)
{
    char first[16];
    size_t n = strcspn(text, ",");
    if (n == 0 || n >= sizeof first)
        return false;
    memcpy(first, text, n);
    first[n] = 0;
    o->channels = 1;
    return whole(first, 1, SIMWT_ELEMENTS, &o->first) &&
           (!text[n] || whole(text + n + 1, 1, SIMWT_ELEMENTS, &o->channels));
}

static bool range_start(struct simptd_options *o, const char *text)
{
    char v[32];
    size_t n = strcspn(text, ",");
    if (n == 0 || n >= sizeof v || !text[n])
        return false;
    memcpy(v, text, n);
    v[n] = 0;
    return simwt_number(v, 0, 1000, &o->volt_range) && simwt_number(text + n + 1, 0, 100, &o->amp_range);
}

static bool version(struct simptd_options *o, const char *text)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(text, versions[i]) == 0) {
            o->version = (int)i;
            return true;
        }
    return false;
}

/* Long options that take a value: 1 taken, 0 no such option, -1 a wrong value. */
static int long_option(struct simptd_options *o, const char *name, const char *v, char *why, size_t n)
{
    double x;
    int64_t q;
    bool ok;
    if (strcmp(name, "waveform") == 0)
        ok = (o->waveform = v) != NULL;
    else if (strcmp(name, "truth") == 0)
        ok = (o->truth = v) != NULL;
    else if (strcmp(name, "bind") == 0)
        ok = (o->bind = v) != NULL;
    else if (strcmp(name, "serial") == 0)
        ok = (o->serial = v) && strlen(v) < 32 && !strpbrk(v, ";,\r\n");
    else if (strcmp(name, "model") == 0)
        ok = (o->model = v) && simwt_find(v);
    else if (strcmp(name, "ptd-version") == 0)
        ok = version(o, v);
    else if (strcmp(name, "speed") == 0)
        ok = simwt_number(v, .001, 1000, &o->speed);
    else if (strcmp(name, "noise") == 0)
        ok = simwt_number(v, 0, 1, &o->noise);
    else if (strcmp(name, "gain") == 0)
        ok = simwt_number(v, 0, 10, &o->gain);
    else if (strcmp(name, "volts") == 0)
        ok = simwt_number(v, 1, 1000, &o->load.volts);
    else if (strcmp(name, "pf") == 0)
        ok = simwt_number(v, .01, 1, &o->load.pf);
    else if (strcmp(name, "crest") == 0)
        ok = simwt_number(v, 1, 100, &o->load.crest);
    else if (strcmp(name, "split") == 0)
        ok = (o->load_split = simwt_split(v, o->load.split));
    else if (strcmp(name, "ranges") == 0)
        ok = range_start(o, v);
    else if (strcmp(name, "seed") == 0) {
        ok = simgpu_quantity_z(v, simgpu_units_plain, &q);
        o->seed = (uint64_t)q;
    } else if (strcmp(name, "jitter") == 0)
        ok = simgpu_quantity_z(v, simgpu_units_time, &o->jitter_ns) && o->jitter_ns >= 0 &&
             o->jitter_ns <= 400000000;
    else if (strcmp(name, "phase") == 0)
        ok = simgpu_quantity_z(v, simgpu_units_time, &o->phase_ns) && o->phase_ns >= 0 &&
             o->phase_ns < 1000000000;
    else if (strcmp(name, "fault") == 0)
        return simptd_fault_parse(o, v, why, n) ? -1 : 1;
    else
        return 0;
    (void)x;
    if (!ok)
        fail(why, n, "--%s cannot be \"%.80s\"; see --help.", name, v);
    return ok ? 1 : -1;
}

static int flag(struct simptd_options *o, const char *a, const char *v, char *why, size_t n)
{
    switch (a[1]) {
    case 'l': o->log = v; return 1;
    case 'p': return whole(v, 0, 65535, &o->port) ? 1 : fail(why, n, "-p takes a port, not \"%.40s\".", v);
    case 'b':
        if (strlen(v) >= sizeof o->board)
            return fail(why, n, "-b takes the number of a GPIB board.");
        memcpy(o->board, v, strlen(v) + 1);
        return 1;
    case 'c':
        return channels(o, v) ? 1
                              : fail(why, n,
                                     "-c takes a channel, or the first one and how many (1,3), not "
                                     "\"%.40s\".",
                                     v);
    default: return fail(why, n, "%.40s is no option; see --help.", a);
    }
}

static int read_all(struct simptd_options *o, int argc, char **argv, bool positional, char *why, size_t n)
{
    int places = 0;
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i];
        if (strncmp(a, "--", 2) == 0) {
            char name[32];
            const char *eq = strchr(a, '=');
            size_t len = eq ? (size_t)(eq - a - 2) : strlen(a + 2);
            if (strcmp(a, "--help") == 0) {
                o->help = true;
                return 0;
            }
            if (strcmp(a, "--interleave") == 0) {
                o->interleave = true;
                continue;
            }
            if (len >= sizeof name)
                return fail(why, n, "%.60s is no option; see --help.", a);
            memcpy(name, a + 2, len);
            name[len] = 0;
            const char *v = eq ? eq + 1 : i + 1 < argc ? argv[++i] : NULL;
            if (!v)
                return fail(why, n, "%.60s needs a value.", a);
            int r = long_option(o, name, v, why, n);
            if (r == 0)
                return fail(why, n, "%.60s is no option; see --help.", a);
            if (r < 0)
                return -EINVAL;
        } else if (a[0] == '-' && a[1] && !a[2]) {
            if (strchr("ngyU", a[1])) {
                o->interface_flag = a[1];
            } else if (a[1] == 'D') {
                o->dc = true;
            } else if (a[1] == 'h') {
                o->help = true;
                return 0;
            } else {
                if (i + 1 >= argc)
                    return fail(why, n, "%s needs a value.", a);
                int r = flag(o, a, argv[++i], why, n);
                if (r < 0)
                    return r;
            }
        } else if (!positional || a[0] == '-') {
            return fail(why, n, "%.60s is no option; see --help.", a);
        } else if (places == 0) {
            if (!whole(a, 0, 9999, &o->type))
                return fail(why, n, "\"%.40s\" is no device type; they are numbers, see --help.", a);
            places++;
        } else if (places == 1 && strlen(a) < sizeof o->device_port) {
            snprintf(o->device_port, sizeof o->device_port, "%s", a);
            places++;
        } else {
            return fail(why, n, "\"%.60s\" is one argument too many.", a);
        }
    }
    return 0;
}

/* JOULEMARK_SIM_PTD holds options like the command line's, parted by blanks: whoever launches a PTDaemon
 * gives only the public ones. */
static int environment(struct simptd_options *o, char *why, size_t n)
{
    static char text[2048];
    char *argv[64], *save = NULL;
    int argc = 0;
    const char *env = getenv("JOULEMARK_SIM_PTD");
    if (!env || !*env)
        return 0;
    if (strlen(env) >= sizeof text)
        return fail(why, n, "JOULEMARK_SIM_PTD is too long.");
    memcpy(text, env, strlen(env) + 1);
    for (char *t = strtok_r(text, " ", &save); t && argc < 63; t = strtok_r(NULL, " ", &save))
        argv[argc++] = t;
    return read_all(o, argc, argv, false, why, n);
}

int simptd_options_read(struct simptd_options *o, int argc, char **argv, char *why, size_t n)
{
    int e = environment(o, why, n);
    if (!e)
        e = read_all(o, argc - 1, argv + 1, true, why, n);
    if (e || o->help)
        return e;
    if (o->type < 0)
        o->type = 49;
    const char *name = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == o->type)
            name = types[i].model;
    if (!name)
        return fail(
            why, n,
            "there is no simulated device of type %d; there are 8, 35, 47, 48, 49, 52, 59, 61, 66, 77, "
            "508, 549, 586.",
            o->type);
    if (!o->model)
        o->model = name;
    const struct simwt_model *m = simwt_find(o->model), *t = simwt_find(name);
    if ((m->elements > 1) != (t->elements > 1))
        return fail(why, n, "device type %d is %s; %s does not fit it.", o->type, name, o->model);
    if (m->elements > 1 && o->type != 48 && o->first + o->channels - 1 > m->elements)
        return fail(why, n, "%s has no channel %d.", o->model, o->first + o->channels - 1);
    return 0;
}
