/* SPDX-License-Identifier: Apache-2.0 */
/* A survey of the meters as text and as JSON ("joulemark.meters/1"). */
#ifndef JM_CLI_METERS_SHOW_H
#define JM_CLI_METERS_SHOW_H

#include "base/str.h"
#include "meter/survey.h"

void jm_meters_text(const struct jm_survey *s, const char *host, bool color, struct jm_str *out);
void jm_meters_json(const struct jm_survey *s, const char *host, struct jm_str *out);

#endif
