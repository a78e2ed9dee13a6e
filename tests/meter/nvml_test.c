/* SPDX-License-Identifier: Apache-2.0 */
/* The NVML meter against a library that errs on purpose. Each case names the public report whose fault it
 * would show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_nvml.h"
#include "meter/nvml.h"
#include "meter/registry.h"
#include "tree.h"

struct fix {
    struct tree t;
    struct jm_meter_env env;
    struct jm_domain_tree tree;
    struct jm_vclock vc;
    struct jm_meter *m;
    struct jm_err err;
    void *lib;
    struct fake_nvml *fake;
    char path[512];
};

static void h100(struct fake_gpu *g, const char *uuid, unsigned bus)
{
    *g = (struct fake_gpu){.bus = bus,
                           .device_id = 0x233010de,
                           .arch = 9,
                           .energy = 5000000000000,
                           .power = 631950,
                           .limit = 700000};
    snprintf(g->uuid, sizeof g->uuid, "%s", uuid);
    snprintf(g->name, sizeof g->name, "NVIDIA H100 80GB HBM3");
    g->field[0] = (struct fake_field){83, 0, 0, 3, 5000000000000, 0};
    g->field[1] = (struct fake_field){185, 0, 0, 1, 631950, 0};
    g->field[2] = (struct fake_field){186, 0, 0, 1, 625680, 0};
}

static void load(struct fix *f, const char *name)
{
    const char *dir = getenv("JM_FAKE_NVML");
    snprintf(f->path, sizeof f->path, "%s/lib%s.so", dir ? dir : ".", name);
    f->lib = dlopen(f->path, RTLD_NOW | RTLD_LOCAL);
    if (!f->lib)
        fail_msg("%s", dlerror());
    f->fake = dlsym(f->lib, "fake");
    memset(f->fake, 0, sizeof *f->fake);
    f->env.nvml_lib = f->path;
    f->fake->stride = 24;
    f->fake->count = 2;
    snprintf(f->fake->driver, sizeof f->fake->driver, "590.48.01");
    h100(&f->fake->gpu[0], "GPU-aaaa1111-0000", 0x1b);
    h100(&f->fake->gpu[1], "GPU-bbbb2222-0000", 0x43);
}

static int setup(void **state)
{
    static struct fix f;
    memset(&f, 0, sizeof f);
    f.t = tree_new();
    f.env.sysfs_root = f.env.proc_root = f.t.root;
    f.env.host = "h";
    f.env.clock = jm_clock_virtual(&f.vc, NULL);
    jm_domain_tree_init(&f.tree);
    load(&f, "fake-nvml");
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    jm_meter_nvml.close(f->m);
    assert_int_equal(f->fake->inits, 0); /* every init has its shutdown */
    dlclose(f->lib);
    jm_domain_tree_release(&f->tree);
    tree_free(&f->t);
    return 0;
}

static struct jm_meter *open_it(struct fix *f)
{
    if (jm_meter_nvml.open(&f->env, &f->tree, &f->m, &f->err))
        fail_msg("open: %s", f->err.text);
    return f->m;
}

static const struct jm_channel *chan(struct fix *f, int gpu, const char *name)
{
    int i = jm_meter_channel(f->m, f->fake->gpu[gpu].uuid, name);
    return i < 0 ? NULL : &f->m->chan[i];
}

static struct jm_reading look(struct fix *f, enum jm_read_set set, int gpu, const char *name)
{
    struct jm_reading r[256];
    assert_true(f->m->n_chan <= 256);
    size_t n = jm_meter_nvml.read(f->m, &f->env.clock, set, r);
    for (size_t i = 0; i < n; i++)
        if (&f->m->chan[r[i].channel] == chan(f, gpu, name))
            return r[i];
    fail_msg("no reading of %s", name);
    return r[0];
}

static struct jm_probe probe(struct fix *f)
{
    struct jm_probe p;
    assert_int_equal(jm_meter_nvml.probe(&f->env, &p), 0);
    return p;
}

static void energy_and_power(void **state)
{
    struct fix *f = *state;
    open_it(f);
    const struct jm_channel *e = chan(f, 0, "energy"), *a = chan(f, 0, "power.average"),
                            *i = chan(f, 0, "power.instant");
    assert_int_equal(e->kind, JM_CH_COUNTER);
    assert_int_equal(e->scale10, -3);
    assert_true(e->modulus == 0 && isnan(e->gain_tol));
    assert_string_equal(e->scope, "gpu");
    assert_int_equal(a->sem, JM_G_TRAILING_MEAN);
    assert_int_equal(a->window_ns, JM_NS_PER_S);
    assert_int_equal(i->sem, JM_G_PARTIAL);
    assert_int_equal(i->window_ns, 25 * JM_NS_PER_MS);
    assert_null(chan(f, 0, "power.usage")); /* means the same as the average here */
    /* gpu-monitoring-tools#4: more than 32 bits of mJ */
    assert_true(look(f, JM_READ_ALL, 0, "energy").value == 5000000000000);
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.average").value, 631950);
    assert_string_equal(jm_meter_fact(f->m, "nvml.driver"), "590.48.01");
    assert_false(f->m->simulated);
}

/* One call fetches energy and power of a GPU. */
static void few_calls(void **state)
{
    struct fix *f = *state;
    struct jm_reading r[64];
    open_it(f);
    f->fake->calls = 0;
    jm_meter_nvml.read(f->m, &f->env.clock, JM_READ_EDGE, r);
    assert_int_equal(f->fake->calls, 2);
}

/* The call succeeds, the entry does not: 0 W would be recorded. */
static void entry_with_its_own_error(void **state)
{
    struct fix *f = *state;
    f->fake->gpu[0].field[2].ret = 3;
    f->fake->gpu[0].field[2].value = 0;
    open_it(f);
    assert_null(chan(f, 0, "power.instant"));
    f->fake->gpu[0].field[1].ret = 999;
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.average").status, JM_S_GAP);
    assert_int_equal(look(f, JM_READ_ALL, 0, "energy").status, JM_S_OK);
    f->fake->gpu[0].field[1].ret = 3;
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.average").status, JM_S_UNSUPPORTED);
    f->fake->gpu[0].field[1].ret = 0;
    f->fake->gpu[0].field[1].unfilled = 1;
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.average").status, JM_S_GAP);
}

/* MangoHud#1589 (563212 W); an unsupported gauge that says 0. */
static void impossible_power(void **state)
{
    struct fix *f = *state;
    open_it(f);
    f->fake->gpu[0].field[2].value = 563212000;
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.instant").status, JM_S_IMPLAUSIBLE);
    f->fake->gpu[0].field[2].value = 1400001; /* twice the limit of 700 W is the bound */
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.instant").status, JM_S_IMPLAUSIBLE);
    f->fake->gpu[0].field[2].value = 1399999;
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.instant").status, JM_S_OK);
    f->fake->gpu[0].field[2].value = 0;
    assert_int_equal(look(f, JM_READ_ALL, 0, "power.instant").status, JM_S_IMPLAUSIBLE);
    f->fake->gpu[0].field[0].value = UINT64_MAX;
    assert_int_not_equal(look(f, JM_READ_ALL, 0, "energy").status, JM_S_OK);
}

/* zeus PR 172: GH200 answers in module scope only, its counter is the whole superchip. */
static void gh200_is_a_module(void **state)
{
    struct fix *f = *state;
    f->fake->count = 1;
    struct fake_gpu *g = &f->fake->gpu[0];
    g->field[1].scope = g->field[2].scope = 1;
    tree_put(&f->t, "bus/pci/devices/0000:1b:00.0/local_cpulist", "72-143");
    tree_put(&f->t, "devices/system/cpu/cpu0/topology/physical_package_id", "36");
    tree_put(&f->t, "devices/system/cpu/cpu72/topology/physical_package_id", "2364");
    open_it(f);
    const struct jm_channel *e = chan(f, 0, "energy"), *p = chan(f, 0, "power.instant");
    assert_string_equal(e->scope, "module");
    assert_string_equal(p->scope, "module");
    assert_int_equal(f->tree.d[e->domain].kind, JM_D_MODULE);
    assert_string_equal(f->tree.d[e->domain].key, "module-1");
    int gpu = jm_domain_next(&f->tree, JM_D_GPU, -1);
    assert_true(gpu >= 0 && jm_domain_contains(&f->tree, e->domain, gpu));
    /* and Grace's own meter, which adds its domain below the same module, lies inside it */
    int node = jm_domain_host(&f->tree, "h", &f->err);
    int module = jm_domain_add(&f->tree, node, JM_D_MODULE, "module-1", NULL, &f->err);
    assert_int_equal(module, e->domain);
}

/* zeus PR 242: GB10 answers in GPU scope only; a part that answers in both gets both. */
static void both_scopes(void **state)
{
    struct fix *f = *state;
    struct fake_gpu *g = &f->fake->gpu[1];
    g->field[3] = (struct fake_field){185, 1, 0, 1, 1800000, 0};
    g->field[4] = (struct fake_field){185, 2, 0, 1, 93980, 0}; /* memory: 2, by the header's macros */
    open_it(f);
    assert_string_equal(chan(f, 0, "power.average")->scope, "gpu");
    assert_int_equal(f->tree.d[chan(f, 0, "energy")->domain].kind, JM_D_GPU);
    assert_string_equal(chan(f, 1, "power.average")->scope, "gpu");
    assert_int_equal(f->tree.d[chan(f, 1, "power.module.average")->domain].kind, JM_D_MODULE);
    assert_int_equal(f->tree.d[chan(f, 1, "power.memory.average")->domain].kind, JM_D_HBM);
    assert_int_equal(look(f, JM_READ_ALL, 1, "power.memory.average").value, 93980);
    assert_null(chan(f, 0, "power.module.average"));
}

/* nvml.h: the order of NVML has no guarantee; indices count by PCI bus id. */
static void order_is_the_bus(void **state)
{
    struct fix *f = *state;
    f->fake->gpu[0].bus = 0x99;
    f->env.devices = "0";
    open_it(f);
    assert_null(chan(f, 0, "energy"));
    assert_non_null(chan(f, 1, "energy"));
    assert_string_equal(jm_meter_fact(f->m, "gpu.0.uuid"), "GPU-bbbb2222-0000");
    assert_string_equal(jm_meter_fact(f->m, "gpu.0.pci"), "0000:43:00.0");
}

static void handle_that_fails(void **state)
{
    struct fix *f = *state;
    f->fake->count = 4;
    h100(&f->fake->gpu[2], "GPU-cccc", 0x50);
    h100(&f->fake->gpu[3], "GPU-dddd", 0x60);
    f->fake->gpu[1].handle = 4;  /* somebody else's device */
    f->fake->gpu[2].handle = 15; /* fallen off the bus: one of ours is missing */
    open_it(f);
    assert_non_null(chan(f, 0, "energy"));
    assert_non_null(chan(f, 3, "energy"));
    assert_non_null(strstr(jm_meter_fact(f->m, "nvml.left_out.1"), "no permission"));
    assert_non_null(strstr(jm_meter_fact(f->m, "nvml.left_out.2"), "lost"));
    int dead = jm_meter_channel(f->m, "nvml-index-2", "energy");
    assert_true(dead >= 0 && jm_meter_channel(f->m, "nvml-index-1", "energy") < 0);
    struct jm_reading r[64];
    size_t n = jm_meter_nvml.read(f->m, &f->env.clock, JM_READ_COUNTER, r);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(r[i].status, (int)r[i].channel == dead ? JM_S_LOST : JM_S_OK);
}

/* intelligence-per-watt#40: NVML starts on a Jetson, and every power query is "not supported". */
static void usable_is_what_can_be_read(void **state)
{
    struct fix *f = *state;
    for (int i = 0; i < 2; i++) {
        memset(f->fake->gpu[i].field, 0, sizeof f->fake->gpu[i].field);
        f->fake->gpu[i].energy_ret = f->fake->gpu[i].power_ret = 3;
    }
    struct jm_probe p = probe(f);
    assert_int_equal(p.state, JM_PROBE_UNSUPPORTED);
    assert_non_null(strstr(p.reason, "not supported"));
    assert_true(jm_meter_nvml.open(&f->env, &f->tree, &f->m, &f->err) < 0);
}

/* telegraf#6258: a card without power is no reason to lose the others. */
static void one_card_without_power(void **state)
{
    struct fix *f = *state;
    memset(f->fake->gpu[0].field, 0, sizeof f->fake->gpu[0].field);
    f->fake->gpu[0].energy_ret = f->fake->gpu[0].power_ret = 3;
    open_it(f);
    assert_null(chan(f, 0, "energy"));
    assert_int_equal(look(f, JM_READ_ALL, 1, "energy").status, JM_S_OK);
}

static void does_not_start(void **state)
{
    struct fix *f = *state;
    f->fake->init = 18;
    struct jm_probe p = probe(f);
    assert_int_equal(p.state, JM_PROBE_ABSENT);
    assert_non_null(strstr(p.reason, "different versions"));
    assert_true(p.mend[0]);
    f->fake->init = 9;
    p = probe(f);
    assert_string_equal(p.mend, "sudo modprobe nvidia");
    f->fake->init = 4;
    assert_int_equal(probe(f).state, JM_PROBE_DENIED);
    f->env.nvml_lib = "/nonexistent/libnvidia-ml.so.1";
    p = probe(f);
    assert_int_equal(p.state, JM_PROBE_ABSENT);
    assert_non_null(strstr(p.reason, "no NVIDIA GPU on the PCI bus"));
    tree_put(&f->t, "bus/pci/devices/0000:1b:00.0/vendor", "0x10de");
    tree_put(&f->t, "bus/pci/devices/0000:1b:00.0/class", "0x030200");
    p = probe(f);
    assert_true(p.mend[0]);
    assert_non_null(strstr(p.reason, "is on the PCI bus"));
}

/* nvidia_gpu_exporter f05ab81: a missing symbol ended the process. */
static void missing_symbols(void **state)
{
    struct fix *f = *state;
    dlclose(f->lib);
    load(f, "fake-nvml-bare");
    open_it(f);
    assert_int_equal(f->m->n_chan, 2);
    assert_string_equal(f->m->chan[0].name, "power.usage");
    assert_string_equal(f->m->chan[0].device, "nvml-index-0");
    assert_string_equal(jm_meter_fact(f->m, "nvml.driver"), "unknown");
    struct jm_reading r[4];
    assert_int_equal(jm_meter_nvml.read(f->m, &f->env.clock, JM_READ_ALL, r), 2);
    assert_int_equal(r[0].value, 631950);
    bool used[2];
    assert_int_equal(jm_meter_nvml.find_process(f->m, (int64_t[]){1}, 1, used, 2), JM_EUNSUPPORTED);
}

static void lost_in_the_middle(void **state)
{
    struct fix *f = *state;
    open_it(f);
    f->fake->gpu[0].fields_ret = 15;
    assert_int_equal(look(f, JM_READ_ALL, 0, "energy").status, JM_S_LOST);
    f->fake->gpu[0].fields_ret = 0;
    assert_int_equal(look(f, JM_READ_ALL, 0, "energy").status, JM_S_LOST); /* never the last value again */
    assert_int_equal(look(f, JM_READ_ALL, 1, "energy").status, JM_S_OK);
    assert_true(f->m->alive);
    f->fake->gpu[1].fields_ret = 16;
    assert_int_equal(look(f, JM_READ_ALL, 1, "energy").status, JM_S_LOST);
    assert_false(f->m->alive);
}

/* The counter that the field shows may not be that of the function. */
static void field_83_must_agree(void **state)
{
    struct fix *f = *state;
    f->fake->gpu[0].field[0].value = 0;
    open_it(f);
    assert_string_equal(chan(f, 0, "energy")->source, "NVML GetTotalEnergyConsumption");
    assert_string_equal(chan(f, 1, "energy")->source, "NVML field 83");
    assert_true(look(f, JM_READ_COUNTER, 0, "energy").value == 5000000000000);
}

/* dcgm-exporter#257, #353, #561; slurm-job-exporter PR 55; zeus#109; dcgm-exporter#317: a slice is its
 * parent, once. */
static void mig_is_its_parent_once(void **state)
{
    struct fix *f = *state;
    f->fake->gpu[0].mig = 1;
    snprintf(f->fake->gpu[0].mig_uuid[0], 96, "MIG-11111111-aaaa");
    snprintf(f->fake->gpu[0].mig_uuid[1], 96, "MIG-22222222-bbbb");
    f->env.devices = "MIG-11111111-aaaa,MIG-22222222-bbbb,MIG-GPU-aaaa1111-0000/3/0";
    open_it(f);
    assert_non_null(chan(f, 0, "energy"));
    assert_null(chan(f, 1, "energy"));
    assert_null(chan(f, 0, "util.gpu")); /* NVML: not supported with MIG */
    struct jm_reading r[64];
    assert_int_equal(jm_meter_nvml.read(f->m, &f->env.clock, JM_READ_COUNTER, r), 1);
    assert_null(jm_meter_fact(f->m, "nvml.selection"));
}

static void selected(struct fix *f, const char *list, const char *want)
{
    struct jm_nvml_session s;
    char got[16] = "";
    f->env.devices = list;
    assert_int_equal(jm_nvml_session_open(&f->env, &s, NULL, &f->err), 0);
    for (size_t i = 0; i < s.n; i++)
        if (s.gpu[i].selected)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%d", s.gpu[i].ordinal);
    if (strcmp(got, want) != 0)
        fail_msg("\"%s\" selects \"%s\", not \"%s\" (%s)", list ? list : "(all)", got, want, s.note);
    jm_nvml_session_close(&s);
}

/* CUDA C Programming Guide, CUDA_VISIBLE_DEVICES. */
static void cuda_rules(void **state)
{
    struct fix *f = *state;
    f->fake->count = 4;
    h100(&f->fake->gpu[0], "GPU-8932f937-d72c-4106", 1);
    h100(&f->fake->gpu[1], "GPU-8932ffff-0000-0000", 2);
    h100(&f->fake->gpu[2], "GPU-22222222-0000-0000", 3);
    h100(&f->fake->gpu[3], "GPU-33333333-0000-0000", 4);
    selected(f, NULL, "0123");
    selected(f, "0,2", "02");
    selected(f, "2,1", "12");
    selected(f, "0,2,-1,1", "02"); /* the guide's own example */
    selected(f, "0,9,1", "0");
    selected(f, "GPU-8932f937", "0");
    selected(f, "GPU-8932f", ""); /* begins two */
    selected(f, "3,GPU-8932f,1", "3");
    selected(f, "GPU-22,GPU-33", "23");
    selected(f, "GPU-", "");
    selected(f, "", "");
    selected(f, "1,1", "1");
    selected(f, " 1 , 3 ", "13");
    selected(f, "1x", "");
    selected(f, "0x1", "");
    selected(f, "+1,2", "");
    selected(f, "99999999999999999999", "");
    selected(f, "MIG-", "");
    selected(f, "MIG-1234", "");
    selected(f, "MIG-GPU-33333333-0000-0000/1/2", "3");
    selected(f, "gpu-33", "");
    f->env.devices = "9";
    assert_true(jm_meter_nvml.open(&f->env, &f->tree, &f->m, &f->err) < 0);
    assert_non_null(strstr(f->err.text, "\"9\""));
}

/* nvitop#79, #88, PR 226: drivers 535.43 to 535.98 put 32 bytes where 24 belong. */
static void process_lists(void **state)
{
    struct fix *f = *state;
    bool used[2];
    tree_put(&f->t, "100/stat", "100 (api (server) x) S 1 100 100");
    tree_put(&f->t, "200/stat", "200 (worker) S 100 100 100");
    tree_put(&f->t, "300/stat", "300 (engine) S 200 100 100");
    tree_put(&f->t, "400/stat", "400 (other) S 1 100 100");
    open_it(f);
    for (unsigned stride = 24; stride <= 32; stride += 8) {
        f->fake->stride = stride;
        struct fake_gpu *a = &f->fake->gpu[0], *b = &f->fake->gpu[1];
        a->n_pid = 3;
        a->pid[0] = 400;
        a->pid[1] = 7;
        a->pid[2] = 300; /* a grandchild of the server */
        b->n_pid = 2;
        b->pid[0] = 400;
        b->pid[1] = 7;
        assert_int_equal(jm_meter_nvml.find_process(f->m, (int64_t[]){100}, 1, used, 2), 1);
        assert_true(used[0] && !used[1]);
        assert_int_equal(jm_meter_nvml.find_process(f->m, (int64_t[]){400}, 1, used, 2), 2);
        assert_int_equal(jm_meter_nvml.find_process(f->m, (int64_t[]){999}, 1, used, 2), 0);
    }
}

/* The table of the SC24 study, and nvml.h. */
static void what_power_means(void **state)
{
    (void)state;
    static const struct {
        enum jm_nvml_query q;
        unsigned arch;
        uint32_t id;
        int driver;
        enum jm_gauge_sem sem;
        int window_ms;
    } rows[] = {
        {JM_NVML_Q_USAGE, 9, 0x2330, 590, JM_G_TRAILING_MEAN, 1000},
        {JM_NVML_Q_AVERAGE, 9, 0x2330, 525, JM_G_TRAILING_MEAN, 1000},
        {JM_NVML_Q_INSTANT, 9, 0x2330, 590, JM_G_PARTIAL, 25},
        {JM_NVML_Q_USAGE, 7, 0x2204, 525, JM_G_TRAILING_MEAN, 1000}, /* RTX 3090: 924 ms rise on 525 */
        {JM_NVML_Q_USAGE, 7, 0x2204, 530, JM_G_BLOCK_MEAN, 100},     /* 265 ms on 530.30.02 */
        {JM_NVML_Q_USAGE, 7, 0x2204, 535, JM_G_TRAILING_MEAN, 1000}, /* 912 ms on 535 */
        {JM_NVML_Q_INSTANT, 8, 0x26b9, 595, JM_G_BLOCK_MEAN, 100},
        {JM_NVML_Q_USAGE, 7, 0x20b2, 525, JM_G_PARTIAL, 25}, /* A100 is GA100 */
        {JM_NVML_Q_USAGE, 7, 0x20b2, 530, JM_G_PARTIAL, 25},
        {JM_NVML_Q_USAGE, 7, 0x20b7, 590, JM_G_PARTIAL, 25}, /* A30 too */
        {JM_NVML_Q_USAGE, 6, 0x1e84, 595, JM_G_BLOCK_MEAN, 100},
        {JM_NVML_Q_USAGE, 5, 0x1db1, 535, JM_G_PARTIAL, 10},
        {JM_NVML_Q_USAGE, 4, 0x15f8, 535, JM_G_PARTIAL, 10},
        {JM_NVML_Q_USAGE, 3, 0x17fd, 535, JM_G_TRAILING_MEAN, 0},
        {JM_NVML_Q_USAGE, 10, 0x2901, 580, JM_G_TRAILING_MEAN, 1000},
        {JM_NVML_Q_USAGE, 0, 0, 0, JM_G_TRAILING_MEAN, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jm_nvml_meaning m =
            jm_nvml_meaning(rows[i].q, rows[i].arch, rows[i].id << 16 | 0x10de, rows[i].driver);
        if (m.sem != rows[i].sem || m.window_ns != rows[i].window_ms * JM_NS_PER_MS)
            fail_msg("row %zu: %s, %lld ms", i, jm_gauge_sem_name((int)m.sem),
                     (long long)(m.window_ns / JM_NS_PER_MS));
    }
}

/* A100: no average field; what nvidia-smi prints means the same as the instant field. */
static void usage_where_nothing_else_means_it(void **state)
{
    struct fix *f = *state;
    for (int i = 0; i < 2; i++) {
        f->fake->gpu[i].arch = 7;
        f->fake->gpu[i].device_id = 0x20b210de;
        f->fake->gpu[i].field[1] = (struct fake_field){0};
    }
    f->fake->gpu[1].field[2] = (struct fake_field){0};
    open_it(f);
    assert_null(chan(f, 0, "power.usage"));
    assert_int_equal(chan(f, 1, "power.usage")->sem, JM_G_PARTIAL);
    assert_int_equal(look(f, JM_READ_EDGE, 1, "power.usage").value, 631950);
}

/* Slow channels are read when they are due, and then their stamp is that of the read. */
static void slow_channels(void **state)
{
    struct fix *f = *state;
    struct jm_reading r[64];
    open_it(f);
    int limit = jm_meter_channel(f->m, f->fake->gpu[0].uuid, "power.limit"), seen = 0;
    assert_true(limit >= 0);
    assert_non_null(strstr(f->m->chan[limit].name, "limit")); /* by which nobody integrates it */
    assert_int_equal(f->m->chan[limit].flags, 0);
    for (int tick = 0; tick < 100; tick++) {
        f->vc.own = 1000000000 + tick * 100000000LL;
        size_t n = jm_meter_nvml.read(f->m, &f->env.clock, JM_READ_ALL, r);
        for (size_t i = 0; i < n; i++) {
            assert_true(i == 0 || r[i].channel > r[i - 1].channel);
            if ((int)r[i].channel == limit) {
                seen++;
                assert_true(r[i].t0 == f->vc.own && r[i].value == 700000);
            }
        }
    }
    assert_in_range(seen, 9, 12); /* once a second of 10 s */
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(energy_and_power),
        T(few_calls),
        T(entry_with_its_own_error),
        T(impossible_power),
        T(gh200_is_a_module),
        T(both_scopes),
        T(order_is_the_bus),
        T(handle_that_fails),
        T(usable_is_what_can_be_read),
        T(one_card_without_power),
        T(does_not_start),
        T(missing_symbols),
        T(lost_in_the_middle),
        T(field_83_must_agree),
        T(mig_is_its_parent_once),
        T(cuda_rules),
        T(process_lists),
        T(what_power_means),
        T(usage_where_nothing_else_means_it),
        T(slow_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
