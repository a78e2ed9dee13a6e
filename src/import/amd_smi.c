/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of amd-smi, rocm-smi and hl-smi, as CSV and JSON, and of xpu-smi as CSV. Names of members are those of
 * amd-smi metric and monitor (ROCm 6 and 7), rocm-smi --showpower --showenergycounter, hl-smi -Q, xpu-smi
 * dump. Of a package of two dies only one shows the power of both; the other shows N/A or 0, which is no
 * reading (rocm_smi_lib issue 160). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "import/devlog.h"
#include "import/probe.h"
#include "wire/csv.h"

#include "base/banned.h"

#define COLUMNS   256
#define GPUS      1024
#define MOST_DAYS 3660 /* midnights that a log without dates may pass */

enum what { NONE, TIME, DEVICE, TILE, NAME, CURRENT, AVERAGE, ENERGY_J, ENERGY_UJ, LIMIT, WHATS };

static const struct {
    const char *name;
    enum what what;
    char tool; /* a amd-smi, r rocm-smi, h hl-smi, x xpu-smi, . any */
} names[] = {
    {"timestamp", TIME, '.'},
    {"time", TIME, '.'},
    {"date", TIME, '.'},
    {"gpu", DEVICE, 'a'},
    {"gpu_id", DEVICE, 'a'},
    {"device", DEVICE, 'r'},
    {"index", DEVICE, 'h'},
    {"DeviceId", DEVICE, 'x'},
    {"TileId", TILE, 'x'},
    {"uuid", DEVICE, '.'},
    {"name", NAME, '.'},
    {"Card Series", NAME, 'r'},
    {"socket_power", CURRENT, 'a'},
    {"current_socket_power", CURRENT, 'a'},
    {"power_usage", CURRENT, 'a'},
    {"average_socket_power", AVERAGE, 'a'},
    {"total_energy_consumption", ENERGY_J, 'a'},
    {"Current Socket Graphics Package Power (W)", CURRENT, 'r'},
    {"Average Graphics Package Power (W)", AVERAGE, 'r'},
    {"power1_average (W)", AVERAGE, 'r'},
    {"Accumulated Energy (uJ)", ENERGY_UJ, 'r'},
    {"Max Graphics Package Power (W)", LIMIT, 'r'},
    {"GPU Power (W)", CURRENT, 'x'},
    {"GPU Energy Consumed (J)", ENERGY_J, 'x'},
    {"power.draw", CURRENT, 'h'},
    {"power.draw [W]", CURRENT, 'h'},
};

static int find(struct jm_span s)
{
    s = jm_span_trim(s);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (jm_span_ieq(s, jm_span_of(names[i].name)))
            return (int)i;
    return -1;
}

struct gpu {
    char key[96], name[64];
    int ch[WHATS]; /* 1 + channel */
    int64_t zeros;
    int64_t rows;
};
struct amd {
    struct jm_devlog l;
    struct gpu *gpu;
    size_t n;
    char tool;
    bool zone, stamped;
    bool no_date; /* its stamps are times of day */
    int64_t base, day, of_day;
};

static struct gpu *gpu_of(struct amd *a, struct jm_span key)
{
    char text[96];
    snprintf(text, sizeof text, "%.*s", key.n < 90 ? (int)key.n : 90, key.p ? key.p : "");
    jm_text_plain(text, strlen(text), false);
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->gpu[i].key, text) == 0)
            return &a->gpu[i];
    if (a->n == GPUS)
        return NULL;
    struct gpu *g = &a->gpu[a->n++];
    memset(g, 0, sizeof *g);
    snprintf(g->key, sizeof g->key, "%s", text);
    return g;
}

static void value(struct amd *a, struct gpu *g, enum what what, int64_t t, struct jm_span text)
{
    static const struct jm_dev_kind kinds[WHATS] = {
        [CURRENT] = {"power.current", JM_CH_GAUGE, JM_U_W, 0, -3, JM_G_INSTANT, 0, 0, JM_P_MEASURED, 0, 20e3,
                     "gpu", "socket power"},
        [AVERAGE] = {"power.average", JM_CH_GAUGE, JM_U_W, 0, -3, JM_G_INSTANT, 0, 0, JM_P_MEASURED, 0, 20e3,
                     "gpu", "average socket power"},
        [ENERGY_J] = {"energy", JM_CH_COUNTER, JM_U_J, 0, -6, JM_G_INSTANT, 0, 0, JM_P_MEASURED, 0, 0, "gpu",
                      "energy accumulator"},
        [ENERGY_UJ] = {"energy", JM_CH_COUNTER, JM_U_J, -6, -6, JM_G_INSTANT, 0, 0, JM_P_MEASURED, 0, 0,
                       "gpu", "energy accumulator"},
    };
    struct jm_span number;
    int text10;
    double d;
    if (a->l.b.rc || !g || (what < CURRENT && what != LIMIT) || what >= WHATS)
        return;
    struct jm_dev_kind k = what == LIMIT ? jm_dev_limit : kinds[what];
    if (!jm_devlog_number(text, k.text10, &number, &text10)) {
        enum jm_status why = jm_devlog_word(text);
        *(why == JM_S_OK ? &a->l.bad : &a->l.missing) += 1;
        if (g->ch[what])
            jm_devlog_gap(&a->l, g->ch[what] - 1, t, why == JM_S_OK ? JM_S_GAP : why);
        return;
    }
    if (jm_num_double(number, &d) == 0 &&
        (d == 65535 || d == 4294967295.0)) { /* not available, as the driver writes it */
        a->l.blank++;
        return;
    }
    if (d == 0 && what != LIMIT) { /* the second die; an idle board draws more than nothing */
        g->zeros++;
        if (!g->ch[what])
            return;
        jm_devlog_gap(&a->l, g->ch[what] - 1, t, JM_S_ABSENT);
        return;
    }
    if (!g->ch[what]) {
        char label[200];
        bool digit = g->key[0] >= '0' && g->key[0] <= '9';
        snprintf(label, sizeof label, "%s%s%s%s", digit ? "GPU " : "", g->key, g->name[0] ? ", " : "",
                 g->name);
        struct jm_dev_place p = {.domain = JM_D_GPU, .key = g->key, .label = label};
        g->ch[what] = jm_devlog_channel(&a->l, &p, &k) + 1;
    }
    jm_devlog_put(&a->l, g->ch[what] - 1, t, text10, number);
}

static const char *tool_name(char tool)
{
    return tool == 'r' ? "rocm-smi" : tool == 'h' ? "hl-smi" : tool == 'x' ? "xpu-smi" : "amd-smi";
}

static int open_log(struct amd *a, char tool, const char *path, const char *out,
                    const struct jm_import_opts *o, struct jm_err *err)
{
    memset(a, 0, sizeof *a);
    a->tool = tool;
    a->gpu = calloc(GPUS, sizeof *a->gpu);
    if (!a->gpu)
        return jm_err_set(err, JM_ENOMEM, "out of memory for the GPUs of %s", path);
    int rc = jm_devlog_begin(&a->l, tool_name(tool), path, out, o, err);
    a->base = rc ? 0 : a->l.f.mtime_ns;
    if (rc && !a->l.b.w) {
        free(a->gpu);
        return rc;
    }
    return 0;
}

static int close_log(struct amd *a)
{
    if (a->no_date)
        jm_build_times(&a->l.b, "times of day of the log without zone, taken as UTC; the date is that of the "
                                "file's modification");
    else if (a->stamped)
        jm_build_times(&a->l.b, a->zone ? "stamps of the log"
                                        : "stamps of the log in local time without a zone, taken as UTC");
    else
        jm_build_times(&a->l.b,
                       "no stamps: looks taken as evenly spaced by --interval, the first at the modification "
                       "time of the file");
    for (size_t i = 0, told = 0; i < a->n && told < 64; i++) {
        const struct gpu *g = &a->gpu[i];
        char key[120];
        if (g->ch[CURRENT] || g->ch[AVERAGE] || g->ch[ENERGY_J] || g->ch[ENERGY_UJ])
            continue;
        snprintf(key, sizeof key, "power of %s", g->key);
        jm_build_missing(&a->l.b, key,
                         g->zeros ? "0 in every line: the second die of a package shows nothing"
                                  : "no line has a value");
        told++;
    }
    int rc = jm_devlog_end(&a->l);
    free(a->gpu);
    return rc;
}

static bool no_times(struct amd *a)
{
    if (a->l.b.o->interval_ns)
        return false;
    jm_build_fail(
        &a->l.b,
        "%s has no time stamps; say with --interval how far its looks are apart, or log with a time column "
        "(amd-smi monitor -p -w 1 --csv writes one)",
        a->l.f.path);
    return true;
}

/* xpu-smi stamps "06:14:46.123": the day is that of the file, and the next one when the clock falls back. */
static bool time_of_day(struct amd *a, struct jm_span s, int64_t *t)
{
    struct jm_span part[3];
    int64_t h, m, ns;
    s = jm_span_trim(s);
    for (int i = 0; i < 3; i++)
        if (!jm_span_field(&s, ':', &part[i]))
            return false;
    if (s.n || jm_num_i64(part[0], &h) || jm_num_i64(part[1], &m) || jm_num_fixed(part[2], -9, &ns) ||
        h < 0 || h > 23 || m < 0 || m > 59 || ns < 0 || ns > 61 * JM_NS_PER_S)
        return false;
    int64_t of_day = (h * 3600 + m * 60) * JM_NS_PER_S + ns, day = 86400 * JM_NS_PER_S;
    if (!a->no_date)
        a->day = a->base - a->base % day;
    else if (of_day < a->of_day - day / 2) {
        if (a->day > a->base + MOST_DAYS * day)
            return false; /* no clock, and no log, goes on like this */
        a->day += day;
    }
    a->no_date = true;
    a->of_day = of_day;
    *t = a->day + of_day;
    return true;
}

/* ---- CSV */

static bool header(const struct jm_csv_field *f, size_t n, unsigned char what[COLUMNS], char *tool)
{
    bool power = false, device = false, habana = false;
    memset(what, 0, COLUMNS);
    *tool = 0;
    for (size_t i = 0; i < n; i++) {
        int k = find(f[i].raw);
        habana |= jm_span_find(f[i].raw, JM_SPAN(".aip")) > 0;
        if (k < 0)
            continue;
        what[i] = (unsigned char)names[k].what;
        power |= names[k].what >= CURRENT && names[k].what <= ENERGY_UJ;
        device |= names[k].what == DEVICE;
        if (names[k].tool != '.' && !*tool)
            *tool = names[k].tool;
    }
    /* hl-smi has nvidia-smi's names but for its own .aip */
    return power && device && (*tool != 'h' || habana);
}

static bool csv_form(struct jm_span text, char *tool)
{
    struct jm_csv csv;
    struct jm_csv_field f[COLUMNS];
    unsigned char what[COLUMNS];
    size_t n;
    bool gaudi_names = false;
    jm_csv_init(&csv, jm_span_sub(text, 0, 65536), 0);
    for (int i = 0; i < 20; i++) {
        if (jm_csv_row(&csv, f, COLUMNS, &n, NULL) <= 0)
            return false;
        if (header(f, n, what, tool))
            return true;
        gaudi_names |= *tool == 'h'; /* nvidia-smi's names too: the device's own tells */
        for (size_t k = 0; gaudi_names && k < n; k++)
            if (jm_span_starts(jm_span_trim(f[k].raw), JM_SPAN("HL-"))) {
                *tool = 'h';
                return true;
            }
    }
    return false;
}

static int import_csv(char tool, const char *path, const char *out, const struct jm_import_opts *o,
                      struct jm_err *err)
{
    struct amd a;
    struct jm_csv csv;
    struct jm_csv_field f[COLUMNS];
    unsigned char what[COLUMNS], next[COLUMNS];
    size_t n, columns = 0;
    char other;
    int rc = open_log(&a, tool, path, out, o, err);
    if (rc)
        return rc;
    jm_csv_init(&csv, a.l.f.text, 0);
    while (!a.l.b.rc && (rc = jm_csv_row(&csv, f, COLUMNS, &n, a.l.b.err)) > 0) {
        jm_ifile_used(&a.l.f, csv.in.p + csv.at, &a.l.mark);
        if (header(f, n, next, &other) || (other == 'h' && tool == 'h')) {
            memcpy(what, next, sizeof what);
            columns = n;
            continue;
        }
        if (!columns || n < columns)
            continue;
        int64_t t = 0;
        bool timed = false, zone = false;
        struct jm_span key = {NULL, 0}, tile = {NULL, 0};
        char name[64] = "";
        for (size_t i = 0; i < columns; i++) {
            if (what[i] == TIME && !timed) {
                timed = jm_devlog_time(f[i].raw, &t, &zone) || time_of_day(&a, f[i].raw, &t);
            } else if (what[i] == DEVICE && (!key.n || jm_span_trim(f[i].raw).n > key.n))
                key = jm_span_trim(f[i].raw);
            else if (what[i] == TILE)
                tile = jm_span_trim(f[i].raw);
            else if (what[i] == NAME)
                jm_csv_text(&f[i], name, sizeof name);
        }
        char whole[96];
        if (tile.n && key.n) {
            snprintf(whole, sizeof whole, "%.*s.%.*s", key.n < 40 ? (int)key.n : 40, key.p,
                     tile.n < 40 ? (int)tile.n : 40, tile.p);
            key = jm_span_of(whole);
        }
        struct gpu *g = gpu_of(&a, key);
        if (!g || !key.n)
            continue;
        if (timed) {
            a.stamped = true;
            a.zone |= zone;
        } else {
            if (no_times(&a))
                break;
            t = a.base + g->rows * o->interval_ns;
        }
        g->rows++;
        snprintf(g->name, sizeof g->name, "%s", name);
        jm_text_plain(g->name, strlen(g->name), false);
        for (size_t i = 0; i < columns; i++)
            value(&a, g, (enum what)what[i], t, f[i].raw);
    }
    if (rc < 0 && !a.l.b.rc)
        a.l.b.rc = rc;
    return close_log(&a);
}

/* ---- JSON: amd-smi has lists of GPUs (in lists of looks, or below gpu_data), rocm-smi an object of cards */

static bool json_form(const struct jm_probe *p, char *tool)
{
    static const char *const amd[] = {"[].power.socket_power",
                                      "[].power.current_socket_power",
                                      "[].power.average_socket_power",
                                      "[].power_usage",
                                      "gpu_data[].power",
                                      "gpu_data[].power_usage",
                                      "[].gpu_data[].power",
                                      "[][].power",
                                      "[][].power_usage",
                                      "[].energy.total_energy_consumption",
                                      "power_usage",
                                      "power.socket_power"};
    for (size_t i = 0; i < sizeof amd / sizeof amd[0]; i++)
        if (jm_probe_key(p, amd[i])) {
            *tool = 'a';
            return true;
        }
    for (int i = 0; i < p->n; i++)
        if (jm_span_starts(jm_span_of(p->key[i].path), JM_SPAN("card")) &&
            (strstr(p->key[i].path, "Package Power (W)") ||
             strstr(p->key[i].path, "Accumulated Energy (uJ)") || strstr(p->key[i].path, "power1_average"))) {
            *tool = 'r';
            return true;
        }
    return false;
}

/* 94, "94 W", {"value": 94, "unit": "W"} as text with its unit */
static struct jm_span text_of(const struct jm_ifile *f, const struct jm_jtoken *v, char buf[64])
{
    struct jm_jtoken n, u;
    if (v->type == JM_J_OBJECT) {
        char unit[16] = "", number[40] = "";
        if (jm_jmember(f, v, "value", &n))
            jm_jtext(&n, number, sizeof number);
        if (jm_jmember(f, v, "unit", &u))
            jm_jtext(&u, unit, sizeof unit);
        snprintf(buf, 64, "%s %s", number, strcmp(number, "N/A") == 0 ? "" : unit);
        return jm_span_trim(jm_span_of(buf));
    }
    buf[0] = 0;
    jm_jtext(v, buf, 64);
    return jm_span_of(buf);
}

struct look {
    int64_t t;
    bool timed;
};

static void members(struct amd *a, struct gpu *g, const struct jm_jtoken *object, int64_t t, int depth)
{
    struct jm_jiter it;
    struct jm_jtoken key, v;
    char buf[64];
    jm_jiter_init(&it, &a->l.f, object);
    while (!a->l.b.rc && jm_jiter_next(&it, &key, &v, NULL) > 0) {
        int k = find(key.raw);
        if (k >= 0 && names[k].what >= CURRENT)
            value(a, g, names[k].what, t, text_of(&a->l.f, &v, buf));
        else if (v.type == JM_J_OBJECT && depth < 2)
            members(a, g, &v, t, depth + 1);
    }
}

static void time_of(struct amd *a, const struct jm_jtoken *object, struct look *l)
{
    struct jm_jtoken v;
    char text[64];
    bool zone;
    if (jm_jmember(&a->l.f, object, "timestamp", &v) && jm_jtext(&v, text, sizeof text) &&
        jm_devlog_time(jm_span_of(text), &l->t, &zone)) {
        l->timed = a->stamped = true;
        a->zone |= zone;
    }
}

static void one(struct amd *a, const struct jm_jtoken *object, struct jm_span key, struct look l)
{
    char buf[96];
    struct jm_jtoken v;
    if (jm_jmember(&a->l.f, object, "gpu", &v) && jm_jtext(&v, buf, sizeof buf))
        key = jm_span_of(buf);
    time_of(a, object, &l);
    struct gpu *g = key.n ? gpu_of(a, key) : NULL;
    if (!g)
        return;
    if (!l.timed) {
        if (no_times(a))
            return;
        l.t = a->base + g->rows * a->l.b.o->interval_ns;
    }
    g->rows++;
    members(a, g, object, l.t, 0);
}

static void walk(struct amd *a, const struct jm_jtoken *v, struct look l, int depth)
{
    struct jm_jiter it;
    struct jm_jtoken key, item, list;
    struct jm_span none = {NULL, 0};
    if (depth > 3)
        return;
    if (v->type == JM_J_OBJECT) {
        time_of(a, v, &l);
        if (jm_jmember(&a->l.f, v, "gpu_data", &list)) {
            walk(a, &list, l, depth + 1);
            return;
        }
        if (a->tool == 'a') {
            one(a, v, none, l);
            return;
        }
    }
    jm_jiter_init(&it, &a->l.f, v);
    while (!a->l.b.rc && jm_jiter_next(&it, &key, &item, NULL) > 0) {
        if (v->type == JM_J_ARRAY)
            walk(a, &item, l, depth + 1);
        else if (item.type == JM_J_OBJECT && jm_span_starts(key.raw, JM_SPAN("card")))
            one(a, &item, key.raw, l);
        jm_ifile_used(&a->l.f, item.raw.p + item.raw.n, &a->l.mark);
    }
}

static int import_json(char tool, const char *path, const char *out, const struct jm_import_opts *o,
                       struct jm_err *err)
{
    struct amd a;
    struct jm_jdocs d;
    struct jm_jtoken doc;
    int rc = open_log(&a, tool, path, out, o, err);
    if (rc)
        return rc;
    jm_jdocs_init(&d, &a.l.f);
    while (!a.l.b.rc && (rc = jm_jdocs_next(&d, &doc, a.l.b.err)) > 0)
        walk(&a, &doc, (struct look){.t = 0}, 0);
    if (rc < 0 && !a.l.b.rc)
        a.l.b.rc = rc;
    return close_log(&a);
}

/* ---- which */

static int sniff_tool(const struct jm_probe *p, char want)
{
    char tool = 0;
    bool is = p->f && !p->sqlite && (p->json ? json_form(p, &tool) : csv_form(p->f->text, &tool));
    return is && (tool == want || (want == 'a' && !tool)) ? 88 : 0;
}

static int sniff_amd(const struct jm_probe *p)
{
    return sniff_tool(p, 'a');
}
static int sniff_rocm(const struct jm_probe *p)
{
    return sniff_tool(p, 'r');
}
static int sniff_hl(const struct jm_probe *p)
{
    return sniff_tool(p, 'h');
}

static int sniff_xpu(const struct jm_probe *p)
{
    return p->json ? 0 : sniff_tool(p, 'x');
}

static int import_any(char tool, const char *path, const char *out, const struct jm_import_opts *o,
                      struct jm_err *err)
{
    struct jm_ifile f;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    struct jm_span s = jm_span_trim(jm_span_sub(f.text, 0, 4096));
    bool json = s.n && (s.p[0] == '{' || s.p[0] == '[');
    jm_ifile_close(&f);
    return json ? import_json(tool, path, out, o, err) : import_csv(tool, path, out, o, err);
}

static int import_amd(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return import_any('a', path, out, o, err);
}
static int import_rocm(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return import_any('r', path, out, o, err);
}
static int import_hl(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return import_any('h', path, out, o, err);
}

const struct jm_importer jm_import_amd_smi = {
    .name = "amd-smi",
    .summary = "amd-smi logs (metric -p -E, monitor -p; --csv or --json, look after look)",
    .reads = "socket power (current or average) and total energy of every GPU; units in the text are obeyed.",
    .lacks = "What the average is over; times, unless -w wrote them (--interval says them). A die that shows "
             "0 or N/A "
             "has no power of its own.",
    .sniff = sniff_amd,
    .import = import_amd,
};
const struct jm_importer jm_import_rocm_smi = {
    .name = "rocm-smi",
    .summary = "rocm-smi logs (--showpower, --showenergycounter; --csv or --json, look after look)",
    .reads = "package power (current or average) and accumulated energy of every card.",
    .lacks = "Times (--interval says them; a column timestamp in front is read). A card that shows 0 or N/A "
             "is the second "
             "die of a package.",
    .sniff = sniff_rocm,
    .import = import_rocm,
};
const struct jm_importer jm_import_hl_smi = {
    .name = "hl-smi",
    .summary = "hl-smi logs of Gaudi (-Q timestamp,index,uuid,power.draw,utilization.aip -f csv)",
    .reads = "power.draw of every device.",
    .lacks = "The energy counter; the time zone of its stamps.",
    .sniff = sniff_hl,
    .import = import_hl,
};
static int import_xpu(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    return import_any('x', path, out, o, err);
}
const struct jm_importer jm_import_xpu_smi = {
    .name = "xpu-smi",
    .summary = "xpu-smi logs of Intel GPUs (dump -m 1,8: CSV)",
    .reads = "power and consumed energy of every device, or of every tile where they were asked for.",
    .lacks = "The date and the zone of its times of day: the date is that of the file.",
    .sniff = sniff_xpu,
    .import = import_xpu,
};
