/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines of a simulated node do: requests that arrive at random, served by the engine's own
 * batching and power law in virtual time. */
#ifndef SIM_NODE_LOAD_H
#define SIM_NODE_LOAD_H

#include "plant.h"

/* Fills the power of the GPUs, the requests, and how busy the engines are in each step (0 to 1). Engines of
 * four boards (70b-4xh100) where there are that many, else of one (8b-h100). */
int plant_load(struct plant *pl, float *busy, char *why, size_t n);

#endif
