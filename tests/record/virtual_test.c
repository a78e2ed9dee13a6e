/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder in virtual time: everything in one thread, every number exact. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/fake.h"
#include "record/record.h"

static struct jm_err err;
static char path[64];

static struct jm_recorder *begin(struct jm_vclock *vc, struct jm_record_cfg *cfg)
{
    struct jm_recorder *r = NULL;
    snprintf(path, sizeof path, "/tmp/jm-virtual-%d.jmr", (int)getpid());
    cfg->path = path;
    cfg->create = (struct jm_run_create){.label = "virtual", .overwrite = true, .seed = 1};
    cfg->clock = jm_clock_virtual(vc, NULL);
    cfg->registry = fake_registry;
    vc->real_offset = INT64_C(1750000000000000000);
    vc->boot_offset = 500;
    err = (struct jm_err){0};
    if (jm_recorder_new(cfg, &r, &err))
        print_message("%s\n", err.text);
    assert_non_null(r);
    return r;
}

static struct jm_run *end(struct jm_recorder *r)
{
    struct jm_run *run = NULL;
    int rc = jm_recorder_finish(r, &err);
    if (rc)
        print_message("%s\n", err.text);
    assert_int_equal(rc, 0);
    assert_int_equal(jm_run_open(path, &run, &err), 0);
    return run;
}

static void reset(void)
{
    memset(fake_slot, 0, sizeof fake_slot);
    fake_slot[0].refresh_ns = fake_slot[1].refresh_ns = 100 * JM_NS_PER_MS;
    fake_slot[0].counters = 3;
    fake_slot[1].counters = 1;
    fake_slot[1].state = JM_PROBE_ABSENT;
}

/* Energy at t from the refreshes on both sides of it, by the readings alone: the value jumps between two
 * reads. */
static double energy_at(const struct jm_channel *c, const struct jm_readings *a, int64_t t, int64_t *bracket)
{
    int64_t tb = 0, ta = 0, width = 0;
    double jb = 0, ja = 0;
    for (size_t i = 1; i < a->n; i++) {
        if (a->v[i].value == a->v[i - 1].value)
            continue;
        int64_t lo = a->v[i - 1].t0, hi = a->v[i].t1, mid = lo + (hi - lo) / 2;
        if (mid <= t) {
            tb = mid;
            jb = jm_channel_value(c, a->v[i].value);
            width = hi - lo;
        } else {
            ta = mid;
            ja = jm_channel_value(c, a->v[i].value);
            width = hi - lo > width ? hi - lo : width;
            break;
        }
    }
    assert_true(tb && ta);
    *bracket = width;
    return jb + (ja - jb) * (double)(t - tb) / (double)(ta - tb);
}

/* 700 W for 4 s, 300 W for 11 s. */
static double cycle(int counter, int64_t t)
{
    (void)counter;
    return t % (15 * JM_NS_PER_S) < 4 * JM_NS_PER_S ? 700 : 300;
}

static void edges_bracket_every_counter(void **state)
{
    (void)state;
    reset();
    fake_slot[0].watts = cycle;
    struct jm_vclock vc = {.own = 3 * JM_NS_PER_S + 12345678};
    struct jm_record_cfg cfg = {0};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_channels(r), 4);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    int64_t t0 = 0, t1 = 0;
    int id = jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err);
    assert_int_equal(id, 0);
    assert_int_equal(jm_recorder_run_until(r, t0 + 5 * JM_NS_PER_S, &err), 0);
    assert_int_equal(jm_recorder_window_end(r, id, &t1, &err), 0);
    assert_true(t1 - t0 > 5 * JM_NS_PER_S && t1 - t0 < 6 * JM_NS_PER_S);
    assert_int_equal(jm_recorder_run_until(r, t1 + JM_NS_PER_S, &err), 0);
    struct jm_run *run = end(r);
    size_t n;
    const struct jm_channel *c = jm_run_channels(run, &n);
    assert_non_null(strstr(jm_run_env(run, "selftest.fake0.result"), "passed: 3 of 3 counters moved"));
    for (int i = 0; i < 3; i++) {
        struct jm_readings a = {0};
        int64_t b0, b1;
        assert_int_equal(jm_run_readings(run, i, INT64_MIN, INT64_MAX, &a, &err), 0);
        double e = energy_at(&c[i], &a, t1, &b1) - energy_at(&c[i], &a, t0, &b0),
               truth = fake_truth(&fake_slot[0], i, t0, t1);
        assert_true(b0 <= 2 * JM_NS_PER_MS && b1 <= 2 * JM_NS_PER_MS);
        /* half a bracket at each edge at 400 W of change, and 1 mJ: 0.05 % of 2 kJ is 1 J */
        assert_true(fabs(e - truth) <= 0.0005 * truth);
        assert_true(c[i].period_measured);
        assert_true(llabs(c[i].period_ns - 100 * JM_NS_PER_MS) <= JM_NS_PER_MS);
        size_t fast_inside = 0;
        for (size_t k = 0; k < a.n; k++) { /* bursts only at the edges */
            bool inside = a.v[k].t0 > t0 + 600 * JM_NS_PER_MS && a.v[k].t0 < t1 - 600 * JM_NS_PER_MS;
            fast_inside += inside && a.v[k].flags;
        }
        assert_int_equal(fast_inside, 0);
        jm_readings_release(&a);
    }
    jm_run_close(run);
}

static void windows_that_follow_share_their_edge(void **state)
{
    (void)state;
    reset();
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.no_selftest = true};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    int64_t a0, a1, b0, b1, c0;
    assert_int_equal(jm_recorder_window_begin(r, JM_R_WARMUP, "w", 0, &a0, &err), 0);
    jm_recorder_run_until(r, a0 + 2 * JM_NS_PER_S, &err);
    assert_int_equal(jm_recorder_window_end(r, 0, &a1, &err), 0);
    assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &b0, &err), 1);
    assert_int_equal(a1, b0);
    jm_recorder_run_until(r, vc.own + 2 * JM_NS_PER_S, &err);
    assert_int_equal(jm_recorder_window_end(r, 1, &b1, &err), 0);
    jm_recorder_run_until(r, vc.own + JM_NS_PER_S, &err);
    assert_int_equal(jm_recorder_window_begin(r, JM_R_IDLE, NULL, 1, &c0, &err), 2);
    assert_true(c0 > b1 + JM_NS_PER_S / 2);
    assert_int_equal(jm_recorder_window_end(r, 7, &b1, &err), JM_EINVAL);
    struct jm_run *run = end(r);
    size_t n;
    const struct jm_window *w = jm_run_windows(run, &n);
    assert_int_equal(n, 3);
    assert_true(w[0].t1 == w[1].t0 && w[2].t1 == 0);
    assert_string_equal(jm_run_env(run, "selftest.fake0.result"), "not run");
    jm_run_close(run);
}

static void fast_polling_that_distorts_is_given_up(void **state)
{
    (void)state;
    reset();
    fake_slot[0].distort = 0.2; /* 1 kHz x 0.2 J: 200 W more when polled fast */
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {0};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    int64_t t0;
    int reads = fake_slot[0].fast_reads;
    assert_true(reads > 100);
    assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err), 0);
    assert_int_equal(fake_slot[0].fast_reads, reads); /* plain reads only */
    struct jm_run *run = end(r);
    assert_non_null(strstr(jm_run_env(run, "selftest.fake0.result"), "failed: polled fast, 3 of 3 counters"));
    jm_run_close(run);
}

static void one_test_a_boot_is_enough(void **state)
{
    (void)state;
    char cache[64];
    snprintf(cache, sizeof cache, "/tmp/jm-cache-%d/x/selftest", (int)getpid());
    for (int i = 0; i < 4; i++) {
        reset();
        fake_slot[0].distort = i / 2 ? 0.2 : 0; /* another verdict for other devices: a counter less */
        fake_slot[0].counters = 3 - i / 2;
        struct jm_vclock vc = {.own = JM_NS_PER_S};
        struct jm_record_cfg cfg = {.selftest_cache = cache};
        struct jm_recorder *r = begin(&vc, &cfg);
        int64_t before = vc.own, t0;
        assert_int_equal(jm_recorder_start(r, &err), 0);
        if (i == 1)
            assert_int_equal(vc.own, before);
        else
            assert_true(vc.own - before > JM_NS_PER_S / 2);
        int reads = fake_slot[0].fast_reads;
        assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err), 0);
        assert_true(i / 2 ? fake_slot[0].fast_reads == reads : fake_slot[0].fast_reads > reads);
        struct jm_run *run = end(r);
        const char *v = jm_run_env(run, "selftest.fake0.result");
        assert_true((strncmp(v, "earlier on this boot: ", 22) == 0) ==
                    (i == 1)); /* a failure is tested again */
        assert_non_null(strstr(v, i / 2 ? "failed: " : "passed: "));
        size_t n;
        assert_true(jm_run_channels(run, &n)->period_measured);
        jm_run_close(run);
    }
    /* what is damaged is tested again */
    FILE *f = fopen(cache, "w");
    assert_non_null(f);
    fputs("\n\n  x 1 \n", f);
    fclose(f);
    reset();
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.selftest_cache = cache};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    assert_true(fake_slot[0].fast_reads > 100);
    jm_run_close(end(r));
    unlink(cache);
    for (int i = 0; i < 2; i++) {
        *strrchr(cache, '/') = '\0';
        rmdir(cache);
    }
}

static double steps(int counter, int64_t t)
{
    (void)counter;
    return (uint64_t)(t / (80 * JM_NS_PER_MS)) * 2654435761u % 1000 < 500 ? 150 : 700;
}

static void unsteady_load_is_no_distortion(void **state)
{
    (void)state;
    int failed = 0;
    for (int i = 0; i < 40; i++) {
        reset();
        fake_slot[0].watts = steps;
        struct jm_vclock vc = {.own = JM_NS_PER_S + i * INT64_C(777777777)};
        struct jm_record_cfg cfg = {0};
        struct jm_recorder *r = begin(&vc, &cfg);
        assert_int_equal(jm_recorder_start(r, &err), 0);
        struct jm_run *run = end(r);
        failed += strncmp(jm_run_env(run, "selftest.fake0.result"), "failed", 6) == 0;
        jm_run_close(run);
    }
    assert_true(failed <= 1); /* two rounds in the same direction by chance: about 1 in 100 */
}

static void a_counter_that_stands_still(void **state)
{
    (void)state;
    reset();
    fake_slot[0].refresh_ns = 1000 * JM_NS_PER_S;
    struct jm_vclock vc = {.own = 2000 * JM_NS_PER_S};
    struct jm_record_cfg cfg = {0};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    int64_t t0, before = vc.own;
    assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err), 0);
    assert_true(vc.own - before <= 1100 * JM_NS_PER_MS); /* twice the longest side, no more */
    struct jm_run *run = end(r);
    assert_string_equal(jm_run_env(run, "selftest.fake0.result"), "no counter moved");
    jm_run_close(run);
}

static void a_meter_that_dies_keeps_its_row(void **state)
{
    (void)state;
    reset();
    fake_slot[1].state = JM_PROBE_OK;
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.no_selftest = true};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    int64_t t0, t1;
    assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err), 0);
    fake_slot[1].dies_at = t0 + 3 * JM_NS_PER_S;
    jm_recorder_run_until(r, t0 + 6 * JM_NS_PER_S, &err);
    int64_t before = vc.own;
    assert_int_equal(jm_recorder_window_end(r, 0, &t1, &err), 0);
    assert_true(vc.own - before < 700 * JM_NS_PER_MS); /* the dead one is not waited for */
    struct jm_record_live live;
    jm_recorder_live(r, &live);
    assert_int_equal(live.meters, 2);
    assert_int_equal(live.meters_ok, 1);
    assert_true(live.watts > 1100 && live.watts < 1300); /* 300 + 400 + 500 W */
    struct jm_run *run = end(r);
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    assert_int_equal(n, 2);
    assert_string_equal(m[0].state, "ok");
    assert_string_equal(m[1].state, "lost");
    struct jm_readings a = {0};
    assert_int_equal(jm_run_readings(run, 4, INT64_MIN, INT64_MAX, &a, &err), 0);
    assert_int_equal(a.v[0].status, JM_S_OK);
    assert_int_equal(a.v[a.n - 1].status, JM_S_LOST);
    jm_readings_release(&a);
    jm_run_close(run);
}

static void no_meter_still_records(void **state)
{
    (void)state;
    reset();
    fake_slot[0].state = JM_PROBE_DENIED;
    fake_slot[1].open_rc = JM_EUNSUPPORTED;
    fake_slot[1].state = JM_PROBE_OK;
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {0};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_channels(r), 0);
    assert_string_equal(
        jm_recorder_why(r),
        "fake0: scripted (to mend it: sudo true)\nfake1: scripted not to open (to mend it: sudo true)");
    assert_int_equal(jm_recorder_start(r, &err), 0);
    struct jm_request q;
    struct jm_token_event ev[2] = {{.t = 5000, .tokens = 1}, {.t = 7000, .tokens = 1}};
    int64_t t0, t1;
    jm_request_init(&q);
    q.id = 1;
    q.end = JM_END_OK;
    assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err), 0);
    assert_int_equal(jm_recorder_request(r, &q, ev, 2), 0);
    assert_int_equal(jm_recorder_text(r, 1, JM_SPAN("a"), JM_SPAN("b")), 0);
    assert_int_equal(jm_recorder_env(r, "plan.x", "y"), 0);
    assert_int_equal(jm_recorder_mark(r, "hello"), 0);
    assert_int_equal(jm_recorder_raw(r, "n", NULL, JM_SPAN("data")), 0);
    assert_int_equal(jm_recorder_scrape(r, "u", 1, 2, JM_SPAN("text")), 0);
    assert_int_equal(jm_recorder_window_end(r, 0, &t1, &err), 0);
    struct jm_record_live live;
    jm_recorder_live(r, &live);
    assert_true(isnan(live.watts) && live.meters_ok == 0 && live.meters == 2 && !live.failed);
    struct jm_run *run = end(r);
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    assert_string_equal(m[0].state, "denied");
    assert_string_equal(m[0].mend, "sudo true");
    assert_string_equal(m[1].state, "unsupported");
    assert_int_equal(jm_run_requests(run, &n)[0].id, 1);
    assert_string_equal(jm_run_env(run, "plan.x"), "y");
    assert_string_equal(jm_run_marks(run, &n)[0].name, "hello");
    jm_run_close(run);
}

static void meters_by_name(void **state)
{
    (void)state;
    reset();
    fake_slot[0].state = JM_PROBE_OFF;
    fake_slot[1].state = JM_PROBE_OK;
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {0};
    struct jm_recorder *r = begin(&vc, &cfg); /* off: only on request, and no row */
    assert_int_equal(jm_recorder_channels(r), 2);
    jm_run_close(end(r));
    cfg.meters = "fake0 , fake1";
    r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_channels(r), 6);
    jm_run_close(end(r));
    cfg.meters = "fake0,nvlm";
    r = NULL;
    assert_int_equal(jm_recorder_new(&cfg, &r, &err), JM_EUSAGE);
    assert_non_null(strstr(err.text, "nvlm"));
    assert_null(r);
}

static void the_serving_gpus(void **state)
{
    (void)state;
    reset();
    fake_slot[0].uses_pid = 42;
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.no_selftest = true};
    struct jm_recorder *r = begin(&vc, &cfg);
    int64_t pids[] = {7, 42};
    assert_int_equal(jm_recorder_find_sut(r, pids, 2, &err), 1);
    struct jm_run *run = end(r);
    assert_string_equal(jm_run_env(run, "sut.gpus"), "FAKE-0-1");
    assert_string_equal(jm_run_env(run, "sut.pids"), "7,42");
    jm_run_close(run);
    r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_find_sut(r, pids, 1, &err), 0);
    run = end(r);
    assert_null(jm_run_env(run, "sut.gpus"));
    assert_non_null(jm_run_env(run, "sut.unknown"));
    jm_run_close(run);
    fake_slot[0].find_rc = JM_EDENIED;
    r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_find_sut(r, pids, 2, &err), JM_EDENIED);
    jm_run_close(end(r));
}

static void kinds_of_idle(void **state)
{
    (void)state;
    reset();
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.no_selftest = true};
    struct jm_recorder *r = begin(&vc, &cfg);
    char why[160];
    assert_int_equal(jm_recorder_start(r, &err), 0);
    assert_int_equal(jm_recorder_idle_kind(r, why, sizeof why), JM_IDLE_DEEP);
    assert_string_equal(why, "no process was seen on a device");
    fake_slot[0].uses_pid = getpid(); /* one of /proc */
    assert_int_equal(jm_recorder_idle_kind(r, why, sizeof why), JM_IDLE_LOADED);
    assert_string_equal(why, "processes hold 1 device");
    fake_slot[0].find_rc = JM_EDENIED;
    assert_int_equal(jm_recorder_idle_kind(r, why, sizeof why), JM_IDLE_UNKNOWN);
    assert_string_equal(jm_idle_kind_name(JM_IDLE_BUSY), "busy");
    jm_run_close(end(r));
}

static void steps_and_suspends_are_seen(void **state)
{
    (void)state;
    reset();
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.no_selftest = true};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    jm_recorder_run_until(r, 3 * JM_NS_PER_S, &err);
    vc.real_offset += 400000; /* 0.4 ms in a second: NTP slews that much */
    jm_recorder_run_until(r, 5 * JM_NS_PER_S, &err);
    vc.real_offset -= 250 * JM_NS_PER_MS;
    jm_recorder_run_until(r, 7 * JM_NS_PER_S, &err);
    vc.boot_offset += 30 * JM_NS_PER_S; /* asleep for 30 s; the wall clock went on */
    vc.real_offset += 30 * JM_NS_PER_S;
    jm_recorder_run_until(r, 9 * JM_NS_PER_S, &err);
    struct jm_run *run = end(r);
    size_t n;
    const struct jm_mark *m = jm_run_marks(run, &n);
    assert_int_equal(n, 2);
    assert_string_equal(m[0].name, "wall clock stepped -0.250000 s");
    assert_string_equal(m[1].name, "suspended +30.000000 s");
    assert_string_equal(jm_run_env(run, "clock.steps"), "1");
    assert_string_equal(jm_run_env(run, "clock.suspended"), "30.000 s");
    jm_run_clock_pairs(run, &n);
    assert_true(n >= 9 && n <= 11);
    jm_run_close(run);
}

static void late_reads_are_counted(void **state)
{
    (void)state;
    reset();
    fake_slot[0].read_ns = 350 * JM_NS_PER_MS; /* deadline 300 ms, period 100 ms */
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.no_selftest = true};
    struct jm_recorder *r = begin(&vc, &cfg);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    jm_recorder_run_until(r, 11 * JM_NS_PER_S, &err);
    struct jm_record_live live;
    jm_recorder_live(r, &live);
    assert_true(live.late > 60 && live.late < 130); /* 25 slow reads and the 3 slots that each one swallows */
    struct jm_run *run = end(r);
    assert_non_null(jm_run_env(run, "record.late.fake0"));
    assert_non_null(jm_run_env(run, "record.slowest.fake0"));
    jm_run_close(run);
}

static void the_machine_is_described(void **state)
{
    (void)state;
    reset();
    struct jm_vclock vc = {.own = JM_NS_PER_S};
    struct jm_record_cfg cfg = {.env = {.host = "metered"}};
    struct jm_run *run = end(begin(&vc, &cfg));
    assert_string_equal(jm_run_env(run, "host.name"), "metered");
    assert_string_equal(jm_run_env(run, "joulemark.version"), JM_VERSION);
    assert_string_equal(jm_run_env(run, "fake.driver"), "1.0");
    assert_string_equal(jm_run_env(run, "end.fake.driver"), "1.0");
    assert_string_equal(jm_run_env(run, "record.period"), "fake0 100 ms");
    static const char *const keys[] = {"host.kernel", "host.cpus", "host.memory", "host.virtualization",
                                       "host.machine"};
    for (size_t i = 0; i < 5; i++)
        assert_non_null(jm_run_env(run, keys[i]));
    jm_run_close(run);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_bracket_every_counter),
        cmocka_unit_test(windows_that_follow_share_their_edge),
        cmocka_unit_test(fast_polling_that_distorts_is_given_up),
        cmocka_unit_test(one_test_a_boot_is_enough),
        cmocka_unit_test(unsteady_load_is_no_distortion),
        cmocka_unit_test(a_counter_that_stands_still),
        cmocka_unit_test(a_meter_that_dies_keeps_its_row),
        cmocka_unit_test(no_meter_still_records),
        cmocka_unit_test(meters_by_name),
        cmocka_unit_test(the_serving_gpus),
        cmocka_unit_test(kinds_of_idle),
        cmocka_unit_test(steps_and_suspends_are_seen),
        cmocka_unit_test(late_reads_are_counted),
        cmocka_unit_test(the_machine_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
