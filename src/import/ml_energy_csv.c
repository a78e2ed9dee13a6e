/* SPDX-License-Identifier: Apache-2.0 */
/* The first ML.ENERGY leaderboard: "model,throughput,response_length,latency,energy", each the mean over the
 * requests of a model, one at a time: tokens/s, tokens, s and J a request. A mean of rates times a mean of
 * times is no mean length. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/ml_energy.h"

#include "base/banned.h"

const char *const jm_ml_energy_head[] = {"model", "throughput", "response_length", "latency", "energy", NULL};

static void model(struct jm_build *b, const struct jm_table *t, int n, struct jm_table_note *means,
                  struct jm_table_note *negative)
{
    static const struct {
        const char *name, *metric, *unit, *source, *boundary;
    } cols[] = {
        {"energy", "j_per.request_ok", "J/request", "mean over requests, NVML counter around each", "gpu"},
        {"latency", "e2e", "s", "mean over requests", ""},
        {"response_length", "osl", "tokens", "mean over requests", ""},
        {"throughput", "", "tokens/s", "mean of the requests' rates", ""}};
    double v[4];
    char name[100], window[120];
    jm_table_text(t, jm_table_col(t, "model"), name, sizeof name);
    snprintf(window, sizeof window, "%d: %s", n, name);
    jm_build_window_after(b, 0, window, b->f->mtime_ns, 0);
    for (int i = 0; i < 4; i++) {
        if (!jm_table_num(t, jm_table_col(t, cols[i].name), &v[i]))
            v[i] = NAN;
        else
            jm_build_energy_claim(b, cols[i].name, cols[i].metric, "mean", v[i], cols[i].unit, cols[i].source,
                                  cols[i].boundary);
    }
    if (v[0] > 0 && v[2] > 0)
        jm_build_energy_claim(b, "energy / response_length", "j_per.output_token", "", v[0] / v[2], "J/token",
                              "mean energy over mean length, which is all energy over all tokens", "gpu");
    if (v[1] > 0 && v[2] > 0 && fabs(v[3] * v[1] / v[2] - 1) > 0.01)
        jm_table_note(means, "%.60s: %.4g tokens/s x %.4g s are %.4g tokens, the mean length is %.4g", name,
                      v[3], v[1], v[3] * v[1], v[2]);
    if (v[0] < 0)
        jm_table_note(negative, "%.60s: %.6g J", name, v[0]);
}

int jm_ml_energy_csv(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f;
    struct jm_build b;
    struct jm_table_note means = {0}, negative = {0};
    struct jm_table *t = calloc(1, sizeof *t);
    int n = 0, more = 0,
        rc = t ? jm_ifile_open(path, &f, err) : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc) {
        free(t);
        return rc;
    }
    jm_build_begin(&b, "ml-energy", &f, o, out, f.mtime_ns, err);
    jm_build_env(&b, "import.date_from", "modification time of the file");
    if (!b.rc)
        b.rc = jm_table_open(t, &f, b.err);
    for (int i = 0; !b.rc && jm_ml_energy_head[i]; i++)
        if (jm_table_col(t, jm_ml_energy_head[i]) < 0)
            jm_build_fail(&b, "%s is no JSON and has no column \"%s\"", path, jm_ml_energy_head[i]);
    while (!b.rc && (more = jm_table_row(t, &f, b.err)) > 0)
        if (++n && (!o->select || o->select == n))
            model(&b, t, n, &means, &negative);
    if (more < 0 && !b.rc)
        b.rc = more;
    if (!b.rc && !b.windows)
        jm_build_fail(&b, "%s holds %d models%s", path, n, n ? ", so there is no such number" : "");
    jm_table_told(&b, "import.mean_of_means", &means, "models");
    jm_table_told(&b, "import.negative", &negative, "models");
    jm_build_env(&b, "import.without.host", "ML.ENERGY's figures are of GPUs only");
    jm_build_missing(&b, "duration", "the leaderboard does not say how long it was measured");
    jm_build_missing(&b, "requests", "the leaderboard holds means over its requests");
    rc = jm_build_end(&b);
    free(t);
    jm_ifile_close(&f);
    return rc;
}
