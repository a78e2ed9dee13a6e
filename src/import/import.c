/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/span.h"
#include "base/str.h"
#include "import/probe.h"
#include "run/run.h"

#include "base/banned.h"

extern const struct jm_importer jm_import_mlperf, jm_import_mlperf_training, jm_import_mlperf_tiny;
extern const struct jm_importer jm_import_vllm;
extern const struct jm_importer jm_import_sglang;
extern const struct jm_importer jm_import_llama_bench;
extern const struct jm_importer jm_import_llmperf;
extern const struct jm_importer jm_import_evalscope;
extern const struct jm_importer jm_import_hf_bench;
extern const struct jm_importer jm_import_fmperf;
extern const struct jm_importer jm_import_genai_bench;
extern const struct jm_importer jm_import_trtllm_bench;
extern const struct jm_importer jm_import_inferencex;
extern const struct jm_importer jm_import_loadgen;
extern const struct jm_importer jm_import_aiperf, jm_import_genai_perf, jm_import_guidellm;
extern const struct jm_importer jm_import_inference_perf;
extern const struct jm_importer jm_import_codecarbon, jm_import_carbontracker, jm_import_zeus;
extern const struct jm_importer jm_import_ml_energy, jm_import_ai_energy_score;
extern const struct jm_importer jm_import_tokenpowerbench, jm_import_alumet, jm_import_scaphandre;
extern const struct jm_importer jm_import_optimum;
extern const struct jm_importer jm_import_sim_node;
extern const struct jm_importer jm_import_nvidia_smi, jm_import_dcgmi, jm_import_prometheus;
extern const struct jm_importer jm_import_amd_smi, jm_import_rocm_smi, jm_import_hl_smi, jm_import_xpu_smi;

/* clang-format off: one line an importer */
const struct jm_importer *const jm_importers[] = {
    &jm_import_mlperf,
    &jm_import_mlperf_training,
    &jm_import_mlperf_tiny,
    &jm_import_loadgen,
    &jm_import_vllm,
    &jm_import_sglang,
    &jm_import_aiperf,
    &jm_import_genai_perf,
    &jm_import_guidellm,
    &jm_import_inference_perf,
    &jm_import_llmperf,
    &jm_import_evalscope,
    &jm_import_genai_bench,
    &jm_import_fmperf,
    &jm_import_hf_bench,
    &jm_import_trtllm_bench,
    &jm_import_inferencex,
    &jm_import_llama_bench,
    &jm_import_sim_node,
    &jm_import_nvidia_smi,
    &jm_import_amd_smi,
    &jm_import_rocm_smi,
    &jm_import_hl_smi,
    &jm_import_xpu_smi,
    &jm_import_dcgmi,
    &jm_import_prometheus,
    &jm_import_codecarbon,
    &jm_import_carbontracker,
    &jm_import_zeus,
    &jm_import_ml_energy,
    &jm_import_ai_energy_score,
    &jm_import_optimum,
    &jm_import_tokenpowerbench,
    &jm_import_alumet,
    &jm_import_scaphandre,
    NULL,
};
/* clang-format on */

static void list_names(struct jm_str *s)
{
    for (size_t i = 0; jm_importers[i]; i++)
        jm_str_addf(s, "%s%s", i ? ", " : "", jm_importers[i]->name);
}

/* The best guess by content. */
static const struct jm_importer *guess(const struct jm_probe *p)
{
    const struct jm_importer *best = NULL;
    int best_score = 0;
    for (size_t i = 0; jm_importers[i]; i++) {
        int score = jm_importers[i]->sniff(p);
        if (score > best_score) {
            best_score = score;
            best = jm_importers[i];
        }
    }
    return best;
}

/* What can be said of a file that nobody knows. */
static void unknown(const struct jm_probe *p, const struct jm_ifile *f, const struct jm_err *why,
                    struct jm_err *err)
{
    struct jm_str names, keys;
    struct jm_run *run = NULL;
    if (!f && !p->dir) {
        jm_err_set(err, why->code, "%s: nothing that can be imported", why->text);
        return;
    }
    if (jm_run_open(p->path, &run, NULL) == 0) {
        jm_run_close(run);
        jm_err_set(err, JM_EPARSE, "%s is a run file already; joulemark show %s shows it", p->path, p->path);
        return;
    }
    jm_str_init(&names);
    jm_str_init(&keys);
    list_names(&names);
    for (int i = 0; i < p->n && keys.len < 160; i++)
        if (!strpbrk(p->key[i].path + (p->list ? 3 : 0), ".["))
            jm_str_addf(&keys, "%s%s", keys.len ? ", " : "", p->key[i].path);
    jm_text_plain(keys.buf, keys.len, false);
    jm_err_set(
        err, JM_EPARSE,
        "%s is nothing that can be imported: it is %s%s%s%s (tried: %s); name the kind with --from if it "
        "should be one of these",
        p->path,
        p->dir      ? "a folder without a session in it"
        : p->sqlite ? "an SQLite database of another program"
        : p->json   ? "JSON of no known kind"
                    : "no JSON and no known text",
        keys.len ? " (keys: " : "", keys.len ? keys.buf : "", keys.len ? ")" : "", names.buf);
    jm_str_release(&keys);
    jm_str_release(&names);
}

const struct jm_importer *jm_importer_find(const char *name, const char *path, struct jm_err *err)
{
    struct jm_err own = {0}, why = {0};
    struct jm_str names;
    struct jm_ifile f;
    struct stat st;
    err = err ? err : &own;
    if (name) {
        for (size_t i = 0; jm_importers[i]; i++)
            if (strcmp(jm_importers[i]->name, name) == 0)
                return jm_importers[i];
        jm_str_init(&names);
        list_names(&names);
        jm_err_set(err, JM_EUSAGE, "there is no importer \"%s\"; there are: %s", name, names.buf);
        jm_str_release(&names);
        return NULL;
    }
    if (access(path, R_OK)) {
        jm_err_sys(err, errno, "cannot open %s", path);
        return NULL;
    }
    struct jm_probe *p = malloc(sizeof *p);
    if (!p) {
        jm_err_set(err, JM_ENOMEM, "out of memory for a look into %s", path);
        return NULL;
    }
    bool file = !(stat(path, &st) == 0 && S_ISDIR(st.st_mode)) && jm_ifile_open(path, &f, &why) == 0;
    jm_probe_look(p, path, file ? &f : NULL);
    const struct jm_importer *best = guess(p);
    if (!best)
        unknown(p, file ? &f : NULL, &why, err);
    if (file)
        jm_ifile_close(&f);
    free(p);
    return best;
}
