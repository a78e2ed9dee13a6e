/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of reports that are made by hand, held to positions that are computed by hand. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "show/pictures.h"

#define HOSTILE                                                                                              \
    "<script>alert('x')</script>&\"\x01\xff \xe2\x80\xae"                                                    \
    "evil \xef\xbf\xbf"

/* Tags that close each other, quoted attributes, known entities, no character that XML forbids. */
static void well_formed(const char *s)
{
    char open[64][24];
    size_t depth = 0, elements = 0;
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        if (*p < 0x20 && *p != '\n')
            fail_msg("control character %d", *p);
        if (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
            fail_msg("a noncharacter");
        if (*p == '&') {
            static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
            size_t k = 0;
            while (k < 5 && strncmp((const char *)p, known[k], strlen(known[k])) != 0)
                k++;
            if (k == 5)
                fail_msg("entity %.10s", (const char *)p);
        }
        if (*p != '<') {
            p++;
            continue;
        }
        bool close = p[1] == '/', alone;
        char name[24];
        size_t n = 0;
        for (p += 1 + close; isalnum(*p) && n < sizeof name - 1;)
            name[n++] = (char)*p++;
        name[n] = '\0';
        while (*p && *p != '>') {
            if (*p == '\'') {
                while (*++p && *p != '\'')
                    assert_true(*p != '<');
                assert_true(*p == '\'');
            }
            p++;
        }
        assert_true(*p == '>');
        alone = p[-1] == '/';
        p++;
        elements++;
        if (close) {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (!alone) {
            assert_true(depth < 64);
            memcpy(open[depth++], name, sizeof name);
        }
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 5);
}

static void draw(const char *name, const struct jm_report *const *r, size_t n, struct jm_str *out)
{
    struct jm_picture_of of = {.report = r, .n = n};
    struct jm_err e = {0};
    jm_str_init(out);
    if (jm_picture_svg(jm_picture_find(name), &of, JM_THEME_AUTO, out, &e))
        fail_msg("%s", e.text);
    well_formed(out->buf);
    assert_non_null(strstr(out->buf, "<title id="));
    assert_non_null(strstr(out->buf, "<desc id="));
    assert_null(strstr(out->buf, "<script"));
    assert_true(out->len < 400000);
}

static void refused(const char *name, const struct jm_report *r, const char *because)
{
    struct jm_picture_of of = {.report = &r, .n = 1};
    struct jm_err e = {0};
    struct jm_str s;
    jm_str_init(&s);
    assert_int_equal(jm_picture_svg(jm_picture_find(name), &of, JM_THEME_AUTO, &s, &e), JM_EABSENT);
    assert_int_equal(s.len, 0);
    if (!strstr(e.text, because))
        fail_msg("\"%s\" does not say \"%s\"", e.text, because);
    jm_str_release(&s);
}

/* The number behind `key` in the first element behind `at` that has it. */
static double number(const char *at, const char *key)
{
    char k[32];
    snprintf(k, sizeof k, " %s='", key);
    const char *p = at ? strstr(at, k) : NULL;
    if (!p)
        fail_msg("no %s", key);
    return strtod(p + strlen(k), NULL);
}

static struct jm_quantity quantity(double v, double half, const char *unit, enum jm_boundary b)
{
    return (struct jm_quantity){.have = true,
                                .value = v,
                                .unit = unit,
                                .boundary = b,
                                .u = {.lo = v - half, .hi = v + half, .level = .95, .method = "m"}};
}

/* 600 J of two boards, 100 J of a CPU; 800 J at the node, 1000 J at the wall, 1300 J at the facility. */
static void waterfall(void **state)
{
    struct jm_domain d[] = {{.id = 0, .parent = -1, .kind = JM_D_INLET_AC},
                            {.id = 1, .parent = 0, .kind = JM_D_NODE},
                            {.id = 2, .parent = 1, .kind = JM_D_GPU},
                            {.id = 3, .parent = 1, .kind = JM_D_GPU},
                            {.id = 4, .parent = 1, .kind = JM_D_PACKAGE}};
    struct jm_domain_tree tree = {.d = d, .n = 5};
    struct jm_window w = {.role = JM_R_MEASURE, .t1 = INT64_C(10000000000)};
    memcpy(w.name, HOSTILE, sizeof HOSTILE);
    struct jm_reconcile_child in[] = {{2, 250}, {3, 350}, {4, 100}};
    struct jm_reconcile_row rows[] = {
        {.domain = 1, .status = JM_S_OK, .joules = 800, .contains = in, .n_contains = 3},
        {.domain = 2, .status = JM_S_OK, .joules = 250, .lo = 240, .hi = 260},
        {.domain = 3, .status = JM_S_OK, .joules = 350, .lo = 340, .hi = 360},
        {.domain = 4, .status = JM_S_OK, .joules = 100, .lo = NAN, .hi = NAN}};
    struct jm_result x[] = {
        {.metric = "energy", .q = quantity(800, 8, "J", JM_B_NODE), .set = HOSTILE, .quantile = NAN},
        {.metric = "energy",
         .q = quantity(1000, 6, "J", JM_B_WALL),
         .set = "wall{inlet_ac}",
         .quantile = NAN},
        {.metric = "energy", .q = quantity(1300, 7, "J", JM_B_FACILITY), .set = HOSTILE, .quantile = NAN},
        {.metric = "j_per.output_token", .q = quantity(13, 1, "J/token", JM_B_FACILITY), .denominator = 100}};
    struct jm_report r = {.tree = &tree,
                          .windows = &w,
                          .n_windows = 1,
                          .reconcile = rows,
                          .n_reconcile = 4,
                          .results = x,
                          .n_results = 4};
    const struct jm_report *one = &r;
    struct jm_str s;
    (void)state;
    draw("waterfall", &one, 1, &s);
    /* the axis: 0 at 236, round ends: 1400 J at 620, so 384 / 1400 a joule */
    double a = 384.0 / 1400;
    const char *bar = strstr(s.buf, "class='f0'");
    assert_float_equal(number(bar, "x"), 236, .01);
    assert_float_equal(number(bar, "width"), 600 * a, .01);
    bar = strstr(s.buf, "class='f1'");
    assert_float_equal(number(bar, "x"), 236 + 600 * a, .01);
    assert_float_equal(number(bar, "width"), 100 * a, .01);
    bar = strstr(s.buf, "class='f7'"); /* 800 - 700: not metered */
    assert_float_equal(number(bar, "x"), 236 + 700 * a, .01);
    assert_float_equal(number(bar, "width"), 100 * a, .01);
    bar = strstr(s.buf, "class='tot'");
    assert_float_equal(number(bar, "x"), 236, .01);
    assert_float_equal(number(bar, "width"), 800 * a, .01);
    bar = strstr(s.buf, "class='f6'"); /* the supplies */
    assert_float_equal(number(bar, "width"), 200 * a, .01);
    bar = strstr(s.buf, "class='f5'"); /* the site */
    assert_float_equal(number(bar, "x"), 236 + 1000 * a, .01);
    assert_float_equal(number(bar, "width"), 300 * a, .01);
    assert_non_null(strstr(s.buf, ">6.000<")); /* 600 J / 100 tokens */
    assert_non_null(strstr(s.buf, "&lt;script&gt;"));
    /* the end of the wall's whisker: ± 6 J */
    jm_str_release(&s);
    /* parts that are more than the whole are said to be so, and no bar has a negative length */
    x[0].q = quantity(650, 8, "J", JM_B_NODE);
    draw("waterfall", &one, 1, &s);
    assert_non_null(strstr(s.buf, "parts exceed the whole"));
    assert_null(strstr(s.buf, "width='-"));
    jm_str_release(&s);
    r.n_results = 0;
    r.n_reconcile = 0;
    refused("waterfall", &r, "no instrument");
    r.n_windows = 0;
    refused("waterfall", &r, "no measured window");
}

static struct jm_result point(const char *metric, int window, double v, double quantile, enum jm_boundary b)
{
    return (struct jm_result){.metric = metric,
                              .window = window,
                              .quantile = quantile,
                              .set = b ? "gpu{gpu}" : NULL,
                              .q = quantity(v, v / 100, b ? "J/token" : "s", b)};
}

/* Three windows: (10 ms, 4 J), (20 ms, 2 J), (30 ms, 3 J). The third is beaten by the second, and misses 25
 * ms. */
static void frontier(void **state)
{
    struct jm_window w[3] = {0};
    struct jm_result x[9];
    static const double tpot[] = {.010, .020, .030}, joules[] = {4, 2, 3};
    struct jm_report r = {.windows = w,
                          .n_windows = 3,
                          .results = x,
                          .n_results = 9,
                          .simulated = true,
                          .slo_ttft = NAN,
                          .slo_tpot = .025};
    const struct jm_report *one = &r;
    struct jm_str s;
    (void)state;
    for (int i = 0; i < 3; i++) {
        w[i].role = JM_R_MEASURE;
        snprintf(w[i].name, sizeof w[i].name, "%d %s", i, HOSTILE);
        x[3 * i] = point("j_per.output_token", i, joules[i], NAN, JM_B_GPU);
        x[3 * i + 1] = point("tpot.excl_first", i, tpot[i], .99, JM_B_NONE);
        x[3 * i + 2] = point("ttft", i, .1, .99, JM_B_NONE);
    }
    draw("frontier", &one, 1, &s);
    /* x: 0 to 40 ms over 84 to 436; y: 0 to 5 J/token, 4 steps or so of 1 */
    double each = (436 - 84) / 40.0;
    const char *first = strstr(s.buf, "<path class='fr'");
    double fx, fy, hx, vy;
    assert_int_equal(sscanf(first, "<path class='fr' d='M%lf %lfH%lfV%lf'", &fx, &fy, &hx, &vy), 4);
    assert_float_equal(fx, 84 + 10 * each, .06);
    assert_float_equal(hx, 84 + 20 * each, .06);
    assert_float_equal((vy - fy) / 280, 2 / 5.0, .001); /* 4 down to 2 of 5 J/token over 280 */
    assert_non_null(strstr(s.buf, "<path class='o1'")); /* the diamond */
    assert_non_null(strstr(s.buf, "SLO 25 ms"));
    assert_non_null(strstr(s.buf, "SIMULATED"));
    assert_float_equal(number(strstr(s.buf, "class='slo'"), "x1"), 84 + 25 * each, .06);
    jm_str_release(&s);
    /* an invalid measurement beats nobody */
    x[3].q.validity = JM_V_INVALID;
    draw("frontier", &one, 1, &s);
    assert_non_null(strstr(s.buf, "class='o7'"));
    jm_str_release(&s);
    /* boundaries are never mixed: a run that knows only its wall is left out beside two that know their GPUs
     */
    struct jm_result wall = point("j_per.output_token", 0, 9, NAN, JM_B_WALL);
    struct jm_report other = {
        .windows = w, .n_windows = 1, .results = &wall, .n_results = 1, .slo_ttft = NAN, .slo_tpot = NAN};
    const struct jm_report *three[] = {&r, &r, &other};
    draw("frontier", three, 3, &s);
    assert_non_null(strstr(s.buf, "1 of 3 runs have no energy at this boundary"));
    jm_str_release(&s);
    other.slo_tpot = NAN;
    refused("frontier", &other, "no request has a time");
    other.n_results = 0;
    refused("frontier", &other, "no energy a token");
}

/* 10, 12, 14 J/token: mean 12 and a line that rises by 4 of 12. */
static void trials(void **state)
{
    struct jm_window w[3] = {0};
    struct jm_result x[4];
    struct jm_report r = {.windows = w, .n_windows = 3, .results = x, .n_results = 4, .trials = 3};
    const struct jm_report *one = &r;
    struct jm_str s;
    (void)state;
    for (int i = 0; i < 3; i++) {
        w[i] = (struct jm_window){.role = JM_R_MEASURE, .trial = i};
        x[i] = point("j_per.output_token", i, 10 + 2 * i, NAN, JM_B_GPU);
        x[i].numerator_name = "energy";
        x[i].denominator_name = HOSTILE;
        x[i].summarised = true;
    }
    x[3] = point("j_per.output_token", -1, 12, NAN, JM_B_GPU);
    x[3].q.u.lo = 12 - 4.9683; /* t(2) 4.3027 x 2 / √3 */
    x[3].q.u.hi = 12 + 4.9683;
    draw("trials", &one, 1, &s);
    const char *c = strstr(s.buf, "<circle class='f0'");
    double y[3];
    for (int i = 0; i < 3; i++) {
        y[i] = number(c, "cy");
        c = strstr(c + 1, "<circle class='f0'");
    }
    assert_float_equal(y[0] - y[1], y[1] - y[2], .11);
    assert_true(y[0] > y[1]);
    assert_float_equal(number(strstr(s.buf, "class='mean'"), "y1"), y[1], .06);
    assert_float_equal(number(strstr(s.buf, "class='band'"), "height"), (y[0] - y[1]) / 2 * 2 * 4.9683, .3);
    assert_non_null(strstr(s.buf, "drift from first to last +33 ± 0 %"));
    assert_non_null(strstr(s.buf, "does not begin at 0"));
    jm_str_release(&s);
    r.trials = 1;
    refused("trials", &r, "one trial");
}

/* 100 columns of 1 s: 100 to 200 W, nothing in 40 .. 59, 100 to 200 W again. */
static void power(void **state)
{
    double lo[100], hi[100];
    struct jm_series d = {.channel = -1,
                          .label = HOSTILE,
                          .unit = "W",
                          .t1 = INT64_C(100000000000),
                          .n = 100,
                          .min = lo,
                          .max = hi};
    struct jm_window w = {.role = JM_R_MEASURE, .t0 = INT64_C(20000000000), .t1 = INT64_C(80000000000)};
    struct jm_report r = {.series = &d, .n_series = 1, .windows = &w, .n_windows = 1};
    const struct jm_report *one = &r;
    struct jm_str s;
    (void)state;
    for (int i = 0; i < 100; i++) {
        bool gap = i >= 40 && i < 60;
        lo[i] = gap ? NAN : 100;
        hi[i] = gap ? NAN : 200;
    }
    draw("power", &one, 1, &s);
    const char *path = strstr(s.buf, "<path class='s0");
    int moves = 0;
    double x, y, top;
    for (const char *p = path; *p && *p != '>'; p++)
        moves += *p == 'M';
    assert_int_equal(moves, 2); /* the gap is no line */
    assert_int_equal(sscanf(strchr(path, 'M'), "M%lf %lfV%lf", &x, &y, &top), 3);
    assert_float_equal(x, 84 + (856 - 84) * .005, .06); /* the middle of the first column */
    assert_float_equal((y - top) / 280, 100 / 200.0, .001);
    assert_float_equal(number(strstr(s.buf, "class='win'"), "x"), 84 + (856 - 84) * .2, .06);
    assert_float_equal(number(strstr(s.buf, "class='win'"), "width"), (856 - 84) * .6, .06);
    assert_non_null(strstr(s.buf, "1 gap without readings, 20 s"));
    jm_str_release(&s);
    /* windows of a hostile file */
    w.t0 = INT64_MIN;
    w.t1 = INT64_MAX;
    draw("power", &one, 1, &s);
    jm_str_release(&s);
    r.n_series = 0;
    refused("power", &r, "no instrument");
}

/* Three hours at 100, nothing and 300 g/kWh; 3.6 MJ in each: 100 and 300 g. */
static void carbon(void **state)
{
    struct jm_factor f = {
        .what = JM_FACTOR_CARBON, .kind = JM_FACTOR_GENERATION, .zone = "FR<", .unit = "gCO2e/kWh"};
    struct jm_hour h[3];
    struct jm_report r = {.factors = &f, .n_factors = 1, .hours = h, .n_hours = 3};
    const struct jm_report *one = &r;
    static const double value[] = {100, NAN, 300};
    struct jm_str s;
    (void)state;
    memcpy(f.source, HOSTILE, sizeof HOSTILE);
    for (int i = 0; i < 3; i++)
        h[i] = (struct jm_hour){.factor = 0,
                                .at = JM_B_WALL,
                                .t0 = INT64_C(1774742400000000000) + i * INT64_C(3600000000000),
                                .seconds = 3600,
                                .joules = 3.6e6,
                                .value = value[i],
                                .grams = value[i]};
    draw("carbon", &one, 1, &s);
    const char *a = strstr(s.buf, "<rect class='f0'"), *b = strstr(a + 1, "<rect class='f0'");
    assert_float_equal(number(b, "height") / number(a, "height"), 3, .001);
    assert_float_equal(number(a, "y") + number(a, "height"), number(b, "y") + number(b, "height"), .02);
    assert_non_null(strstr(s.buf, "class='hole'"));
    assert_non_null(strstr(s.buf, "2026-03-29"));
    assert_non_null(strstr(s.buf, "1 hour without a factor"));
    jm_str_release(&s);
    for (int i = 0; i < 3; i++)
        h[i].value = h[i].grams = NAN;
    refused("carbon", &r, "do not cover");
    r.n_hours = 0;
    refused("carbon", &r, "no carbon factor");
}

/* ISL 64-127 and 128-255 by OSL 16-31: 10 J over 20 tokens, and 5 requests that have no energy. */
static void lengths(void **state)
{
    static const double isl[] = {64, 128, 256}, osl[] = {16, 32};
    struct jm_length_cell cell[] = {{.n = 2, .n_energy = 2, .joules = 10, .tokens = 20}, {.n = 5}};
    struct jm_length_map m = {.nx = 2, .ny = 1, .isl = isl, .osl = osl, .cell = cell, .unknown = 3};
    struct jm_phases ph = {
        .set = HOSTILE, .method = JM_PHASE_D2, .provenance = JM_P_ALLOCATED, .residual = NAN};
    struct jm_report r = {.lengths = &m, .phases = &ph};
    const struct jm_report *one = &r;
    struct jm_str s;
    (void)state;
    draw("lengths", &one, 1, &s);
    assert_non_null(strstr(s.buf, ">0.500<")); /* 10 / 20 */
    assert_non_null(strstr(s.buf, ">n 2<"));
    assert_non_null(strstr(s.buf, ">64–127<"));
    assert_non_null(strstr(s.buf, ">16–31<"));
    assert_non_null(strstr(s.buf, "class='hole'"));
    assert_non_null(strstr(s.buf, "5 of 7 requests have no energy of their own"));
    assert_non_null(strstr(s.buf, "3 requests are in no bin"));
    jm_str_release(&s);
    cell[1].n = 0; /* an empty bin says nothing at all */
    draw("lengths", &one, 1, &s);
    assert_null(strstr(s.buf, "class='hole'"));
    assert_null(strstr(s.buf, ">0<"));
    jm_str_release(&s);
    r.lengths = NULL;
    refused("lengths", &r, "counted");
}

/* 20 J of prefill, 70 J of decode, 10 J without a request, of 100 J: parts of a line of 832. */
static void phases(void **state)
{
    struct jm_phase_split split = {.window = -1,
                                   .total_mj = 100000,
                                   .prefill_mj = 20000,
                                   .decode_mj = 70000,
                                   .idle_mj = 10000,
                                   .share = 20 / 90.0,
                                   .range = {0.2, 0.25},
                                   .marginal_prefill = 15,
                                   .marginal_decode = 60,
                                   .prefill_tokens = 1000,
                                   .decode_tokens = 100};
    struct jm_phases ph = {.set = HOSTILE,
                           .method = JM_PHASE_D2,
                           .provenance = JM_P_ALLOCATED,
                           .residual = .01,
                           .split = &split,
                           .n_splits = 1,
                           .note = HOSTILE};
    struct jm_report r = {.phases = &ph};
    const struct jm_report *one = &r;
    struct jm_str s;
    double from, y, to;
    (void)state;
    draw("phases", &one, 1, &s);
    assert_float_equal(number(strstr(s.buf, "class='f0'"), "width"), .2 * 832, .01);
    assert_float_equal(number(strstr(s.buf, "class='f5'"), "x"), 24 + .2 * 832, .01);
    assert_float_equal(number(strstr(s.buf, "class='f5'"), "width"), .7 * 832, .01);
    assert_float_equal(number(strstr(s.buf, "class='hole'"), "width"), .1 * 832, .01);
    /* 20 to 25 % of the 90 J that requests got */
    const char *w = strstr(s.buf, "class='wh' d='");
    assert_int_equal(sscanf(w, "class='wh' d='M%lf %lfv10M%lf", &from, &y, &to), 3);
    assert_float_equal(from, 24 + .2 * .9 * 832, .06);
    assert_non_null(strstr(s.buf, "not a measurement"));
    assert_non_null(strstr(s.buf, "method D2"));
    assert_non_null(strstr(s.buf, ">0.7000<")); /* 70 J / 100 tokens */
    jm_str_release(&s);
    split.share = NAN;
    refused("phases", &r, "no phases");
    ph.why = "nobody stamped a token";
    refused("phases", &r, "nobody stamped a token");
    r.phases = NULL;
    refused("phases", &r, "no requests");
}

/* 100, 50 and 0 %: 2 and 4 J/token; 1000, 800 and 600 W. */
static void ladder(void **state)
{
    struct jm_ladder_level v[3];
    struct jm_ladder l = {.capacity = 8, .by = HOSTILE, .set = HOSTILE, .level = v, .n = 3, .idle_share = .6};
    struct jm_report r = {.ladder = &l};
    const struct jm_report *one = &r;
    static const double watts[] = {1000, 800, 600};
    struct jm_str s;
    double x[2], y[2];
    (void)state;
    for (int i = 0; i < 3; i++) {
        v[i] = (struct jm_ladder_level){.percent = 100 - 50 * i, .offered = 8 - 4 * i};
        v[i].x[JM_LF_POWER] = point("power.mean", i, watts[i], NAN, JM_B_GPU);
        v[i].x[JM_LF_POWER].q.unit = "W";
        if (i < 2)
            v[i].x[JM_LF_OUTPUT] = point("j_per.output_token", i, 2 + 2 * i, NAN, JM_B_GPU);
    }
    draw("ladder", &one, 1, &s);
    /* x: 0 to 100 % over 84 to 436; y: 0 to 5 J/token (its upper end holds 4.04) over 240 */
    const char *c = strstr(s.buf, "<path class='s0 wide' d='M");
    assert_int_equal(sscanf(c, "<path class='s0 wide' d='M%lf %lfL%lf %lf'", &x[0], &y[0], &x[1], &y[1]), 4);
    assert_float_equal(x[0], (84 + 436) / 2.0, .06);
    assert_float_equal(x[1], 436, .06);
    assert_float_equal((y[1] - y[0]) / 240, 2 / 5.0, .001);
    c = strstr(s.buf, "<path class='s6 wide' d='M"); /* idle is a power, at 0 */
    assert_int_equal(sscanf(c, "<path class='s6 wide' d='M%lf %lf", &x[0], &y[0]), 2);
    assert_float_equal(x[0], 512, .06);
    assert_non_null(strstr(s.buf, "Loaded idle takes 60 %"));
    jm_str_release(&s);
    l.n = 1;
    v[0].percent = 0; /* loaded idle alone */
    refused("ladder", &r, "no level");
    r.ladder = NULL;
    refused("ladder", &r, "--ladder");
}

static void axes(void **state)
{
    struct jm_axis a = {.from = 0, .to = 100};
    struct jm_scale s = jm_pic_scale(0.03, "s");
    (void)state;
    assert_string_equal(s.unit, "ms");
    assert_float_equal(s.f, 1e-3, 0);
    jm_axis_fit(&a, 0, 957.7e3, true, 5, "J");
    assert_float_equal(a.hi, 1e6, 1e-3);
    assert_string_equal(a.scale.unit, "MJ");
    jm_axis_fit(&a, 5, 5, true, 5, "J"); /* one value, from 0 */
    assert_true(a.lo == 0 && a.hi >= 5);
    jm_axis_fit(&a, 5, 5, false, 5, "J/token");
    assert_true(a.lo < 5 && a.hi > 5);
    jm_axis_fit(&a, NAN, -INFINITY, true, 5, "");
    assert_true(isfinite(a.lo) && a.hi > a.lo);
    jm_axis_fit_log(&a, 0.1054, 3.356, "J/token");
    assert_float_equal(a.lo, 0.1, 1e-12);
    assert_float_equal(a.hi, 5, 1e-9);
    assert_float_equal(jm_axis_at(&a, sqrt(0.1 * 5)), 50, 1e-9);
    /* "No" in DejaVu Sans: 0.748 + 0.612 em (its hmtx table) */
    assert_float_equal(jm_pic_width("No", 100), 136, 1.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waterfall), cmocka_unit_test(frontier), cmocka_unit_test(trials),
        cmocka_unit_test(power),     cmocka_unit_test(carbon),   cmocka_unit_test(lengths),
        cmocka_unit_test(phases),    cmocka_unit_test(ladder),   cmocka_unit_test(axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
