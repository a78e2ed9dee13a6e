/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the text of MLPerf results. */
#ifndef JM_SHOW_ROUND_TEXT_H
#define JM_SHOW_ROUND_TEXT_H

#include "show/round.h"
#include "show/round_columns.h"
#include "show/text_out.h"

/* The page of one result. */
void jm_round_page(struct jm_out *o, const struct jm_round_row *r, const struct jm_round_show *show);
void jm_round_page_html(struct jm_str *s, const struct jm_round_row *r, const struct jm_round_show *show);
/* Findings that warn or fail, by their id: the first of its kind, and in how many rows. Worst first. */
#define JM_ROUND_KINDS 256
struct jm_round_kind_count {
    const struct jm_round_finding *first;
    size_t rows;
};
size_t jm_round_findings_count(const struct jm_round_table *t, struct jm_round_kind_count k[JM_ROUND_KINDS]);
/* Findings of all rows by their id, worst and most frequent first. */
void jm_round_findings(struct jm_out *o, const struct jm_round_table *t);
enum jm_out_style_of jm_round_style(enum jm_round_verdict v);
/* "ThinkSystem SR680a V3 (8x B200-SXM-180GB, TensorRT)", else the folder. */
const char *jm_round_system(const struct jm_round_row *r);

#endif
