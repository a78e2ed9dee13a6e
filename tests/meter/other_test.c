/* SPDX-License-Identifier: Apache-2.0 */
/* The registry, the meters without hardware, the observation of periods. */
#include "fix.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "meter/sysfs.h"
#include "run/run.h"

/* ---- registry */

static void every_meter_says_why_not(void **state)
{
    struct fix *f = *state;
    for (size_t i = 0; jm_meter_registry[i]; i++) {
        const struct jm_meter_ops *ops = jm_meter_registry[i];
        assert_int_equal(ops->version, JM_METER_OPS_VERSION);
        assert_ptr_equal(jm_meter_find(ops->name), ops);
        assert_true(ops->summary[0] && ops->read && ops->close);
        assert_true((ops->probe && ops->open) || ops->open_conf); /* of its own, or only when configured */
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(jm_meter_registry[k]->name, ops->name);
        if (ops == &jm_meter_null)
            continue;
        struct jm_probe p = {0};
        assert_int_equal(jm_meter_probe(ops, &f->env, &p), 0);
        assert_true(p.state == JM_PROBE_ABSENT || p.state == JM_PROBE_OFF);
        assert_true(strlen(p.reason) > 10);
        struct jm_err err = {0};
        struct jm_meter *m = NULL;
        assert_true(jm_meter_open(ops, &f->env, &f->tree, &m, &err) < 0);
        assert_true(err.code < 0 && strlen(err.text) > 10);
        assert_null(m);
        ops->close(NULL);
    }
    assert_null(jm_meter_find("nonsense"));
    assert_null(jm_meter_find(jm_meter_skeleton.name)); /* a template, not offered */
}

static void null_costs_one_reading(void **state)
{
    struct fix *f = *state;
    struct jm_reading r;
    fix_open(f, &jm_meter_null);
    f->vc.own = 42;
    assert_int_equal(f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, &r), 1);
    assert_true(r.t0 == 42 && r.status == JM_S_OK);
    assert_int_equal(f->m->ops->read(f->m, &f->env.clock, JM_READ_EDGE, &r), 0);
}

static void probe_skeleton(void *arg)
{
    struct fix *f = arg;
    struct jm_probe p = fix_probe(f, &jm_meter_skeleton);
    assert_int_equal(p.state, JM_PROBE_DENIED);
    assert_non_null(strstr(p.mend, "chmod a+r"));
    assert_int_equal(jm_meter_skeleton.open(&f->env, &f->tree, &f->m, &f->err), JM_EDENIED);
}

static void skeleton_does_what_it_teaches(void **state)
{
    struct fix *f = *state;
    struct jm_reading r[1];
    assert_int_equal(fix_probe(f, &jm_meter_skeleton).state, JM_PROBE_ABSENT);
    tree_put(&f->t, "skeleton/power_mw", "12500");
    tree_mode(&f->t, "skeleton/power_mw", 0400);
    as_nobody(probe_skeleton, f);
    tree_mode(&f->t, "skeleton/power_mw", 0644);
    fix_open(f, &jm_meter_skeleton);
    assert_true(jm_channel_value(&f->m->chan[0], fix_read(f, "skeleton").value) == 12.5);
    tree_put(&f->t, "skeleton/power_mw", "2000000");
    assert_int_equal(fix_read(f, "skeleton").status, JM_S_IMPLAUSIBLE);
    tree_put(&f->t, "skeleton/power_mw", "broken");
    assert_int_equal(fix_read(f, "skeleton").status, JM_S_IMPLAUSIBLE);
    assert_int_equal(f->m->ops->read(f->m, &f->env.clock, JM_READ_COUNTER, r), 0);
    assert_int_equal(f->m->ops->read(f->m, &f->env.clock, JM_READ_EDGE, r), 1);
}

/* ---- small files */

static void numbers(void **state)
{
    static const struct {
        const char *text;
        int rc;
        int64_t v;
    } rows[] = {{"0", 0, 0},     {"42\n", 0, 42},  {" 7 \n", 0, 7},
                {"-3\n", 0, -3}, {"1\n2\n", 0, 1}, {"9223372036854775807\n", 0, INT64_MAX},
                {"", -1, 0},     {"\n", -1, 0},    {"9223372036854775808", -1, 0},
                {"0x10", -1, 0}, {"1.5", -1, 0},   {"N/A", -1, 0},
                {"1e3", -1, 0},  {"12 W", -1, 0},  {"--1", -1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t v = 0;
        int rc = jm_sysfs_number((struct jm_span){rows[i].text, strlen(rows[i].text)}, &v);
        if ((rc == 0) != (rows[i].rc == 0) || (rc == 0 && v != rows[i].v))
            fail_msg("\"%s\": %d, %lld", rows[i].text, rc, (long long)v);
    }
}

static void collect(void *self, int v)
{
    char *out = self;
    snprintf(out + strlen(out), 32, "%d ", v);
}

static void cpu_lists(void **state)
{
    char out[256] = "";
    (void)state;
    assert_true(jm_sysfs_list_each(JM_SPAN("0-3,8,10-11\n"), collect, out));
    assert_string_equal(out, "0 1 2 3 8 10 11 ");
    assert_true(jm_sysfs_list_each(JM_SPAN("\n"), collect, out));
    assert_false(jm_sysfs_list_each(JM_SPAN("3-1"), collect, out));
    assert_false(jm_sysfs_list_each(JM_SPAN("a"), collect, out));
    assert_false(jm_sysfs_list_each(JM_SPAN("-1"), collect, out));
}

static void labels_are_clean(void **state)
{
    struct fix *f = *state;
    char path[512], text[32];
    tree_put(&f->t, "label", "  VDD\x01\x1b[31m_IN\t \nsecond line");
    snprintf(path, sizeof path, "%s/label", f->t.root);
    assert_int_equal(jm_sysfs_text(path, text, sizeof text), 10);
    assert_string_equal(text, "VDD[31m_IN");
    char small[5];
    assert_int_equal(jm_sysfs_text(path, small, sizeof small), 4);
    assert_string_equal(small, "VDD[");
}

static void names_sort_as_numbers(void **state)
{
    struct fix *f = *state;
    char path[512];
    struct jm_names n;
    tree_put(&f->t, "d/hwmon10/x", "%s", "");
    tree_put(&f->t, "d/hwmon9/x", "%s", "");
    tree_put(&f->t, "d/other/x", "%s", "");
    snprintf(path, sizeof path, "%s/d", f->t.root);
    assert_int_equal(jm_sysfs_dir(path, "hwmon", &n), 0);
    assert_int_equal(n.n, 2);
    assert_string_equal(n.v[0], "hwmon9");
    jm_names_release(&n);
    assert_true(jm_sysfs_dir("/nonexistent", "", &n) < 0);
}

/* ---- estimate */

static void put_stat(struct fix *f, long user, long idle, long iowait)
{
    tree_put(&f->t, "stat",
             "cpu  %ld 10 20 %ld %ld 5 5 99 0 0\ncpu0 1 1 1 1 1 1 1 0 0 0\ncpu1 1 1 1 1 1 1 1 0 0 0\n"
             "cpu2 1 1 1 1 1 1 1 0 0 0\ncpu3 1 1 1 1 1 1 1 0 0 0\nintr 5",
             user, idle, iowait);
}

/* 4 processors, 400 W: each busy tick of 10 ms is 100 W x 10 ms = 1 J. */
static void estimate_is_tdp_times_load(void **state)
{
    struct fix *f = *state;
    if (sysconf(_SC_CLK_TCK) != 100)
        skip();
    put_stat(f, 100, 1000, 50);
    assert_int_equal(fix_probe(f, &jm_meter_estimate).state, JM_PROBE_OFF);
    f->env.tdp_w = 400;
    assert_int_equal(fix_probe(f, &jm_meter_estimate).state, JM_PROBE_OK);
    fix_open(f, &jm_meter_estimate);
    const struct jm_channel *c = &f->m->chan[0];
    assert_int_equal(c->provenance, JM_P_ESTIMATED);
    assert_true(c->flags & JM_CHF_ON_REQUEST);
    assert_false(c->flags & JM_CHF_MIRROR);
    assert_true(isnan(c->gain_tol));
    double before = jm_channel_value(c, fix_read(f, "cpu").value);
    put_stat(f, 175, 1000, 40); /* iowait may fall (proc(5)); it is no work */
    double after = jm_channel_value(c, fix_read(f, "cpu").value);
    assert_true(fabs(after - before - 75.0) < 1e-5);
    put_stat(f, -5, 0, 0);
    assert_int_equal(fix_read(f, "cpu").status, JM_S_IMPLAUSIBLE);
}

/* It never takes a measurement's place. codecarbon#1268: one owner a joule. */
static void estimate_beside_a_measurement(void **state)
{
    struct fix *f = *state;
    put_stat(f, 100, 1000, 50);
    f->env.tdp_w = 400;
    int node = jm_domain_host(&f->tree, "h", &f->err);
    jm_domain_add(&f->tree, node, JM_D_PACKAGE, "package-0", NULL, &f->err);
    fix_open(f, &jm_meter_estimate);
    assert_true(f->m->chan[0].flags & JM_CHF_MIRROR);
}

/* ---- replay */

static void make_run(const char *path)
{
    struct jm_err err = {0};
    struct jm_run_writer *w;
    struct jm_run_create c = {
        .label = "x", .kind = "recorded", .source = "test", .seed = 1, .overwrite = true};
    struct jm_domain_tree tree;
    jm_domain_tree_init(&tree);
    if (jm_run_create(path, &c, &w, &err))
        fail_msg("%s", err.text);
    int node = jm_domain_host(&tree, "there", &err);
    int gpu = jm_domain_add(&tree, node, JM_D_GPU, "GPU-1", "GPU 0", &err);
    struct jm_run_meter rm = {.name = "nvml", .state = "ok", .period_ns = JM_NS_PER_S};
    struct jm_channel ch = {.name = "energy",
                            .device = "GPU-1",
                            .kind = JM_CH_COUNTER,
                            .unit = JM_U_J,
                            .scale10 = -3,
                            .domain = gpu,
                            .gain_tol = NAN,
                            .offset_tol = NAN,
                            .flags = JM_CHF_EDGE};
    int id;
    assert_true(jm_run_put_meter(w, &rm, &err) >= 0);
    assert_int_equal(jm_run_put_domains(w, &tree, &err), 0);
    assert_int_equal(jm_run_put_channel(w, &ch, &id, &err), 0);
    for (int i = 0; i < 5; i++) {
        int64_t t = (100 + i) * JM_NS_PER_S;
        struct jm_reading r = {.t0 = t,
                               .t1 = t + 1000,
                               .value = 1000 + 250 * i,
                               .channel = (uint32_t)id,
                               .status = i == 3 ? JM_S_GAP : JM_S_OK};
        assert_int_equal(jm_run_put_readings(w, &r, 1, &err), 0);
    }
    if (jm_run_seal(w, &err))
        fail_msg("%s", err.text);
    jm_domain_tree_release(&tree);
}

static void replay_plays(void **state)
{
    struct fix *f = *state;
    char path[512];
    snprintf(path, sizeof path, "%s/stored.jmr", f->t.root);
    make_run(path);
    f->env.replay_path = path;
    struct jm_probe p = fix_probe(f, &jm_meter_replay);
    assert_int_equal(p.state, JM_PROBE_OK);
    assert_non_null(strstr(p.reason, "SIMULATED"));
    fix_open(f, &jm_meter_replay);
    assert_true(f->m->simulated);
    assert_int_equal(f->m->chan[0].provenance, JM_P_SIMULATED);
    assert_string_equal(f->tree.d[f->m->chan[0].domain].key, "GPU-1");
    assert_int_equal(f->m->period_ns, JM_NS_PER_S);
    static const struct {
        int64_t at_ms;
        enum jm_status status;
        int64_t value;
    } rows[] = {{0, JM_S_OK, 1000},  {999, JM_S_OK, 1000},  {1000, JM_S_OK, 1250}, {2500, JM_S_OK, 1500},
                {3100, JM_S_GAP, 0}, {4000, JM_S_OK, 2000}, {4100, JM_S_LOST, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f->vc.own = 7777 * JM_NS_PER_S + rows[i].at_ms * JM_NS_PER_MS;
        struct jm_reading r = fix_read(f, "GPU-1");
        assert_int_equal(r.status, rows[i].status);
        assert_true(r.t0 == f->vc.own);
        if (r.status == JM_S_OK)
            assert_int_equal(r.value, rows[i].value);
    }
    assert_false(f->m->alive);
}

static void replay_of_nothing(void **state)
{
    struct fix *f = *state;
    char path[512];
    tree_put(&f->t, "no.jmr", "this is no run");
    snprintf(path, sizeof path, "%s/no.jmr", f->t.root);
    f->env.replay_path = path;
    assert_int_equal(fix_probe(f, &jm_meter_replay).state, JM_PROBE_ABSENT);
    assert_true(jm_meter_replay.open(&f->env, &f->tree, &f->m, &f->err) < 0);
}

/* ---- observation */

struct toy {
    int64_t period[3], phase; /* counter, gauge, a gauge that rests */
    unsigned reads;
};

static size_t toy_read(struct jm_meter *m, const struct jm_clock *clock, enum jm_read_set set,
                       struct jm_reading *out)
{
    struct toy *t = m->priv;
    (void)set;
    t->reads++;
    for (uint32_t i = 0; i < 3; i++) {
        int64_t now = jm_clock_mono(clock), k = (now + t->phase) / t->period[i];
        /* the gauge shows the same value at every fourth refresh as at the one before */
        int64_t v = i == 0 ? k * 70 : i == 1 ? (k % 4 ? k : k - 1) : 5;
        out[i] = (struct jm_reading){.t0 = now, .t1 = now, .channel = i, .value = v, .status = JM_S_OK};
    }
    return 3;
}

static void toy_close(struct jm_meter *m)
{
    jm_meter_dispose(m);
}

static void periods_by_observation(void **state)
{
    struct fix *f = *state;
    static const struct jm_meter_ops ops = {
        .version = JM_METER_OPS_VERSION, .name = "toy", .read = toy_read, .close = toy_close};
    static const int64_t periods[][3] = {{100, 100, 100}, {10, 100, 100}, {1, 20, 100}, {250, 250, 100}};
    for (size_t k = 0; k < sizeof periods / sizeof *periods; k++) {
        struct toy toy = {.phase = 12345678};
        size_t moved;
        struct jm_meter *m = f->m = jm_meter_alloc(&ops, &f->err);
        m->priv = &toy;
        for (int i = 0; i < 3; i++) {
            struct jm_channel *c = jm_meter_add_channel(m, &f->err);
            toy.period[i] = periods[k][i] * JM_NS_PER_MS;
            c->kind = i ? JM_CH_GAUGE : JM_CH_COUNTER;
            c->unit = i ? JM_U_W : JM_U_J;
            c->flags = JM_CHF_EDGE;
            c->period_ns = 77;
        }
        assert_int_equal(jm_meter_measure_periods(m, &f->env.clock, 3 * JM_NS_PER_S, &moved, &f->err), 0);
        assert_int_equal(moved, 2);
        for (int i = 0; i < 2; i++) {
            double rel = (double)m->chan[i].period_ns / (double)toy.period[i];
            assert_true(m->chan[i].period_measured);
            if (!(rel > 0.9 && rel < 1.1))
                fail_msg("period %lld taken for %lld", (long long)toy.period[i],
                         (long long)m->chan[i].period_ns);
        }
        assert_false(m->chan[2].period_measured);
        assert_int_equal(m->chan[2].period_ns, 77); /* as documented: nothing was seen */
        toy_close(m);
        f->m = NULL;
    }
}

static void observation_ends(void **state)
{
    struct fix *f = *state;
    size_t moved = 9;
    fix_open(f, &jm_meter_null);
    assert_int_equal(jm_meter_measure_periods(f->m, &f->env.clock, JM_NS_PER_S, &moved, &f->err), 0);
    assert_int_equal(moved, 0);
}

/* ---- reading never allocates */

static size_t in_use(void)
{
    struct mallinfo2 i = mallinfo2();
    return i.uordblks + i.hblkhd;
}

static void reading_never_allocates(void **state)
{
    struct fix *f = *state;
    struct jm_reading r[16];
    tree_put(&f->t, "class/powercap/intel-rapl:0/name", "package-0");
    tree_put(&f->t, "class/powercap/intel-rapl:0/energy_uj", "123");
    fix_open(f, &jm_meter_rapl);
    f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    size_t before = in_use();
    for (int i = 0; i < 1000; i++)
        f->m->ops->read(f->m, &f->env.clock, JM_READ_ALL, r);
    assert_int_equal(in_use(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_meter_says_why_not),
        T(null_costs_one_reading),
        T(skeleton_does_what_it_teaches),
        T(numbers),
        T(cpu_lists),
        T(labels_are_clean),
        T(names_sort_as_numbers),
        T(estimate_is_tdp_times_load),
        T(estimate_beside_a_measurement),
        T(replay_plays),
        T(replay_of_nothing),
        T(periods_by_observation),
        T(observation_ends),
        T(reading_never_allocates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
