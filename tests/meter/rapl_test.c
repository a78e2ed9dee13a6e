/* SPDX-License-Identifier: Apache-2.0 */
/* RAPL on fake powercap trees. Each case names the public report whose fault it would show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "meter/registry.h"
#include "tree.h"

#define ZONE(t, id, name, uj, max)                                                                           \
    do {                                                                                                     \
        tree_put((t), "class/powercap/" id "/name", name);                                                   \
        tree_put((t), "class/powercap/" id "/energy_uj", "%llu", (unsigned long long)(uj));                  \
        tree_put((t), "class/powercap/" id "/max_energy_range_uj", "%llu", (unsigned long long)(max));       \
    } while (0)

struct fix {
    struct tree t;
    struct jm_meter_env env;
    struct jm_domain_tree tree;
    struct jm_vclock vc;
    struct jm_meter *m;
    struct jm_err err;
};

static int setup(void **state)
{
    static struct fix f;
    memset(&f, 0, sizeof f);
    f.t = tree_new();
    f.env.sysfs_root = f.t.root;
    f.env.proc_root = f.t.root;
    f.env.host = "h";
    f.env.clock = jm_clock_virtual(&f.vc, NULL);
    jm_domain_tree_init(&f.tree);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    jm_meter_rapl.close(f->m);
    jm_domain_tree_release(&f->tree);
    tree_free(&f->t);
    return 0;
}

static struct jm_meter *open_it(struct fix *f)
{
    int rc = jm_meter_rapl.open(&f->env, &f->tree, &f->m, &f->err);
    if (rc)
        fail_msg("open: %s", f->err.text);
    return f->m;
}

static const struct jm_channel *chan(struct fix *f, const char *device)
{
    int i = jm_meter_channel(f->m, device, "energy");
    return i < 0 ? NULL : &f->m->chan[i];
}

static struct jm_reading look(struct fix *f, const char *device)
{
    struct jm_reading r[64];
    size_t n = jm_meter_rapl.read(f->m, &f->env.clock, JM_READ_ALL, r);
    for (size_t i = 0; i < n; i++)
        if (strcmp(f->m->chan[r[i].channel].device, device) == 0)
            return r[i];
    fail_msg("no reading of %s", device);
    return r[0];
}

static void server(struct fix *f)
{
    ZONE(&f->t, "intel-rapl:0", "package-1", 1000000, 262143328850);
    ZONE(&f->t, "intel-rapl:0:0", "dram", 300000, 65712999613);
    ZONE(&f->t, "intel-rapl:0:1", "core", 500000, 262143328850);
    ZONE(&f->t, "intel-rapl:1", "package-0", 90000000000, 262143328850);
    ZONE(&f->t, "intel-rapl:1:0", "dram", 7000000, 65712999613);
}

/* codecarbon#1305, carbontracker#93: dram is beside the package and its own joules; powerjoular#87: each zone
 * has its own range. node_exporter#1808: zone 0 need not be package 0. */
static void dram_beside_package(void **state)
{
    struct fix *f = *state;
    server(f);
    open_it(f);
    assert_int_equal(f->m->n_chan, 5);
    const struct jm_channel *pkg = chan(f, "intel-rapl:0"), *dram = chan(f, "intel-rapl:0:0"),
                            *core = chan(f, "intel-rapl:0:1"), *dram1 = chan(f, "intel-rapl:1:0");
    assert_non_null(pkg);
    assert_int_equal(f->tree.d[pkg->domain].kind, JM_D_PACKAGE);
    assert_string_equal(f->tree.d[pkg->domain].key, "package-1");
    assert_int_equal(f->tree.d[dram->domain].kind, JM_D_DRAM);
    assert_false(jm_domain_contains(&f->tree, pkg->domain, dram->domain));
    assert_true(jm_domain_contains(&f->tree, pkg->domain, core->domain));
    assert_int_not_equal(dram->domain, dram1->domain);
    assert_true(pkg->modulus == 262143328850 && dram->modulus == 65712999613);
    assert_int_equal(pkg->flags & (JM_CHF_MIRROR | JM_CHF_PARTOF), 0);
    assert_int_equal(pkg->kind, JM_CH_COUNTER);
    assert_int_equal(pkg->scale10, -6);
    /* the smaller range, 65.7 kJ, wraps in 65.7 s at 1 kW: read at least every quarter of that */
    assert_int_equal(f->m->max_period_ns, 65712999613 / 4);
}

static void reads_what_is_there_now(void **state)
{
    struct fix *f = *state;
    server(f);
    open_it(f);
    assert_int_equal(look(f, "intel-rapl:1").value, 90000000000);
    tree_put(&f->t, "class/powercap/intel-rapl:1/energy_uj", "%s", "262143328849");
    struct jm_reading r = look(f, "intel-rapl:1");
    assert_int_equal(r.status, JM_S_OK);
    assert_true(r.value == 262143328849);
}

/* node_exporter#2147, procfs#396: the mmio interface shows the package a second time. codecarbon#950: it is
 * not to be added. psys contains the package. */
static void mmio_and_psys_are_never_added(void **state)
{
    struct fix *f = *state;
    ZONE(&f->t, "intel-rapl:0", "package-0", 5000000, 262143328850);
    ZONE(&f->t, "intel-rapl:1", "psys", 9000000, 262143328850);
    ZONE(&f->t, "intel-rapl-mmio:0", "package-0", 5000123, 262143328850);
    open_it(f);
    const struct jm_channel *pkg = chan(f, "intel-rapl:0"), *psys = chan(f, "intel-rapl:1"),
                            *mmio = chan(f, "intel-rapl-mmio:0");
    assert_true(mmio->flags & JM_CHF_MIRROR);
    assert_int_equal(mmio->domain, pkg->domain);
    assert_true(psys->flags & JM_CHF_PARTOF);
    assert_true(jm_domain_contains(&f->tree, psys->domain, pkg->domain));
    assert_int_equal(pkg->flags, JM_CHF_EDGE);
}

/* codecarbon#1274, btop#1813 (7840HS): two dies of a package show one counter. */
static void mirrored_dies(void **state)
{
    struct fix *f = *state;
    ZONE(&f->t, "intel-rapl:0", "package-0-die-0", 77123456, 65532610987);
    ZONE(&f->t, "intel-rapl:1", "package-0-die-1", 77123460, 65532610987);
    ZONE(&f->t, "intel-rapl:2", "package-1-die-0", 1977123460, 65532610987);
    open_it(f);
    assert_false(chan(f, "intel-rapl:0")->flags & JM_CHF_MIRROR);
    assert_true(chan(f, "intel-rapl:1")->flags & JM_CHF_MIRROR);
    assert_int_equal(chan(f, "intel-rapl:1")->domain, chan(f, "intel-rapl:0")->domain);
    assert_false(chan(f, "intel-rapl:2")->flags & JM_CHF_MIRROR);
}

/* codecarbon#1309, #1321: the range cannot be read: no wrap is ever undone. */
static void range_unknown(void **state)
{
    struct fix *f = *state;
    ZONE(&f->t, "intel-rapl:0", "package-0", 4000000000, 262143328850);
    tree_rm(&f->t, "class/powercap/intel-rapl:0/max_energy_range_uj");
    open_it(f);
    assert_true(chan(f, "intel-rapl:0")->modulus == 0);
    assert_non_null(jm_meter_fact(f->m, "rapl.range.intel-rapl:0"));
}

static void probe_it(void *arg)
{
    struct fix *f = arg;
    struct jm_probe p;
    assert_int_equal(jm_meter_rapl.probe(&f->env, &p), 0);
    assert_int_equal(p.state, JM_PROBE_DENIED);
    assert_non_null(strstr(p.reason, "CVE-2020-8694"));
    assert_non_null(strstr(p.mend, "cap_dac_read_search"));
    assert_int_equal(jm_meter_rapl.open(&f->env, &f->tree, &f->m, &f->err), JM_EDENIED);
    assert_null(f->m);
}

/* node_exporter#1892, #2090: energy_uj is 0400: one clear message. codecarbon#1316: never 0 J. */
static void denied(void **state)
{
    struct fix *f = *state;
    ZONE(&f->t, "intel-rapl:0", "package-0", 4000000000, 262143328850);
    tree_mode(&f->t, "class/powercap/intel-rapl:0/energy_uj", 0400);
    tree_mode(&f->t, "class/powercap/intel-rapl:0/max_energy_range_uj", 0400);
    as_nobody(probe_it, f);
}

/* pcm#167, kepler#367, scaphandre#116: a virtual machine's counter stays 0. */
static void constant_zero_is_absent(void **state)
{
    struct fix *f = *state;
    struct jm_probe p;
    ZONE(&f->t, "intel-rapl:0", "package-0", 0, 262143328850);
    assert_int_equal(jm_meter_rapl.probe(&f->env, &p), 0);
    assert_int_equal(p.state, JM_PROBE_ABSENT);
    assert_int_equal(jm_meter_rapl.open(&f->env, &f->tree, &f->m, &f->err), JM_EABSENT);
    ZONE(&f->t, "intel-rapl:1", "package-1", 5, 262143328850); /* one that counts stays */
    ZONE(&f->t, "intel-rapl:1:0", "uncore", 0, 262143328850);  /* a GPU that is powered off may stand still */
    open_it(f);
    assert_null(chan(f, "intel-rapl:0"));
    assert_non_null(chan(f, "intel-rapl:1"));
    assert_non_null(chan(f, "intel-rapl:1:0"));
    assert_non_null(jm_meter_fact(f->m, "rapl.left_out.intel-rapl:0"));
}

/* likwid PR 585, zeus PR 242, node_exporter#1808: package numbers are physical ids. */
static void odd_package_numbers(void **state)
{
    struct fix *f = *state;
    ZONE(&f->t, "intel-rapl:0", "package-36", 10, 262143328850);
    ZONE(&f->t, "intel-rapl:1", "package-2364", 200000000, 262143328850);
    open_it(f);
    assert_string_equal(f->tree.d[chan(f, "intel-rapl:1")->domain].key, "package-2364");
    assert_int_not_equal(chan(f, "intel-rapl:0")->domain, chan(f, "intel-rapl:1")->domain);
}

/* On AMD the zone "core" is the register of one core. */
static void amd_core_left_out(void **state)
{
    struct fix *f = *state;
    tree_put(&f->t, "cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25");
    ZONE(&f->t, "intel-rapl:0", "package-0", 5000000, 65532610987);
    ZONE(&f->t, "intel-rapl:0:0", "core", 4000, 65532610987);
    open_it(f);
    assert_int_equal(f->m->n_chan, 1);
    assert_non_null(jm_meter_fact(f->m, "rapl.left_out.intel-rapl:0:0"));
}

/* node_exporter#2269: a read that fails in the middle is a gap, not 0. */
static void failing_read_is_no_value(void **state)
{
    struct fix *f = *state;
    server(f);
    open_it(f);
    tree_put(&f->t, "class/powercap/intel-rapl:0/energy_uj", "%s", "");
    assert_int_equal(look(f, "intel-rapl:0").status, JM_S_IMPLAUSIBLE);
    tree_put(&f->t, "class/powercap/intel-rapl:0/energy_uj", "%s", "12 apples");
    assert_int_equal(look(f, "intel-rapl:0").status, JM_S_IMPLAUSIBLE);
    tree_put(&f->t, "class/powercap/intel-rapl:0/energy_uj", "%s", "99999999999999999999");
    assert_int_equal(look(f, "intel-rapl:0").status, JM_S_IMPLAUSIBLE);
    tree_put(&f->t, "class/powercap/intel-rapl:0/energy_uj", "%s", "1000001");
    assert_int_equal(look(f, "intel-rapl:0").status, JM_S_OK);
}

static void nothing_there(void **state)
{
    struct fix *f = *state;
    struct jm_probe p;
    assert_int_equal(jm_meter_rapl.probe(&f->env, &p), 0);
    assert_int_equal(p.state, JM_PROBE_ABSENT);
    assert_true(strlen(p.reason) > 20 && !p.mend[0]);
    tree_put(&f->t, "cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme hypervisor lahf_lm");
    assert_int_equal(jm_meter_rapl.probe(&f->env, &p), 0);
    assert_true(strstr(p.reason, "virtual machine") && !p.mend[0]);
    tree_put(&f->t, "cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme lahf_lm");
    assert_int_equal(jm_meter_rapl.probe(&f->env, &p), 0);
    assert_string_equal(p.mend, "sudo modprobe intel_rapl_msr");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(dram_beside_package),
        T(reads_what_is_there_now),
        T(mmio_and_psys_are_never_added),
        T(mirrored_dies),
        T(range_unknown),
        T(denied),
        T(constant_zero_is_absent),
        T(odd_package_numbers),
        T(amd_core_left_out),
        T(failing_read_is_no_value),
        T(nothing_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
