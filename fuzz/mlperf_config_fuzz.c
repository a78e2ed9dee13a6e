/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mlperf/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_mlperf_config c;
    struct jm_err err = {0};
    if (jm_mlperf_config_parse((struct jm_span){(const char *)p, n}, "fuzz.conf", &c, &err) == 0) {
        if (c.n_analyzers < 1 || c.n_analyzers > JM_MLPERF_ANALYZERS || !c.ntp_server || !c.out_dir[0] ||
            c.port < 0 || c.port > 65535 || !c.host[0] || c.settle_ns < 0)
            abort();
        for (int i = 0; i < c.n_analyzers; i++)
            if (c.analyzer[i].port < 1 || c.analyzer[i].port > 65535 || c.analyzer[i].n_channels > 8 ||
                (c.launch && !strcmp(c.source, "ptd") && c.analyzer[i].device_type < 0))
                abort();
    } else if (!err.text[0]) {
        abort();
    }
    jm_mlperf_config_release(&c);
    return 0;
}
