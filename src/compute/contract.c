/* SPDX-License-Identifier: Apache-2.0 */
#include "compute/contract.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/num.h"
#include "compute/compare_impl.h"

#include "base/banned.h"

int jm_contract_share(void *at, const char *text, struct jm_err *err)
{
    struct jm_span s = jm_span_trim(jm_span_of(text));
    double v;
    if (!jm_span_ends(s, JM_SPAN("%")) || jm_num_double(jm_span_trim(jm_span_sub(s, 0, s.n - 1)), &v) != 0)
        return jm_err_set(err, JM_EUSAGE, "\"%.40s\" is no share: write it with its sign, as in 3 %%", text);
    if (!(v >= 0 && v <= 100))
        return jm_err_set(err, JM_EUSAGE, "%.40s is not from 0 to 100 %%", text);
    *(double *)at = v / 100;
    return 0;
}

int jm_contract_unit(void *at, const char *text, struct jm_err *err)
{
    static const char *const work[] = {
        "j_per.output_token",         "j_per.qualified_token", "j_per.total_token",     "j_per.input_token",
        "j_per.input_token_uncached", "j_per.visible_token",   "j_per.reasoning_token", "j_per.request_ok"};
    static const char *const power[] = {"power", "watt", "energy"}, *const any[] = {"request_any",
                                                                                    "engine_token"};
    struct jm_span s = jm_span_trim(jm_span_of(text));
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++)
        if (jm_span_is(s, work[i]) || jm_span_is(s, work[i] + 6)) {
            *(const char **)at = work[i];
            return 0;
        }
    for (size_t i = 0; i < 3; i++)
        if (jm_span_istarts(s, jm_span_of(power[i])) || jm_span_is(s, "W"))
            return jm_err_set(err, JM_EUSAGE,
                              "\"%.40s\" is no unit of useful work: a lower power can take longer and more "
                              "energy in the end; give joules per piece of work, as output_token",
                              text);
    for (size_t i = 0; i < 2; i++)
        if (jm_span_ends(s, jm_span_of(any[i])))
            return jm_err_set(err, JM_EUSAGE,
                              "\"%.40s\" is no unit of useful work: it counts what failed as work done; give "
                              "request_ok or output_token",
                              text);
    return jm_err_set(err, JM_EUSAGE,
                      "\"%.40s\" is no unit of useful work: one of output_token, qualified_token, "
                      "total_token, input_token, input_token_uncached, visible_token, reasoning_token, "
                      "request_ok",
                      text);
}

static int name_of(void *at, const char *text, struct jm_err *err)
{
    if (!text[0])
        return jm_err_set(err, JM_EUSAGE, "is empty");
    *(const char **)at = text;
    return 0;
}

/* --- service level objectives */
static const struct jm_opt slo_table[] = {
    {"slice", 0, JM_OPT_STR, offsetof(struct jm_contract_slo, slice), .arg = "NAME",
     .help = "Slice of the workload that it is about; left out or all: every request."},
    {"ttft", 0, JM_OPT_DURATION, offsetof(struct jm_contract_slo, ttft), 1e3, 3600e9,
     .help = "Longest time to the first token, from the scheduled time."},
    {"tpot", 0, JM_OPT_DURATION, offsetof(struct jm_contract_slo, tpot), 1e3, 3600e9,
     .help = "Longest mean time per output token after the first (tpot.excl_first)."},
    {"e2e", 0, JM_OPT_DURATION, offsetof(struct jm_contract_slo, e2e), 1e3, 36000e9,
     .help = "Longest time to the end of a request."},
    {"attainment", 0, JM_OPT_PARSE, offsetof(struct jm_contract_slo, attainment), .arg = "SHARE",
     .parse = jm_contract_share,
     .help = "Share of the scheduled requests that must be inside all of these; held by the lower bound of "
             "Clopper and Pearson's interval."},
    {NULL}};

static int add_slo(void *base, size_t line, void **item, struct jm_err *err)
{
    struct jm_contract *c = (struct jm_contract *)(void *)((char *)base - offsetof(struct jm_contract, slo));
    (void)line;
    if (c->n_slo == JM_CONTRACT_SLOS)
        return jm_err_set(err, JM_EUSAGE, "more than %d objectives", JM_CONTRACT_SLOS);
    c->slo[c->n_slo] = (struct jm_contract_slo){.attainment = NAN};
    *item = &c->slo[c->n_slo++];
    return 0;
}

static int slo_done(void *item, struct jm_err *err)
{
    struct jm_contract_slo *s = item;
    if (s->slice && strcmp(s->slice, "all") == 0)
        s->slice = NULL;
    if (!s->ttft && !s->tpot && !s->e2e)
        return jm_err_set(err, JM_EUSAGE,
                          "an objective without a limit: give at least one of ttft, tpot and e2e");
    if (s->e2e && s->ttft > s->e2e)
        return jm_err_set(err, JM_EUSAGE,
                          "contradictory limits: a first token may come after %.6g s, and the whole request "
                          "must have ended after %.6g s",
                          (double)s->ttft / 1e9, (double)s->e2e / 1e9);
    if (s->e2e && s->tpot > s->e2e)
        return jm_err_set(err, JM_EUSAGE,
                          "contradictory limits: one token may take %.6g s, and the whole request must have "
                          "ended after %.6g s",
                          (double)s->tpot / 1e9, (double)s->e2e / 1e9);
    if (s->attainment == 0)
        return jm_err_set(err, JM_EUSAGE, "an attainment of 0 %% asks for nothing");
    if (s->attainment == 1)
        return jm_err_set(
            err, JM_EUSAGE,
            "an attainment of 100 %% can be shown by no number of requests: give what the lower "
            "bound must reach, as 99 %%");
    return 0;
}

static const struct jm_opt_maps slo_maps = {.table = slo_table, .add = add_slo, .done = slo_done};

/* --- sections of one mapping: their rows fill the contract itself */
static int add_errors(void *base, size_t line, void **item, struct jm_err *err)
{
    (void)line, (void)err;
    *item = base;
    return 0;
}

static const struct jm_opt errors_table[] = {
    {"budget", 0, JM_OPT_PARSE, 0, .parse = jm_contract_share, .arg = "SHARE",
     .help = "Share of the requests that may fail, be refused or be cut; held by the upper bound."},
    {NULL}};

static int errors_done(void *item, struct jm_err *err)
{
    double budget = *(const double *)item;
    if (isnan(budget))
        return jm_err_set(err, JM_EUSAGE, "errors asks for nothing: give its budget, as budget: 1 %%");
    if (budget == 0)
        return jm_err_set(err, JM_EUSAGE,
                          "a budget of 0 %% can be shown by no number of requests: give what the upper bound "
                          "may reach, as 1 %%, or leave errors out; then no more may fail than with A");
    return budget < 1 ? 0 : jm_err_set(err, JM_EUSAGE, "a budget of 100 %% asks for nothing");
}

static const struct jm_opt_maps errors_maps = {
    .table = errors_table, .add = add_errors, .done = errors_done, .single = true};

static const struct jm_opt slices_table[] = {
    {"maximum-regression", 0, JM_OPT_PARSE, 0, .parse = jm_contract_share, .arg = "SHARE",
     .help = "How much the energy per unit of work may rise in any one slice; held by the upper bound."},
    {"allocated", 0, JM_OPT_FLAG,
     offsetof(struct jm_contract, slice_allocated) - offsetof(struct jm_contract, slice_regression),
     .help = "Slices that ran at the same time are held by the energy allocated to their requests (D2)."},
    {NULL}};

static int slices_done(void *item, struct jm_err *err)
{
    return isnan(*(const double *)item)
               ? jm_err_set(err, JM_EUSAGE, "slices asks for nothing: give its maximum-regression, as 2 %%")
               : 0;
}

static const struct jm_opt_maps slices_maps = {
    .table = slices_table, .add = add_errors, .done = slices_done, .single = true};

static int add_whole(void *base, size_t line, void **item, struct jm_err *err)
{
    (void)line, (void)err;
    struct jm_contract *c =
        (struct jm_contract *)(void *)((char *)base - offsetof(struct jm_contract, quality));
    c->quality = true;
    *item = c;
    return 0;
}

static int number(void *at, const char *text, struct jm_err *err)
{
    if (jm_num_double(jm_span_trim(jm_span_of(text)), at) != 0)
        return jm_err_set(err, JM_EUSAGE, "\"%.40s\" is no number", text);
    return 0;
}

static const struct jm_opt quality_table[] = {
    {"allowed-loss", 0, JM_OPT_PARSE, offsetof(struct jm_contract, quality_loss), .parse = jm_contract_share,
     .arg = "SHARE", .help = "Share of A's mean score that B may lose; held by the upper bound of the loss."},
    {"minimum", 0, JM_OPT_PARSE, offsetof(struct jm_contract, quality_minimum), .parse = number,
     .arg = "SCORE", .help = "Mean score that B must have; held by the lower bound."},
    {NULL}};

static int quality_done(void *item, struct jm_err *err)
{
    const struct jm_contract *c = item;
    if (isnan(c->quality_loss) && isnan(c->quality_minimum))
        return jm_err_set(err, JM_EUSAGE, "quality asks for nothing: give allowed-loss or minimum");
    return 0;
}

static const struct jm_opt_maps quality_maps = {
    .table = quality_table, .add = add_whole, .done = quality_done, .single = true};

static int add_expected(void *base, size_t line, void **item, struct jm_err *err)
{
    (void)line, (void)err;
    struct jm_contract *c =
        (struct jm_contract *)(void *)((char *)base - offsetof(struct jm_contract, expected));
    c->expected = true;
    *item = c;
    return 0;
}

static const struct jm_opt expected_table[] = {
    {"saving", 0, JM_OPT_PARSE, offsetof(struct jm_contract, expected_saving), .parse = jm_contract_share,
     .arg = "SHARE",
     .help = "Saving that somebody reports. It decides nothing: it is held against what is measured here."},
    {"source", 0, JM_OPT_PARSE, offsetof(struct jm_contract, expected_source), .parse = name_of,
     .arg = "TEXT", .help = "Who reports it, and where."},
    {"accelerator", 0, JM_OPT_PARSE, offsetof(struct jm_contract, expected_accelerator), .parse = name_of,
     .arg = "NAME", .help = "On which accelerator it was found."},
    {"slice", 0, JM_OPT_PARSE, offsetof(struct jm_contract, expected_slice), .parse = name_of, .arg = "NAME",
     .help = "Of which slice of the workload alone it is."},
    {NULL}};

static int expected_done(void *item, struct jm_err *err)
{
    const struct jm_contract *c = item;
    if (isnan(c->expected_saving) || !c->expected_source)
        return jm_err_set(err, JM_EUSAGE,
                          "a number from elsewhere needs saving and source: who found it, and where");
    return 0;
}

static const struct jm_opt_maps expected_maps = {
    .table = expected_table, .add = add_expected, .done = expected_done, .single = true};

static int boundary(void *at, const char *text, struct jm_err *err)
{
    int b = jm_boundary_parse(jm_span_trim(jm_span_of(text)));
    if (b == JM_B_FACILITY || b == JM_B_DESIGN)
        return jm_err_set(err, JM_EUSAGE,
                          "\"%.20s\" is no boundary for a comparison: a %s; one of gpu, device, node, wall",
                          text,
                          b == JM_B_FACILITY ? "PUE is of the site, not of what is compared"
                                             : "design estimate is not measured");
    if (b <= JM_B_NONE)
        return jm_err_set(err, JM_EUSAGE, "\"%.40s\" is not one of gpu, device, node, wall", text);
    *(int *)at = b;
    return 0;
}

#define OF(m) offsetof(struct jm_contract, m)
const struct jm_opt jm_contract_table[] = {
    {"name", 0, JM_OPT_STR, OF(name), .arg = "TEXT", .help = "What the contract is called."},
    {"unit", 0, JM_OPT_PARSE, OF(unit), .parse = jm_contract_unit, .arg = "UNIT",
     .help = "Unit of useful work that energy is divided by; required."},
    {"boundary", 0, JM_OPT_PARSE, OF(boundary), .parse = boundary, .arg = "NAME",
     .help = "Where both sides are measured: gpu, device, node or wall; required."},
    {"minimum-saving", 0, JM_OPT_PARSE, OF(minimum_saving), .parse = jm_contract_share, .arg = "SHARE",
     .help = "What the lower end of the interval of the saving must exceed; required, 0 % is allowed."},
    {"confidence", 0, JM_OPT_PARSE, OF(level), .parse = jm_contract_share, .arg = "SHARE",
     .help = "Level of the two-sided intervals.", .deflt = "95 %"},
    {"power", 0, JM_OPT_PARSE, OF(power), .parse = jm_contract_share, .arg = "SHARE",
     .help = "Chance that the planned number of pairs shows the difference.", .deflt = "80 %"},
    {"equivalence-margin", 0, JM_OPT_PARSE, OF(margin), .parse = jm_contract_share, .arg = "SHARE",
     .help = "Within it A and B are called equivalent.", .deflt = "2 %"},
    {"pairs", 0, JM_OPT_INT, OF(pairs), 2, 1000, .help = "Fewest pairs.", .deflt = "3"},
    {"slos", 0, JM_OPT_MAPS, OF(slo), .maps = &slo_maps,
     .help = "Service level objectives, each for a slice or for all requests."},
    {"errors", 0, JM_OPT_MAPS, OF(error_budget), .maps = &errors_maps, .help = "Requests that may fail."},
    {"quality", 0, JM_OPT_MAPS, OF(quality), .maps = &quality_maps,
     .help = "What the answers must be worth."},
    {"slices", 0, JM_OPT_MAPS, OF(slice_regression), .maps = &slices_maps,
     .help = "What may not happen in a part of the workload."},
    {"differs", 0, JM_OPT_LIST, OF(differs), .arg = "LIST",
     .help = "What is meant to differ: names of the table of comparability, or their first word."},
    {"known", 0, JM_OPT_LIST, OF(known), .arg = "LIST",
     .help = "What must be known of both sides; unknown otherwise only is named."},
    {"expected", 0, JM_OPT_MAPS, OF(expected), .maps = &expected_maps,
     .help = "A number from elsewhere, to be held against what is measured."},
    {NULL}};

static bool same_slice(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Says what is wrong where it stands: at `at`, else where the file begins. */
static int wrong(const struct jm_contract *c, const char *file, const void *at, struct jm_err *err,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static int wrong(const struct jm_contract *c, const char *file, const void *at, struct jm_err *err,
                 const char *fmt, ...)
{
    size_t line = 1, column = 1;
    va_list ap;
    va_start(ap, fmt);
    jm_err_vset(err, JM_EUSAGE, fmt, ap);
    va_end(ap);
    if (jm_opt_place(c->arena, at, &line, &column) != 0)
        (void)jm_opt_place(c->arena, NULL, &line, &column);
    jm_err_prefix(err, "%s: line %zu, column %zu", file, line, column);
    return JM_EUSAGE;
}

static const char *whom(const struct jm_contract_slo *s)
{
    return s->slice ? "the slice " : "all requests";
}

static const char *of(const struct jm_contract_slo *s)
{
    return s->slice ? s->slice : "";
}

static int objectives(const struct jm_contract *c, const char *file, struct jm_err *err)
{
    bool qualified = strcmp(c->unit, "j_per.qualified_token") == 0;
    if (qualified && !c->n_slo)
        return wrong(c, file, &c->unit, err,
                     "contradictory limits: the unit is a qualified token, and slos has no objective that "
                     "could qualify one");
    for (size_t i = 0; i < c->n_slo; i++)
        for (size_t k = 0; k < i; k++) {
            size_t line = 0, column = 0;
            if (!same_slice(c->slo[i].slice, c->slo[k].slice))
                continue;
            (void)jm_opt_place(c->arena, &c->slo[k], &line, &column);
            return wrong(c, file, &c->slo[i], err,
                         "contradictory limits: slos has two objectives for %s%s, the other in line %zu; a "
                         "slice has one",
                         whom(&c->slo[i]), of(&c->slo[i]), line);
        }
    for (size_t i = 0; !qualified && i < c->n_slo; i++)
        if (isnan(c->slo[i].attainment))
            return wrong(c, file, &c->slo[i], err,
                         "slos: the objective for %s%s has no attainment, so nothing is held by it: give the "
                         "share of the requests that must be inside, as attainment: 99 %%",
                         whom(&c->slo[i]), of(&c->slo[i]));
    return 0;
}

static int whole(const struct jm_contract *c, const char *file, struct jm_err *err)
{
    const char *missing = !c->unit                   ? "unit"
                          : c->boundary < 0          ? "boundary"
                          : isnan(c->minimum_saving) ? "minimum-saving"
                                                     : NULL;
    if (missing)
        return wrong(c, file, NULL, err,
                     "the key \"%s\" is missing: without it there is nothing to accept by", missing);
    if (c->minimum_saving >= 1)
        return wrong(c, file, &c->minimum_saving, err,
                     "contradictory limits: nothing saves 100 %% and still does work");
    if (!isnan(c->level) && !(c->level > 0.5 && c->level < 1))
        return wrong(c, file, &c->level, err, "confidence: %g %% is not between 50 and 100 %%",
                     100 * c->level);
    const double *share[] = {&c->power, &c->margin};
    for (size_t i = 0; i < 2; i++)
        if (!isnan(*share[i]) && !(*share[i] > 0 && *share[i] < 1))
            return wrong(c, file, share[i], err,
                         "power and equivalence-margin lie between 0 and 100 %%, without the ends");
    int rc = objectives(c, file, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < c->differs.n + c->known.n; i++) {
        bool meant = i < c->differs.n;
        const char *const *item = meant ? &c->differs.item[i] : &c->known.item[i - c->differs.n];
        struct jm_err why = {0};
        if (jm_cmp_known_name(*item, meant ? "differs" : "known", &why) ||
            (meant && jm_cmp_never_name(*item, "differs", &why)))
            return wrong(c, file, item, err, "%s", why.text);
    }
    if (c->expected && c->expected_saving < c->minimum_saving)
        return wrong(c, file, &c->expected_saving, err,
                     "contradictory limits: %.6g %% is asked for at least, and no more than %.6g %% is "
                     "expected",
                     100 * c->minimum_saving, 100 * c->expected_saving);
    return 0;
}

static struct jm_slo limits(const struct jm_contract_slo *s)
{
    return (struct jm_slo){s->ttft ? (double)s->ttft / 1e9 : NAN, s->tpot ? (double)s->tpot / 1e9 : NAN,
                           s->e2e ? (double)s->e2e / 1e9 : NAN};
}

void jm_contract_objectives(const struct jm_contract *c, struct jm_compute_opts *o)
{
    for (size_t i = 0; i < c->n_slo; i++)
        if (!c->slo[i].slice) {
            o->slo = limits(&c->slo[i]);
            o->slo_given = true;
        }
    o->slice_slo = c->by_slice;
    o->n_slice_slo = c->n_by_slice;
}

int jm_contract_parse(struct jm_span text, const char *file, struct jm_contract *c, struct jm_err *err)
{
    *c = (struct jm_contract){.boundary = -1,
                              .minimum_saving = NAN,
                              .level = NAN,
                              .power = NAN,
                              .margin = NAN,
                              .error_budget = NAN,
                              .quality_loss = NAN,
                              .quality_minimum = NAN,
                              .slice_regression = NAN,
                              .expected_saving = NAN};
    int rc = jm_opt_yaml(jm_contract_table, c, text, file, &c->arena, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < c->n_slo; i++)
        if (c->slo[i].slice)
            c->by_slice[c->n_by_slice++] = (struct jm_slice_slo){c->slo[i].slice, limits(&c->slo[i])};
    return whole(c, file, err);
}

void jm_contract_release(struct jm_contract *c)
{
    jm_opt_arena_free(c->arena);
    *c = (struct jm_contract){0};
}
