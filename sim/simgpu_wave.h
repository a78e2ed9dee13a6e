/* SPDX-License-Identifier: Apache-2.0 */
/* Waveforms by name: text into pieces of constant power. */
#ifndef SIMGPU_WAVE_H
#define SIMGPU_WAVE_H

#include "simgpu_state.h"

#include <stdbool.h>
#include <stddef.h>

struct simgpu_wave {
    struct simgpu_seg *seg; /* with the energy before each */
    uint32_t count, room;
    int64_t length_ns;
    bool driven;
};

/* Makes the pieces of a specification (docs/sim.md, "Waveforms"). Random ones depend on seed and stream
 * alone. 0, or -EINVAL, -ENOMEM or what reading a file gave, with one sentence in why[n]. */
int simgpu_wave_make(struct simgpu_wave *w, const char *spec, uint64_t seed, uint64_t stream, char *why,
                     size_t n);
void simgpu_wave_release(struct simgpu_wave *w);

/* One line a waveform: its form and what it is. NULL past the last. */
struct simgpu_wave_help {
    const char *form, *text;
};
const struct simgpu_wave_help *simgpu_wave_help(int i);

#endif
