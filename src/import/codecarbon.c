/* SPDX-License-Identifier: Apache-2.0 */
/* CodeCarbon's emissions.csv, and the emissions_*.csv of its tasks. A row is a run, written when the tracker
 * stops; flush() writes the total so far under the same run_id, and a second stop() the same row again
 * (mlco2/codecarbon issue 1307), so that of each run_id only the last row counts. Energies are kWh and hold
 * the PUE that the column names. What each part was measured by is in no column: memory is always a model
 * (watts a DIMM), the CPU is RAPL or a constant from a table of TDPs, the GPU a counter. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/codecarbon_json.h"
#include "import/table.h"

#include "base/banned.h"

#define ROWS 1000000

enum col {
    STAMP,
    PROJECT,
    RUN,
    TASK,
    DURATION,
    EMISSIONS,
    RATE,
    CPU_W,
    GPU_W,
    RAM_W,
    CPU,
    GPU,
    RAM,
    TOTAL,
    NAME,
    ISO,
    MODE,
    GPUS,
    GPU_MODEL,
    PUE,
    WATER,
    CPU_LOAD,
    COLS
};
static const char *const names[COLS] = {"timestamp",      "project_name",
                                        "run_id",         "task_name",
                                        "duration",       "emissions",
                                        "emissions_rate", "cpu_power",
                                        "gpu_power",      "ram_power",
                                        "cpu_energy",     "gpu_energy",
                                        "ram_energy",     "energy_consumed",
                                        "country_name",   "country_iso_code",
                                        "tracking_mode",  "gpu_count",
                                        "gpu_model",      "pue",
                                        "water_consumed", "cpu_utilization_percent"};

struct seen { /* of a run and task, by hash: its last row */
    uint64_t id;
    int64_t row;
    double energy;
};

struct cc {
    struct jm_table t;
    int col[COLS];
    struct seen *seen;
    size_t n_seen, cap;
    int64_t rows, stamp; /* stamp: the last time in the file, -1 */
    struct jm_table_note twice, grew, parts, pue, pue_twice, modelled, zero, negative, machine, no_gpu, date,
        last, cut, none;
    bool told;
};

static bool num(const struct cc *c, enum col k, double *v)
{
    return jm_table_num(&c->t, c->col[k], v);
}

/* Version 1 has no run_id: a row that says the same to the last digit is the same run. */
static uint64_t id_of(const struct cc *c)
{
    static const enum col same[] = {STAMP, PROJECT, DURATION, EMISSIONS, TOTAL};
    struct jm_span run = jm_table_span(&c->t, c->col[RUN]);
    uint64_t h = jm_build_hash(jm_build_hash(1, run), jm_table_span(&c->t, c->col[TASK]));
    if (!run.n && c->col[RUN] >= 0)
        return 0;
    for (size_t i = 0; !run.n && i < sizeof same / sizeof same[0]; i++)
        h = jm_build_hash(jm_build_hash(h, jm_table_span(&c->t, c->col[same[i]])), JM_SPAN(","));
    return h ? h : 1;
}

static void columns(struct cc *c)
{
    for (int i = 0; i < COLS; i++)
        c->col[i] = jm_table_col(&c->t, names[i]);
}

static int open_table(struct cc *c, const struct jm_ifile *f, struct jm_err *err)
{
    int rc = jm_table_open(&c->t, f, err);
    c->t.follow = true;
    if (!rc)
        columns(c);
    return rc;
}

/* 1: a row, 0: the end. Files of several versions put one behind the other have a head each. */
static int next_row(struct cc *c, const struct jm_ifile *f, struct jm_err *err)
{
    int64_t before = c->t.changed;
    int rc = jm_table_row(&c->t, f, err);
    if (c->t.changed != before)
        columns(c);
    return rc;
}

/* A row of another length than its head whose duration or energy is no number, or whose country has no code:
 * a version with other columns wrote it, or it is cut. */
static bool shifted(const struct cc *c)
{
    double v;
    struct jm_span iso = jm_table_span(&c->t, c->col[ISO]);
    if (c->t.n == c->t.n_head)
        return false;
    if (!num(c, DURATION, &v) || !num(c, TOTAL, &v) || iso.n > 3)
        return true;
    for (size_t i = 0; i < iso.n; i++)
        if (iso.p[i] < 'A' || iso.p[i] > 'Z')
            return true;
    return c->col[NAME] >= 0 && num(c, NAME, &v);
}

static int by_id(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_row(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Which rows count: the last of each run. */
static int look(struct cc *c, const struct jm_ifile *f, struct jm_err *err)
{
    int rc = open_table(c, f, err), more = 0;
    while (!rc && (more = next_row(c, f, err)) > 0) {
        double e;
        int64_t at;
        bool zone;
        if (shifted(c)) {
            jm_table_note(&c->cut, "row %lld", (long long)++c->rows);
            continue;
        }
        if (jm_build_date(jm_table_span(&c->t, c->col[STAMP]), &at, &zone) && at > c->stamp)
            c->stamp = at;
        if (c->n_seen == c->cap) {
            size_t cap = c->cap ? 2 * c->cap : 64;
            struct seen *s = cap <= ROWS ? realloc(c->seen, cap * sizeof *s) : NULL;
            if (!s)
                return jm_err_set(err, JM_ELIMIT, "%s holds more than %zu rows", f->path, c->n_seen);
            c->seen = s;
            c->cap = cap;
        }
        if (!num(c, TOTAL, &e))
            e = NAN;
        c->seen[c->n_seen++] = (struct seen){id_of(c), c->rows++, e};
    }
    if (rc || more < 0)
        return rc ? rc : more;
    if (!c->n_seen)
        return jm_err_set(err, JM_EPARSE, "%s holds column names and no row%s", f->path,
                          c->cut.n ? " that fits them" : "");
    qsort(c->seen, c->n_seen, sizeof *c->seen, by_id);
    size_t k = 0;
    for (size_t i = 0; i < c->n_seen; i++) {
        const struct seen *x = &c->seen[i], *y = i + 1 < c->n_seen ? &c->seen[i + 1] : NULL;
        if (y && x->id && x->id == y->id) {
            if (x->energy == y->energy)
                jm_table_note(&c->twice, "rows %lld and %lld", (long long)x->row + 1, (long long)y->row + 1);
            else
                jm_table_note(&c->grew, "rows %lld and %lld", (long long)x->row + 1, (long long)y->row + 1);
            continue;
        }
        c->seen[k++] = *x;
    }
    c->n_seen = k;
    qsort(c->seen, c->n_seen, sizeof *c->seen, by_row);
    return 0;
}

/* Digits behind leading zeros: a TDP or a forced power has few, a mean of readings about 16. */
static bool few_digits(struct jm_span s)
{
    int n = 0;
    for (size_t i = 0; i < s.n && s.p[i] != 'e' && s.p[i] != 'E'; i++)
        n += s.p[i] >= '1' && s.p[i] <= '9' ? 1 : n > 0 && s.p[i] == '0';
    return n <= 6;
}

/* A part whose energy is its power times the duration was not measured where the power is a round number: in
 * 3.x the power is the mean over the run, and its product with the duration is near the energy of a counter
 * too. Without a counter a CPU is a tenth of its TDP, a whole number of watts, and up with the load. */
static void model_of(struct cc *c, enum col w, enum col e, double seconds, double total, const char *what)
{
    double watts, kwh;
    if (!num(c, w, &watts) || !num(c, e, &kwh) || !(kwh > 0) || !(watts > 0) || !(seconds > 0))
        return;
    double share = total > 0 ? 100 * kwh / total : NAN;
    if (e == RAM)
        jm_table_note(&c->modelled, "ram_energy, %.3g %% of the total, is a model of %.4g W (watts a DIMM)",
                      share, watts);
    else if (fabs(kwh * 3.6e6 / (watts * seconds) - 1) < 0.002 && few_digits(jm_table_span(&c->t, c->col[w])))
        jm_table_note(
            &c->modelled,
            "%s, %.3g %% of the total, is %.5g W x %.6g s to the last digits: a constant (half a TDP, or a "
            "forced power), no counter",
            what, share, watts, seconds);
    else if (e == CPU && c->col[CPU_LOAD] >= 0 && watts < 100 &&
             !few_digits(jm_table_span(&c->t, c->col[w])) && fabs(10 * watts - round(10 * watts)) < 5e-5)
        jm_table_note(&c->modelled,
                      "%s, %.3g %% of the total, is of %.9g W, a tenth of a TDP of %.0f W: a model of the "
                      "load, no counter",
                      what, share, watts, 10 * watts);
    else if (e == CPU && fabs(kwh * 3.6e6 / (watts * seconds) - 1) > 0.2)
        jm_table_note(&c->last, "cpu_power is %.4g W, cpu_energy over the duration %.4g W", watts,
                      kwh * 3.6e6 / seconds);
}

static void claims(struct cc *c, struct jm_build *b, double seconds)
{
    double cpu = NAN, gpu = NAN, ram = NAN, total = NAN, pue = 1, v, gpus = NAN;
    char text[128];
    num(c, CPU, &cpu);
    num(c, GPU, &gpu);
    num(c, RAM, &ram);
    num(c, TOTAL, &total);
    num(c, GPUS, &gpus);
    if (!num(c, PUE, &pue) || !(pue > 0))
        pue = 1;
    bool scaled = fabs(pue - 1) > 1e-9;
    double parts = (isnan(cpu) ? 0 : cpu) + (isnan(gpu) ? 0 : gpu) + (isnan(ram) ? 0 : ram);
    jm_build_claim(b, "duration", "duration", "sum", seconds, "s", "");
    bool has_gpu = gpus > 0 || jm_table_text(&c->t, c->col[GPU_MODEL], text, sizeof text)[0] || gpu > 0;
    if (isfinite(gpu) && has_gpu) {
        jm_build_energy_claim(b, "gpu_energy", scaled ? "" : "energy", "sum", gpu, "kWh",
                              "GPU counters (NVML, amdsmi), end less start", scaled ? "" : "gpu");
        if (scaled)
            jm_build_energy_claim(b, "gpu_energy / pue", "energy", "sum", gpu / pue, "kWh",
                                  "GPU counters (NVML, amdsmi), end less start; the PUE taken off again",
                                  "gpu");
    } else {
        if (c->col[GPU] >= 0)
            jm_table_note(&c->no_gpu, "no GPU was seen");
        else if (total > 0)
            jm_table_note(&c->modelled,
                          "energy_consumed of version 1 has no parts in the file: what of it is a GPU's, and "
                          "what comes from a table of TDPs, is not said");
    }
    if (isfinite(cpu))
        jm_build_claim(b, "cpu_energy", "", "sum", cpu, "kWh",
                       "RAPL, or a model of the CPU's TDP and load: the file does not say");
    if (isfinite(ram))
        jm_build_claim(b, "ram_energy", "", "sum", ram, "kWh", "estimate: watts a DIMM");
    if (!isfinite(total))
        jm_table_note(&c->none, "\"%.60s\"", jm_table_text(&c->t, c->col[TOTAL], text, sizeof text));
    if (isfinite(total))
        jm_build_energy_claim(b, "energy_consumed", "energy", "sum", total, "kWh",
                              "estimate: CPU, GPU and modelled memory, times the PUE", "design");
    if (num(c, EMISSIONS, &v)) {
        jm_build_claim(b, "emissions", "", "sum", v, "kgCO2e",
                       "estimate: energy x the intensity of the country's grid");
        if (total > 0) {
            char iso[8], key[48];
            jm_table_text(&c->t, c->col[ISO], iso, sizeof iso);
            jm_build_claim(b, "emissions / energy_consumed", "", "", v / total * 1e3, "gCO2e/kWh", "");
            snprintf(key, sizeof key, "import.carbon.%s", iso[0] ? iso : "unknown");
            jm_build_env(b, key, "%.6g", v / total * 1e3);
        }
    }
    if (num(c, WATER, &v) && v != 0)
        jm_build_claim(b, "water_consumed", "", "sum", v, "L", "estimate: energy x WUE");
    static const enum col watts[] = {CPU_W, GPU_W, RAM_W};
    for (size_t i = 0; i < 3; i++)
        if (num(c, watts[i], &v))
            jm_build_claim(b, names[watts[i]], "", "", v, "W",
                           watts[i] == RAM_W ? "estimate: watts a DIMM"
                                             : "of the last interval, or its mean");
    /* what does not fit */
    if (isfinite(total) && c->col[CPU] >= 0 && parts > 0) {
        if (scaled && fabs(total / (parts * pue) - 1) < 1e-3)
            jm_table_note(
                &c->pue_twice,
                "energy_consumed %.6g kWh is pue %.4g x the parts (%.6g kWh), which hold it already", total,
                pue, parts);
        else if (fabs(total / parts - 1) > 1e-3)
            jm_table_note(&c->parts, "energy_consumed %.6g kWh, cpu + gpu + ram %.6g kWh", total, parts);
    }
    if (scaled)
        jm_table_note(&c->pue, "%.4g, in every energy and power of the row", pue);
    model_of(c, CPU_W, CPU, seconds, total, "cpu_energy");
    model_of(c, GPU_W, GPU, seconds, total, "gpu_energy");
    model_of(c, RAM_W, RAM, seconds, total, "ram_energy");
    if (cpu < 0 || gpu < 0 || ram < 0 || total < 0)
        jm_table_note(&c->negative, "cpu %.6g, gpu %.6g, ram %.6g, in all %.6g kWh", cpu, gpu, ram, total);
    else if (total == 0 && seconds > 0)
        jm_table_note(&c->zero, "0 kWh in %.6g s", seconds);
    if (strcmp(jm_table_text(&c->t, c->col[MODE], text, sizeof text), "machine") == 0)
        jm_table_note(&c->machine, "tracking_mode is machine%s", gpus > 1 ? ", with every GPU of it" : "");
    if (isfinite(gpus))
        jm_build_env(b, "import.gpus", "%.0f", gpus);
}

static void row(struct cc *c, struct jm_build *b, int64_t n)
{
    static const char *const env[][2] = {{"os", "host.os"},
                                         {"cpu_model", "host.cpu"},
                                         {"gpu_model", "host.gpu"},
                                         {"codecarbon_version", "import.version"},
                                         {"region", "file.region"},
                                         {"cloud_provider", "file.cloud_provider"},
                                         {"on_cloud", "file.on_cloud"},
                                         {"tracking_mode", "file.tracking_mode"},
                                         {"country_name", "file.country_name"},
                                         {"python_version", "file.python_version"}};
    char project[80], run[48], task[64], name[200], text[160];
    double seconds = 0;
    int64_t end, ns;
    bool zone;
    if (c->t.n < c->t.n_head && c->col[ISO] >= 0 && (size_t)c->col[ISO] + 1 < c->t.n)
        c->t.n = (size_t)c->col[ISO] + 1; /* columns behind it may be shifted */
    num(c, DURATION, &seconds);
    if (!(seconds >= 0) || !(seconds < 1e9)) {
        jm_table_note(&c->negative, "row %lld lasts %.6g s", (long long)n + 1, seconds);
        seconds = 0;
    }
    ns = (int64_t)(seconds * 1e9);
    if (!jm_build_date(jm_table_span(&c->t, c->col[STAMP]), &end, &zone)) {
        jm_table_note(&c->date, "row %lld has no time that is one", (long long)n + 1);
        end = b->f->mtime_ns;
    }
    jm_table_text(&c->t, c->col[PROJECT], project, sizeof project);
    jm_table_text(&c->t, c->col[RUN], run, sizeof run);
    jm_table_text(&c->t, c->col[TASK], task, sizeof task);
    snprintf(name, sizeof name, "%s%s%s%s%.8s", project[0] ? project : "run", task[0] ? ", " : "", task,
             run[0] ? " " : "", run);
    jm_build_window(b, jm_build_repeat(b, project), name, end > ns ? end - ns : 0, ns);
    claims(c, b, seconds);
    for (size_t i = 0; !c->told && i < sizeof env / sizeof env[0]; i++)
        if (jm_table_text(&c->t, jm_table_col(&c->t, env[i][0]), text, sizeof text)[0])
            jm_build_env(b, env[i][1], "%s", text);
    c->told = true;
}

static void facts(struct cc *c, struct jm_build *b)
{
    jm_table_told(b, "import.rows.twice", &c->twice, "pairs of rows are one run, written twice");
    jm_table_told(b, "import.rows.cumulative", &c->grew,
                  "pairs of rows are one run, the later one its total so far");
    jm_table_told(b, "import.parts", &c->parts, "rows");
    jm_table_told(b, "import.pue", &c->pue, "rows");
    jm_table_told(b, "import.pue.twice", &c->pue_twice, "rows");
    jm_table_told(b, "import.modelled", &c->modelled, "parts");
    jm_table_told(b, "import.zero", &c->zero, "rows");
    jm_table_told(b, "import.negative", &c->negative, "rows");
    jm_table_told(b, "import.whole_machine", &c->machine, "rows");
    jm_table_told(b, "import.without.gpu", &c->no_gpu, "rows");
    jm_table_told(b, "import.power.last", &c->last, "rows");
    jm_table_told(b, "import.rows.date", &c->date, "rows");
    jm_table_told(b, "import.energy.none", &c->none, "rows have no number as energy_consumed");
    jm_table_told(b, "import.rows.cut", &c->cut, "rows do not fit their head, by another version or cut");
    if (c->t.changed)
        jm_build_env(b, "import.heads", "%lld heads with other columns, each for the rows behind it",
                     (long long)c->t.changed + 1);
    if (c->t.short_rows)
        jm_build_env(b, "import.rows.short",
                     "%lld rows have another number of fields than the head; CodeCarbon leaves out columns "
                     "that are empty "
                     "when it appends, so what stands behind the first of them is in the wrong place",
                     (long long)c->t.short_rows);
    jm_build_times(
        b, "a row's time is its end, by the local clock without a zone, taken as UTC; its beginning is the "
           "duration before it");
    jm_build_env(b, "import.clock", "wall");
    jm_build_missing(b, "requests", "CodeCarbon knows of no requests and no tokens: no ratio is formed");
    jm_build_missing(b, "readings", "the file holds totals; power between start and end is not in it");
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f, rows; /* rows: the file, or the table that its JSON is */
    struct jm_build b;
    struct jm_str table;
    struct cc *c = calloc(1, sizeof *c);
    int rc = c ? jm_ifile_open(path, &f, err) : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc) {
        free(c);
        return rc;
    }
    c->stamp = -1;
    rows = f;
    jm_str_init(&table);
    struct jm_span head = jm_span_trim(jm_span_sub(f.text, 0, 256));
    if (head.n && (head.p[0] == '{' || head.p[0] == '[')) {
        rc = jm_codecarbon_table(&f, &table, err);
        rows.map = NULL;
        rows.all = rows.text = jm_str_span(&table);
    }
    if (!rc)
        rc = look(c, &rows, err);
    if (!rc && (c->col[TOTAL] < 0 || c->col[DURATION] < 0))
        rc = jm_err_set(err, JM_EPARSE, "%s has no column \"%s\"", path,
                        names[c->col[TOTAL] < 0 ? TOTAL : DURATION]);
    if (!rc && o->select > (int)c->n_seen)
        rc = jm_err_set(err, JM_EPARSE, "%s holds %zu runs, so there is no number %d", path, c->n_seen,
                        o->select);
    if (!rc) {
        size_t at = 0;
        int more = 1;
        rc = jm_build_begin(&b, "codecarbon", &f, o, out, c->stamp >= 0 ? c->stamp : f.mtime_ns, err);
        if (!b.rc)
            b.rc = open_table(c, &rows, b.err);
        for (int64_t n = 0; !b.rc && at < c->n_seen && (more = next_row(c, &rows, b.err)) > 0; n++) {
            if (c->seen[at].row != n)
                continue;
            at++;
            if (!o->select || o->select == (int)at)
                row(c, &b, n);
        }
        if (more < 0 && !b.rc)
            b.rc = more;
        facts(c, &b);
        rc = jm_build_end(&b);
    }
    jm_str_release(&table);
    free(c->seen);
    free(c);
    jm_ifile_close(&f);
    return rc;
}

static int sniff(const struct jm_probe *p)
{
    static const char *const need[] = {"timestamp", "project_name",    "duration",
                                       "emissions", "energy_consumed", NULL};
    static const struct jm_probe_mark object[] = {{"energy_consumed", 0},
                                                  {"emissions", 0},
                                                  {"duration", 40},
                                                  {"run_id", 50},
                                                  {NULL, 0}},
                                      list[] = {{"[].energy_consumed", 0},
                                                {"[].emissions", 0},
                                                {"[].duration", 40},
                                                {"[].run_id", 50},
                                                {NULL, 0}};
    if (p->json)
        return jm_probe_score(p, p->list ? list : object);
    return jm_table_looks(p, need) ? 95 : 0;
}

const struct jm_importer jm_import_codecarbon = {
    .name = "codecarbon",
    .summary = "CodeCarbon emissions.csv (1.x to 3.x; emissions_*.csv of tasks; *_codecarbon.json)",
    .reads = "A window a run with its energies, powers, emissions and duration as claims; of rows with one "
             "run_id the last "
             "(flush() and a second stop() write a run again). The GPU's energy is that of the boards; "
             "energy_consumed holds "
             "modelled memory and the PUE, and is a design figure.",
    .lacks = "What measured the CPU; power over time; the zone of its times; tokens and requests.",
    .sniff = sniff,
    .import = import,
};
