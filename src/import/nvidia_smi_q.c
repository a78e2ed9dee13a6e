/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi -q (-d POWER) in a loop, as text and as XML. "Power Draw" stands in up to three blocks (GPU,
 * memory, module), and the limits moved between drivers, so the block is followed, not the line. */
#include <stdio.h>
#include <string.h>

#include "import/nvidia_smi.h"
#include "wire/xmlpull.h"

#include "base/banned.h"

enum block { B_OTHER, B_GPU, B_MEMORY, B_MODULE, B_CLOCKS, B_TEMP, B_UTIL };

static const struct {
    enum block block;
    const char *text, *xml; /* of the value */
    enum jm_smi_what what;
} values[] = {
    {B_GPU, "Power Draw", "power_draw", JM_SMI_USAGE},
    {B_GPU, "Average Power Draw", "average_power_draw", JM_SMI_AVERAGE},
    {B_GPU, "Instantaneous Power Draw", "instant_power_draw", JM_SMI_INSTANT},
    {B_GPU, "Current Power Limit", "current_power_limit", JM_SMI_LIMIT},
    {B_GPU, "Enforced Power Limit", "enforced_power_limit", JM_SMI_LIMIT},
    {B_MEMORY, "Average Power Draw", "average_power_draw", JM_SMI_MEMORY},
    {B_MODULE, "Power Draw", "power_draw", JM_SMI_MODULE},
    {B_MODULE, "Average Power Draw", "average_power_draw", JM_SMI_MODULE},
    {B_CLOCKS, "SM", "sm_clock", JM_SMI_CLOCK_SM},
    {B_CLOCKS, "Memory", "mem_clock", JM_SMI_CLOCK_MEM},
    {B_TEMP, "GPU Current Temp", "gpu_temp", JM_SMI_TEMP},
    {B_UTIL, "Gpu", "gpu_util", JM_SMI_UTIL},
    {B_UTIL, "GPU", "gpu_util", JM_SMI_UTIL},
};
static const struct {
    const char *text, *xml;
    enum block block;
} blocks[] = {
    {"Power Readings", "power_readings", B_GPU},
    {"GPU Power Readings", "gpu_power_readings", B_GPU},
    {"GPU Memory Power Readings", "gpu_memory_power_readings", B_MEMORY},
    {"Module Power Readings", "module_power_readings", B_MODULE},
    {"Clocks", "clocks", B_CLOCKS},
    {"Temperature", "temperature", B_TEMP},
    {"Utilization", "utilization", B_UTIL},
};

static enum block block_of(struct jm_span name, bool xml)
{
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (jm_span_is(name, xml ? blocks[i].xml : blocks[i].text))
            return blocks[i].block;
    return B_OTHER;
}

static enum jm_smi_what what_of(enum block b, struct jm_span name, bool xml)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i].block == b && jm_span_is(name, xml ? values[i].xml : values[i].text))
            return values[i].what;
    return JM_SMI_NONE;
}

/* What is the same in both forms. */
struct state {
    struct jm_smi s;
    size_t gpu; /* 1 + index of the one that is spoken of */
    enum block block;
    int64_t t;
    bool timed, zone;
    int driver;
};

static void time_is(struct state *k, struct jm_span text)
{
    bool zone;
    k->timed = jm_devlog_time(text, &k->t, &zone);
    k->zone |= zone;
}

static void gpu_is(struct state *k, struct jm_span id)
{
    struct jm_smi_gpu *g = jm_smi_gpu(&k->s, id);
    k->gpu = g ? (size_t)(g - k->s.gpu) + 1 : 0;
    if (g && !g->driver)
        g->driver = k->driver;
}

static void fact(char *to, size_t cap, struct jm_span text)
{
    if (!to[0] && jm_devlog_word(text) == JM_S_OK)
        snprintf(to, cap, "%.*s", text.n < cap - 1 ? (int)text.n : (int)cap - 1, text.p);
    jm_text_plain(to, strlen(to), false);
}

static void value(struct state *k, enum jm_smi_what what, struct jm_span text)
{
    if (!k->gpu || what == JM_SMI_NONE)
        return;
    if (!k->timed) {
        jm_build_fail(&k->s.l.b, "%s has values before its first timestamp, or one that is no time",
                      k->s.l.f.path);
        return;
    }
    jm_smi_value(&k->s, &k->s.gpu[k->gpu - 1], what, k->t, text);
}

static int finish(struct state *k)
{
    if (!k->zone)
        jm_smi_local_times(&k->s.l);
    return jm_smi_end(&k->s);
}

static void line_of(struct state *k, struct jm_span line)
{
    size_t indent = 0;
    struct jm_span name, text = {NULL, 0};
    while (indent < line.n && line.p[indent] == ' ')
        indent++;
    ptrdiff_t colon = jm_span_find(line, JM_SPAN(" : "));
    name = jm_span_trim(jm_span_sub(line, 0, colon < 0 ? line.n : (size_t)colon));
    if (colon >= 0)
        text = jm_span_trim(jm_span_sub(line, (size_t)colon + 3, line.n));
    if (!name.n)
        return;
    if (!indent) {
        k->block = B_OTHER;
        if (colon >= 0 && jm_span_is(name, "Timestamp"))
            time_is(k, text);
        else if (colon >= 0 && (jm_span_is(name, "Driver Version") || jm_span_is(name, "KMD Version")))
            k->driver = jm_smi_driver(text);
        else if (colon < 0 && jm_span_starts(name, JM_SPAN("GPU ")))
            gpu_is(k, jm_span_sub(name, 4, name.n));
    } else if (indent <= 4) {
        k->block = colon < 0 ? block_of(name, false) : B_OTHER;
        if (k->gpu && jm_span_is(name, "Product Name"))
            fact(k->s.gpu[k->gpu - 1].name, sizeof k->s.gpu[0].name, text);
        if (k->gpu && jm_span_is(name, "Product Architecture"))
            fact(k->s.gpu[k->gpu - 1].arch, sizeof k->s.gpu[0].arch, text);
    } else if (colon >= 0) {
        value(k, what_of(k->block, name, false), text);
    }
}

int jm_smi_import_q(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct state k = {.t = 0};
    int rc = jm_devlog_begin(&k.s.l, "nvidia-smi", path, out, o, err);
    if (rc && !k.s.l.b.w)
        return rc;
    struct jm_span rest = k.s.l.f.text, line;
    while (!k.s.l.b.rc && jm_span_line(&rest, &line)) {
        line_of(&k, line);
        jm_ifile_used(&k.s.l.f, line.p + line.n, &k.s.l.mark);
    }
    return finish(&k);
}

int jm_smi_import_xml(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct state k = {.t = 0};
    struct jm_xml x;
    struct jm_xml_event e;
    struct jm_err why;
    struct jm_span at = {NULL, 0}, id;
    int block_depth = 0, rc = jm_devlog_begin(&k.s.l, "nvidia-smi", path, out, o, err);
    if (rc && !k.s.l.b.w)
        return rc;
    jm_xml_init(&x, k.s.l.f.text);
    while (!k.s.l.b.rc) {
        rc = jm_xml_next(&x, &e, &why);
        if (rc || e.kind == JM_XML_END_OF_TEXT)
            break;
        jm_ifile_used(&k.s.l.f, x.in.p + x.at, &k.s.l.mark);
        if (e.kind == JM_XML_OPEN) {
            at = e.name;
            if (x.depth == 2 && jm_span_is(e.name, "gpu"))
                gpu_is(&k, jm_xml_attribute(e.attributes, "id", &id) ? id : JM_SPAN("0"));
            if (x.depth == 3 && k.gpu) {
                k.block = block_of(e.name, true);
                block_depth = 3;
            }
        } else if (e.kind == JM_XML_CLOSE) {
            if (x.depth < block_depth)
                k.block = B_OTHER;
            if (x.depth < 2)
                k.gpu = 0;
        } else if (x.depth == 2 && jm_span_is(at, "timestamp")) {
            time_is(&k, e.text);
        } else if (x.depth == 2 && (jm_span_is(at, "driver_version") || jm_span_is(at, "kmd_version"))) {
            if (jm_smi_driver(e.text))
                k.driver = jm_smi_driver(e.text);
        } else if (x.depth == 3 && k.gpu && jm_span_is(at, "product_name")) {
            fact(k.s.gpu[k.gpu - 1].name, sizeof k.s.gpu[0].name, e.text);
        } else if (x.depth == 3 && k.gpu && jm_span_is(at, "product_architecture")) {
            fact(k.s.gpu[k.gpu - 1].arch, sizeof k.s.gpu[0].arch, e.text);
        } else if (x.depth >= 4) {
            value(&k, what_of(k.block, at, true), e.text);
        }
    }
    if (rc && !k.s.l.b.rc) { /* a log that was cut in its last document is one of the documents before it */
        jm_build_env(&k.s.l.b, "import.log.cut", "%s", why.text);
        if (!k.s.l.n)
            jm_build_fail(&k.s.l.b, "%s: %s", path, why.text);
    }
    return finish(&k);
}
