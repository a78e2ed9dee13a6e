/* SPDX-License-Identifier: Apache-2.0 */
/* The perf PMU "power" on a fake tree; events are files. */
#include "fix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    struct fix *f;
    int answer; /* -errno instead of a descriptor */
    unsigned opened;
} fake;

static void event_value(struct fix *f, int cpu, uint64_t config, uint64_t value)
{
    char path[512];
    snprintf(path, sizeof path, "%s/event-%d-%llu", f->t.root, cpu, (unsigned long long)config);
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    assert_true(fd >= 0 && pwrite(fd, &value, sizeof value, 0) == (ssize_t)sizeof value);
    close(fd);
}

static int open_event(void *self, uint32_t type, uint64_t config, int cpu)
{
    struct fix *f = self;
    char path[512];
    assert_int_equal(type, 32);
    fake.opened++;
    if (fake.answer)
        return fake.answer;
    snprintf(path, sizeof path, "%s/event-%d-%llu", f->t.root, cpu, (unsigned long long)config);
    int fd = open(path, O_RDONLY);
    return fd < 0 ? -errno : fd;
}

#define PMU "bus/event_source/devices/power/"

static void two_sockets(struct fix *f)
{
    f->env.perf_open = open_event;
    f->env.perf_self = f;
    fake.answer = 0;
    tree_put(&f->t, PMU "type", "32");
    tree_put(&f->t, PMU "cpumask", "0,28");
    tree_put(&f->t, PMU "events/energy-pkg", "event=0x02");
    tree_put(&f->t, PMU "events/energy-pkg.unit", "Joules");
    tree_put(&f->t, PMU "events/energy-pkg.scale", "2.3283064365386962890625e-10");
    tree_put(&f->t, PMU "events/energy-ram", "event=0x03");
    tree_put(&f->t, PMU "events/energy-ram.scale", "2.3283064365386962890625e-10");
    tree_put(&f->t, PMU "events/energy-psys", "event=0x05");
    tree_put(&f->t, PMU "events/energy-psys.scale", "2.3283064365386962890625e-10");
    tree_put(&f->t, "devices/system/cpu/cpu0/topology/physical_package_id", "0");
    tree_put(&f->t, "devices/system/cpu/cpu28/topology/physical_package_id", "1");
    for (int cpu = 0; cpu <= 28; cpu += 28)
        for (unsigned e = 2; e <= 5; e++)
            event_value(f, cpu, e, 1000 + e);
}

static void values_and_domains(void **state)
{
    struct fix *f = *state;
    two_sockets(f);
    assert_int_equal(fix_probe(f, &jm_meter_perf).state, JM_PROBE_OK);
    fix_open(f, &jm_meter_perf);
    assert_int_equal(f->m->n_chan, 5); /* psys of the first package only */
    struct jm_channel *pkg = fix_chan(f, "energy-pkg of package-1"),
                      *ram = fix_chan(f, "energy-ram of package-1"), *psys = fix_chan(f, "energy-psys");
    assert_string_equal(f->tree.d[pkg->domain].key, "package-1");
    assert_int_equal(f->tree.d[ram->domain].kind, JM_D_DRAM);
    assert_false(jm_domain_contains(&f->tree, pkg->domain, ram->domain));
    assert_true(psys->flags & JM_CHF_PARTOF);
    event_value(f, 28, 2, 5ull << 32); /* 5 x 2^32 x 2^-32 J */
    struct jm_reading r = fix_read(f, "energy-pkg of package-1");
    assert_int_equal(r.status, JM_S_OK);
    assert_true(jm_channel_value(pkg, r.value) == 5.0);
}

static void needs_permission(void **state)
{
    struct fix *f = *state;
    two_sockets(f);
    fake.answer = -EACCES;
    struct jm_probe p = fix_probe(f, &jm_meter_perf);
    assert_int_equal(p.state, JM_PROBE_DENIED);
    assert_non_null(strstr(p.mend, "cap_perfmon"));
    assert_int_equal(jm_meter_perf.open(&f->env, &f->tree, &f->m, &f->err), JM_EDENIED);
}

/* Where powercap is open it shows the same registers: not both by themselves. */
static void powercap_goes_first(void **state)
{
    struct fix *f = *state;
    two_sockets(f);
    tree_put(&f->t, "class/powercap/intel-rapl:0/name", "package-0");
    tree_put(&f->t, "class/powercap/intel-rapl:0/energy_uj", "123");
    assert_int_equal(fix_probe(f, &jm_meter_perf).state, JM_PROBE_OFF);
    fix_open(f, &jm_meter_perf); /* by name it still opens */
    assert_int_equal(f->m->n_chan, 5);
}

/* A virtual machine: energy-psys exists and stays 0. */
static void constant_zero(void **state)
{
    struct fix *f = *state;
    two_sockets(f);
    for (unsigned e = 2; e <= 5; e++)
        event_value(f, 0, e, 0);
    assert_int_equal(fix_probe(f, &jm_meter_perf).state, JM_PROBE_ABSENT);
}

/* A scale that is no power of two, or read with a decimal comma, is refused and not taken for 2. */
static void odd_descriptions(void **state)
{
    static const char *const scales[] = {
        "2,3283064365386962890625e-10", "3e-10", "0", "-1", "", "nan", "1e400"};
    static const char *const events[] = {"event=0x", "event=2",          "umask=0x02", "event=0x02,umask=0x1",
                                         "",         "event=0x123456789"};
    struct fix *f = *state;
    two_sockets(f);
    tree_rm(&f->t, PMU "events/energy-ram");
    tree_rm(&f->t, PMU "events/energy-psys");
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        tree_put(&f->t, PMU "events/energy-pkg.scale", "%s", scales[i]);
        assert_int_equal(fix_probe(f, &jm_meter_perf).state, JM_PROBE_ABSENT);
    }
    tree_put(&f->t, PMU "events/energy-pkg.scale", "1e-9");
    assert_int_equal(fix_probe(f, &jm_meter_perf).state, JM_PROBE_ABSENT);
    tree_put(&f->t, PMU "events/energy-pkg.scale", "2.3283064365386962890625e-10");
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        tree_put(&f->t, PMU "events/energy-pkg", "%s", events[i]);
        assert_int_equal(fix_probe(f, &jm_meter_perf).state, JM_PROBE_ABSENT);
    }
}

static void absent(void **state)
{
    struct fix *f = *state;
    assert_int_equal(fix_probe(f, &jm_meter_perf).state, JM_PROBE_ABSENT);
    assert_int_equal(jm_meter_perf.open(&f->env, &f->tree, &f->m, &f->err), JM_EABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(values_and_domains), T(needs_permission), T(powercap_goes_first),
        T(constant_zero),      T(odd_descriptions), T(absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
