/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of two sets of MLPerf results: text, and JSON (joulemark.mlperf.compare/1). */
#ifndef JM_SHOW_ROUND_COMPARE_H
#define JM_SHOW_ROUND_COMPARE_H

#include "model/round_compare.h"
#include "show/round.h"

/* name: what the sides were asked for by. */
int jm_round_compare_text(const struct jm_round_comparison *c, const char *const name[2],
                          const struct jm_round_show *o, struct jm_str *s, struct jm_err *err);
int jm_round_compare_json(const struct jm_round_comparison *c, const char *const name[2],
                          const struct jm_round_show *o, struct jm_str *s, struct jm_err *err);

#endif
