/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi's own table, again and again (nvidia-smi -l, watch): a date, then two lines a GPU, the second
 * one with "72W / 700W". Whole watts. */
#include <stdio.h>
#include <string.h>

#include "import/nvidia_smi.h"

#include "base/banned.h"

struct table {
    struct jm_smi s;
    int64_t t;
    bool timed, zone;
    int driver;
    size_t gpu; /* 1 + index of the GPU whose first line came last */
};

/* "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off | ..." */
static bool first_line(struct table *k, struct jm_span line)
{
    struct jm_span cell = jm_span_trim(jm_span_sub(line, 1, line.n));
    size_t digits = 0, e;
    ptrdiff_t bar = jm_span_chr(cell, '|');
    while (digits < cell.n && cell.p[digits] >= '0' && cell.p[digits] <= '9')
        digits++;
    if (!digits || digits > 3 || digits + 2 >= cell.n || cell.p[digits] != ' ' || bar < 0)
        return false;
    struct jm_span name = jm_span_trim(jm_span_sub(cell, digits, (size_t)bar - digits)),
                   bus = jm_span_sub(cell, (size_t)bar, 40);
    if (jm_span_chr(bus, ':') < 0 || jm_span_chr(name, '%') >= 0)
        return false;
    for (e = 0; e + 1 < name.n && !(name.p[e] == ' ' && name.p[e + 1] == ' ');)
        e++;
    name = jm_span_trim(jm_span_sub(name, 0, e + 1 < name.n ? e : name.n));
    struct jm_smi_gpu *g = jm_smi_gpu(&k->s, jm_span_sub(cell, 0, digits));
    k->gpu = g ? (size_t)(g - k->s.gpu) + 1 : 0;
    if (g && !g->name[0] && !jm_span_ends(name, JM_SPAN("..."))) {
        snprintf(g->name, sizeof g->name, "%.*s", name.n < 90 ? (int)name.n : 90, name.p);
        jm_text_plain(g->name, strlen(g->name), false);
        g->driver = k->driver;
    }
    return g != NULL;
}

/* The word that ends in front of i. */
static struct jm_span word_before(struct jm_span s, size_t i)
{
    size_t from = i;
    while (from && s.p[from - 1] != ' ' && s.p[from - 1] != '|')
        from--;
    return jm_span_sub(s, from, i - from);
}

static void second_line(struct table *k, struct jm_span line)
{
    struct jm_smi_gpu *g = &k->s.gpu[k->gpu - 1];
    ptrdiff_t slash = jm_span_find(line, JM_SPAN(" / "));
    k->gpu = 0;
    if (slash < 0 || !k->timed)
        return;
    struct jm_span cell = jm_span_sub(line, 0, (size_t)slash),
                   rest = jm_span_trim(jm_span_sub(line, (size_t)slash + 3, line.n));
    ptrdiff_t end = jm_span_chr(rest, ' ');
    while (cell.n && cell.p[cell.n - 1] == ' ')
        cell.n--;
    jm_smi_value(&k->s, g, JM_SMI_USAGE, k->t, word_before(cell, cell.n));
    jm_smi_value(&k->s, g, JM_SMI_LIMIT, k->t, jm_span_sub(rest, 0, end < 0 ? rest.n : (size_t)end));
}

int jm_smi_import_table(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct table k = {.t = 0};
    int rc = jm_devlog_begin(&k.s.l, "nvidia-smi", path, out, o, err);
    if (rc && !k.s.l.b.w)
        return rc;
    struct jm_span rest = k.s.l.f.text, line;
    while (!k.s.l.b.rc && jm_span_line(&rest, &line)) {
        struct jm_span s = jm_span_trim(line);
        ptrdiff_t version = jm_span_find(s, JM_SPAN("Driver Version:")),
                  kmd = jm_span_find(s, JM_SPAN("KMD Version:"));
        bool zone;
        int64_t t;
        jm_ifile_used(&k.s.l.f, line.p + line.n, &k.s.l.mark);
        if (!s.n)
            continue;
        if (s.p[0] != '|') {
            k.gpu = 0;
            if (jm_devlog_time(s, &t, &zone)) {
                k.t = t;
                k.timed = true;
                k.zone |= zone;
            }
        } else if (version > 0) {
            k.driver = jm_smi_driver(jm_span_sub(s, (size_t)version + 15, 12));
        } else if (kmd > 0) { /* from driver 610 on */
            k.driver = jm_smi_driver(jm_span_sub(s, (size_t)kmd + 12, 12));
        } else if (!first_line(&k, s) && k.gpu) {
            second_line(&k, s);
        }
    }
    if (!k.s.l.b.rc && !k.timed)
        jm_build_fail(&k.s.l.b,
                      "%s has tables of nvidia-smi without their dates; log with --query-gpu=timestamp,...",
                      path);
    if (!k.zone)
        jm_smi_local_times(&k.s.l);
    jm_build_env(&k.s.l.b, "import.resolution", "1 W: the table has whole watts");
    return jm_smi_end(&k.s);
}
