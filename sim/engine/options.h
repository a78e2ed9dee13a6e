/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the engine: one table for the command line, the engines of a node and --help. */
#ifndef SIM_ENGINE_OPTIONS_H
#define SIM_ENGINE_OPTIONS_H

#include "engine.h"

void sim_options_init(struct sim_options *o);
/* One option by its name without dashes; value NULL: none was given. 1: the value was used, 0: it was not
 * needed, -1: refused, with a sentence in why. Values are borrowed. */
int sim_option_set(struct sim_options *o, const char *name, size_t n, const char *value, char *why,
                   size_t whylen);
void sim_options_help(FILE *out);
/* Runs an engine until SIGTERM or SIGINT; ready is told where it listens. Exit status. */
int sim_engine_run(const struct sim_options *o, void (*ready)(void *self, struct sim_engine *e), void *self);

#endif
