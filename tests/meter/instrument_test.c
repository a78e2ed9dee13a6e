/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of `meters:`: what is refused, with line and column; where they lie; that secrets stay secret. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "meter/instrument.h"

static struct jm_err err;
static struct jm_instruments list;
static struct jm_opt_arena *arena;

static int parse(const char *text)
{
    err = (struct jm_err){0};
    list = (struct jm_instruments){0};
    arena = NULL;
    return jm_instruments_parse(&list, jm_span_of(text), "node.yaml", &arena, &err);
}

static void drop(void)
{
    assert_true(jm_instruments_release(&list));
    jm_opt_arena_free(arena);
    arena = NULL;
}

static void a_whole_entry(void **state)
{
    (void)state;
    assert_int_equal(
        parse("meters:\n"
              "  - name: wall\n"
              "    address: tcp://10.0.0.9:10001\n" /* a key of the kind, before the kind is known */
              "    volts: 300\n"
              "    meter: yokogawa\n"
              "    at: inlet ac\n"
              "    host: node1\n"
              "    interval: 500ms\n"
              "    accuracy: 0.1 % + 0.75 W\n"
              "    max_power: 3 kW\n"
              "    password_env: JM_TEST_SECRET\n"
              "    contains: [a, b]\n"
              "    feeds:\n"
              "      - {part: 1, host: node1}\n"
              "      - {part: 2, host: node2, at: inlet dc, label: left}\n"
              "    tls:\n"
              "      ca: ca.pem\n"
              "  - {meter: ptd, name: ptd-1, address: \"localhost:8888\"}\n"),
        0);
    assert_int_equal(list.n, 2);
    const struct jm_instrument *in = jm_instruments_find(&list, "wall");
    assert_non_null(in);
    assert_int_equal(in->line, 2);
    assert_string_equal(in->ops->name, "yokogawa");
    assert_int_equal(in->at, JM_D_INLET_AC);
    assert_true(in->interval_ns == 500 * JM_NS_PER_MS);
    assert_true(fabs(in->gain_tol - 0.001) < 1e-12 && fabs(in->offset_tol - 0.75) < 1e-12);
    assert_true(fabs(in->max_power_w - 3000) < 1e-9);
    assert_int_equal(in->contains.n, 2);
    assert_int_equal(in->n_feed, 2);
    assert_int_equal(jm_instrument_feed(in, "2")->at, JM_D_INLET_DC);
    assert_string_equal(in->tls.ca, "ca.pem");
    char address[64];
    jm_instrument_address(in, address, sizeof address);
    assert_string_equal(address, "tcp://10.0.0.9:10001");
    assert_true(list.v[1]->timeout_ns == 5 * JM_NS_PER_S);
    drop();
}

#define ENTRY "meters:\n  - name: a\n    meter: ptd\n    address: h:1\n"

static void what_is_refused(void **state)
{
    static const struct {
        const char *text, *where, *says;
    } bad[] = {
        {"meters:\n  - name: a\n    meter: yokogaw\n", "line 3, column 12", "did you mean \"yokogawa\""},
        {"meters:\n  - name: a\n    meter: rapl\n", "line 3, column 12", "needs no entry"},
        {"meters:\n  - name: a\n    address: h:1\n", "line 2, column 5", "the key \"meter\" is missing"},
        {"meters:\n  - meter: ptd\n    address: h:1\n", "line 2, column 5", "needs a name"},
        {"meters:\n  - meter: ptd\n    name: a\n", "line 2, column 5", "a: a ptd needs its address"},
        {ENTRY "    adress: h:2\n", "line 5, column 5", "did you mean \"address\""},
        {ENTRY "    baud: 9600\n", "line 5, column 5", "unknown key \"baud\""},
        {ENTRY "    interval: 5 W\n", "line 5, column 15", "not a unit of time"},
        {ENTRY "    interval: 5\n", "line 5, column 15", "has no unit"},
        {ENTRY "    interval: 10ms\n", "line 2, column 5", "a PTDaemon takes a sample a second"},
        {ENTRY "    max_power: 5 kWh\n", "line 5, column 16", "not a unit of"},
        {ENTRY "    at: gpu\n    max_power: 12 kW\n", "line 2, column 5", "no GPU board draws as much"},
        {ENTRY "    at: inlet\n", "line 5, column 9", "AC or DC must be said"},
        {ENTRY "    at: psu_loss\n", "line 5, column 9", "nothing measures psu_loss"},
        {ENTRY "    accuracy: 3 s\n", "line 5, column 15", "no accuracy"},
        {ENTRY "    tls: {pin: abc}\n", "line 5, column 16", "64 hexadecimal digits"},
        {ENTRY "    tls: {insecure: true, ca: x}\n", "line 5, column 10", "insecure beside ca"},
        {ENTRY "    tls: yes\n", "line 5, column 10", "takes a mapping"},
        {ENTRY "    password: x\n    password_env: Y\n", "line 2, column 5", "given in 2 ways"},
        {ENTRY "    feeds: [{host: b}]\n", "line 5, column 13", "needs its part"},
        {ENTRY "    feeds: [{part: 1}, {part: 1}]\n", "line 2, column 5", "is there twice"},
        {ENTRY "  - name: a\n    meter: ptd\n    address: h:2\n", "line 5, column 5", "first in line 2"},
        {ENTRY "    name: b\n", "line 5, column 5", "is there twice"},
        {ENTRY "    meter: ptd\n", "line 5, column 5", "is there twice"},
        {"meters:\n  - {name: a, meter: ptd, address: \"http://u:p@h\"}\n", "line 2, column 5",
         "carries a user or password"},
        {"meters:\n  - {name: \"a b\", meter: ptd, address: h}\n", "line 2, column 5", "other characters"},
        {"meters:\n  - {name: nvml, meter: ptd, address: h}\n", "line 2, column 5", "name of a kind"},
        {"meters:\n  - {meter: ptd, name: a", "line", "not valid YAML"},
        {"meters:\n  - [a]\n", "line 2, column 5", "must be mappings"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc = parse(bad[i].text);
        if (rc == 0 || !strstr(err.text, bad[i].where) || !strstr(err.text, bad[i].says))
            print_message("case %zu: %s\n", i, err.text);
        assert_true(rc < 0);
        assert_non_null(strstr(err.text, "node.yaml: "));
        assert_non_null(strstr(err.text, bad[i].where));
        assert_non_null(strstr(err.text, bad[i].says));
        jm_opt_arena_free(arena);
    }
}

/* rack r1 > { node1's inlet > node1, node2's DC inlet > node2 }; the outlet feeds one supply of node1. */
static void the_tree(void **state)
{
    struct jm_domain_tree t;
    struct jm_meter_env env = {.host = "node1"};
    (void)state;
    assert_int_equal(
        parse("meters:\n"
              "  - {name: pdu, meter: ptd, address: a, at: rack, host: r1, contains: [node1, node2],\n"
              "     feeds: [{part: 7, host: local}]}\n"
              "  - {name: bus, meter: ptd, address: b, at: inlet dc, host: node2}\n"
              "  - {name: hall, meter: ptd, address: c, at: site, contains: [r1]}\n"),
        0);
    jm_domain_tree_init(&t);
    assert_int_equal(jm_instruments_topology(&list, &env, &t, &err), 0);
    int rack = jm_instrument_domain(list.v[0], &env, &t, NULL, JM_D_RACK, &err),
        psu = jm_instrument_domain(list.v[0], &env, &t, "7", JM_D_RACK, &err),
        bus = jm_instrument_domain(list.v[1], &env, &t, NULL, JM_D_INLET_AC, &err),
        hall = jm_instrument_domain(list.v[2], &env, &t, NULL, JM_D_SITE, &err),
        node1 = jm_domain_host(&t, "node1", &err), node2 = jm_domain_host(&t, "node2", &err);
    assert_int_equal(t.d[rack].kind, JM_D_RACK);
    assert_string_equal(t.d[rack].key, "r1");
    assert_true(jm_domain_contains(&t, hall, rack));
    assert_true(jm_domain_contains(&t, rack, node1) && jm_domain_contains(&t, rack, node2));
    assert_int_equal(t.d[bus].kind, JM_D_INLET_DC);
    assert_true(jm_domain_contains(&t, bus, node2) && !jm_domain_contains(&t, bus, node1));
    assert_int_equal(t.d[psu].kind, JM_D_PSU);
    assert_string_equal(t.d[psu].key, "pdu/7");
    assert_int_equal(t.d[t.d[psu].parent].kind, JM_D_INLET_AC);
    assert_int_equal(t.d[psu].parent, t.d[node1].parent);
    for (size_t i = 0; i < t.n; i++) /* no host twice */
        for (size_t k = 0; k < i; k++)
            assert_false(t.d[i].kind == t.d[k].kind && strcmp(t.d[i].key, t.d[k].key) == 0);
    jm_domain_tree_release(&t);
    drop();
}

static void secrets(void **state)
{
    char path[] = "/tmp/jm-secret-XXXXXX", out[JM_SECRET_MAX];
    struct jm_secret s = {.env = "JM_TEST_SECRET"};
    (void)state;
    unsetenv("JM_TEST_SECRET");
    err = (struct jm_err){0};
    assert_true(jm_secret_get(&s, "the password", out, &err) < 0);
    assert_non_null(strstr(err.text, "JM_TEST_SECRET is not set"));
    setenv("JM_TEST_SECRET", "hunter-22", 1);
    assert_int_equal(jm_secret_get(&s, "the password", out, &err), 9);
    assert_string_equal(out, "hunter-22");

    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "s3cret\nmore", 11) == 11);
    close(fd);
    s = (struct jm_secret){.file = path};
    assert_int_equal(jm_secret_get(&s, "the password", out, &err), 6);
    assert_string_equal(out, "s3cret");
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(jm_secret_get(&s, "the password", out, &err), JM_EDENIED);
    assert_non_null(strstr(err.text, "chmod 600"));
    unlink(path);

    assert_int_equal(parse(ENTRY "    password_env: JM_TEST_SECRET\n"), 0);
    struct jm_redactor r;
    char reply[] = "{\"user\": \"me\", \"hunter-22\": \"hunter-22hunter-22\", \"x\": 1}";
    jm_redactor_init(&r, list.v[0]);
    jm_redactor_apply(&r, reply, strlen(reply));
    assert_string_equal(reply, "{\"user\": \"me\", \"*********\": \"******************\", \"x\": 1}");
    jm_redactor_wipe(&r);
    struct jm_str warn;
    jm_str_init(&warn);
    jm_instruments_warnings(&list, &warn);
    assert_int_equal(warn.len, 0);
    drop();
    assert_int_equal(parse(ENTRY "    password: hunter-22\n    tls: {insecure: true}\n"), 0);
    jm_instruments_warnings(&list, &warn);
    assert_non_null(strstr(warn.buf, "password stands in the configuration"));
    assert_non_null(strstr(warn.buf, "TLS is not verified"));
    assert_null(strstr(warn.buf, "hunter"));
    jm_str_release(&warn);
    drop();
}

static void addresses(void **state)
{
    static const char *const of[][2] = {
        {"https://bmc1/redfish/v1", "https://bmc1/redfish/v1"},
        {"https://root:calvin@bmc1:443/x?y@z", "https://bmc1:443/x?y@z"},
        {"me@host", "host"},
        {"[fe80::1%25eth0]:161", "[fe80::1%25eth0]:161"},
    };
    char out[64];
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        jm_address_redact(of[i][0], out, sizeof out);
        assert_string_equal(out, of[i][1]);
        assert_true((jm_address_check(of[i][0], &err) < 0) == (strcmp(of[i][0], of[i][1]) != 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_entry), cmocka_unit_test(what_is_refused), cmocka_unit_test(the_tree),
        cmocka_unit_test(secrets),       cmocka_unit_test(addresses),
    };
#if JM_HAVE_YAML
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    (void)tests;
    return 77;
#endif
}
