/* SPDX-License-Identifier: Apache-2.0 */
/* What the place of a session says about it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "mlperf/round_row.h"

#include "base/banned.h"

#define MAX_DESCRIPTION (1u << 20)
#define PARTS           64

/* The parts of a path from its end; part[0] is the last. */
static size_t parts(const char *path, struct jm_span part[PARTS])
{
    size_t n = 0, end = strlen(path);
    while (end && n < PARTS) {
        while (end && path[end - 1] == '/')
            end--;
        size_t from = end;
        while (from && path[from - 1] != '/')
            from--;
        if (from < end)
            part[n++] = (struct jm_span){path + from, end - from};
        end = from;
    }
    return n;
}

static bool set(char **at, struct jm_span s)
{
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)(s.n < 500 ? s.n : 500), s.p);
    return jm_round_set(at, text);
}

static bool take(const struct jm_json *o, const char *key, char **at)
{
    struct jm_span s;
    if (!jm_json_str(jm_json_get(o, key), &s))
        return true;
    s = jm_span_trim(s);
    if (!s.n || jm_span_is(s, "N/A") || jm_span_is(s, "-"))
        return true;
    return set(at, s);
}

/* A count as a number or as its text; what is neither says nothing. */
static void count(const struct jm_json *o, const char *key, double *out)
{
    const struct jm_json *v = jm_json_get(o, key);
    struct jm_span s;
    double x;
    if (!jm_json_num(v, &x) && (!jm_json_str(v, &s) || jm_num_double(jm_span_trim(s), &x)))
        return;
    if (x >= 0 && x < 1e9)
        *out = x;
}

/* False: there is no such description (or it is none). */
static bool describe(struct jm_round_row *r, const char *path, bool *nomem)
{
    struct jm_str text;
    struct jm_json *root = NULL;
    jm_str_init(&text);
    int rc = jm_file_read_regular(path, MAX_DESCRIPTION, &text, NULL);
    if (!rc)
        rc = jm_json_parse(jm_str_span(&text), &root, NULL);
    bool is = !rc && jm_json_is_object(root);
    *nomem |= rc == JM_ENOMEM;
    if (is) {
        bool all = take(root, "system_name", &r->system_name) && take(root, "status", &r->availability) &&
                   take(root, "system_type", &r->suite) &&
                   take(root, "accelerator_model_name", &r->accelerator) &&
                   take(root, "host_processor_model_name", &r->host);
        if (!r->division)
            all = all && take(root, "division", &r->division);
        if (!r->submitter)
            all = all && take(root, "submitter", &r->submitter);
        count(root, "accelerators_per_node", &r->accelerators);
        count(root, "host_processors_per_node", &r->hosts);
        count(root, "number_of_nodes", &r->nodes);
        *nomem |= !all;
    }
    jm_json_free(root);
    jm_str_release(&text);
    return is;
}

int jm_mlperf_row_place(struct jm_round_row *r, const char *path, struct jm_err *err)
{
    struct jm_span part[PARTS];
    char file[4600];
    size_t n, at = 0;
    bool nomem = false;
    /* the folder may be a link that stands for another scenario: its own name counts */
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool plain = *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    char up[4200];
    snprintf(up, sizeof up, "%.*s",
             slash ? (int)(slash - path < 4100 ? slash - path + (slash == path) : 4100) : 1,
             slash ? path : ".");
    char *real = realpath(plain ? up : path, NULL);
    if (real)
        snprintf(file, sizeof file, plain ? "%s/%s" : "%s", strcmp(real, "/") == 0 ? "" : real, name);
    else
        snprintf(file, sizeof file, "%s", path);
    free(real);
    if (!jm_round_set(&r->path, path) || !jm_round_set(&r->place, file))
        return jm_err_set(err, JM_ENOMEM, "out of memory for the place of %s", path);
    n = parts(r->place, part);
    for (size_t i = 3; i < n && !at; i++)
        if (jm_span_is(part[i], "results"))
            at = i;
    if (at) {
        nomem |= !set(&r->system, part[at - 1]) || !set(&r->benchmark, part[at - 2]) ||
                 !set(&r->scenario, part[at - 3]);
        if (at + 1 < n)
            nomem |= !set(&r->submitter, part[at + 1]);
        if (at + 2 < n && (jm_span_is(part[at + 2], "closed") || jm_span_is(part[at + 2], "open") ||
                           jm_span_is(part[at + 2], "network")))
            nomem |= !set(&r->division, part[at + 2]);
        snprintf(file, sizeof file, "%.*s/systems/%.*s.json", (int)(part[at].p - r->place - 1), r->place,
                 (int)part[at - 1].n, part[at - 1].p);
    }
    if (!at || !describe(r, file, &nomem)) {
        size_t len = strlen(r->place);
        for (int i = 0; i < 3; i++) { /* beside performance/, or above benchmark and scenario */
            snprintf(file, sizeof file, "%.*s/system.json", (int)len, r->place);
            if (describe(r, file, &nomem))
                break;
            while (len && r->place[len - 1] != '/')
                len--;
            len -= len > 0;
        }
    }
    if (!r->system)
        nomem |= r->system_name ? !jm_round_set(&r->system, r->system_name)
                 : n            ? !set(&r->system, part[0])
                                : false;
    return nomem ? jm_err_set(err, JM_ENOMEM, "out of memory for the description of %s", path) : 0;
}
