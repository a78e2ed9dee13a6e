/* SPDX-License-Identifier: Apache-2.0 */
/* Where a result stands in its submission, the description of its system, and its nameplate. */
#include "mlperf/submission.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "base/option.h"
#include "mlperf/arena.h"
#include "mlperf/submission_docs.h"

#include "base/banned.h"

#define DOC_MOST  ((size_t)4 << 20)
#define YAML_MOST ((size_t)1 << 20)

bool jm_submission_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- the place
 * ------------------------------------------------------------------------------------------------------ */

/* The folder that holds performance/, or power/, ranging/ and run_1/ themselves. */
static int scenario_of(const char *path, char out[4096])
{
    char p[4096], probe[4200];
    errno = 0;
    char *abs = realpath(path, NULL);
    if (!abs && errno == ENOMEM)
        return JM_ENOMEM;
    snprintf(p, sizeof p, "%s", abs ? abs : path);
    free(abs);
    snprintf(out, 4096, "%s", p);
    for (int up = 0; up < 5 && p[0]; up++) {
        snprintf(probe, sizeof probe, "%s/performance", p);
        if (jm_submission_dir(probe)) {
            snprintf(out, 4096, "%s", p);
            return 0;
        }
        char *slash = strrchr(p, '/');
        if (!slash)
            return 0;
        *slash = 0;
    }
    /* no performance/: the folder above run_1, or the given one */
    size_t n = strlen(out);
    if (n > 6 && strcmp(out + n - 6, "/run_1") == 0)
        out[n - 6] = 0;
    return 0;
}

static void take(char *out, size_t cap, const char *from)
{
    snprintf(out, cap, "%s", from);
    jm_text_plain(out, strlen(out), false);
}

static void place(struct jm_mlperf_submission *m)
{
    char p[4096], probe[4200], *part[6] = {0};
    snprintf(p, sizeof p, "%s", m->scenario_dir);
    for (int i = 0; i < 6; i++) {
        char *slash = strrchr(p, '/');
        if (!slash)
            break;
        *slash = 0;
        part[i] = slash + 1;
        if (i == 3)
            snprintf(m->submitter_dir, sizeof m->submitter_dir, "%s", p); /* above results/ */
    }
    if (part[3] && strcmp(part[3], "results") == 0) {
        m->tree = true;
        take(m->scenario, sizeof m->scenario, part[0]);
        take(m->benchmark, sizeof m->benchmark, part[1]);
        take(m->system, sizeof m->system, part[2]);
        take(m->submitter, sizeof m->submitter, part[4] ? part[4] : "");
        take(m->division, sizeof m->division, part[5] ? part[5] : "");
        return;
    }
    m->submitter_dir[0] = 0;
    snprintf(probe, sizeof probe, "%s/system.json", m->scenario_dir);
    struct stat st;
    m->flat = stat(probe, &st) == 0;
    snprintf(probe, sizeof probe, "%s/measurements", m->scenario_dir);
    m->flat |= jm_submission_dir(probe);
}

/* ---- the system
 * ----------------------------------------------------------------------------------------------------- */

/* A text, or a number as text; NULL: none, or empty. */
static const char *text_of(struct jm_mlperf_submission *m, const char *key)
{
    const struct jm_json *v = jm_json_get(m->description, key);
    struct jm_span s;
    double x;
    char num[32];
    if (jm_json_str(v, &s)) {
        s = jm_span_trim(s);
        const char *t = s.n ? jm_mlperf_copy(m->arena, jm_span_sub(s, 0, 500)) : NULL;
        if (t)
            jm_text_plain((char *)(uintptr_t)t, strlen(t), false);
        return t;
    }
    if (!jm_json_num(v, &x))
        return NULL;
    jm_json_fmt_double(num, x);
    return jm_mlperf_copy(m->arena, jm_span_of(num));
}

static double number_of(struct jm_mlperf_submission *m, const char *key)
{
    const struct jm_json *v = jm_json_get(m->description, key);
    struct jm_span s;
    double x;
    if (jm_json_num(v, &x))
        return x;
    if (jm_json_str(v, &s) && jm_num_double(jm_span_trim(s), &x) == 0)
        return x;
    return NAN;
}

static bool truth_of(struct jm_mlperf_submission *m, const char *key)
{
    const struct jm_json *v = jm_json_get(m->description, key);
    struct jm_span s;
    bool b;
    double x;
    if (jm_json_bool(v, &b))
        return b;
    if (jm_json_str(v, &s))
        return jm_span_ieq(jm_span_trim(s), JM_SPAN("true"));
    return jm_json_num(v, &x) && x != 0;
}

static int describe(struct jm_mlperf_submission *m)
{
    char path[8600];
    struct jm_str text;
    struct jm_err err = {0};
    m->nodes = m->accelerators_per_node = NAN;
    if (m->tree)
        snprintf(path, sizeof path, "%s/systems/%s.json", m->submitter_dir, m->system);
    else
        snprintf(path, sizeof path, "%s/system.json", m->scenario_dir);
    m->system_path = m->tree ? jm_mlperf_printf(m->arena, "systems/%s.json", m->system) : "system.json";
    jm_str_init(&text);
    int rc = jm_file_read_regular(path, DOC_MOST, &text, &err);
    if (!rc) {
        rc = jm_json_parse(jm_str_span(&text), &m->own, &err);
        if (!rc && !jm_json_is_object(m->own))
            rc = jm_err_set(&err, JM_EPARSE, "it is no JSON object");
    }
    jm_str_release(&text);
    if (rc == JM_ENOMEM)
        return rc;
    if (rc == JM_EABSENT) {
        m->system_path = NULL;
        return 0;
    }
    if (rc) {
        m->system_error = jm_mlperf_copy(m->arena, jm_span_of(err.text));
        return 0;
    }
    m->description = m->own;
    m->system_name = text_of(m, "system_name");
    m->availability = text_of(m, "status");
    m->system_type = text_of(m, "system_type");
    m->accelerator = text_of(m, "accelerator_model_name");
    m->framework = text_of(m, "framework");
    m->processor = text_of(m, "host_processor_model_name");
    m->description_division = text_of(m, "division");
    m->description_submitter = text_of(m, "submitter");
    m->nodes = number_of(m, "number_of_nodes");
    m->accelerators_per_node = number_of(m, "accelerators_per_node");
    m->network = truth_of(m, "is_network");
    m->system_power_only = truth_of(m, "system_power_only");
    if (!m->division[0] && m->description_division)
        take(m->division, sizeof m->division, m->description_division);
    if (!m->submitter[0] && m->description_submitter)
        take(m->submitter, sizeof m->submitter, m->description_submitter);
    return 0;
}

/* ---- the nameplate: the field of the description first, as the public checker does
 * ------------------------------------------------------------------------------------------------------ */

static void declared(struct jm_mlperf_submission *m, const struct jm_json *v)
{
    struct jm_span s;
    double w;
    m->nameplate.present = true;
    m->nameplate.source = "system_power_capacity of the system description";
    if (jm_json_num(v, &w) || (jm_json_str(v, &s) && (jm_num_double(jm_span_trim(s), &w) == 0 ||
                                                      jm_quantity_power(jm_span_trim(s), &w, NULL) == 0))) {
        if (w > 0 && isfinite(w)) {
            m->nameplate.watts = m->nameplate.published_watts = w;
            return;
        }
    }
    m->nameplate.error = "system_power_capacity is no power above 0.";
}

static int nameplate(struct jm_mlperf_submission *m)
{
    char path[8600], why[256];
    struct jm_str text;
    struct jm_err err = {0};
    m->nameplate.watts = m->nameplate.published_watts = NAN;
    const struct jm_json *field = jm_json_get(m->description, "system_power_capacity");
    if (field) {
        declared(m, field);
        return 0;
    }
    for (size_t i = 0; i < 3; i++) {
        if (i < 2 && m->tree)
            snprintf(path, sizeof path, "%s/systems/%s_power.%s", m->submitter_dir, m->system,
                     i ? "yml" : "yaml");
        else if (i == 2 && !m->tree)
            snprintf(path, sizeof path, "%s/system_power.yaml", m->scenario_dir);
        else
            continue;
        jm_str_init(&text);
        int rc = jm_file_read_regular(path, YAML_MOST, &text, &err);
        if (!rc)
            jm_mlperf_nameplate_read(jm_str_span(&text), &m->nameplate, why);
        jm_str_release(&text);
        if (rc == JM_ENOMEM)
            return rc;
        if (rc == JM_EABSENT)
            continue;
        m->nameplate.present = true;
        m->nameplate.source =
            m->tree ? jm_mlperf_printf(m->arena, "systems/%s_power.%s", m->system, i ? "yml" : "yaml")
                    : "system_power.yaml";
        if (rc || why[0])
            m->nameplate.error = jm_mlperf_copy(m->arena, jm_span_of(rc ? err.text : why));
        return 0;
    }
    return 0;
}

int jm_mlperf_submission_read(const char *path, const char *round, struct jm_mlperf_submission **out,
                              struct jm_err *err)
{
    struct jm_mlperf_submission *m = calloc(1, sizeof *m);
    int rc = m && (m->arena = jm_mlperf_arena_new()) ? 0 : JM_ENOMEM;
    if (!rc) {
        snprintf(m->round, sizeof m->round, "%s", round ? round : "");
        rc = scenario_of(path, m->scenario_dir);
    }
    if (!rc) {
        place(m);
        rc = describe(m);
    }
    if (!rc)
        rc = nameplate(m);
    if (!rc)
        rc = jm_submission_files(m);
    if (!rc)
        rc = jm_submission_docs(m);
    if (!rc && (m->no_memory || jm_mlperf_arena_failed(m->arena)))
        rc = JM_ENOMEM;
    if (rc) {
        jm_mlperf_submission_free(m);
        return jm_err_set(err, JM_ENOMEM, "Out of memory while reading the submission around %s.", path);
    }
    *out = m;
    return 0;
}

void jm_mlperf_submission_free(struct jm_mlperf_submission *m)
{
    if (!m)
        return;
    jm_json_free(m->own);
    if (m->arena)
        jm_mlperf_arena_free(m->arena);
    free(m);
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 0x20) != (*b | 0x20))
            return false;
    return !*a && !*b;
}

bool jm_mlperf_submission_base(const struct jm_mlperf_submission *m, const struct jm_mlperf_session *s,
                               char path[4096])
{
    const struct jm_mlperf_fact *ran = jm_mlperf_fact(&s->loadgen[JM_MLPERF_TESTING], "effective_scenario");
    char up[4096];
    bool found = false;
    if (!m->tree || !ran || same_word(ran->text, m->scenario) ||
        (same_word(ran->text, "server") && same_word(m->scenario, "interactive")))
        return false;
    snprintf(up, sizeof up, "%s", m->scenario_dir);
    char *slash = strrchr(up, '/');
    if (!slash)
        return false;
    *slash = 0;
    struct dirent *e;
    DIR *d = opendir(up);
    while (d && !found && (e = readdir(d)))
        if (same_word(e->d_name, ran->text) && strlen(up) + strlen(e->d_name) + 2 < 4096) {
            snprintf(path, 4096, "%s/%s", up, e->d_name);
            found = jm_mlperf_session_at(path);
        }
    if (d)
        closedir(d);
    return found;
}
