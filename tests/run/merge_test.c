/* SPDX-License-Identifier: Apache-2.0 */
/* Several hosts in one run: instruments that two of them read, machines that were recorded twice, windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/sample.h"

#define UTC INT64_C(1750000000000000000)

struct host {
    const char *name, *boot, *entry, *address, *outlet;
    int64_t mono; /* its monotonic clock at UTC */
    const char *gpu;
};

/* A host with a package and, by entry, an outlet of a PDU. */
static void write_host(const char *path, const struct host *h)
{
    struct jm_err err = {0};
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    struct jm_domain_tree t;
    char device[96], key[96];
    int id;
    c.overwrite = true;
    assert_int_equal(jm_run_create(path, &c, &w, &err), 0);
    struct jm_run_meter rapl = {.name = "rapl", .instance = "/sys", .state = "ok"},
                        pdu = {.name = "snmp", .state = "ok"};
    snprintf(pdu.instance, sizeof pdu.instance, "%s", h->entry);
    assert_int_equal(jm_run_put_meter(w, &rapl, &err), 0);
    assert_int_equal(jm_run_put_meter(w, &pdu, &err), 1);
    jm_domain_tree_init(&t);
    int node = jm_domain_host(&t, h->name, &err),
        package = jm_domain_add(&t, node, JM_D_PACKAGE, "package-0", NULL, &err);
    if (h->gpu)
        assert_true(jm_domain_add(&t, node, JM_D_GPU, h->gpu, NULL, &err) >= 0);
    assert_int_equal(jm_run_put_domains(w, &t, &err), 0);
    struct jm_channel energy = {.kind = JM_CH_COUNTER,
                                .unit = JM_U_J,
                                .meter = 0,
                                .domain = package,
                                .name = "energy",
                                .device = "package-0"},
                      power = {.kind = JM_CH_GAUGE,
                               .unit = JM_U_W,
                               .meter = 1,
                               .domain = t.d[node].parent,
                               .name = "power"};
    jm_domain_tree_release(&t);
    snprintf(device, sizeof device, "%s/%s", h->entry, h->outlet);
    snprintf(power.device, sizeof power.device, "%s", device);
    assert_int_equal(jm_run_put_channel(w, &energy, &id, &err), 0);
    assert_int_equal(jm_run_put_channel(w, &power, &id, &err), 0);
    struct jm_clock_pair p = {h->mono, h->mono, UTC, 0};
    assert_int_equal(jm_run_put_clock_pair(w, &p, &err), 0);
    struct jm_window win = {.name = "all", .role = JM_R_MEASURE, .t0 = h->mono};
    assert_int_equal(jm_run_open_window(w, &win, &err), 0);
    assert_int_equal(jm_run_close_window(w, 0, h->mono + 1000, &err), 0);
    assert_int_equal(jm_run_put_env(w, "host.name", h->name, &err), 0);
    if (h->boot)
        assert_int_equal(jm_run_put_env(w, "host.boot_id", h->boot, &err), 0);
    snprintf(key, sizeof key, "instrument.%s.address", h->entry);
    if (h->address)
        assert_int_equal(jm_run_put_env(w, key, h->address, &err), 0);
    assert_int_equal(jm_run_seal(w, &err), 0);
}

static char out[512]; /* the merged run */

static int merge_two(const struct host *a, const struct host *b, struct jm_err *err)
{
    char one[512], two[512];
    snprintf(one, sizeof one, "%s", sample_path("hosta.jmr"));
    snprintf(two, sizeof two, "%s", sample_path("hostb.jmr"));
    snprintf(out, sizeof out, "%s", sample_path("hosts.jmr"));
    write_host(one, a);
    write_host(two, b);
    const char *paths[] = {one, two};
    const struct jm_run_merge_opts o = {.overwrite = true, .tolerance_s = 0.25};
    return jm_run_merge(paths, 2, out, &o, err);
}

static struct jm_run *merged(const struct host *a, const struct host *b)
{
    struct jm_err err = {0};
    struct jm_run *r = NULL;
    if (merge_two(a, b, &err))
        fail_msg("%s", err.text);
    assert_int_equal(jm_run_open(out, &r, &err), 0);
    return r;
}

/* Which of the four channels (energy and power of each host) are mirrors, as bits. */
static unsigned mirrors(const struct host *a, const struct host *b)
{
    struct jm_run *r = merged(a, b);
    size_t n;
    const struct jm_channel *c = jm_run_channels(r, &n);
    unsigned bits = 0;
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        bits |= c[i].flags & JM_CHF_MIRROR ? 1u << i : 0;
    const char *said = jm_run_env(r, "merge.duplicates");
    assert_int_equal(said ? said[0] - '0' : 0, __builtin_popcount(bits));
    jm_run_close(r);
    return bits;
}

static void one_pdu_read_by_two(void **state)
{
    (void)state;
    const struct host a = {"a", "boot-a", "pdu", "udp:10.0.0.9:161", "outlet 3", 1000};
    struct host b = {"b", "boot-b", "strom", "udp:10.0.0.9:161", "outlet 3", 9000};
    assert_int_equal(mirrors(&a, &b), 8); /* the same outlet of the same PDU, whatever each calls it */
    b.outlet = "outlet 4";
    assert_int_equal(mirrors(&a, &b), 0);
    b.outlet = "outlet 3";
    b.address = "udp:10.0.0.10:161";
    assert_int_equal(mirrors(&a, &b), 0);
    b.address = NULL; /* nobody says which one it is: it cannot be told to be the same */
    assert_int_equal(mirrors(&a, &b), 0);
}

static void one_machine_recorded_twice(void **state)
{
    (void)state;
    const struct host a = {"a", "boot-a", "pdu", "udp:10.0.0.9:161", "outlet 3", 1000};
    assert_int_equal(mirrors(&a, &a), 4 | 8);
    struct host b = a;
    b.boot = "boot-b"; /* the same name, but another machine */
    assert_int_equal(mirrors(&a, &b), 8);
    struct jm_run *r = merged(&a, &b);
    assert_string_equal(jm_run_env(r, "merge.1.host"), "a#2");
    assert_int_equal(jm_run_domains(r)->n, 6);
    jm_run_close(r);
}

static void one_machine_has_one_clock(void **state)
{
    (void)state;
    const struct host a = {"a", "boot-a", "pdu", NULL, "outlet 3", 1000};
    struct host b = a;
    b.mono = 1700; /* its wall clock was set 700 ns back between the two: the monotonic clock went on */
    struct jm_run *r = merged(&a, &b);
    assert_string_equal(jm_run_env(r, "merge.1.shift_ns"), "0");
    assert_string_equal(jm_run_env(r, "merge.1.clock.bound_s"), "0");
    jm_run_close(r);
}

/* Imported runs name no boot: a board that both have says that they are of one machine. */
static void a_board_is_in_one_machine(void **state)
{
    (void)state;
    struct jm_err err = {0};
    const struct host a = {
        "a", NULL, "pdu", NULL, "outlet 3", 1000, "GPU-11111111-2222-3333-4444-555555555555"};
    struct host b = a;
    assert_int_equal(merge_two(&a, &b, &err), JM_ECONFLICT);
    assert_non_null(strstr(err.text, "GPU-11111111"));
    b.gpu = "GPU-99999999-2222-3333-4444-555555555555";
    jm_run_close(merged(&a, &b));
    b = a;
    b.gpu = "0"; /* an index, which every machine has */
    jm_run_close(merged(&a, &b));
}

static void windows_and_facts(void **state)
{
    (void)state;
    const struct host a = {"a", "boot-a", "pdu", NULL, "outlet 3", 1000},
                      b = {"b", "boot-b", "pdu", NULL, "outlet 3", 9000};
    struct jm_run *r = merged(&a, &b);
    size_t n;
    const struct jm_window *w = jm_run_windows(r, &n);
    assert_int_equal(n, 1); /* no requests anywhere: the first one's */
    assert_int_equal(w[0].t0, 1000);
    assert_string_equal(jm_run_env(r, "merge.1.shift_ns"), "-8000");
    assert_string_equal(jm_run_env(r, "merge.0.clock.bound_s"), "unknown");
    assert_string_equal(jm_run_env(r, "merge.tolerance_s"), "0.25");
    assert_null(jm_run_env(r, "merge.0.from_ns")); /* it has no reading */
    jm_run_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pdu_read_by_two),       cmocka_unit_test(one_machine_recorded_twice),
        cmocka_unit_test(one_machine_has_one_clock), cmocka_unit_test(a_board_is_in_one_machine),
        cmocka_unit_test(windows_and_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
