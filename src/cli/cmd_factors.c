/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cmds.h"
#include "cli/factorfetch.h"
#include "cli/present.h"
#include "compute/impact.h"
#include "factor/factor.h"
#include "show/fmt.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    struct jm_opt_list carbon, price, factors;
    const char *zoneinfo;
    struct jm_pue pue;
    double watts, tokens_s;
    struct jm_factor_fetch fetch;
};

static void head(struct jm_str *s, const char *title)
{
    jm_str_addf(s, "%s%s\n", s->len ? "\n" : "", title);
}

static int country(const struct jm_country *c, struct jm_str *s)
{
    char v[32] = "–";
    if (isfinite(c->value))
        snprintf(v, sizeof v, "%.1f", c->value);
    jm_str_addf(s, "  %-3s %-4s %-34s %7s  %s, %lld\n", c->iso2, c->iso3, c->name, v, c->kind,
                (long long)c->year);
    return 0;
}

static int countries(struct jm_cli *cli, struct jm_str *s, struct jm_err *err)
{
    struct jm_country c;
    head(s, "Carbon intensity of electricity by country, gCO2e/kWh");
    if (cli->n_operands)
        for (size_t i = 0; i < cli->n_operands; i++) {
            int rc = jm_country_find(jm_span_of(cli->operand[i]), &c, err);
            if (rc)
                return JM_EUSAGE;
            country(&c, s);
        }
    else
        for (size_t i = 0; jm_country_at(i, &c); i++)
            country(&c, s);
    jm_str_adds(s, "  Ember, yearly electricity data, of the year in each row; CC BY 4.0. Life-cycle\n"
                   "  factors, production without imports: no scope 2 figure is made of them.\n");
    return 0;
}

static void given(const struct jm_factor_set *set, struct jm_str *s)
{
    char b[JM_FMT];
    head(s, "Factors");
    for (size_t i = 0; i < set->n; i++) {
        const struct jm_factor *f = &set->f[i];
        char line[900];
        int n = snprintf(line, sizeof line, "%s %s: ", f->zone, jm_factor_what_name((int)f->what));
        if (isfinite(f->constant)) {
            n += snprintf(line + n, sizeof line - (size_t)n, "%s %s", jm_fmt_number(b, f->constant), f->unit);
        } else {
            double lo = INFINITY, hi = -INFINITY, sum = 0, len = 0;
            size_t holes = 0;
            for (size_t k = 0; k < f->n; k++) {
                double d = (double)(f->step[k].t1 - f->step[k].t0);
                lo = fmin(lo, f->step[k].value);
                hi = fmax(hi, f->step[k].value);
                sum += d * f->step[k].value;
                len += d;
                holes += k && f->step[k].t0 > f->step[k - 1].t1;
            }
            char x[JM_FMT], y[JM_FMT];
            n += snprintf(line + n, sizeof line - (size_t)n, "%zu values from %s to %s, mean %s %s", f->n,
                          jm_fmt_number(x, lo), jm_fmt_number(y, hi), jm_fmt_number(b, sum / len), f->unit);
            if (holes)
                n +=
                    snprintf(line + n, sizeof line - (size_t)n, ", %zu hole%s", holes, holes == 1 ? "" : "s");
        }
        if (f->what == JM_FACTOR_CARBON)
            n += snprintf(line + n, sizeof line - (size_t)n, "; %s, %s, %s",
                          f->kind ? jm_factor_kind_name((int)f->kind) : "kind not stated",
                          f->marginal ? "marginal" : "mean", jm_factor_basis_name((int)f->basis));
        snprintf(line + n, sizeof line - (size_t)n, "; %s; %s%s%s%s%s",
                 f->vintage[0] ? f->vintage : "year not given", f->source, f->licence[0] ? "; " : "",
                 f->licence, f->note[0] ? "; " : "", f->note);
        jm_str_adds(s, "  ");
        jm_str_wrap(s, jm_span_of(line), 4, 80);
        const char *no = f->what == JM_FACTOR_CARBON ? jm_factor_scope2(f) : NULL;
        if (no) {
            snprintf(line, sizeof line, "not for scope 2: %s", no);
            jm_str_adds(s, "    ");
            jm_str_wrap(s, jm_span_of(line), 4, 80);
        }
    }
}

static double yearly(const struct jm_factor *f)
{
    return isfinite(f->constant) ? f->constant : f->year_mean;
}

static void design(const struct opts *o, const struct jm_design *d, const struct jm_factor_set *set,
                   struct jm_str *s)
{
    char a[JM_FMT], b[JM_FMT], c[JM_FMT];
    head(s, "Design estimate: nothing of it is measured");
    jm_str_addf(s, "  %s / %s tokens/s = %s J/token", jm_fmt_value(a, d->watts, "W"),
                jm_fmt_count(b, llround(d->tokens_s)), jm_fmt_number(c, d->j_per_token));
    if (o->pue.value >= 1)
        jm_str_addf(s, "; with a PUE of %.4g %s J/token", d->pue, jm_fmt_number(a, d->j_per_token_facility));
    jm_str_addf(s, "\n  %s kWh per million tokens%s", jm_fmt_number(a, d->kwh_per_mtok),
                o->pue.value >= 1 ? ", with the PUE" : "");
    jm_str_addf(s, "\n  a year, 8,760 h: %s kWh", jm_fmt_count(a, llround(d->kwh_year)));
    if (o->pue.value >= 1)
        jm_str_addf(s, "; with the PUE %s kWh", jm_fmt_count(b, llround(d->kwh_year_facility)));
    jm_str_adds(s, "\n");
    if (set->n)
        jm_str_addf(s, "  %-12s %-8s %14s %16s %16s\n", "zone", "of", "factor a kWh", "per Mtok", "a year");
    for (size_t i = 0; i < set->n; i++) {
        const struct jm_factor *f = &set->f[i];
        double v = yearly(f), mtok = jm_design_per_mtok(d, v), year = jm_design_per_year(d, v);
        bool carbon = f->what == JM_FACTOR_CARBON;
        char m[JM_FMT + 8] = "–", y[JM_FMT + 8] = "–";
        if (isfinite(v)) {
            snprintf(m, sizeof m, "%s %.*s", jm_fmt_number(b, mtok), carbon ? 1 : (int)strcspn(f->unit, "/"),
                     f->unit);
            snprintf(y, sizeof y, "%s %s%.*s", jm_fmt_amount(c, carbon ? year / 1000 : year),
                     carbon ? "k" : "", carbon ? 1 : (int)strcspn(f->unit, "/"), f->unit);
        }
        jm_str_addf(s, "  %-12s %-8s %14s %16s %16s\n", f->zone, jm_factor_what_name((int)f->what),
                    isfinite(v) ? jm_fmt_number(a, v) : "by time", m, y);
    }
    jm_str_adds(s, "  Declared power is a limit and not what is drawn: boards are seldom at theirs,\n"
                   "  and host, fans and conversion come on top. Measure before it is believed.\n");
}

static void country_json(struct jm_jsonw *w, const struct jm_country *c)
{
    jm_jsonw_object(w);
    jm_jsonw_kstr(w, "iso2", c->iso2);
    jm_jsonw_kstr(w, "iso3", c->iso3);
    jm_jsonw_kstr(w, "name", c->name);
    jm_jsonw_knum(w, "value", c->value);
    jm_jsonw_kstr(w, "unit", c->unit);
    jm_jsonw_kstr(w, "kind", c->kind);
    jm_jsonw_ki64(w, "year", c->year);
    jm_jsonw_kstr(w, "attribution", c->attribution);
    jm_jsonw_kstr(w, "licence", c->licence);
    jm_jsonw_end(w);
}

static int json(const struct jm_cli *cli, const struct opts *o, const struct jm_design *d,
                const struct jm_factor_set *set, struct jm_str *s, struct jm_err *err)
{
    struct jm_jsonw w;
    struct jm_country c;
    int rc = 0;
    jm_jsonw_init(&w, s, 2);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "schema", "joulemark.factors/1");
    jm_jsonw_key(&w, "factors");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < set->n; i++) {
        const struct jm_factor *f = &set->f[i];
        double v = yearly(f);
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "what", jm_factor_what_name((int)f->what));
        jm_jsonw_kstr(&w, "zone", f->zone);
        jm_jsonw_kstr(&w, "unit", f->unit);
        jm_jsonw_knum(&w, "value", f->constant);
        if (f->what == JM_FACTOR_CARBON) {
            jm_jsonw_kstr(&w, "kind", jm_factor_kind_name((int)f->kind));
            jm_jsonw_kstr(&w, "basis", jm_factor_basis_name((int)f->basis));
            jm_jsonw_kbool(&w, "marginal", f->marginal);
            jm_jsonw_kbool(&w, "scope2", !jm_factor_scope2(f));
        }
        jm_jsonw_kstr(&w, "vintage", f->vintage[0] ? f->vintage : NULL);
        jm_jsonw_kstr(&w, "source", f->source);
        jm_jsonw_kstr(&w, "licence", f->licence[0] ? f->licence : NULL);
        if (d) {
            jm_jsonw_knum(&w, "design_per_mtok", jm_design_per_mtok(d, v));
            jm_jsonw_knum(&w, "design_per_year", jm_design_per_year(d, v));
        }
        if (f->n) {
            char t[JM_RFC3339_SIZE];
            jm_jsonw_key(&w, "steps");
            jm_jsonw_array(&w);
            for (size_t k = 0; k < f->n; k++) {
                jm_jsonw_object(&w);
                jm_jsonw_kstr(&w, "t0", jm_time_rfc3339(f->step[k].t0, t));
                jm_jsonw_kstr(&w, "t1", jm_time_rfc3339(f->step[k].t1, t));
                jm_jsonw_knum(&w, "value", f->step[k].value);
                if (f->step[k].estimated)
                    jm_jsonw_kbool(&w, "estimated", true);
                jm_jsonw_end(&w);
            }
            jm_jsonw_end(&w);
        }
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    if (d) {
        jm_jsonw_key(&w, "design");
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "boundary", "design");
        jm_jsonw_kstr(&w, "provenance", "declared");
        jm_jsonw_knum(&w, "power_w", d->watts);
        jm_jsonw_knum(&w, "tokens_per_s", d->tokens_s);
        if (o->pue.value >= 1)
            jm_jsonw_knum(&w, "pue", d->pue);
        jm_jsonw_knum(&w, "j_per_token", d->j_per_token);
        if (o->pue.value >= 1)
            jm_jsonw_knum(&w, "j_per_token_with_pue", d->j_per_token_facility);
        jm_jsonw_knum(&w, "kwh_per_mtok", d->kwh_per_mtok);
        jm_jsonw_knum(&w, "kwh_year", d->kwh_year);
        if (o->pue.value >= 1)
            jm_jsonw_knum(&w, "kwh_year_with_pue", d->kwh_year_facility);
        jm_jsonw_end(&w);
    }
    if (cli->n_operands || (!d && !set->n)) {
        jm_jsonw_key(&w, "countries");
        jm_jsonw_array(&w);
        for (size_t i = 0; !rc && i < cli->n_operands; i++)
            if (!(rc = jm_country_find(jm_span_of(cli->operand[i]), &c, err) ? JM_EUSAGE : 0))
                country_json(&w, &c);
        for (size_t i = 0; !cli->n_operands && jm_country_at(i, &c); i++)
            country_json(&w, &c);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    return rc;
}

static int fetched(struct jm_cli *cli, const struct opts *o, struct jm_factor_set *set, struct jm_err *err)
{
    struct jm_str path;
    bool asked = false;
    struct jm_clock clock = jm_clock_system();
    jm_str_init(&path);
    int rc = jm_factor_fetch(&o->fetch, &clock, &path, &asked, err);
    if (!rc)
        jm_cli_say(cli, "%s %s", asked ? "stored as" : "from the store:", path.buf);
    if (!rc)
        rc = jm_factor_open(path.buf, o->zoneinfo, set, err);
    jm_str_release(&path);
    return rc;
}

static int factors(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    struct opts *o = opts;
    struct jm_factor_set set = {0};
    struct jm_str s;
    struct jm_design d = {
        .watts = o->watts, .tokens_s = o->tokens_s, .pue = o->pue.value >= 1 ? o->pue.value : 1};
    bool sized = o->watts > 0 && o->tokens_s > 0;
    int rc = 0;
    jm_str_init(&s);
    if (!sized && (o->watts > 0 || o->tokens_s > 0 || o->pue.value >= 1))
        rc = jm_err_set(err, JM_EUSAGE,
                        "a design estimate takes both --power and --tokens-per-second; --pue belongs to it");
    if (!rc && o->fetch.what)
        rc = fetched(cli, o, &set, err);
    for (size_t i = 0; !rc && i < o->factors.n; i++)
        rc = jm_factor_open(o->factors.item[i], o->zoneinfo, &set, err);
    for (size_t i = 0; !rc && i < o->carbon.n; i++)
        if ((rc = jm_factor_carbon_given(o->carbon.item[i], &set, err)))
            jm_err_prefix(err, "--carbon");
    for (size_t i = 0; !rc && i < o->price.n; i++)
        if ((rc = jm_factor_price_given(o->price.item[i], &set, err)))
            jm_err_prefix(err, "--price");
    if (!rc)
        rc = jm_factor_check(&set, err);
    if (sized)
        jm_design(&d);
    if (!rc && cli->common->json) {
        rc = json(cli, o, sized ? &d : NULL, &set, &s, err);
    } else if (!rc) {
        if ((!set.n && !sized) || cli->n_operands)
            rc = countries(cli, &s, err);
        if (!rc && set.n && !sized)
            given(&set, &s);
        if (!rc && sized)
            design(o, &d, &set, &s);
    }
    if (!rc)
        rc = jm_str_ok(&s, "the factors", err);
    if (!rc)
        jm_cli_out(cli, jm_str_span(&s));
    jm_str_release(&s);
    jm_factor_set_release(&set);
    return rc;
}

static void init(void *opts)
{
    struct opts *o = opts;
    o->fetch.cache = "out/factors";
}

static const struct jm_opt table[] = {
    {"carbon", 0, JM_OPT_LIST, offsetof(struct opts, carbon), .arg = "ZONES",
     .help = "FR,DE,ES of the shipped table, or factors of your own: FR=40g/kWh@2024:generation."},
    {"price", 0, JM_OPT_LIST, offsetof(struct opts, price), .arg = "PRICES",
     .help = "FR=0.058,DE=91EUR/MWh; a bare number is of a kilowatt-hour in the country's currency."},
    {"factors", 0, JM_OPT_LIST, offsetof(struct opts, factors), .arg = "FILE",
     .help = "Read this file of factors or this tariff, and say what is in it. Repeatable."},
    {"zoneinfo", 0, JM_OPT_STR, offsetof(struct opts, zoneinfo), .arg = "DIR",
     .help = "Time zones for tariffs.", .deflt = "/usr/share/zoneinfo"},
    {"fetch", 0, JM_OPT_STR, offsetof(struct opts, fetch.what), .arg = "SERVICE",
     .group = "Asking a service once",
     .help = "uk, emaps:ZONE, watttime:REGION, entsoe:EIC or entsoe-prices:EIC: ask for a stretch of the "
             "past and store the "
             "answer as it "
             "came; what is stored is not asked for again."},
    {"since", 0, JM_OPT_STR, offsetof(struct opts, fetch.since), .arg = "WHEN",
     .help = "2026-03-29T00:00Z, in UTC or with its offset."},
    {"until", 0, JM_OPT_STR, offsetof(struct opts, fetch.until), .arg = "WHEN",
     .help = "Not in the future; uk 14 days later at most, emaps 10, others 31."},
    {"cache", 0, JM_OPT_STR, offsetof(struct opts, fetch.cache), .arg = "DIR",
     .help = "Where answers are stored.", .deflt = "out/factors"},
    {"token-file", 0, JM_OPT_STR, offsetof(struct opts, fetch.token_file), .arg = "FILE",
     .help = "Token of the service, of WattTime user:password. It is in no message and in no stored file."},
    {"base", 0, JM_OPT_STR, offsetof(struct opts, fetch.base), .arg = "URL",
     .help = "Another address than the service's own."},
    {"offline", 0, JM_OPT_FLAG, offsetof(struct opts, fetch.offline), .help = "Only what is stored."},
    {"power", 0, JM_OPT_POWER, offsetof(struct opts, watts), 0.001, 1e9, .group = "Design estimate",
     .help = "Declared power, e.g. 8 boards of 700 W: 5600W."},
    {"tokens-per-second", 0, JM_OPT_NUM, offsetof(struct opts, tokens_s), 1e-6, 1e12,
     .help = "Output tokens a second that are hoped for."},
    {"pue", 0, JM_OPT_PARSE, offsetof(struct opts, pue), .parse = jm_present_pue, .arg = "VALUE",
     .help = "PUE of the site, 1 to 10."},
    JM_OPT_JSON,
    JM_OPTS_COMMON,
    {NULL}};

const struct jm_cmd jm_cmd_factors = {
    .name = "factors",
    .group = "Look at a run",
    .summary = "What a kilowatt-hour costs and emits: list, check, and size a node",
    .usage = "[OPTIONS] [COUNTRY...]",
    .description = "Without options the shipped table of carbon intensities by country is listed, each row "
                   "with its year. With "
                   "--factors a stored answer of a service, a table or a tariff is read and said to be what "
                   "it is: unit, kind "
                   "(generation or life-cycle), mean or marginal, years, holes. --fetch asks a service once "
                   "and stores its answer.\n\n"
                   "With --power and --tokens-per-second a node is sized: joules per token, kilowatt-hours, "
                   "money and carbon per "
                   "million tokens and a year. That is a design estimate, marked as one; what a run measured "
                   "is joulemark show's.",
    .examples = "joulemark factors FR DE Spain # rows of the shipped table\n"
                "joulemark factors --factors tariff.yaml --factors uk.json # is that what I think it is?\n"
                "joulemark factors --power 5600W --tokens-per-second 2800 --pue 1.4 --carbon FR",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .init = init,
    .max_operands = 64,
    .fn = factors,
};
