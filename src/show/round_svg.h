/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of MLPerf results as SVG: bars of efficiency a system, its trend over rounds. */
#ifndef JM_SHOW_ROUND_SVG_H
#define JM_SHOW_ROUND_SVG_H

#include "show/round.h"

extern const char jm_round_style_sheet[];
/* A figure a benchmark and scenario, the best first; how many there were. */
size_t jm_round_svg_bars(const struct jm_round_table *t, struct jm_str *s);
/* A small picture a benchmark and scenario that two rounds or more have; how many there were. */
size_t jm_round_svg_trend(const struct jm_round_table *t, struct jm_str *s);

#endif
