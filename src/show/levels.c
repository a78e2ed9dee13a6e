/* SPDX-License-Identifier: Apache-2.0 */
#include "show/levels.h"

#include <stdio.h>
#include <string.h>

#include "show/fmt.h"
#include "show/formats.h"
#include "show/html_script.h"
#include "show/html_style.h"
#include "show/svg.h"

#include "base/banned.h"

static size_t required(const struct jm_evidence *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_row; i++)
        n += e->row[i].required && e->row[i].state != JM_DISCLOSED_NA;
    return n;
}

static const char *reached(const struct jm_levels *l)
{
    return l->claim_reached < 0 ? "none" : l->claim[l->claim_reached].title;
}

/* Rules of a list that hold, and that can. */
static void tally(const struct jm_gate *g, size_t n, int *met, int *of)
{
    *met = *of = 0;
    for (size_t i = 0; i < n; i++) {
        *met += g[i].state == JM_GATE_MET;
        *of += g[i].state != JM_GATE_NA;
    }
}

void jm_show_evidence_brief(struct jm_out *o, const struct jm_evidence *e)
{
    const struct jm_levels *l = e->levels;
    size_t of = required(e), missing = jm_disclosure_missing(e->row, e->n_row);
    struct jm_str t;
    int met, rules;
    jm_out_section(o, "Evidence");
    jm_str_init(&t);
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, "disclosure", 14, false);
    jm_str_addf(&t, "%zu of %zu items that a reader needs", of - missing, of);
    for (size_t i = 0, k = 0; i < e->n_row; i++)
        if (e->row[i].required && e->row[i].state == JM_DISCLOSED_NOT)
            jm_str_addf(&t, "%s%s", k++ ? ", " : "; missing: ", e->row[i].key);
    jm_out_wrap(o, t.buf, 16, 16);
    jm_str_reset(&t);
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, "claim level", 14, false);
    jm_str_addf(&t, "%s", reached(l));
    if (l->claim_reached + 1 < JM_LEVELS) {
        const struct jm_claim_level *next = &l->claim[l->claim_reached + 1];
        jm_str_addf(&t, "; %s lacks", next->title);
        for (size_t k = 0, n = 0; k < next->n_gate; k++)
            if (next->gate[k].state != JM_GATE_MET)
                jm_str_addf(&t, "%s %s", n++ ? "," : "", next->gate[k].rule);
    }
    jm_out_wrap(o, t.buf, 16, 16);
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, "EE HPC WG", 14, false);
    jm_out_wrap(o, l->eehpc_text, 16, 16);
    jm_str_reset(&t);
    tally(l->mlperf, l->n_mlperf, &met, &rules);
    jm_str_adds(o->s, "  ");
    jm_out_cell(o, "MLPerf-like", 14, false);
    jm_str_addf(&t, "%d of %d rules of MLPerf Power hold", met, rules);
    jm_out_wrap(o, t.buf, 16, 16);
    jm_str_release(&t);
    jm_out_style(o, JM_OUT_DIM);
    jm_str_adds(o->s, "  more: --disclosure, --levels\n");
    jm_out_style(o, JM_OUT_PLAIN);
}

static enum jm_out_style_of disclosed_style(const struct jm_disclosure_row *d)
{
    return d->state == JM_DISCLOSED_NOT  ? d->required ? JM_OUT_RED : JM_OUT_DIM
           : d->state == JM_DISCLOSED_NA ? JM_OUT_DIM
                                         : JM_OUT_PLAIN;
}

void jm_show_disclosure_text(struct jm_out *o, const struct jm_evidence *e)
{
    size_t of = required(e), missing = jm_disclosure_missing(e->row, e->n_row);
    jm_out_section(o, "Disclosure");
    jm_str_addf(o->s, "  %zu of %zu items that a reader needs are there\n", of - missing, of);
    for (size_t i = 0; i < e->n_row; i++) {
        const struct jm_disclosure_row *d = &e->row[i];
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, d->key, 24, false);
        jm_out_style(o, disclosed_style(d));
        if (d->state == JM_DISCLOSED_NOT) {
            struct jm_str t;
            jm_str_init(&t);
            jm_str_addf(&t, "%s: %s", d->required ? "MISSING" : "not known", d->mend);
            jm_out_wrap(o, t.buf, 26, 26);
            jm_str_release(&t);
        } else {
            struct jm_str t;
            jm_str_init(&t);
            jm_str_addf(&t, "%s%s%s%s", d->value, d->state == JM_DISCLOSED ? "" : " (",
                        d->state == JM_DISCLOSED ? "" : jm_disclosed_name((int)d->state),
                        d->state == JM_DISCLOSED ? "" : ")");
            jm_out_wrap(o, t.buf, 26, 26);
            jm_str_release(&t);
        }
        jm_out_style(o, JM_OUT_PLAIN);
    }
}

static void gates(struct jm_out *o, const struct jm_gate *g, size_t n)
{
    static const enum jm_out_style_of st[] = {JM_OUT_GREEN, JM_OUT_RED, JM_OUT_YELLOW, JM_OUT_DIM};
    for (size_t i = 0; i < n; i++) {
        jm_str_adds(o->s, "    ");
        jm_out_style(o, st[g[i].state]);
        jm_out_cell(o, jm_gate_name((int)g[i].state), 16, false);
        jm_out_style(o, JM_OUT_PLAIN);
        jm_out_wrap(o, g[i].rule, 20, 20);
        jm_str_adds(o->s, "                    ");
        jm_out_style(o, JM_OUT_DIM);
        jm_out_wrap(o, g[i].evidence, 20, 20);
        jm_out_style(o, JM_OUT_PLAIN);
        if (g[i].mend && g[i].state != JM_GATE_NA) {
            jm_str_adds(o->s, "                    to do: ");
            jm_out_wrap(o, g[i].mend, 27, 27);
        }
    }
}

void jm_show_levels_text(struct jm_out *o, const struct jm_evidence *e)
{
    const struct jm_levels *l = e->levels;
    jm_out_section(o, "Levels of the claim");
    for (int i = 0; i < JM_LEVELS; i++) {
        const struct jm_claim_level *c = &l->claim[i];
        jm_str_addf(o->s, "  %d ", i);
        jm_out_style(o, JM_OUT_BOLD);
        jm_out_cell(o, c->title, 16, false);
        jm_out_style(o, c->reached ? JM_OUT_GREEN : JM_OUT_YELLOW);
        jm_str_addf(o->s, "%s\n", c->reached ? "reached" : "not reached");
        jm_out_style(o, JM_OUT_PLAIN);
        gates(o, c->gate, c->n_gate);
    }
    jm_out_section(o, "EE HPC WG methodology, by aspect");
    jm_str_adds(o->s, "  ");
    jm_out_wrap(o, l->eehpc_text, 2, 2);
    for (int i = 0; i < JM_ASPECTS; i++) {
        const struct jm_aspect *a = &l->aspect[i];
        jm_str_adds(o->s, "  ");
        jm_out_cell(o, a->id, 4, false);
        jm_out_cell(o, a->title, 25, false);
        jm_out_style(o, a->level ? JM_OUT_GREEN : JM_OUT_RED);
        if (a->level)
            jm_str_addf(o->s, "level %d  ", a->level);
        else
            jm_str_adds(o->s, "none     ");
        jm_out_style(o, JM_OUT_PLAIN);
        jm_out_wrap(o, a->evidence, 40, 40);
        if (a->lacks) {
            jm_str_adds(o->s, "                                        lacks: ");
            jm_out_wrap(o, a->lacks, 47, 47);
        }
    }
    jm_out_section(o, "Rules of MLPerf Power");
    jm_str_adds(o->s, "  ");
    jm_out_wrap(o, "what they say of this measurement; it is no MLPerf result", 2, 2);
    gates(o, l->mlperf, l->n_mlperf);
}

static void gates_json(struct jm_jsonw *w, const struct jm_gate *g, size_t n)
{
    jm_jsonw_array(w);
    for (size_t i = 0; i < n; i++) {
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "id", g[i].id);
        jm_jsonw_kstr(w, "rule", g[i].rule);
        jm_jsonw_kstr(w, "state", jm_gate_name((int)g[i].state));
        jm_jsonw_kstr(w, "evidence", g[i].evidence);
        jm_show_json_text(w, "mend", g[i].state == JM_GATE_NA ? NULL : g[i].mend);
        jm_jsonw_kstr(w, "source", g[i].source);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

void jm_show_evidence_json(struct jm_jsonw *w, const struct jm_evidence *e)
{
    const struct jm_levels *l = e->levels;
    jm_jsonw_key(w, "disclosure");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "required", (int64_t)required(e));
    jm_jsonw_ki64(w, "missing", (int64_t)jm_disclosure_missing(e->row, e->n_row));
    jm_jsonw_key(w, "items");
    jm_jsonw_array(w);
    for (size_t i = 0; i < e->n_row; i++) {
        const struct jm_disclosure_row *d = &e->row[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "id", d->id);
        jm_jsonw_kstr(w, "item", d->key);
        jm_jsonw_kbool(w, "required", d->required);
        jm_jsonw_kstr(w, "state", jm_disclosed_name((int)d->state));
        jm_jsonw_kstr(w, "value", d->known ? d->value : NULL);
        if (d->state == JM_DISCLOSED_NA)
            jm_jsonw_kstr(w, "why", d->value);
        if (d->state == JM_DISCLOSED_NOT)
            jm_jsonw_kstr(w, "mend", d->mend);
        jm_jsonw_kstr(w, "source", d->source);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "levels");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "claim", l->claim_reached < 0 ? NULL : l->claim[l->claim_reached].id);
    jm_jsonw_key(w, "claims");
    jm_jsonw_array(w);
    for (int i = 0; i < JM_LEVELS; i++) {
        const struct jm_claim_level *c = &l->claim[i];
        jm_jsonw_object(w);
        jm_jsonw_ki64(w, "level", i);
        jm_jsonw_kstr(w, "id", c->id);
        jm_jsonw_kbool(w, "reached", c->reached);
        jm_jsonw_key(w, "gates");
        gates_json(w, c->gate, c->n_gate);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_key(w, "eehpc");
    jm_jsonw_object(w);
    jm_jsonw_ki64(w, "level", l->eehpc);
    jm_jsonw_kbool(w, "like_1", l->eehpc_like);
    jm_jsonw_kstr(w, "boundary", l->eehpc_boundary);
    jm_jsonw_kstr(w, "text", l->eehpc_text);
    jm_jsonw_key(w, "aspects");
    jm_jsonw_array(w);
    for (int i = 0; i < JM_ASPECTS; i++) {
        const struct jm_aspect *a = &l->aspect[i];
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "id", a->id);
        jm_jsonw_kstr(w, "title", a->title);
        jm_jsonw_ki64(w, "level", a->level);
        jm_jsonw_kstr(w, "evidence", a->evidence);
        jm_show_json_text(w, "lacks", a->lacks);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "mlperf_like");
    gates_json(w, l->mlperf, l->n_mlperf);
    jm_jsonw_end(w);
}

static void row(struct jm_str *s, const char *a, const char *b, const char *c)
{
    const char *const cell[] = {a, b, c};
    jm_str_addc(s, '|');
    for (size_t i = 0; i < 3 && cell[i]; i++) {
        jm_str_addc(s, ' ');
        jm_markdown_escape(s, cell[i]);
        jm_str_adds(s, " |");
    }
    jm_str_addc(s, '\n');
}

static void gates_markdown(struct jm_str *s, const char *title, const struct jm_gate *g, size_t n)
{
    jm_str_addf(s, "\n### %s\n\n| rule | state | evidence |\n|---|---|---|\n", title);
    for (size_t i = 0; i < n; i++)
        row(s, g[i].rule, jm_gate_name((int)g[i].state), g[i].evidence);
}

void jm_show_evidence_markdown(struct jm_str *s, const struct jm_report *r, const struct jm_evidence *e,
                               bool levels)
{
    const struct jm_levels *l = e->levels;
    char aspect[16];
    if (r->simulated)
        jm_str_adds(s, "**SIMULATED**: the devices or the endpoint of this run are simulated.\n\n");
    jm_str_adds(s, "| item | value | how it is known |\n|---|---|---|\n");
    for (size_t i = 0; i < e->n_row; i++)
        row(s, e->row[i].key, e->row[i].state == JM_DISCLOSED_NOT ? "–" : e->row[i].value,
            jm_disclosed_name((int)e->row[i].state));
    jm_str_adds(s, "\nRun ");
    jm_markdown_escape(s, r->id);
    jm_str_addf(s, ", SHA-256 %s; %s claim level %s.\n", r->sha256 ? r->sha256 : "not sealed",
                r->sha256 ? "" : "so", reached(l));
    if (!levels)
        return;
    jm_str_adds(s, "\n## Levels of the claim\n");
    for (int i = 0; i < JM_LEVELS; i++) {
        char title[64];
        snprintf(title, sizeof title, "%d %s: %s", i, l->claim[i].title,
                 l->claim[i].reached ? "reached" : "not reached");
        gates_markdown(s, title, l->claim[i].gate, l->claim[i].n_gate);
    }
    jm_str_adds(s, "\n## EE HPC WG methodology\n\n");
    jm_markdown_escape(s, l->eehpc_text);
    jm_str_adds(s, "\n\n| aspect | level | evidence |\n|---|---|---|\n");
    for (int i = 0; i < JM_ASPECTS; i++) {
        snprintf(aspect, sizeof aspect, "%d", l->aspect[i].level);
        row(s, l->aspect[i].title, l->aspect[i].level ? aspect : "none", l->aspect[i].evidence);
    }
    gates_markdown(s, "Rules of MLPerf Power (no MLPerf result)", l->mlperf, l->n_mlperf);
}

static void html_row(struct jm_str *s, const char *head, const char *a, const char *b)
{
    jm_str_adds(s, "<tr><th scope='row'>");
    jm_svg_escape(s, head);
    jm_str_adds(s, "</th><td>");
    jm_svg_escape(s, a);
    jm_str_adds(s, "</td><td>");
    jm_svg_escape(s, b);
    jm_str_adds(s, "</td></tr>");
}

static void html_gates(struct jm_str *s, const char *title, const struct jm_gate *g, size_t n)
{
    jm_str_adds(s, "<h3>");
    jm_svg_escape(s, title);
    jm_str_adds(s, "</h3><table><tbody>");
    for (size_t i = 0; i < n; i++)
        html_row(s, g[i].rule, jm_gate_name((int)g[i].state), g[i].evidence);
    jm_str_adds(s, "</tbody></table>");
}

int jm_show_evidence_html(struct jm_str *s, const struct jm_report *r, const struct jm_evidence *e,
                          struct jm_err *err)
{
    const struct jm_levels *l = e->levels;
    char text[128];
    jm_str_adds(
        s,
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
        "content='width=device-width,initial-scale=1'><meta name='color-scheme' content='light dark'><meta "
        "http-equiv='Content-Security-Policy' content=\"");
    jm_html_csp(s, false);
    jm_str_adds(s, "\"><title>Disclosure</title><link rel='icon' href='data:,'><style>");
    jm_str_adds(s, jm_html_style);
    jm_str_adds(s, jm_html_style_parts);
    jm_str_adds(s, "</style></head><body><main><header><h1>");
    jm_svg_escape(s, r->label && r->label[0] ? r->label : "joulemark run");
    if (r->simulated)
        jm_str_adds(s, " <span class='tag sim'>SIMULATED</span>");
    jm_str_adds(s, "</h1><p>run <code>");
    jm_svg_escape(s, r->id);
    jm_str_addf(
        s,
        "</code></p></header><section><h2>Disclosure</h2><p>%zu of %zu items that a reader needs are "
        "there.</p>"
        "<div class='scroll'><table><thead><tr><th scope='col'>item</th><th scope='col'>value</th><th "
        "scope='col'>how it is known</th></tr></thead><tbody>",
        required(e) - jm_disclosure_missing(e->row, e->n_row), required(e));
    for (size_t i = 0; i < e->n_row; i++)
        html_row(s, e->row[i].key, e->row[i].state == JM_DISCLOSED_NOT ? e->row[i].mend : e->row[i].value,
                 jm_disclosed_name((int)e->row[i].state));
    jm_str_addf(s, "</tbody></table></div></section><section><h2>Levels of the claim</h2><p>Reached: %s</p>",
                reached(l));
    for (int i = 0; i < JM_LEVELS; i++) {
        snprintf(text, sizeof text, "%d %s: %s", i, l->claim[i].title,
                 l->claim[i].reached ? "reached" : "not reached");
        html_gates(s, text, l->claim[i].gate, l->claim[i].n_gate);
    }
    jm_str_adds(s, "</section><section><h2>EE HPC WG methodology</h2><p>");
    jm_svg_escape(s, l->eehpc_text);
    jm_str_adds(s, "</p><table><tbody>");
    for (int i = 0; i < JM_ASPECTS; i++) {
        snprintf(text, sizeof text, "%s%.0d", l->aspect[i].level ? "level " : "none", l->aspect[i].level);
        html_row(s, l->aspect[i].title, text, l->aspect[i].evidence);
    }
    jm_str_adds(s, "</tbody></table></section><section><h2>Rules of MLPerf Power</h2>");
    html_gates(s, "What they say of this measurement; it is no MLPerf result", l->mlperf, l->n_mlperf);
    jm_str_adds(s, "</section></main></body></html>\n");
    return jm_str_ok(s, "the page of the disclosure", err);
}
