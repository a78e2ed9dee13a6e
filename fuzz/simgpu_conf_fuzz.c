/* SPDX-License-Identifier: Apache-2.0 */
/* Options of joulemark-sim gpu as they come from a configuration file: lines, values, faults, processes,
 * waveforms. */
#include "simgpu_conf.h"
#include "simgpu_wave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    char line[1024], why[256];
    struct simgpu_conf *c = malloc(sizeof *c);
    if (!c || n > 65536) {
        free(c);
        return 0;
    }
    simgpu_conf_init(c);
    int e = 0;
    for (size_t i = 0; !e && i < n;) {
        const uint8_t *end = memchr(p + i, '\n', n - i);
        size_t len = end ? (size_t)(end - p) - i : n - i;
        size_t take = len < sizeof line - 1 ? len : sizeof line - 1;
        memcpy(line, p + i, take);
        line[take] = 0;
        line[strcspn(line, "#\r\n")] = 0;
        e = simgpu_conf_line(c, line, "fuzz", why, sizeof why);
        i += len + 1;
    }
    if (!e)
        e = simgpu_conf_apply(c, why, sizeof why);
    /* Paths lead out of this test, and a million pieces take too long for it. */
    const char *w = c->gpu[0].waveform;
    if (!e && strncmp(w, "file:", 5) != 0 && !strstr(w, "ns") && !strstr(w, "us") && !strstr(w, "h") &&
        !strstr(w, "d,") && strlen(w) < 120) {
        struct simgpu_wave wave;
        if (simgpu_wave_make(&wave, w, 1, 0, why, sizeof why) == 0) {
            int64_t last = 0;
            for (uint32_t i = 0; i < wave.count; i++) {
                if (wave.seg[i].end_ns <= last || wave.seg[i].uw < 0)
                    abort();
                last = wave.seg[i].end_ns;
            }
            simgpu_wave_release(&wave);
        }
    }
    simgpu_conf_release(c);
    free(c);
    return 0;
}
