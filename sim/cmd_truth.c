/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark-sim truth, joulemark-sim clock: look at a state file from outside. */
#include "sim_main.h"
#include "simgpu_json.h"
#include "simgpu_text.h"
#include "simgpu_truth.h"
#include "wall/wall.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int open_state(struct simgpu **s, const char *path)
{
    char why[512];
    int e = simgpu_open(s, path, why, sizeof why);
    return e ? sim_fail(SIM_SYSTEM, why) : 0;
}

/* "12.5s": from the start of the simulation; "@123456789": the state's clock in ns. */
static int when(const struct simgpu *s, const char *text, int64_t *out)
{
    if (text[0] == '@' && simgpu_quantity_z(text + 1, simgpu_units_plain, out))
        return 0;
    if (!simgpu_quantity_z(text, simgpu_units_time, out))
        return sim_fail(SIM_USAGE,
                        "a time is written as 12.5s from the start of the simulation, or as @NANOSECONDS "
                        "of its clock.");
    *out += s->h->start_ns;
    return 0;
}

/* A truth file of an analyzer or PTDaemon: its waveform tells the energy between any two Unix times. */
static bool is_wall(const char *path, json_t **out)
{
    char first = 0;
    FILE *f = fopen(path, "re");
    if (f && fread(&first, 1, 1, f) != 1)
        first = 0;
    if (f)
        fclose(f);
    *out = first == '{' ? json_load_file(path, 0, NULL) : NULL;
    const char *schema = json_string_value(json_object_get(*out, "schema"));
    return schema && strcmp(schema, "joulemark-sim.wall-truth/1") == 0;
}

static int wall_when(int64_t start, const char *text, int64_t *out)
{
    if (text[0] == '@' && simgpu_quantity_z(text + 1, simgpu_units_plain, out))
        return 0;
    if (!simgpu_quantity_z(text, simgpu_units_time, out))
        return sim_fail(SIM_USAGE, "a time is written as 12.5s from the start of the waveform, or as "
                                   "@NANOSECONDS of Unix time.");
    *out += start;
    return 0;
}

static int wall_truth(const json_t *doc, const char *from, const char *to)
{
    const char *spec = json_string_value(json_object_get(doc, "waveform"));
    int64_t start = json_integer_value(json_object_get(doc, "start_unix_ns")), t0 = start;
    int64_t t1 = json_integer_value(json_object_get(doc, "end_unix_ns"));
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(doc, "seed"));
    struct simwall *w;
    char why[512];
    int e = from ? wall_when(start, from, &t0) : 0;
    if (!e && to)
        e = wall_when(start, to, &t1);
    if (!e && t1 < t0)
        e = sim_fail(SIM_USAGE, "--to lies before --from.");
    if (e)
        return e;
    if (!spec || simwall_open(&w, spec, seed, start, why, sizeof why) < 0)
        return sim_fail(SIM_SYSTEM, spec ? why : "the truth file names no waveform.");
    double j = simwall_energy_j(w, t0, t1);
    printf("{\"schema\": \"joulemark-sim.wall-energy/1\", \"simulated\": true, \"t0_unix_ns\": %lld, "
           "\"t1_unix_ns\": %lld, ",
           (long long)t0, (long long)t1);
    printf(isfinite(j) ? "\"joules\": %.9f}\n" : "\"joules\": null}\n", j);
    simwall_close(w);
    return fflush(stdout) == 0 ? SIM_OK : sim_fail(SIM_SYSTEM, "cannot write to standard output.");
}

int sim_cmd_truth(int argc, char **argv)
{
    const char *path = NULL, *from = NULL, *to = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            puts("usage: joulemark-sim truth [--from TIME] [--to TIME] STATE\n\n"
                 "Writes as JSON what each GPU of the state file really drew between two times:\n"
                 "its energy is the exact integral of its power, whatever its sensors said.\n\n"
                 "  --from TIME   [the start]   12.5s: from the start of the simulation;\n"
                 "  --to TIME     [now]         @NS: nanoseconds of its clock\n\n"
                 "A driven GPU keeps its last 1048576 power steps; before that its energy is null.\n\n"
                 "STATE may also be a file that --truth of joulemark-sim ptd or analyzer wrote:\n"
                 "then the energy of its load, and @NS is Unix time.");
            return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
        }
        bool is_from = strcmp(argv[i], "--from") == 0;
        if ((is_from || strcmp(argv[i], "--to") == 0) && i + 1 < argc)
            *(is_from ? &from : &to) = argv[++i];
        else if (argv[i][0] != '-' && !path)
            path = argv[i];
        else
            return sim_fail(SIM_USAGE, "usage: joulemark-sim truth [--from TIME] [--to TIME] STATE");
    }
    struct simgpu *s;
    if (!path)
        return sim_fail(SIM_USAGE, "truth needs a state file.");
    json_t *doc;
    int e;
    if (is_wall(path, &doc)) {
        e = wall_truth(doc, from, to);
        json_decref(doc);
        return e;
    }
    json_decref(doc);
    e = open_state(&s, path);
    if (e)
        return e;
    int64_t t0 = s->h->start_ns, t1 = simgpu_now(s);
    if (from)
        e = when(s, from, &t0);
    if (!e && to)
        e = when(s, to, &t1);
    if (!e && t1 < t0)
        e = sim_fail(SIM_USAGE, "--to lies before --from.");
    if (!e && simgpu_truth_json(s, t0, t1, stdout))
        e = sim_fail(SIM_SYSTEM, "cannot write to standard output.");
    simgpu_close(s);
    return e;
}

int sim_cmd_clock(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        puts("usage: joulemark-sim clock STATE [ADVANCE]\n\n"
             "Prints the clock of a state file in nanoseconds, after moving it on by ADVANCE\n"
             "(100ms, 5s) when that is given, which only a virtual clock allows.");
        return fflush(stdout) == 0 ? SIM_OK : SIM_SYSTEM;
    }
    if (argc < 2 || argc > 3 || argv[1][0] == '-')
        return sim_fail(SIM_USAGE, "usage: joulemark-sim clock STATE [ADVANCE]");
    int64_t dt = 0;
    if (argc == 3 && (!simgpu_quantity_z(argv[2], simgpu_units_time, &dt) || dt < 0))
        return sim_fail(SIM_USAGE, "ADVANCE is a time, as in 100ms.");
    struct simgpu *s;
    int e = open_state(&s, argv[1]);
    if (e)
        return e;
    if (argc == 3 && simgpu_advance(s, dt) < 0)
        e = sim_fail(SIM_USAGE, "this state file runs on the real clock, which cannot be moved.");
    if (!e && (printf("%lld\n", (long long)simgpu_now(s)) < 0 || fflush(stdout) != 0))
        e = sim_fail(SIM_SYSTEM, "cannot write to standard output.");
    simgpu_close(s);
    return e;
}
