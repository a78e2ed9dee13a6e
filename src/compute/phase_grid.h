/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of the instruments that make up a boundary, as energies of short cells of time. */
#ifndef JM_COMPUTE_PHASE_GRID_H
#define JM_COMPUTE_PHASE_GRID_H

#include "compute/calc.h"

struct jm_grid {
    double *t, *joules; /* n + 1 times, s after origin; n energies */
    size_t n;
    int64_t origin;
    double cell; /* usual length, s */
};
/* Cells between the refreshes of the fastest of the channels (at least 50 ms), the others interpolated
 * between theirs; edge: times that a cell must begin at. What readings do not reach (but for a second or two
 * cells) is not there. JM_EABSENT: too few readings. */
int jm_grid_make(struct jm_calc *c, const int *channel, size_t n_channels, int64_t from, int64_t to,
                 const int64_t *edge, size_t n_edges, struct jm_grid *out);
void jm_grid_release(struct jm_grid *g);
/* The cell that begins at or after t (s after origin); n where there is none. */
size_t jm_grid_at(const struct jm_grid *g, double t);

#endif
