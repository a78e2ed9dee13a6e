/* SPDX-License-Identifier: Apache-2.0 */
/* The importers of AIPerf, GenAI-Perf, guidellm and inference-perf over any bytes, as sniffed and by name.
 * The first byte chooses: 0 to 3 one of them, else whichever takes the file. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"aiperf", "genai-perf", "guidellm", "inference-perf"};
    static char in[64], out[64];
    struct jm_import_opts o = {.label = "fuzz", .overwrite = true};
    struct jm_err err;
    if (size < 1)
        return 0;
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(in, sizeof in, "%s/jm_peers_%d.json", tmp, (int)getpid());
    snprintf(out, sizeof out, "%s/jm_peers_%d.jmr", tmp, (int)getpid());
    FILE *f = fopen(in, "wb");
    if (!f)
        return 0;
    fwrite(data + 1, 1, size - 1, f);
    fclose(f);
    unsigned which = data[0] & 7u;
    const struct jm_importer *i = jm_importer_find(which < 4 ? names[which] : NULL, in, &err);
    if (i && i->import(in, out, &o, &err) == 0) {
        struct jm_run *r;
        size_t n;
        if (jm_run_open(out, &r, &err) == 0) {
            jm_run_requests(r, &n);
            jm_run_claims(r, &n);
            jm_run_close(r);
        }
    }
    unlink(in);
    unlink(out);
    return 0;
}
