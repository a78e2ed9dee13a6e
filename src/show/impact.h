/* SPDX-License-Identifier: Apache-2.0 */
/* What a run costs and emits, by zone. Nothing where no factor was given. */
#ifndef JM_SHOW_IMPACT_H
#define JM_SHOW_IMPACT_H

#include "base/json.h"
#include "show/text_out.h"

void jm_show_impact_text(struct jm_out *o);
void jm_show_impact_markdown(const struct jm_report *r, struct jm_str *s);
void jm_show_impact_html(const struct jm_report *r, struct jm_str *s); /* a section */
/* "factors" and "impacts" (docs/show-json.md). */
void jm_show_impact_json(struct jm_jsonw *w, const struct jm_report *r);

/* A row of the table. */
struct jm_impact_zone {
    const char *zone, *name;
    const struct jm_factor *price, *carbon;           /* NULL: none */
    const struct jm_impact *cost_mtok, *cost_request; /* NULL: none */
    const struct jm_impact *carbon_mtok, *carbon_request;
    double price_mean, carbon_mean; /* over the window; NAN */
};
/* Row i: of each zone and kind of carbon factor one, prices beside their zone; false behind the last. window:
 * that the rows are of (jm_impact_window). */
bool jm_impact_zone(const struct jm_report *r, size_t i, int window, struct jm_impact_zone *out);
/* Over trials where such results are, else the first measure window; -2: there is none. */
int jm_impact_window(const struct jm_report *r);

/* "life-cycle", "generation", "marginal", "contract", "residual mix", "not stated"; "" without a factor. */
const char *jm_impact_kind(const struct jm_factor *f);
/* What stands below the table, a sentence each: the year, water and SCI, why there is no figure, what the
 * factors are. aside: of less weight. */
typedef void (*jm_impact_line_fn)(void *self, const char *text, bool aside);
void jm_impact_lines(const struct jm_report *r, int window, jm_impact_line_fn say, void *self);

#endif
