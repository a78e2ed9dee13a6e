/* SPDX-License-Identifier: Apache-2.0 */
/* The table of MLPerf results for programs: JSON (schema joulemark.mlperf.show/1, docs/schema) and CSV. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "show/formats.h"
#include "show/round.h"
#include "show/round_columns.h"

#include "base/banned.h"

#define MUCH (256u << 10)

static void flush(const struct jm_round_show *o, struct jm_str *s)
{
    if (o->flush && s->len > MUCH && !s->failed)
        o->flush(o->self, s);
}

/* A number or null: what is missing is never left to be guessed. */
static void num(struct jm_jsonw *w, const char *key, double v)
{
    jm_jsonw_knum(w, key, v);
}

static void count(struct jm_jsonw *w, const char *key, int64_t n)
{
    jm_jsonw_key(w, key);
    if (n < 0)
        jm_jsonw_null(w);
    else
        jm_jsonw_i64(w, n);
}

static void unit(struct jm_jsonw *w, const char *key, const char *u)
{
    jm_jsonw_kstr(w, key, u[0] ? u : NULL);
}

static void interval(struct jm_jsonw *w, const char *key, const struct jm_round_pair *p)
{
    jm_jsonw_key(w, key);
    if (!isfinite(p->lo) && !isfinite(p->hi)) {
        jm_jsonw_null(w);
        return;
    }
    jm_jsonw_array(w);
    jm_jsonw_num(w, p->lo);
    jm_jsonw_num(w, p->hi);
    jm_jsonw_end(w);
}

static void stamp(struct jm_jsonw *w, const char *key, int64_t t)
{
    char buf[JM_RFC3339_SIZE];
    jm_jsonw_kstr(w, key, t < 0 ? NULL : jm_time_rfc3339(t, buf));
}

static void who(struct jm_jsonw *w, const struct jm_round_row *r)
{
    jm_jsonw_kstr(w, "path", r->path);
    jm_jsonw_kstr(w, "round", r->round);
    jm_jsonw_kstr(w, "round_from", r->round_from);
    jm_jsonw_kstr(w, "division", r->division);
    jm_jsonw_kstr(w, "availability", r->availability);
    jm_jsonw_kstr(w, "submitter", r->submitter);
    jm_jsonw_kstr(w, "suite", r->suite);
    jm_jsonw_kstr(w, "system", r->system);
    jm_jsonw_kstr(w, "system_name", r->system_name);
    jm_jsonw_kstr(w, "accelerator", r->accelerator);
    num(w, "accelerators", jm_round_accelerators(r));
    num(w, "nodes", r->nodes);
    jm_jsonw_kstr(w, "benchmark", r->benchmark);
    jm_jsonw_kstr(w, "model", r->model);
    jm_jsonw_kstr(w, "provenance", r->provenance);
    if (r->unofficial)
        jm_jsonw_kstr(w, "unofficial", r->unofficial);
    if (r->error)
        jm_jsonw_kstr(w, "error", r->error);
}

static void published(struct jm_jsonw *w, const struct jm_round_row *r)
{
    jm_jsonw_key(w, "published");
    jm_jsonw_object(w);
    num(w, "metric", r->metric);
    unit(w, "unit", r->metric_unit);
    num(w, "power_w", r->power.published);
    num(w, "energy_j", r->energy.published);
    num(w, "seconds", r->seconds);
    num(w, "queries", r->queries);
    num(w, "performance", r->performance);
    unit(w, "performance_unit", r->performance_unit);
    num(w, "samples_per_s", r->samples_per_s);
    num(w, "tokens_per_s", r->tokens_per_s);
    num(w, "samples_per_j", r->samples_per_j.published);
    num(w, "tokens_per_j", r->tokens_per_j.published);
    num(w, "j_per_token", r->j_per_token.published);
    num(w, "mj_per_stream", r->mj_per_stream.published);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "proper");
    jm_jsonw_object(w);
    num(w, "metric", r->metric_proper);
    num(w, "power_w", r->power.proper);
    num(w, "energy_j", r->energy.proper);
    num(w, "samples_per_j", r->samples_per_j.proper);
    num(w, "tokens_per_j", r->tokens_per_j.proper);
    num(w, "j_per_token", r->j_per_token.proper);
    num(w, "mj_per_stream", r->mj_per_stream.proper);
    jm_jsonw_key(w, "interval");
    jm_jsonw_object(w);
    num(w, "level", 0.95);
    interval(w, "power_w", &r->power);
    interval(w, "energy_j", &r->energy);
    interval(w, "samples_per_j", &r->samples_per_j);
    interval(w, "tokens_per_j", &r->tokens_per_j);
    interval(w, "j_per_token", &r->j_per_token);
    interval(w, "mj_per_stream", &r->mj_per_stream);
    jm_jsonw_kstr(w, "includes", r->accuracy);
    jm_jsonw_kstr(w, "excludes", r->excludes);
    jm_jsonw_end(w);
    jm_jsonw_end(w);
    num(w, "difference", jm_round_difference(r));
    jm_jsonw_key(w, "reported");
    if (isnan(r->reported)) {
        jm_jsonw_null(w);
    } else {
        jm_jsonw_object(w);
        num(w, "value", r->reported);
        unit(w, "unit", r->reported_unit);
        jm_jsonw_kstr(w, "table", r->reported_from);
        num(w, "difference", r->reported_off);
        jm_jsonw_kbool(w, "agrees", r->reported_agrees);
        jm_jsonw_end(w);
    }
}

static void samples(struct jm_jsonw *w, const char *key, const struct jm_round_samples *s)
{
    jm_jsonw_key(w, key);
    jm_jsonw_object(w);
    count(w, "rows", s->rows);
    count(w, "good", s->good);
    count(w, "bad", s->bad);
    count(w, "missed", s->missed);
    count(w, "over_range", s->over);
    count(w, "nonpositive", s->nonpositive);
    jm_jsonw_end(w);
}

static void measured(struct jm_jsonw *w, const struct jm_round_row *r)
{
    jm_jsonw_key(w, "window");
    jm_jsonw_object(w);
    stamp(w, "begin", r->t0);
    stamp(w, "end", r->t1);
    num(w, "seconds", r->t0 >= 0 && r->t1 >= r->t0 ? (double)(r->t1 - r->t0) / 1e9 : NAN);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "samples");
    jm_jsonw_object(w);
    samples(w, "window", &r->window);
    samples(w, "file", &r->file);
    num(w, "dropped", r->dropped);
    count(w, "broken", r->broken);
    count(w, "out_of_order", r->out_of_order);
    count(w, "duplicate_stamps", r->duplicate_stamps);
    num(w, "max_gap_s", r->max_gap_s);
    num(w, "bridged_s", r->bridged_s);
    num(w, "over_range_s", r->over_s);
    jm_jsonw_end(w);
    jm_jsonw_key(w, "instrument");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "analyzer", r->analyzer);
    jm_jsonw_kstr(w, "ptdaemon", r->ptd);
    jm_jsonw_kstr(w, "ranges", r->ranges);
    jm_jsonw_ki64(w, "channels", r->channels);
    jm_jsonw_ki64(w, "analyzers", r->analyzers);
    num(w, "max_volts", r->max_volts);
    num(w, "max_amps", r->max_amps);
    num(w, "power_factor", r->power_factor);
    num(w, "director_clock_s", r->director_clock_s);
    jm_jsonw_end(w);
}

static void findings(struct jm_jsonw *w, const struct jm_round_row *r)
{
    jm_jsonw_key(w, "findings");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_finding; i++) {
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "id", r->finding[i].id);
        jm_jsonw_kstr(w, "verdict", jm_round_verdict_name(r->finding[i].verdict));
        jm_jsonw_kstr(w, "text", r->finding[i].text);
        jm_jsonw_kstr(w, "evidence", r->finding[i].evidence);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void validity(struct jm_jsonw *w, const struct jm_round_row *r, bool session)
{
    jm_jsonw_key(w, "validity");
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "profile", "mlperf");
    if (session) {
        jm_jsonw_kstr(w, "official", r->checked ? jm_round_verdict_name(r->official) : NULL);
        jm_jsonw_kstr(w, "revision", r->revision);
    }
    jm_jsonw_kstr(w, "ours", r->checked ? jm_round_verdict_name(r->own) : NULL);
    if (r->checked && session) {
        jm_jsonw_key(w, "checks");
        jm_jsonw_array(w);
        for (size_t i = 0; i < sizeof r->check / sizeof r->check[0]; i++) {
            jm_jsonw_object(w);
            jm_jsonw_ki64(w, "check", (int64_t)i + 1);
            jm_jsonw_kstr(w, "title", r->check[i].title);
            jm_jsonw_kstr(w, "verdict", jm_round_verdict_name(r->check[i].verdict));
            jm_jsonw_kstr(w, "text", r->check[i].text);
            jm_jsonw_end(w);
        }
        jm_jsonw_end(w);
    }
    findings(w, r);
    jm_jsonw_end(w);
}

static void facility(struct jm_jsonw *w, const struct jm_round_row *r, const struct jm_pue *pue)
{
    if (!(pue->value > 0))
        return;
    jm_jsonw_key(w, "facility");
    jm_jsonw_object(w);
    num(w, "pue", pue->value);
    jm_jsonw_kstr(w, "category", pue->category[0] ? pue->category : NULL);
    jm_jsonw_kstr(w, "provenance", "estimated");
    num(w, "energy_j", pue->value * r->energy.proper);
    num(w, "j_per_token", pue->value * r->j_per_token.proper);
    num(w, "samples_per_j", r->samples_per_j.proper / pue->value);
    jm_jsonw_end(w);
}

static void facts(struct jm_jsonw *w, const struct jm_round_row *r)
{
    jm_jsonw_key(w, "facts");
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_fact; i++) {
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "group", r->fact[i].group);
        jm_jsonw_kstr(w, "name", r->fact[i].name);
        jm_jsonw_kstr(w, "value", r->fact[i].value);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void parts(struct jm_jsonw *w, const char *key, const struct jm_round_row *r)
{
    jm_jsonw_key(w, key);
    jm_jsonw_array(w);
    for (size_t i = 0; i < r->n_part; i++) {
        jm_jsonw_object(w);
        jm_jsonw_kstr(w, "name", r->part[i].name);
        num(w, "published", r->part[i].published);
        num(w, "proper", r->part[i].proper);
        num(w, "seconds", r->part[i].seconds);
        jm_jsonw_kstr(w, "why", r->part[i].why);
        jm_jsonw_end(w);
    }
    jm_jsonw_end(w);
}

static void nameplate(struct jm_jsonw *w, const struct jm_round_row *r)
{
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "path", r->path);
    jm_jsonw_kstr(w, "division", r->division);
    jm_jsonw_kstr(w, "submitter", r->submitter);
    jm_jsonw_kstr(w, "system", r->system);
    num(w, "watts", r->design_power_w);
    jm_jsonw_kstr(w, "provenance", "declared");
    jm_jsonw_kstr(w, "why", r->error);
    jm_jsonw_end(w);
}

static void row(struct jm_jsonw *w, const struct jm_round_row *r, const struct jm_round_show *o)
{
    bool session = r->kind == JM_ROUND_SESSION;
    if (r->kind == JM_ROUND_NAMEPLATE) {
        nameplate(w, r);
        return;
    }
    jm_jsonw_object(w);
    who(w, r);
    if (session) {
        jm_jsonw_kstr(w, "scenario", r->scenario);
        jm_jsonw_kstr(w, "run_scenario", r->run_scenario);
        jm_jsonw_kbool(w, "inferred", r->inferred);
        published(w, r);
        measured(w, r);
        facts(w, r);
        facility(w, r, &o->pue);
    } else {
        num(w, "published", r->metric);
        num(w, "proper", r->metric_proper);
        unit(w, "unit", r->metric_unit);
        num(w, "seconds", r->seconds);
        jm_jsonw_kstr(w, "why", r->accuracy);
        parts(w, r->kind == JM_ROUND_TRAINING ? "runs" : "windows", r);
        facts(w, r);
    }
    if (isfinite(r->design_power_w)) {
        jm_jsonw_key(w, "design_power");
        jm_jsonw_object(w);
        num(w, "watts", r->design_power_w);
        jm_jsonw_kstr(w, "provenance", "declared");
        jm_jsonw_end(w);
    }
    validity(w, r, session);
    jm_jsonw_end(w);
}

int jm_round_json(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                  struct jm_err *err)
{
    static const char *const kinds[] = {"sessions", "training", "tiny", "nameplates"};
    struct jm_jsonw w;
    jm_jsonw_init(&w, s, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.mlperf.show/1");
    jm_jsonw_kstr(&w, "joulemark", JM_VERSION);
    jm_jsonw_key(&w, "asked");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < t->n_asked; i++)
        jm_jsonw_str(&w, t->asked[i]);
    jm_jsonw_end(&w);
    jm_jsonw_key(&w, "found");
    jm_jsonw_object(&w);
    jm_jsonw_ki64(&w, "folders", t->folders);
    jm_jsonw_ki64(&w, "sessions", t->sessions);
    jm_jsonw_ki64(&w, "without_power", t->without_power);
    jm_jsonw_ki64(&w, "compliance", t->compliance);
    jm_jsonw_ki64(&w, "links", t->links);
    jm_jsonw_ki64(&w, "filtered", t->filtered);
    jm_jsonw_ki64(&w, "tables", t->tables);
    jm_jsonw_ki64(&w, "bytes", t->bytes);
    jm_jsonw_kbool(&w, "interrupted", t->interrupted);
    jm_jsonw_end(&w);
    for (int k = 0; k < JM_ROUND_KIND_COUNT; k++) {
        jm_jsonw_key(&w, kinds[k]);
        jm_jsonw_array(&w);
        for (size_t i = 0; i < t->n_row; i++)
            if ((int)t->row[i]->kind == k) {
                row(&w, t->row[i], o);
                flush(o, s);
            }
        jm_jsonw_end(&w);
    }
    jm_jsonw_key(&w, "unread");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < t->n_trouble; i++) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "path", t->trouble[i].path);
        jm_jsonw_kstr(&w, "why", t->trouble[i].why);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    jm_str_addc(s, '\n');
    return jm_str_ok(s, "the JSON of the results", err);
}

int jm_round_csv(const struct jm_round_table *t, const struct jm_round_show *o, struct jm_str *s,
                 struct jm_err *err)
{
    const struct jm_round_column *c[JM_ROUND_COLUMNS];
    char buf[JM_FMT];
    int n = 0;
    if (o->columns)
        n = jm_round_column_list(o->columns, c, err);
    else
        for (const struct jm_round_column *x = jm_round_columns; x->name; x++)
            if (x->csv)
                c[n++] = x;
    if (n < 0)
        return n;
    for (int k = 0; k < n; k++)
        jm_str_addf(s, "%s%s", k ? "," : "", c[k]->name);
    jm_str_adds(s, "\r\n");
    for (size_t i = 0; i < t->n_row; i++) {
        for (int k = 0; k < n; k++) {
            if (k)
                jm_str_addc(s, ',');
            if (c[k]->number)
                jm_csv_add_number(s, c[k]->number(t->row[i]));
            else
                jm_csv_add_text(s, c[k]->text(t->row[i], buf));
        }
        jm_str_adds(s, "\r\n");
        flush(o, s);
    }
    return jm_str_ok(s, "the CSV of the results", err);
}
