/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of Zeus as JSON, and the profile of its power limit optimizer. */
#ifndef JM_IMPORT_ZEUS_JSON_H
#define JM_IMPORT_ZEUS_JSON_H

#include "import/build.h"
#include "import/probe.h"

int jm_zeus_json_sniff(const struct jm_probe *p);
int jm_zeus_json_import(const char *path, const char *out, const struct jm_import_opts *o,
                        struct jm_err *err);

#endif
