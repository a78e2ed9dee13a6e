/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of nvidia-smi: CSV of --query-gpu in any set and order of columns; -q text, -q -x and dmon are in
 * files beside this one. Names of columns and the words that stand for no value are those of the captures of
 * utkuozdemir/nvidia_gpu_exporter (drivers 580 to 610) and of nvidia-smi --help-query-gpu. */
#include "import/nvidia_smi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/probe.h"
#include "wire/csv.h"

#include "base/banned.h"

#define GPUS    4096
#define COLUMNS 256

struct jm_smi_gpu *jm_smi_gpu(struct jm_smi *s, struct jm_span key)
{
    char text[96];
    key = jm_span_trim(key);
    snprintf(text, sizeof text, "%.*s", key.n < 95 ? (int)key.n : 95, key.p ? key.p : "");
    jm_text_plain(text, strlen(text), false);
    if (s->l.b.rc)
        return NULL;
    for (size_t i = 0; i < s->n; i++) {
        size_t k = (s->at + 1 + i) % s->n;
        if (strcmp(s->gpu[k].key, text) == 0)
            return &s->gpu[s->at = k];
    }
    if (s->n == GPUS) {
        s->l.b.rc = jm_err_set(s->l.b.err, JM_ELIMIT, "%s names more than %d GPUs", s->l.f.path, GPUS);
        return NULL;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        struct jm_smi_gpu *more = realloc(s->gpu, cap * sizeof *more);
        if (!more) {
            s->l.b.rc = jm_err_set(s->l.b.err, JM_ENOMEM, "out of memory for the GPUs of %s", s->l.f.path);
            return NULL;
        }
        s->gpu = more;
        s->cap = cap;
    }
    struct jm_smi_gpu *g = &s->gpu[s->at = s->n++];
    *g = (struct jm_smi_gpu){.driver = 0};
    snprintf(g->key, sizeof g->key, "%s", text);
    return g;
}

int jm_smi_driver(struct jm_span s)
{
    int64_t v;
    ptrdiff_t dot = jm_span_chr(s = jm_span_trim(s), '.');
    return jm_num_i64(jm_span_sub(s, 0, dot < 0 ? s.n : (size_t)dot), &v) == 0 && v > 0 && v < 10000 ? (int)v
                                                                                                     : 0;
}

static int channel(struct jm_smi *s, struct jm_smi_gpu *g, enum jm_smi_what what)
{
    static const enum jm_nvml_query query[] = {[JM_SMI_USAGE] = JM_NVML_Q_USAGE,
                                               [JM_SMI_AVERAGE] = JM_NVML_Q_AVERAGE,
                                               [JM_SMI_INSTANT] = JM_NVML_Q_INSTANT,
                                               [JM_SMI_MEMORY] = JM_NVML_Q_AVERAGE,
                                               [JM_SMI_MODULE] = JM_NVML_Q_AVERAGE};
    static const char *const source[] = {[JM_SMI_USAGE] = "nvidia-smi power.draw",
                                         [JM_SMI_AVERAGE] = "nvidia-smi power.draw.average",
                                         [JM_SMI_INSTANT] = "nvidia-smi power.draw.instant",
                                         [JM_SMI_MEMORY] = "nvidia-smi, power of the memory",
                                         [JM_SMI_MODULE] = "nvidia-smi module.power.draw"};
    char label[200], key[110];
    struct jm_span product = jm_span_of(g->name[0] ? g->name : g->arch);
    struct jm_dev_place p = {.domain = JM_D_GPU, .key = g->key, .label = label};
    struct jm_dev_kind k;
    snprintf(label, sizeof label, "GPU %s%s%s", g->key, g->name[0] ? ", " : "", g->name);
    switch (what) {
    case JM_SMI_LIMIT: k = jm_dev_limit; break;
    case JM_SMI_CLOCK_SM: k = jm_dev_clock_sm; break;
    case JM_SMI_CLOCK_MEM: k = jm_dev_clock_mem; break;
    case JM_SMI_TEMP: k = jm_dev_temp; break;
    case JM_SMI_UTIL: k = jm_dev_util; break;
    default: k = jm_dev_nvml(query[what], product, g->driver, source[what]);
    }
    if (what == JM_SMI_MEMORY) {
        p = (struct jm_dev_place){.domain = JM_D_HBM, .key = "hbm", .label = "GPU memory", .parent = g->key};
        k.name = "power.memory.average";
        k.scope = "memory";
    } else if (what == JM_SMI_MODULE) {
        snprintf(key, sizeof key, "module %s", g->key);
        p.domain = JM_D_MODULE;
        p.key = p.label = key;
        k.name = "power.module.average";
        k.scope = "module";
        k.flags |= JM_CHF_PARTOF; /* it holds the GPU, which is counted by itself */
    }
    return jm_devlog_channel(&s->l, &p, &k);
}

void jm_smi_value(struct jm_smi *s, struct jm_smi_gpu *g, enum jm_smi_what what, int64_t t,
                  struct jm_span text)
{
    struct jm_span number;
    int text10, deflt10 = what == JM_SMI_UTIL                                   ? -2
                          : what == JM_SMI_CLOCK_SM || what == JM_SMI_CLOCK_MEM ? 6
                                                                                : 0;
    if (s->l.b.rc || !g || what == JM_SMI_NONE)
        return;
    if (!jm_devlog_number(text, deflt10, &number, &text10)) {
        enum jm_status why = jm_devlog_word(text);
        if (g->ch[what]) {
            jm_devlog_gap(&s->l, g->ch[what] - 1, t, why == JM_S_OK ? JM_S_GAP : why);
            *(why == JM_S_OK ? &s->l.bad : &s->l.missing) += 1;
        }
        return;
    }
    if (!g->ch[what])
        g->ch[what] = channel(s, g, what) + 1;
    jm_devlog_put(&s->l, g->ch[what] - 1, t, text10, number);
}

void jm_smi_local_times(struct jm_devlog *l)
{
    jm_build_times(&l->b, "stamps of the log in the host's local time without a zone, taken as UTC");
}

int jm_smi_end(struct jm_smi *s)
{
    size_t without = 0;
    for (size_t i = 0; i < s->n; i++) {
        const int *c = s->gpu[i].ch;
        if (!c[JM_SMI_USAGE] && !c[JM_SMI_AVERAGE] && !c[JM_SMI_INSTANT]) {
            char key[110];
            snprintf(key, sizeof key, "power of GPU %s", s->gpu[i].key);
            if (without++ < 64)
                jm_build_missing(&s->l.b, key, "no line has a power of it");
        }
    }
    int rc = jm_devlog_end(&s->l);
    free(s->gpu);
    s->gpu = NULL;
    return rc;
}

/* ---- CSV */

enum id { ID_NONE, ID_TIME, ID_UUID, ID_BUS, ID_INDEX, ID_NAME, ID_DRIVER, ID_COUNT };
struct columns {
    int id[ID_COUNT]; /* -1: not there */
    unsigned char what[COLUMNS];
    size_t n;
    bool guessed;
};

static const struct {
    const char *name;
    enum id id;
    enum jm_smi_what what;
} names[] = {
    {"timestamp", ID_TIME, 0},
    {"uuid", ID_UUID, 0},
    {"gpu_uuid", ID_UUID, 0},
    {"pci.bus_id", ID_BUS, 0},
    {"gpu_bus_id", ID_BUS, 0},
    {"pci.bus", ID_BUS, 0},
    {"index", ID_INDEX, 0},
    {"name", ID_NAME, 0},
    {"gpu_name", ID_NAME, 0},
    {"driver_version", ID_DRIVER, 0},
    {"kmd_version", ID_DRIVER, 0},
    {"power.draw", ID_NONE, JM_SMI_USAGE},
    {"power.draw.average", ID_NONE, JM_SMI_AVERAGE},
    {"gpu.power.draw.average", ID_NONE, JM_SMI_AVERAGE},
    {"power.draw.instant", ID_NONE, JM_SMI_INSTANT},
    {"gpu.power.draw.instant", ID_NONE, JM_SMI_INSTANT},
    {"module.power.draw", ID_NONE, JM_SMI_MODULE},
    {"module.power.draw.average", ID_NONE, JM_SMI_MODULE},
    {"enforced.power.limit", ID_NONE, JM_SMI_LIMIT},
    {"clocks.sm", ID_NONE, JM_SMI_CLOCK_SM},
    {"clocks.current.sm", ID_NONE, JM_SMI_CLOCK_SM},
    {"clocks.mem", ID_NONE, JM_SMI_CLOCK_MEM},
    {"clocks.current.memory", ID_NONE, JM_SMI_CLOCK_MEM},
    {"temperature.gpu", ID_NONE, JM_SMI_TEMP},
    {"utilization.gpu", ID_NONE, JM_SMI_UTIL},
};

/* "power.draw [W]" → "power.draw" */
static struct jm_span bare(const struct jm_csv_field *f)
{
    struct jm_span s = jm_span_trim(f->raw);
    ptrdiff_t b = jm_span_chr(s, '[');
    return b > 0 ? jm_span_trim(jm_span_sub(s, 0, (size_t)b)) : s;
}

static int known(struct jm_span s)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (jm_span_is(s, names[i].name))
            return (int)i;
    return -1;
}

static bool header(const struct jm_csv_field *f, size_t n, struct columns *c)
{
    int hits = 0;
    struct columns x = {.n = n < COLUMNS ? n : COLUMNS};
    for (int i = 0; i < ID_COUNT; i++)
        x.id[i] = -1;
    for (size_t i = 0; i < x.n; i++) {
        int k = known(bare(&f[i]));
        if (k < 0)
            continue;
        hits++;
        x.what[i] = (unsigned char)names[k].what;
        if (names[k].id && x.id[names[k].id] < 0)
            x.id[names[k].id] = (int)i;
    }
    if (hits)
        *c = x;
    return hits > 0;
}

/* Two digits behind the point, as nvidia-smi prints watts and nothing else. */
static bool looks_like_watts(struct jm_span s)
{
    struct jm_span number;
    int ten;
    s = jm_span_trim(s);
    if (!jm_devlog_number(s, 0, &number, &ten) || ten || jm_span_ends(s, JM_SPAN("C")))
        return false;
    ptrdiff_t dot = jm_span_chr(number, '.');
    return jm_span_ends(s, JM_SPAN("W")) || (number.n == s.n && dot > 0 && number.n - (size_t)dot == 3);
}

/* A log without a header: what can be told by the look of its fields. */
static void guess(const struct jm_csv_field *f, size_t n, struct columns *c)
{
    int64_t t;
    bool zone;
    *c = (struct columns){.n = n < COLUMNS ? n : COLUMNS, .guessed = true};
    for (int i = 0; i < ID_COUNT; i++)
        c->id[i] = -1;
    for (size_t i = 0; i < c->n; i++) {
        struct jm_span s = jm_span_trim(f[i].raw);
        if (jm_span_starts(s, JM_SPAN("GPU-")) && c->id[ID_UUID] < 0)
            c->id[ID_UUID] = (int)i;
        else if (c->id[ID_TIME] < 0 && jm_span_chr(s, ':') > 0 && jm_devlog_time(s, &t, &zone))
            c->id[ID_TIME] = (int)i;
        else if (c->id[ID_BUS] < 0 && s.n == 16 && s.p[8] == ':' && s.p[14] == '.')
            c->id[ID_BUS] = (int)i;
        else if (c->id[ID_INDEX] < 0 && s.n == 1 && s.p[0] >= '0' && s.p[0] <= '9' && i <= 2)
            c->id[ID_INDEX] = (int)i;
        else if (looks_like_watts(s)) {
            bool had = false;
            for (size_t k = 0; k < i; k++)
                had |= c->what[k] == JM_SMI_USAGE;
            c->what[i] = had ? JM_SMI_NONE : JM_SMI_USAGE;
        }
    }
}

static bool has_power(const struct columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->what[i] >= JM_SMI_USAGE && c->what[i] <= JM_SMI_MODULE)
            return true;
    return false;
}

struct csv_state {
    struct columns c;
    bool have, timed;
    int64_t lines, short_lines, base;
};

static void row(struct jm_smi *s, struct csv_state *k, const struct jm_csv_field *f, size_t n)
{
    const struct columns *c = &k->c;
    int64_t t = 0;
    bool zone;
    int key = c->id[ID_UUID] >= 0 ? c->id[ID_UUID] : c->id[ID_BUS] >= 0 ? c->id[ID_BUS] : c->id[ID_INDEX];
    if (n < c->n) { /* a line that was cut, or a word of nvidia-smi ("GPU is lost ... Reboot") */
        k->short_lines++;
        return;
    }
    struct jm_smi_gpu *g = jm_smi_gpu(s, key >= 0 ? f[key].raw : JM_SPAN("0"));
    if (!g)
        return;
    if (!g->name[0] && c->id[ID_NAME] >= 0)
        jm_csv_text(&f[c->id[ID_NAME]], g->name, sizeof g->name);
    if (!g->driver && c->id[ID_DRIVER] >= 0)
        g->driver = jm_smi_driver(f[c->id[ID_DRIVER]].raw);
    if (c->id[ID_TIME] >= 0) {
        if (!jm_devlog_time(f[c->id[ID_TIME]].raw, &t, &zone)) {
            k->short_lines++;
            return;
        }
        k->timed = true;
    } else {
        t = k->base + s->l.b.o->interval_ns * (k->lines / (int64_t)(s->n ? s->n : 1));
    }
    k->lines++;
    for (size_t i = 0; i < c->n && !s->l.b.rc; i++)
        jm_smi_value(s, g, (enum jm_smi_what)c->what[i], t, f[i].raw);
}

static int import_csv(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_smi s = {.n = 0};
    struct csv_state k = {.have = false};
    struct jm_csv csv;
    struct jm_csv_field *f = calloc(COLUMNS, sizeof *f);
    size_t n;
    int rc = f ? jm_devlog_begin(&s.l, "nvidia-smi", path, out, o, err)
               : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc && !s.l.b.w) {
        free(f);
        return rc;
    }
    k.base = s.l.f.mtime_ns;
    jm_csv_init(&csv, s.l.f.text, 0);
    while (!s.l.b.rc && (rc = jm_csv_row(&csv, f, COLUMNS, &n, s.l.b.err)) > 0) {
        jm_ifile_used(&s.l.f, s.l.f.text.p + csv.at, &s.l.mark);
        if (n == 1 && !jm_span_trim(f[0].raw).n)
            continue;
        if (header(f, n, &k.c)) { /* again and again where nvidia-smi was started anew */
            k.have = true;
        } else {
            if (!k.have) {
                guess(f, n, &k.c);
                k.have = true;
            }
            if (!k.lines && !has_power(&k.c)) {
                jm_build_fail(&s.l.b, "%s has no column of power.draw%s", path,
                              k.c.guessed
                                  ? ": it has no header, and no column that looks like watts; log with "
                                    "--format=csv"
                                  : "; log with --query-gpu=timestamp,uuid,name,power.draw");
                break;
            }
            if (k.c.id[ID_TIME] < 0 && !s.l.b.o->interval_ns) {
                jm_build_fail(
                    &s.l.b,
                    "%s has no timestamp column; say with --interval how far its lines are apart (the "
                    "value given to nvidia-smi -l or -lms)",
                    path);
                break;
            }
            row(&s, &k, f, n);
        }
    }
    if (rc < 0 && !s.l.b.rc)
        s.l.b.rc = rc;
    free(f);
    if (k.timed)
        jm_smi_local_times(&s.l);
    else
        jm_build_times(&s.l.b, "no stamps: lines taken as evenly spaced by --interval, the first at the "
                               "modification time of the file");
    if (k.c.guessed)
        jm_build_env(&s.l.b, "import.columns", "guessed: the log has no header");
    if (k.short_lines)
        jm_build_env(&s.l.b, "import.log.short_lines", "%lld", (long long)k.short_lines);
    if (k.have && k.c.id[ID_UUID] < 0 && k.c.id[ID_BUS] < 0 && k.c.id[ID_INDEX] < 0)
        jm_build_missing(&s.l.b, "device",
                         "no column tells GPUs apart (index, uuid): all lines are taken as of one GPU");
    return jm_smi_end(&s);
}

static int form(struct jm_span text)
{
    struct jm_span head = jm_span_sub(text, 0, 65536), line, rest = head;
    if (jm_span_find(head, JM_SPAN("<nvidia_smi_log")) >= 0)
        return 'x';
    if (jm_span_find(head, JM_SPAN("NVSMI LOG")) >= 0)
        return 'q';
    if (jm_span_find(head, JM_SPAN("| NVIDIA-SMI ")) >= 0)
        return 't';
    while (jm_span_line(&rest, &line)) {
        struct jm_span s = jm_span_trim(line);
        if (!s.n)
            continue;
        if (s.p[0] == '#' && jm_span_find(s, JM_SPAN("gpu")) > 0 && jm_span_find(s, JM_SPAN("Entity")) < 0)
            return 'm';
        struct jm_csv csv;
        struct jm_csv_field f[COLUMNS];
        struct columns c;
        size_t n;
        jm_csv_init(&csv, line, 0);
        if (jm_csv_row(&csv, f, COLUMNS, &n, NULL) > 0) {
            if (header(f, n, &c))
                return has_power(&c) && n > 0 ? 'c' : c.id[ID_TIME] >= 0 && c.id[ID_UUID] >= 0 ? 'c' : 0;
            if (n < 2)
                return 0;
            guess(f, n, &c);
            return has_power(&c) && c.id[ID_TIME] >= 0 ? 'g' : 0;
        }
        return 0;
    }
    return 0;
}

static int sniff(const struct jm_probe *p)
{
    int kind = p->f && !p->json && !p->sqlite ? form(p->f->text) : 0;
    return kind == 'c' ? 80 : kind == 'g' ? 30 : kind ? 90 : 0;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    int kind, rc = jm_ifile_form(path, form, &kind, err);
    if (rc)
        return rc;
    return kind == 'x'   ? jm_smi_import_xml(path, out, o, err)
           : kind == 'q' ? jm_smi_import_q(path, out, o, err)
           : kind == 'm' ? jm_smi_import_mon(path, out, o, err)
           : kind == 't' ? jm_smi_import_table(path, out, o, err)
                         : import_csv(path, out, o, err);
}

const struct jm_importer jm_import_nvidia_smi = {
    .name = "nvidia-smi",
    .summary = "nvidia-smi logs (--query-gpu CSV, -q and -q -x in a loop, dmon, the table of -l)",
    .reads = "power.draw, its average and instant forms, those of module and memory, limit, clocks, "
             "temperature and "
             "utilization of every GPU, in any order of columns. What one value means is taken from the name "
             "of the "
             "GPU and the driver version where the log has them: log name and driver_version too.",
    .lacks = "The energy counter; the time zone of its stamps (taken as UTC); tokens. The window is the "
             "whole log: "
             "--since and --until take a part.",
    .sniff = sniff,
    .import = import,
};
