/* SPDX-License-Identifier: Apache-2.0 */
/* The meters of /sys/class/hwmon on fake trees. Each case names the public report whose fault it would show.
 */
#include "fix.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>

#include "meter/acpi_meter.h"

#define HW(f, file, ...) tree_put(&(f)->t, "class/hwmon/" file, __VA_ARGS__)

static void device_link(struct fix *f, const char *hwmon, const char *device)
{
    char path[512], target[512];
    snprintf(target, sizeof target, "../../../devices/%s", device);
    snprintf(path, sizeof path, "devices/%s/x", device);
    tree_put(&f->t, path, "%s", "");
    snprintf(path, sizeof path, "%s/class/hwmon/%s/device", f->t.root, hwmon);
    assert_int_equal(symlink(target, path), 0);
}

/* ---- amdgpu */

/* nvtop#244, MangoHud#1202, #1620: one of two files, or both. */
static void amdgpu_average_or_input(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon0/name", "amdgpu");
    HW(f, "hwmon0/power1_average", "289000000");
    HW(f, "hwmon0/power1_input", "301000000");
    HW(f, "hwmon0/power1_cap_max", "2500000000"); /* more than 2147 W does not fit 32 bits */
    device_link(f, "hwmon0", "0000:03:00.0");
    HW(f, "hwmon1/name", "amdgpu");
    HW(f, "hwmon1/power1_input", "45000000");
    HW(f, "hwmon1/power1_label", "PPT");
    device_link(f, "hwmon1", "0000:83:00.0");
    fix_open(f, &jm_meter_amdgpu);
    assert_int_equal(f->m->n_chan, 2);
    struct jm_channel *a = fix_chan(f, "0000:03"), *b = fix_chan(f, "0000:83");
    assert_int_equal(a->sem, JM_G_TRAILING_MEAN);
    assert_int_equal(b->sem, JM_G_INSTANT);
    assert_non_null(strstr(a->source, "power1_average"));
    assert_non_null(strstr(b->source, "power1_input"));
    assert_true(a->sane_max == 5000.0);
    assert_int_equal(fix_read(f, "0000:03").value, 289000000);
    assert_int_equal(fix_kind(f, "0000:03"), JM_D_GPU);
    assert_string_equal(f->tree.d[a->domain].key, "0000:03:00.0");
}

/* rocm-systems PR 8024: reading wakes a suspended GPU. */
static void amdgpu_asleep_is_not_read(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon0/name", "amdgpu");
    HW(f, "hwmon0/power1_average", "%s", "not read");
    device_link(f, "hwmon0", "0000:03:00.0");
    tree_put(&f->t, "devices/0000:03:00.0/power/runtime_status", "suspended");
    fix_open(f, &jm_meter_amdgpu);
    assert_int_equal(fix_read(f, "0000:03").status, JM_S_SUSPENDED);
    tree_put(&f->t, "devices/0000:03:00.0/power/runtime_status", "active");
    HW(f, "hwmon0/power1_average", "5000000");
    struct jm_reading r = fix_read(f, "0000:03");
    assert_int_equal(r.status, JM_S_OK);
    assert_int_equal(r.value, 5000000);
}

/* zeus PR 203 ([89000, 0, 93000, 0]), codecarbon#1097, rocm_smi_lib#160, variorum#553: the second die says 0.
 */
static void amdgpu_second_die(void **state)
{
    struct fix *f = *state;
    for (int i = 0; i < 4; i++) {
        char path[64], dev[32], hw[16];
        snprintf(path, sizeof path, "class/hwmon/hwmon%d/name", i);
        tree_put(&f->t, path, "amdgpu");
        snprintf(path, sizeof path, "class/hwmon/hwmon%d/power1_average", i);
        tree_put(&f->t, path, "%d", i % 2 ? 0 : 89000000);
        snprintf(hw, sizeof hw, "hwmon%d", i);
        snprintf(dev, sizeof dev, "0000:%d1:00.0", i);
        device_link(f, hw, dev);
    }
    fix_open(f, &jm_meter_amdgpu);
    assert_int_equal(f->m->n_chan, 2);
    assert_non_null(strstr(jm_meter_fact(f->m, "amdgpu.left_out.0000:11:00.0"), "0 W"));
    tree_put(&f->t, "class/hwmon/hwmon0/power1_average", "0");
    assert_int_equal(fix_read(f, "0000:01").status, JM_S_IMPLAUSIBLE);
}

/* MangoHud#1874 (12 mW while RAPL is right), amdgpu_top#30, zenergy#2: an APU's scale, and its package twice.
 */
static void apu_is_its_package(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon0/name", "amdgpu");
    HW(f, "hwmon0/power1_input", "12000");
    device_link(f, "hwmon0", "0000:c4:00.0");
    tree_put(&f->t, "devices/0000:c4:00.0/gpu_metrics", "\x80\x01\x02\x04 and what follows");
    int node = jm_domain_host(&f->tree, "h", &f->err);
    jm_domain_add(&f->tree, node, JM_D_PACKAGE, "package-0", NULL, &f->err); /* RAPL was there first */
    fix_open(f, &jm_meter_amdgpu);
    struct jm_channel *c = fix_chan(f, "0000:c4");
    assert_int_equal(fix_kind(f, "0000:c4"), JM_D_APU);
    assert_true(c->flags & JM_CHF_MIRROR);
    assert_int_equal(fix_read(f, "0000:c4").status, JM_S_IMPLAUSIBLE);
}

/* A table of gpu_metrics: all ones but for what is given. power_at: 16 bits; energy_at 0: none. */
struct metrics {
    unsigned size, format, content, power_at, power, energy_at;
    uint64_t energy;
};
static void put_metrics(struct fix *f, const char *device, struct metrics x)
{
    unsigned char b[4096];
    char path[512];
    memset(b, 0xff, sizeof b);
    b[0] = (unsigned char)x.size;
    b[1] = (unsigned char)(x.size >> 8);
    b[2] = (unsigned char)x.format;
    b[3] = (unsigned char)x.content;
    b[x.power_at] = (unsigned char)x.power;
    b[x.power_at + 1] = (unsigned char)(x.power >> 8);
    for (unsigned i = 0; x.energy_at && i < 8; i++)
        b[x.energy_at + i] = (unsigned char)(x.energy >> 8 * i);
    snprintf(path, sizeof path, "%s/devices/%s/gpu_metrics", f->t.root, device);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(b, 1, x.size, out), x.size);
    assert_int_equal(fclose(out), 0);
}

static struct jm_reading read_named(struct fix *f, const char *device, const char *name,
                                    const struct jm_channel **c)
{
    struct jm_reading r[64];
    size_t n = f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    for (size_t i = 0; i < n; i++) {
        const struct jm_channel *x = &f->m->chan[r[i].channel];
        if (strstr(x->device, device) && strcmp(x->name, name) == 0) {
            if (c)
                *c = x;
            return r[i];
        }
    }
    fail_msg("no reading %s of %s", name, device);
    return r[0];
}

static void a_card(struct fix *f, int i, const char *device, const char *uw)
{
    char path[64], hw[16];
    snprintf(hw, sizeof hw, "hwmon%d", i);
    snprintf(path, sizeof path, "class/hwmon/%s/name", hw);
    tree_put(&f->t, path, "amdgpu");
    snprintf(path, sizeof path, "class/hwmon/%s/power1_input", hw);
    tree_put(&f->t, path, "%s", uw);
    device_link(f, hw, device);
}

/* MI300X (1.4), an MI250 (1.3, two dies), a Radeon (1.3, a register of 32 bits). 2^-16 J, not 15.3 uJ
 * (amdsmi#115: and not 15). */
static void metrics_counters(void **state)
{
    struct fix *f = *state;
    const struct jm_channel *c = NULL;
    a_card(f, 0, "0000:01:00.0", "410000000");
    put_metrics(f, "0000:01:00.0", (struct metrics){288, 1, 4, 10, 412, 24, (uint64_t)65536 * 1000000});
    a_card(f, 1, "0000:11:00.0", "250000000");
    tree_put(&f->t, "devices/0000:11:00.0/device", "0x740c");
    put_metrics(f, "0000:11:00.0", (struct metrics){120, 1, 3, 22, 251, 24, 65536});
    a_card(f, 2, "0000:12:00.0", "0");
    put_metrics(f, "0000:12:00.0", (struct metrics){120, 1, 3, 22, 0, 24, 0});
    a_card(f, 3, "0000:83:00.0", "90000000");
    tree_put(&f->t, "devices/0000:83:00.0/device", "0x73bf");
    put_metrics(f, "0000:83:00.0", (struct metrics){120, 1, 3, 22, 92, 24, 4000000000});
    fix_open(f, &jm_meter_amdgpu);
    assert_int_equal(f->m->n_chan, 9);
    struct jm_reading r = read_named(f, "0000:01", "energy", &c);
    assert_int_equal(r.status, JM_S_OK);
    assert_true(jm_channel_value(c, r.value) == 1000000.0 && c->modulus == 0 && c->flags == JM_CHF_EDGE);
    r = read_named(f, "0000:01", "power.current", &c);
    assert_true(r.value == 412 && c->sem == JM_G_INSTANT && c->flags == JM_CHF_EDGE);
    assert_string_equal(f->tree.d[c->domain].key, "0000:01:00.0"); /* that of hwmon: counted once */
    read_named(f, "0000:11", "energy", &c);
    assert_true(c->modulus == 0 && c->flags == JM_CHF_EDGE);
    assert_null(fix_chan(f, "0000:12"));
    assert_non_null(strstr(jm_meter_fact(f->m, "amdgpu.left_out.0000:12:00.0"), "0 W"));
    r = read_named(f, "0000:83", "energy", &c);
    assert_true(c->modulus == (uint64_t)1 << 32 && (c->flags & JM_CHF_MIRROR) && strstr(c->source, "unsure"));
    assert_true(f->m->max_period_ns > 0 && f->m->max_period_ns <= 131 * JM_NS_PER_S);
    put_metrics(f, "0000:01:00.0", (struct metrics){360, 1, 5, 10, 412, 88, 1}); /* another layout now */
    assert_int_equal(read_named(f, "0000:01", "energy", NULL).status, JM_S_IMPLAUSIBLE);
    put_metrics(f, "0000:01:00.0", (struct metrics){288, 1, 4, 10, 0xffff, 24, UINT64_MAX});
    assert_int_equal(read_named(f, "0000:01", "energy", NULL).status, JM_S_GAP);
    assert_int_equal(read_named(f, "0000:01", "power.current", NULL).status, JM_S_GAP);
    assert_int_equal(read_named(f, "0000:11", "energy", NULL).status, JM_S_OK);
}

/* amdgpu_top#30: mW or W by firmware; zenergy#2: what disagrees is not believed. A table that is not known is
 * said. */
static void metrics_against_hwmon(void **state)
{
    struct fix *f = *state;
    const struct jm_channel *c = NULL;
    a_card(f, 0, "0000:c1:00.0", "28000000");
    put_metrics(f, "0000:c1:00.0", (struct metrics){168, 2, 4, 40, 29000, 0, 0});
    a_card(f, 1, "0000:c2:00.0", "28000000");
    put_metrics(f, "0000:c2:00.0", (struct metrics){168, 2, 4, 40, 29, 0, 0});
    a_card(f, 2, "0000:c3:00.0", "28000000");
    put_metrics(f, "0000:c3:00.0", (struct metrics){288, 1, 4, 10, 159, 24, 65536});
    a_card(f, 3, "0000:c4:00.0", "28000000");
    put_metrics(f, "0000:c4:00.0", (struct metrics){64, 1, 9, 10, 28, 0, 0});
    fix_open(f, &jm_meter_amdgpu);
    for (const char *d = "0000:c1"; d; d = d[6] == '1' ? "0000:c2" : NULL) {
        struct jm_reading r = read_named(f, d, "power.average", &c);
        assert_true(r.status == JM_S_OK && jm_channel_value(c, r.value) == 29.0);
        assert_int_equal(f->tree.d[c->domain].kind, JM_D_APU);
    }
    assert_non_null(strstr(jm_meter_fact(f->m, "amdgpu.check.0000:c2:00.0"), "shows W"));
    read_named(f, "0000:c3", "power.current", &c);
    assert_true(c->flags & JM_CHF_MIRROR);
    assert_non_null(strstr(jm_meter_fact(f->m, "amdgpu.check.0000:c3:00.0"), "159.0 W and hwmon 28.0 W"));
    assert_non_null(strstr(jm_meter_fact(f->m, "amdgpu.metrics.0000:c4:00.0"), "1.9 is not known"));
    assert_int_equal(read_named(f, "0000:c4", "power", NULL).value, 28000000);
}

static void *unblock(void *path)
{
    int fd = open(path, O_WRONLY); /* waits for the reader that hangs */
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* MangoHud#1604, PR 1610: reading power1_average hangs. */
static void amdgpu_hanging_read(void **state)
{
    struct fix *f = *state;
    char path[512];
    HW(f, "hwmon0/name", "amdgpu");
    snprintf(path, sizeof path, "%s/class/hwmon/hwmon0/power1_average", f->t.root);
    assert_int_equal(mkfifo(path, 0644), 0);
    HW(f, "hwmon0/power1_input", "45000000");
    fix_open(f, &jm_meter_amdgpu);
    assert_non_null(strstr(f->m->chan[0].source, "power1_input"));
    pthread_t th;
    assert_int_equal(pthread_create(&th, NULL, unblock, path), 0);
    pthread_join(th, NULL);
}

/* ---- Intel */

/* nvtop#493 (the limit is the cap, not crit), nvtop#409 (B570's sensors). */
static void xe_card_and_package(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon3/name", "xe");
    HW(f, "hwmon3/energy1_label", "card");
    HW(f, "hwmon3/energy1_input", "710520000000000");
    HW(f, "hwmon3/energy2_label", "pkg");
    HW(f, "hwmon3/energy2_input", "977130000000000");
    HW(f, "hwmon3/power1_label", "card");
    HW(f, "hwmon3/power1_cap", "200000000");
    HW(f, "hwmon3/power1_crit", "400000000");
    device_link(f, "hwmon3", "0000:04:00.0");
    fix_open(f, &jm_meter_intel_gpu);
    struct jm_channel *card = fix_chan(f, " card"), *pkg = fix_chan(f, " pkg");
    assert_int_equal(f->tree.d[card->domain].kind, JM_D_GPU);
    assert_true(pkg->domain != card->domain && jm_domain_contains(&f->tree, card->domain, pkg->domain));
    assert_int_equal(card->kind, JM_CH_COUNTER);
    assert_true(card->modulus == 0);                            /* a fall is a reset: compute-runtime#938 */
    assert_true(fix_read(f, " card").value == 710520000000000); /* nvtop#347: 64 bits */
    assert_string_equal(jm_meter_fact(f->m, "intel-gpu.limit.0000:04:00.0"), "200 W (power1_cap)");
    assert_true(f->m->max_period_ns > 0 && f->m->max_period_ns <= 60 * JM_NS_PER_S);
}

/* nvtop#347, xpumanager#123: energy1 is 0 or absent, energy2 has it all. */
static void xe_package_only(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon0/name", "xe");
    HW(f, "hwmon0/energy1_input", "0");
    HW(f, "hwmon0/energy1_label", "card");
    HW(f, "hwmon0/energy2_input", "5123456");
    HW(f, "hwmon0/energy2_label", "pkg");
    device_link(f, "hwmon0", "0000:00:02.0");
    HW(f, "hwmon1/name", "xe");
    HW(f, "hwmon1/energy2_input", "77");
    HW(f, "hwmon1/energy2_label", "pkg");
    device_link(f, "hwmon1", "0000:0a:00.0");
    fix_open(f, &jm_meter_intel_gpu);
    assert_int_equal(f->m->n_chan, 2);
    assert_int_equal(fix_kind(f, "0000:00:02.0"), JM_D_GPU);
    assert_int_equal(fix_kind(f, "0000:0a:00.0"), JM_D_GPU);
    assert_string_equal(fix_chan(f, "0000:0a")->scope, "pkg");
}

/* ---- Grace and ACPI */

static void grace_socket(struct fix *f, int hw, const char *oem, long uw, const char *device)
{
    char path[128], name[16];
    snprintf(path, sizeof path, "class/hwmon/hwmon%d/name", hw);
    tree_put(&f->t, path, "power_meter");
    snprintf(name, sizeof name, "hwmon%d", hw);
    device_link(f, name, device);
    snprintf(path, sizeof path, "devices/%s/power1_oem_info", device);
    tree_put(&f->t, path, "%s", oem);
    snprintf(path, sizeof path, "devices/%s/power1_average", device);
    tree_put(&f->t, path, "%ld", uw);
    snprintf(path, sizeof path, "devices/%s/power1_average_interval", device);
    tree_put(&f->t, path, "50");
}

/* srt-slurm PR 481 (the CPU rail, 791 W, is not the socket, 1,448 W), #453; dcgm-exporter#243: one channel a
 * socket. */
static void grace_nesting(void **state)
{
    struct fix *f = *state;
    grace_socket(f, 0, "Module Power Socket 0", 620000000, "ACPI000D:00");
    grace_socket(f, 1, "Grace Power Socket 0", 98000000, "ACPI000D:01");
    grace_socket(f, 2, "CPU Power Socket 0", 51000000, "ACPI000D:02");
    grace_socket(f, 3, "SysIO Power Socket 0", 6000000, "ACPI000D:03");
    grace_socket(f, 4, "Grace Input Power Socket 1", 109000000, "ACPI000D:04"); /* srt-slurm#422 */
    grace_socket(f, 5, "Grace Output Power Socket 1", 1, "ACPI000D:05");
    fix_open(f, &jm_meter_grace);
    assert_int_equal(f->m->n_chan, 5);
    int module = fix_chan(f, "Module")->domain, grace = fix_chan(f, "Grace Power Socket 0")->domain,
        cpu = fix_chan(f, "CPU")->domain, sysio = fix_chan(f, "SysIO")->domain,
        other = fix_chan(f, "Grace Input Power Socket 1")->domain;
    assert_true(jm_domain_contains(&f->tree, module, grace));
    assert_true(jm_domain_contains(&f->tree, grace, cpu) && jm_domain_contains(&f->tree, grace, sysio));
    assert_false(jm_domain_contains(&f->tree, module, other));
    assert_int_equal(fix_kind(f, "CPU"), JM_D_CPU);
    assert_string_equal(f->tree.d[module].key, "module-0"); /* as NVML names it */
    assert_int_equal(fix_read(f, "Grace Power Socket 0").value, 98000000);
    assert_int_equal(fix_chan(f, "CPU")->window_ns, 50 * JM_NS_PER_MS);
    /* none of it is the node */
    assert_int_equal(fix_probe(f, &jm_meter_acpi).state, JM_PROBE_ABSENT);
}

/* lm-sensors#460: 0xffffffff mW. */
static void acpi_no_value(void **state)
{
    struct fix *f = *state;
    grace_socket(f, 0, "Grace Power Socket 0", 98000000, "ACPI000D:00");
    fix_open(f, &jm_meter_grace);
    tree_put(&f->t, "devices/ACPI000D:00/power1_average", "4294967295000");
    assert_int_equal(fix_read(f, "Grace").status, JM_S_IMPLAUSIBLE);
    tree_put(&f->t, "devices/ACPI000D:00/power1_average", "0");
    assert_int_equal(fix_read(f, "Grace").status, JM_S_IMPLAUSIBLE);
    tree_put(&f->t, "devices/ACPI000D:00/power1_average", "21000000000"); /* tt-kmd#5: x1000 */
    assert_int_equal(fix_read(f, "Grace").status, JM_S_IMPLAUSIBLE);
}

/* kepler PR 471, procfs#753: the files lie in the driver's folder only, or directly in hwmonN. */
static void acpi_search_roots(void **state)
{
    struct fix *f = *state;
    tree_put(&f->t, "bus/acpi/drivers/power_meter/ACPI000D:00/power1_average", "98000000");
    tree_put(&f->t, "bus/acpi/drivers/power_meter/ACPI000D:00/power1_oem_info", "Grace Power Socket 0");
    HW(f, "hwmon7/name", "power_meter");
    HW(f, "hwmon7/power1_average", "51000000");
    HW(f, "hwmon7/power1_oem_info", "CPU Power Socket 0");
    fix_open(f, &jm_meter_grace);
    assert_int_equal(f->m->n_chan, 2);
    assert_int_equal(fix_read(f, "Grace").value, 98000000);
}

/* One device that shows in both places is one channel. */
static void acpi_once(void **state)
{
    struct fix *f = *state;
    grace_socket(f, 0, "Grace Power Socket 0", 98000000, "ACPI000D:00");
    tree_put(&f->t, "bus/acpi/drivers/power_meter/ACPI000D:00/power1_average", "98000000");
    tree_put(&f->t, "bus/acpi/drivers/power_meter/ACPI000D:00/power1_oem_info", "Grace Power Socket 0");
    fix_open(f, &jm_meter_grace);
    assert_int_equal(f->m->n_chan, 1);
}

static void acpi_is_the_node(void **state)
{
    struct fix *f = *state;
    grace_socket(f, 2, "", 412000000, "ACPI000D:00");
    fix_open(f, &jm_meter_acpi);
    assert_int_equal(fix_kind(f, "ACPI000D:00"), JM_D_NODE);
    assert_int_equal(fix_read(f, "ACPI000D:00").value, 412000000);
    assert_int_equal(fix_probe(f, &jm_meter_grace).state, JM_PROBE_ABSENT);
}

static void acpi_names(void **state)
{
    (void)state;
    assert_int_equal(jm_acpi_part("Grace Power Socket 36").socket, 36);
    assert_int_equal(jm_acpi_part("SysIO Input Power Socket 1").kind, JM_D_SYSIO);
    assert_int_equal(jm_acpi_part("  CPU Power Socket 2 ").kind, JM_D_CPU);
    static const char *const none[] = {"",
                                       "Grace",
                                       "Grace Power Socket",
                                       "Grace Power Socket x",
                                       "Power Socket 0",
                                       "Grace Power Socket -1",
                                       "Grace Energy Socket 0",
                                       "Total Power",
                                       "Grace Power Socket 99999999999999999999"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(jm_acpi_part(none[i]).kind, JM_D_COUNT);
}

/* ---- Jetson */

static void ina3221(struct fix *f, int hw, int n, const char *label, int mv, int ma)
{
    char path[128];
    snprintf(path, sizeof path, "class/hwmon/hwmon%d/name", hw);
    tree_put(&f->t, path, "ina3221");
    snprintf(path, sizeof path, "class/hwmon/hwmon%d/in%d_label", hw, n);
    tree_put(&f->t, path, "%s", label);
    snprintf(path, sizeof path, "class/hwmon/hwmon%d/in%d_input", hw, n);
    tree_put(&f->t, path, "%d", mv);
    snprintf(path, sizeof path, "class/hwmon/hwmon%d/curr%d_input", hw, n);
    tree_put(&f->t, path, "%d", ma);
}

/* jetson_stats#51: VDD_IN is the whole; intelligence-per-watt#40: this is where a Jetson's power is. */
static void jetson_with_total(void **state)
{
    struct fix *f = *state;
    ina3221(f, 1, 1, "VDD_IN", 5000, 1840);
    ina3221(f, 1, 2, "VDD_CPU_GPU_CV", 5000, 700);
    ina3221(f, 1, 3, "VDD_SOC", 5000, 300);
    HW(f, "hwmon1/in7_label", "sum of shunt voltages");
    HW(f, "hwmon1/in7_input", "12");
    fix_open(f, &jm_meter_jetson);
    assert_int_equal(f->m->n_chan, 3);
    assert_int_equal(fix_read(f, "VDD_IN").value, 9200000); /* 5 V x 1.84 A = 9.2 W */
    assert_int_equal(f->m->chan[0].scale10, -6);
    assert_true(jm_domain_contains(&f->tree, fix_chan(f, "VDD_IN")->domain, fix_chan(f, "VDD_SOC")->domain));
    assert_null(jm_meter_fact(f->m, "jetson.total"));
}

/* jetson_stats#344: VIN_SYS_5V0 of an AGX Orin is a rail, no total. */
static void jetson_without_total(void **state)
{
    struct fix *f = *state;
    ina3221(f, 1, 1, "VDD_GPU_SOC", 12000, 400);
    ina3221(f, 1, 2, "VDD_CPU_CV", 12000, 100);
    ina3221(f, 1, 3, "VIN_SYS_5V0", 5000, 800);
    ina3221(f, 2, 1, "NC", 0, 0);
    ina3221(f, 2, 2, "VDDQ_VDD2_1V8AO", 5000, 150);
    ina3221(f, 2, 3, "VDD_X", 5000, 0);
    HW(f, "hwmon2/in3_input", "%s", ""); /* a disabled rail */
    fix_open(f, &jm_meter_jetson);
    assert_int_equal(f->m->n_chan, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f->tree.d[f->m->chan[i].domain].kind, JM_D_RAIL);
        for (size_t k = 0; k < i; k++) /* side by side */
            assert_false(jm_domain_contains(&f->tree, f->m->chan[i].domain, f->m->chan[k].domain));
    }
    assert_non_null(jm_meter_fact(f->m, "jetson.total"));
}

/* jetson_stats PR 900: Thor's INA238 says uW; a USB charger is no rail. */
static void jetson_thor(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon0/name", "ina238");
    HW(f, "hwmon0/power1_input", "31500000");
    HW(f, "hwmon1/name", "ucsi_source_psy_USBC000:001");
    HW(f, "hwmon1/power1_input", "99000000");
    assert_int_equal(fix_probe(f, &jm_meter_hwmon).state, JM_PROBE_ABSENT);
    fix_open(f, &jm_meter_jetson);
    assert_int_equal(f->m->n_chan, 1);
    assert_int_equal(fix_kind(f, "VIN"), JM_D_MODULE);
    assert_true(jm_channel_value(&f->m->chan[0], fix_read(f, "VIN").value) == 31.5);
}

/* L4T 32. */
static void jetson_old(void **state)
{
    struct fix *f = *state;
    tree_put(&f->t, "bus/i2c/drivers/ina3221x/6-0040/iio:device0/rail_name_0", "POM_5V_IN");
    tree_put(&f->t, "bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_power0_input", "4200");
    tree_put(&f->t, "bus/i2c/drivers/ina3221x/6-0040/iio:device0/rail_name_1", "POM_5V_GPU");
    tree_put(&f->t, "bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_power1_input", "1100");
    fix_open(f, &jm_meter_jetson);
    assert_int_equal(f->m->n_chan, 2);
    assert_true(jm_channel_value(&f->m->chan[0], fix_read(f, "POM_5V_IN").value) == 4.2);
}

/* ---- the rest */

static void unknown_sensors_are_never_added(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon0/name", "scmi_sensors");
    HW(f, "hwmon0/power1_input", "3000000");
    HW(f, "hwmon0/power1_label", "soc");
    HW(f, "hwmon1/name", "corsairpsu");
    HW(f, "hwmon1/power1_input", "410000000");
    HW(f, "hwmon1/power1_label", "power total");
    HW(f, "hwmon1/power2_input", "200000000");
    HW(f, "hwmon1/power2_label", "power +12v");
    HW(f, "hwmon2/name", "wormhole");
    HW(f, "hwmon2/power1_input", "60000000000"); /* tt-kmd#5: 60 W told as 60 kW */
    HW(f, "hwmon3/name", "amdgpu");              /* has its own meter */
    HW(f, "hwmon3/power1_input", "60000000");
    HW(f, "hwmon4/name", "nct6775");
    HW(f, "hwmon4/fan1_input", "1200");
    HW(f, "hwmon5/name", "amd_energy");
    HW(f, "hwmon5/energy1_label", "Ecore000");
    HW(f, "hwmon5/energy1_input", "1");
    HW(f, "hwmon5/energy9_label", "Esocket1");
    HW(f, "hwmon5/energy9_input", "123456789");
    fix_open(f, &jm_meter_hwmon);
    assert_int_equal(f->m->n_chan, 5);
    assert_true(fix_chan(f, " soc")->flags & JM_CHF_MIRROR);
    assert_true(fix_chan(f, "+12v")->flags & JM_CHF_MIRROR);
    assert_false(fix_chan(f, "power total")->flags & JM_CHF_MIRROR);
    assert_int_equal(fix_kind(f, "power total"), JM_D_NODE);
    assert_int_equal(fix_read(f, "wormhole").status, JM_S_IMPLAUSIBLE);
    assert_string_equal(f->tree.d[fix_chan(f, "Esocket1")->domain].key, "package-1");
    assert_null(fix_chan(f, "Ecore"));
}

/* hwmon numbers change from boot to boot: a channel is named by driver, device and label. */
static void numbers_do_not_matter(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon9/name", "scmi_sensors");
    HW(f, "hwmon9/energy3_input", "3000000");
    HW(f, "hwmon9/energy3_label", "soc");
    device_link(f, "hwmon9", "firmware:scmi");
    fix_open(f, &jm_meter_hwmon);
    assert_string_equal(f->m->chan[0].device, "scmi_sensors firmware:scmi soc");
    assert_int_equal(f->m->chan[0].kind, JM_CH_COUNTER);
}

static void probe_denied(void *arg)
{
    struct jm_probe p = fix_probe(arg, &jm_meter_hwmon);
    assert_int_equal(p.state, JM_PROBE_DENIED);
    assert_non_null(strstr(p.mend, "sudo chmod a+r "));
}

static void denied(void **state)
{
    struct fix *f = *state;
    HW(f, "hwmon0/name", "amd_energy");
    HW(f, "hwmon0/energy1_label", "Esocket0");
    HW(f, "hwmon0/energy1_input", "1");
    tree_mode(&f->t, "class/hwmon/hwmon0/energy1_input", 0400);
    as_nobody(probe_denied, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(amdgpu_average_or_input),
        T(amdgpu_asleep_is_not_read),
        T(amdgpu_second_die),
        T(apu_is_its_package),
        T(metrics_counters),
        T(metrics_against_hwmon),
        T(amdgpu_hanging_read),
        T(xe_card_and_package),
        T(xe_package_only),
        T(grace_nesting),
        T(acpi_no_value),
        T(acpi_search_roots),
        T(acpi_once),
        T(acpi_is_the_node),
        T(acpi_names),
        T(jetson_with_total),
        T(jetson_without_total),
        T(jetson_thor),
        T(jetson_old),
        T(unknown_sensors_are_never_added),
        T(numbers_do_not_matter),
        T(denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
