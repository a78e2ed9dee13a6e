/* SPDX-License-Identifier: Apache-2.0 */
/* The importers of other tools' result files over any bytes. The first byte chooses: 'a' and up one of them,
 * else whichever takes the file; then the run is computed and audited as the audit command does. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "compute/compute.h"
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"vllm",       "sglang",          "llama-bench",
                                        "llmperf",    "evalscope",       "hf-benchmarker",
                                        "fmperf",     "genai-bench",     "trtllm-bench",
                                        "inferencex", "loadgen",         "sim-node",
                                        "nvidia-smi", "amd-smi",         "rocm-smi",
                                        "hl-smi",     "dcgmi",           "prometheus",
                                        "codecarbon", "carbontracker",   "zeus",
                                        "ml-energy",  "ai-energy-score", "tokenpowerbench",
                                        "alumet",     "scaphandre",      "optimum-benchmark",
                                        "xpu-smi"};
    static char in[64], out[64];
    struct jm_import_opts o = {.label = "fuzz", .overwrite = true, .interval_ns = 1000000000};
    struct jm_err err;
    if (size < 1)
        return 0;
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(in, sizeof in, "%s/jm_importers_%d", tmp, (int)getpid());
    snprintf(out, sizeof out, "%s/jm_importers_%d.jmr", tmp, (int)getpid());
    int fd = open(in, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data + 1, size - 1) < 0)
        abort();
    close(fd);
    size_t which = (size_t)data[0] - 'a';
    const struct jm_importer *i = jm_importer_find(
        data[0] >= 'a' && which < sizeof names / sizeof names[0] ? names[which] : NULL, in, &err);
    if (i && i->import(in, out, &o, &err) == 0) {
        struct jm_compute_opts c;
        struct jm_run *r;
        struct jm_report *rep = NULL;
        if (jm_run_open(out, &r, &err))
            abort(); /* what an importer wrote can be read */
        jm_compute_defaults(&c);
        if (jm_compute(r, &c, &rep, &err) == 0) {
            jm_audit(r, rep, &err);
            jm_report_free(rep);
        }
        jm_run_close(r);
    } else if (i && access(out, F_OK) == 0) {
        abort(); /* half an import is none */
    }
    unlink(in);
    unlink(out);
    return 0;
}
