/* SPDX-License-Identifier: Apache-2.0 */
/* The results.json of ML.ENERGY's diffusion benchmark: "iteration_energy_measurements", a measurement of Zeus
 * for each batch of images or videos. A window an iteration. */
#include <math.h>
#include <stdio.h>

#include "import/ml_energy.h"
#include "import/zeus_json.h"

#include "base/banned.h"

void jm_ml_energy_images(struct jm_build *b, const struct jm_jtoken *doc)
{
    static const char *const env[][2] = {{"model_id", "endpoint.model"}, {"gpu_model", "host.gpu"}};
    static const char *const plain[] = {"batch_size", "num_frames", "fps", "num_inference_steps"};
    struct jm_jtoken list, one, v;
    struct jm_jiter it;
    int n = 0, gpus = 0, most = 0, rc = 0;
    double batch = 0, seconds, e;
    jm_build_times(b, "durations only: the iterations stand one behind the other at the date of the file");
    if (jm_jmember(b->f, doc, "batch_size", &v))
        jm_jnum(&v, &batch);
    if (!jm_jmember(b->f, doc, "iteration_energy_measurements", &list) || list.type != JM_J_ARRAY)
        return;
    jm_jiter_init(&it, b->f, &list);
    while (!b->rc && (rc = jm_jiter_next(&it, NULL, &one, b->err)) > 0) {
        char name[40];
        if (++n && b->o->select && b->o->select != n)
            continue;
        bool timed =
            jm_jmember(b->f, &one, "time", &v) && jm_jnum(&v, &seconds) && seconds > 0 && seconds < 1e9;
        snprintf(name, sizeof name, "iteration %d", n);
        jm_build_window_after(b, n - 1, name, b->f->mtime_ns, timed ? (int64_t)(seconds * 1e9) : 0);
        if (timed)
            jm_build_claim(b, "time", "duration", "sum", seconds, "s", "wall clock (time.time)");
        else
            jm_build_missing(b, "duration", "an iteration has no time");
        e = jm_zeus_joules(b->f, &one, "gpu_energy", &gpus);
        most = gpus > most ? gpus : most;
        if (isfinite(e)) {
            jm_build_energy_claim(b, "gpu_energy", "energy", "sum", e, "J",
                                  "NVML counters, end less start, added over the GPUs", "gpu");
            if (batch >= 1)
                jm_build_energy_claim(b, "gpu_energy / batch_size", "", "mean", e / batch, "J/output",
                                      "an image or a video", "gpu");
        } else {
            jm_build_env(b, "import.energy.none", "iteration %d", n);
        }
        if (e < 0)
            jm_build_env(b, "import.negative", "iteration %d: %.6g J", n, e);
    }
    b->rc = b->rc ? b->rc : rc < 0 ? rc : 0;
    if (!b->rc && (!n || b->o->select > n))
        jm_build_fail(b, "%s holds %d iterations%s", b->f->path, n, n ? ", so there is no such number" : "");
    for (size_t i = 0; i < sizeof env / sizeof env[0]; i++)
        if (jm_jmember(b->f, doc, env[i][0], &v))
            jm_build_env_of(b, env[i][1], &v);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (jm_jmember(b->f, doc, plain[i], &v)) {
            char key[40];
            snprintf(key, sizeof key, "file.%s", plain[i]);
            jm_build_env_of(b, key, &v);
        }
    if (most)
        jm_build_env(b, "import.gpus", "%d", most);
    jm_build_env(b, "import.clock", "wall");
    jm_build_env(b, "import.without.host", "the benchmark's figures are of GPUs only");
    jm_build_missing(b, "requests", "a diffusion benchmark has batches of images or videos, and no tokens");
}
