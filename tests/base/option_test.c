/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/option.h"

struct opts {
    bool verbose, quiet;
    const char *output;
    int64_t n, wait;
    double x, rate, power;
    int format;
    struct jm_opt_list header;
};

#define AT(f) offsetof(struct opts, f)
static const struct jm_opt table[] = {
    {"verbose", 'v', JM_OPT_FLAG, AT(verbose), .help = "Says more."},
    {"quiet", 'q', JM_OPT_FLAG, AT(quiet), .help = "Says less."},
    {"output", 'o', JM_OPT_STR, AT(output), .arg = "FILE", .help = "Writes to FILE.", .deflt = "run.jmr"},
    {"concurrency", 'c', JM_OPT_INT, AT(n), 1, 4096, .help = "Requests at a time.", .deflt = "8"},
    {"unbounded", 0, JM_OPT_INT, AT(n)},
    {"wait", 0, JM_OPT_DURATION, AT(wait), 1e9, 3600e9, .help = "How long."},
    {"share", 0, JM_OPT_NUM, AT(x), 0, 1, .help = "A share."},
    {"rate", 0, JM_OPT_RATE, AT(rate), 0.1, 1000, .help = "Readings a second."},
    {"limit", 0, JM_OPT_POWER, AT(power), 1, 2000, .help = "Power."},
    {"format", 0, JM_OPT_ENUM, AT(format), .choices = "text|json|csv", .help = "How it is written."},
    {"header", 'H', JM_OPT_LIST, AT(header), .arg = "NAME:VALUE", .help = "Another header; may be repeated."},
    {NULL}};

static int parse(struct opts *o, const char **operands, size_t *n, int *rest, struct jm_err *err,
                 const char *const *argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    *o = (struct opts){.format = -1};
    return jm_opt_parse(table, o, argc, (char **)(uintptr_t)argv, operands, n, rest, err);
}
#define ARGV(...) ((const char *const[]){"prog", __VA_ARGS__, NULL})

static void command_line(void **state)
{
    (void)state;
    struct opts o;
    const char *op[32];
    size_t n;
    int rest;
    struct jm_err err = {0};
    assert_int_equal(parse(&o, op, &n, &rest, &err,
                           ARGV("a", "--output", "x.jmr", "-vc12", "-", "--wait=1h", "--share", "0.25",
                                "--rate", "10 Hz", "--limit=0.7 kW", "--format=csv", "-Hone", "-H", "two",
                                "--no-verbose", "b", "--", "-x", "--y")),
                     0);
    assert_string_equal(o.output, "x.jmr");
    assert_false(o.verbose);
    assert_int_equal(o.n, 12);
    assert_true(o.wait == 3600000000000 && o.x == 0.25 && o.rate == 10 && o.power == 700);
    assert_int_equal(o.format, 2);
    assert_int_equal(o.header.n, 2);
    assert_string_equal(o.header.item[1], "two");
    assert_int_equal(n, 3);
    assert_string_equal(op[1], "-");
    assert_int_equal(rest, 19);
    assert_int_equal(err.code, 0);
    assert_int_equal(parse(&o, op, &n, &rest, &err, ARGV("--quiet=no", "--output=-")), 0);
    assert_false(o.quiet);
    assert_string_equal(o.output, "-");
    assert_int_equal(rest, 3);
    assert_int_equal(parse(&o, op, &n, &rest, &err, ARGV("--help")), JM_OPT_HELP);
    assert_int_equal(parse(&o, op, &n, &rest, &err, ARGV("-qh")), JM_OPT_HELP);
    assert_int_equal(parse(&o, op, &n, &rest, &err, ARGV("--", "--help")), 0);
}

static void refused(const char *part, const char *const *argv)
{
    struct opts o;
    const char *op[32];
    size_t n;
    int rest;
    struct jm_err err = {0};
    int rc = parse(&o, op, &n, &rest, &err, argv);
    if (rc != JM_EUSAGE || err.code != JM_EUSAGE || !strstr(err.text, part))
        fail_msg("%s: %d, %s", argv[1], rc, err.text);
}

static void usage_errors(void **state)
{
    (void)state;
    refused("did you mean --output?", ARGV("--outptu=x"));
    refused("--help lists", ARGV("--completely-else"));
    refused("unknown option -z", ARGV("-vz"));
    refused("needs a value", ARGV("--output"));
    refused("-o needs a value: -o FILE", ARGV("-vo"));
    refused("unknown option --no-output", ARGV("--no-output"));
    refused("neither true nor false", ARGV("--verbose=maybe"));
    refused("--concurrency: \"x\" is not an integer", ARGV("-cx"));
    refused("is not an integer", ARGV("--concurrency="));
    refused("is not an integer", ARGV("--concurrency=1.0"));
    refused("0 is outside 1 to 4096", ARGV("--concurrency=0"));
    refused("4097 is outside 1 to 4096", ARGV("--concurrency=4097"));
    refused("does not fit", ARGV("--unbounded=9223372036854775808"));
    refused("--wait: the duration \"5\" has no unit", ARGV("--wait=5"));
    refused("outside 1 s to 1 h", ARGV("--wait=999ms"));
    refused("outside 1 s to 1 h", ARGV("--wait=61m"));
    refused("1.01 is outside 0 to 1", ARGV("--share=1.01"));
    refused("--output: the value is empty", ARGV("--output="));
    refused("--output: the value is empty", ARGV("--output", ""));
    refused("is not a number", ARGV("--share=nan"));
    refused("is not a number", ARGV("--share=0x1"));
    refused("outside 0.1 Hz to 1000 Hz", ARGV("--rate=2kHz"));
    refused("outside 1 W to 2000 W", ARGV("--limit=0W"));
    refused("--format: \"xml\" is not one of text|json|csv", ARGV("--format=xml"));
    refused("is not one of", ARGV("--format=tex"));
}

static void ends_of_ranges(void **state)
{
    (void)state;
    struct opts o;
    const char *op[32];
    size_t n;
    int rest;
    struct jm_err err = {0};
    assert_int_equal(
        parse(&o, op, &n, &rest, &err,
              ARGV("--concurrency=4096", "--wait=1s", "--share=1", "--rate=100 mHz", "--limit=2kW")),
        0);
    assert_int_equal(parse(&o, op, &n, &rest, &err, ARGV("--unbounded=-9223372036854775808")), 0);
    assert_true(o.n == INT64_MIN);
}

static void list_is_bounded(void **state)
{
    (void)state;
    const char *argv[80] = {"prog"};
    for (int i = 1; i <= 65; i++)
        argv[i] = "-Hx";
    refused("more than 64 times", argv);
}

static void help_fits(void **state)
{
    (void)state;
    struct jm_str s;
    jm_str_init(&s);
    jm_opt_help(table, 80, &s);
    struct jm_span rest = jm_str_span(&s), line;
    while (jm_span_line(&rest, &line))
        assert_true(line.n <= 80);
    assert_non_null(strstr(s.buf, "\n  -o, --output FILE       Writes to FILE. [run.jmr]\n"));
    assert_non_null(strstr(s.buf, "\n      --rate RATE         Readings a second.\n"));
    assert_null(strstr(s.buf, "unbounded")); /* no help: not listed */
    jm_str_release(&s);
}

static void near_names(void **state)
{
    (void)state;
    assert_int_equal(jm_near_distance(JM_SPAN("kitten"), JM_SPAN("sitting")), 3);
    assert_int_equal(jm_near_distance(JM_SPAN("bnech"), JM_SPAN("bench")), 1); /* neighbours swapped */
    assert_int_equal(jm_near_distance(JM_SPAN(""), JM_SPAN("abc")), 3);
    assert_int_equal(jm_near_distance(JM_SPAN("SHOW"), JM_SPAN("show")), 0);
    assert_null(jm_opt_nearest(table, JM_SPAN("xyz")));
    assert_null(jm_opt_nearest(
        table, (struct jm_span){"ooooooooooooooooooooooooooooooooooooooooooooooooooooooo", 50}));
}

static int yaml(struct opts *o, const char *text, struct jm_err *err, struct jm_opt_arena **arena)
{
    *o = (struct opts){.format = -1};
    return jm_opt_yaml(table, o, jm_span_of(text), "plan.yaml", arena, err);
}

static void yaml_sets(void **state)
{
    (void)state;
    struct opts o;
    struct jm_err err = {0};
    struct jm_opt_arena *arena = NULL;
    int rc = yaml(&o,
                  "# a plan\nverbose: true\noutput: 'a b.jmr'\nconcurrency: 16\nwait: 1h\nrate: 10 Hz\n"
                  "limit: 700 W\nformat: json\nheader:\n  - a\n  - \"b: c\"\n",
                  &err, &arena);
    if (rc == JM_EUNSUPPORTED)
        skip();
    assert_int_equal(rc, 0);
    assert_true(o.verbose && o.n == 16 && o.wait == 3600000000000 && o.rate == 10 && o.power == 700 &&
                o.format == 1);
    assert_string_equal(o.output, "a b.jmr");
    assert_int_equal(o.header.n, 2);
    assert_string_equal(o.header.item[1], "b: c");
    assert_int_equal(yaml(&o, "", &err, &arena), 0);
    assert_int_equal(yaml(&o, "# nothing\n", &err, &arena), 0);
    assert_int_equal(yaml(&o, "---\n...\n", &err, &arena), 0);
    jm_opt_arena_free(arena);
}

static void yaml_refuses(void **state)
{
    static const struct {
        const char *text, *part;
    } row[] = {{"output: \"\"\n", "line 1"},
               {"a: b\nconcurency: 3\n", "line 1, column 1: unknown key \"a\""},
               {"verbose: true\nconcurency: 3\n",
                "line 2, column 1: unknown key \"concurency\"; did you mean \"concurrency\"?"},
               {"limit: 10\n", "line 1, column 8: limit: the power \"10\" has no unit"},
               {"limit: 10J\n", "not a unit of power"},
               {"concurrency: -1\n", "line 1, column 14: concurrency: -1 is outside 1 to 4096"},
               {"concurrency: 10W\n", "is not an integer"},
               {"concurrency:\n", "has no value"},
               {"concurrency: ~\n", "has no value"},
               {"verbose: true\nverbose: true\n", "line 2, column 1: the key \"verbose\" is there twice"},
               {"concurrency: [1]\n", "takes one value, not a list"},
               {"wait: {a: b}\n", "takes one value, not a mapping"},
               {"header: [[a]]\n", "plain values"},
               {"output: &x a\nformat: *x\n", "aliases"},
               {"concurrency: !!int 3\n", "tags"},
               {"- a\n", "mapping of option names"},
               {"just text\n", "mapping of option names"},
               {"verbose: true\n---\nverbose: true\n", "second document"},
               {"header: [\n", "not valid YAML"},
               {"\t verbose: true\n", "not valid YAML"},
               {"output: \"a\\0b\"\n", "NUL"},
               {"? [a]\n: b\n", "name of an option"}};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct opts o;
        struct jm_err err = {0};
        struct jm_opt_arena *arena = NULL;
        int rc = yaml(&o, row[i].text, &err, &arena);
        jm_opt_arena_free(arena);
        if (rc == JM_EUNSUPPORTED)
            skip();
        if (rc != JM_EUSAGE || !strstr(err.text, row[i].part) ||
            strncmp(err.text, "plan.yaml: line ", 16) != 0)
            fail_msg("%s: %d, %s", row[i].text, rc, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(command_line),   cmocka_unit_test(usage_errors),
                                       cmocka_unit_test(ends_of_ranges), cmocka_unit_test(list_is_bounded),
                                       cmocka_unit_test(help_fits),      cmocka_unit_test(near_names),
                                       cmocka_unit_test(yaml_sets),      cmocka_unit_test(yaml_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
