/* SPDX-License-Identifier: Apache-2.0 */
/* The truth against sums made by hand or by another way. */
#include "client.h"
#include "simgpu_conf.h"
#include "simgpu_power.h"
#include "simgpu_text.h"
#include "simgpu_wave.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static double energy(struct sim *m, int gpu, int64_t a, int64_t b)
{
    return simgpu_true_energy_j(m->s, gpu, m->t0 + a, m->t0 + b);
}

static void near(double a, double b, double rel)
{
    if (!(fabs(a - b) <= rel * fmax(fabs(b), 1e-12)))
        fail_msg("%.17g is not %.17g", a, b);
}

/* 4 s at 700 W and 11 s at 300 W: 2800 + 3300 = 6100 J in 15 s, 406.67 W. */
static void cycle_by_hand(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "waveform", "cycle:700W@4s,300W@11s", NULL);
    near(energy(&m, 0, 0, 15 * S), 6100, 0);
    near(energy(&m, 0, 0, 15 * S) / 15, 406.666666666666667, 1e-15);
    near(energy(&m, 0, 0, 4 * S), 2800, 0);
    near(energy(&m, 0, 3 * S, 5 * S), 1000, 0);
    near(energy(&m, 0, 4 * S, 15 * S), 3300, 0);
    near(energy(&m, 0, 14 * S + 500 * MS, 15 * S + 250 * MS), 150 + 175, 0);
    near(energy(&m, 0, 0, (int64_t)15 * 1000000 * S), 6.1e9, 0); /* half a year */
    near(energy(&m, 0, 7 * S, 7 * S), 0, 0);
    for (int i = 0; i < 1000; i++) {
        int64_t t = (int64_t)(simgpu_hash(1, 2, (uint64_t)i) % (uint64_t)(100 * S));
        near(energy(&m, 0, t, t + 15 * S), 6100, 1e-15);
    }
    near(simgpu_true_power_w(m.s, 0, m.t0 + 4 * S - 1), 700, 0);
    near(simgpu_true_power_w(m.s, 0, m.t0 + 4 * S), 300, 0);
    near(simgpu_true_power_w(m.s, 0, m.t0 - 1), 300, 0); /* the waveform has always been running */
    near(energy(&m, 0, -15 * S, 0), 6100, 0);
    assert_true(isnan(energy(&m, 1, 0, S)));
    assert_true(isnan(energy(&m, 0, S, 0)));
    sim_stop(&m);
}

/* Every generator: the integral over random windows against adding up the pieces one by one. */
static void integral_against_sum(void **state)
{
    (void)state;
    static const char *const waves[] = {"telegraph:length=5s", "burst:length=5s", "ou:length=5s,step=7ms",
                                        "ramp:up=2s,step=30ms", "cycle:1uW@1ns,99999W@3ns,5W@1us"};
    for (size_t w = 0; w < sizeof waves / sizeof *waves; w++) {
        struct sim m;
        sim_start(&m, "gpus", "1", "waveform", waves[w], "offset", "random", NULL);
        const struct simgpu_gpu *g = &m.s->g[0];
        const struct simgpu_seg *seg = simgpu_segs(m.s, g);
        for (int i = 0; i < 300; i++) {
            uint64_t u = simgpu_hash(3, w, (uint64_t)i), span = 3 * (uint64_t)g->cycle_ns;
            int64_t a = (int64_t)(u % span), b = a + (int64_t)((u >> 20) % span);
            simgpu_fj want = 0, e0, e1;
            int64_t at = a;
            while (at < b) {
                int64_t r = (at + g->offset_ns) % g->cycle_ns;
                uint32_t k = 0;
                while (seg[k].end_ns <= r)
                    k++;
                int64_t d = seg[k].end_ns - r < b - at ? seg[k].end_ns - r : b - at;
                want += (simgpu_fj)seg[k].uw * d;
                at += d;
            }
            assert_int_equal(simgpu_energy(m.s, 0, m.t0 + a, &e0), 0);
            assert_int_equal(simgpu_energy(m.s, 0, m.t0 + b, &e1), 0);
            assert_true(e1 - e0 == want);
        }
        sim_stop(&m);
    }
}

static void generators_keep_their_word(void **state)
{
    (void)state;
    struct simgpu_wave w;
    char why[256];
    assert_int_equal(simgpu_wave_make(&w, "burst:length=20s", 1, 0, why, sizeof why), 0);
    int64_t begin = 0, prefills = 0;
    for (uint32_t i = 0; i < w.count; i++) {
        int64_t d = w.seg[i].end_ns - begin;
        assert_true(w.seg[i].uw == 300000000 || w.seg[i].uw == 420000000 || w.seg[i].uw == 650000000);
        if (w.seg[i].uw == 650000000) {
            assert_true(d >= 20 * MS && d <= 60 * MS);
            prefills++;
        }
        begin = w.seg[i].end_ns;
    }
    assert_true(prefills > 10 && w.length_ns >= 20 * S);
    simgpu_wave_release(&w);

    /* Ornstein-Uhlenbeck: the mean within five standard errors (sd sqrt(2 tau / T)), the spread within 10 %.
     */
    assert_int_equal(simgpu_wave_make(&w, "ou:mean=400W,sd=20W,tau=100ms,length=400s", 5, 1, why, sizeof why),
                     0);
    double sum = 0, sq = 0;
    for (uint32_t i = 0; i < w.count; i++) {
        double x = (double)w.seg[i].uw / 1e6;
        sum += x;
        sq += x * x;
    }
    double mean = sum / w.count, sd = sqrt(sq / w.count - mean * mean);
    assert_true(fabs(mean - 400) < 5 * 20 * sqrt(2 * 0.1 / 400));
    assert_true(sd > 18 && sd < 22);
    simgpu_wave_release(&w);

    /* The same seed and stream give the same pieces, another stream others. */
    struct simgpu_wave v;
    assert_int_equal(simgpu_wave_make(&w, "telegraph", 9, 4, why, sizeof why), 0);
    assert_int_equal(simgpu_wave_make(&v, "telegraph", 9, 4, why, sizeof why), 0);
    assert_int_equal(w.count, v.count);
    assert_memory_equal(w.seg, v.seg, w.count * sizeof *w.seg);
    assert_int_equal(w.length_ns, 60 * S);
    simgpu_wave_release(&v);
    assert_int_equal(simgpu_wave_make(&v, "telegraph", 9, 5, why, sizeof why), 0);
    assert_true(v.seg[0].end_ns != w.seg[0].end_ns);
    simgpu_wave_release(&v);
    simgpu_wave_release(&w);
}

static void waveform_file(void **state)
{
    (void)state;
    char path[] = "/tmp/simgpu-wave-XXXXXX", spec[64], why[256];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fputs("# load\n4s 700W\n\n 11s   300W # rest\r\n", f);
    fclose(f);
    snprintf(spec, sizeof spec, "file:%s", path);
    struct simgpu_wave w;
    assert_int_equal(simgpu_wave_make(&w, spec, 1, 0, why, sizeof why), 0);
    assert_int_equal(w.count, 2);
    assert_int_equal(w.length_ns, 15 * S);
    assert_int_equal(w.seg[1].uw, 300000000);
    simgpu_wave_release(&w);
    f = fopen(path, "w");
    fputs("4s 700W\n11 300W\n", f);
    fclose(f);
    assert_int_equal(simgpu_wave_make(&w, spec, 1, 0, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, ":2: "));
    unlink(path);
    assert_int_equal(simgpu_wave_make(&w, spec, 1, 0, why, sizeof why), -ENOENT);
    assert_int_equal(simgpu_wave_make(&w, "file:/dev/zero", 1, 0, why, sizeof why), -EINVAL);
    assert_int_equal(simgpu_wave_make(&w, "file:/dev/null", 1, 0, why, sizeof why), -EINVAL);
}

static void bad_waveforms(void **state)
{
    (void)state;
    static const char *const specs[] = {"",
                                        "sine",
                                        "const",
                                        "const:",
                                        "const:350",
                                        "const:-1W",
                                        "const:101kW",
                                        "cycle:700W",
                                        "cycle:700W@0s",
                                        "cycle:700W@4",
                                        "cycle:700W@4s,",
                                        "cycle:700W@-4s",
                                        "ou:mean",
                                        "ou:mean=4s",
                                        "ou:sigma=4W",
                                        "ou:step=0s",
                                        "ou:step=1ns,length=1h",
                                        "ramp:up=1ms,step=1s",
                                        "drive:x"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct simgpu_wave w;
        char why[256] = "";
        if (simgpu_wave_make(&w, specs[i], 1, 0, why, sizeof why) != -EINVAL)
            fail_msg("\"%s\" is taken", specs[i]);
        assert_true(strlen(why) > 10 && why[strlen(why) - 1] == '.');
    }
}

static void quantities(void **state)
{
    (void)state;
    int64_t v;
    assert_true(simgpu_quantity_z("0.75 s", simgpu_units_time, &v) && v == 750 * MS);
    assert_true(simgpu_quantity_z("1.5h", simgpu_units_time, &v) && v == 5400 * S);
    assert_true(simgpu_quantity_z("0.7kW", simgpu_units_power, &v) && v == 700000000);
    assert_true(simgpu_quantity_z("0", simgpu_units_power, &v) && v == 0);
    assert_true(simgpu_quantity_z("0.955", simgpu_units_gain, &v) && v == 955000000);
    assert_true(simgpu_quantity_z("95.5%", simgpu_units_gain, &v) && v == 955000000);
    assert_true(simgpu_quantity_z("9223372036854775807", simgpu_units_plain, &v) && v == INT64_MAX);
    assert_false(simgpu_quantity_z("9223372036854775808", simgpu_units_plain, &v));
    assert_false(simgpu_quantity_z("9223372036s", simgpu_units_power, &v));
    assert_false(simgpu_quantity_z("10W", simgpu_units_time, &v));
    assert_false(simgpu_quantity_z("10", simgpu_units_time, &v));
    assert_false(simgpu_quantity_z("", simgpu_units_plain, &v));
    assert_false(simgpu_quantity_z(".5s", simgpu_units_time, &v));
    assert_false(simgpu_quantity_z("5.s", simgpu_units_time, &v));
    assert_false(simgpu_quantity_z("1e3s", simgpu_units_time, &v));
    assert_false(simgpu_quantity_z("4sx", simgpu_units_time, &v));
    uint32_t d, b, x;
    assert_true(simgpu_pci("0000:1b:00.0", &d, &b, &x) && d == 0 && b == 0x1b && x == 0);
    assert_true(simgpu_pci("0009FFFF:C1:1F", &d, &b, &x) && d == 0x9ffff && b == 0xc1 && x == 0x1f);
    static const char *const no[] = {
        "",         "1b:00.0",      "0000:1b:00.1", "0000:1b:00.00", "0000:1b:000.0", "000000000:1b:00.0",
        ":1b:00.0", "0000:1g:00.0", "0000:1b:"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(simgpu_pci(no[i], &d, &b, &x));
}

/* 400 W from 2 s on: 2 x 700 + 2 x 400 + 11 x 300 = 5500 J; next cycle 4 x 400 + 3300 = 4900 J; 500 W from 30
 * s on: 4 x 500 + 3300 = 5300 J. Held down for 2, 4, 4 s. */
static void limit_holds_down(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "2", "waveform", "cycle:700W@4s,300W@11s", NULL);
    sim_at(&m, 2 * S);
    assert_int_equal(simgpu_set(m.s, 0, SIMGPU_SET_LIMIT, 400000000, 0), 0);
    sim_at(&m, 30 * S);
    assert_int_equal(simgpu_set(m.s, 0, SIMGPU_SET_LIMIT, 500000000, 0), 0);
    near(energy(&m, 0, 0, 15 * S), 5500, 0);
    near(energy(&m, 0, 15 * S, 30 * S), 4900, 0);
    near(energy(&m, 0, 30 * S, 45 * S), 5300, 0);
    near(energy(&m, 0, S, 3 * S), 1100, 0);
    near(energy(&m, 0, 16 * S, 31 * S), 3 * 400 + 11 * 300 + 500, 0);
    assert_int_equal(simgpu_capped_time(m.s, 0, m.t0 + 15 * S), 2 * S);
    assert_int_equal(simgpu_capped_time(m.s, 0, m.t0 + 30 * S), 6 * S);
    assert_int_equal(simgpu_capped_time(m.s, 0, m.t0 + 44 * S), 10 * S);
    near(simgpu_true_power_w(m.s, 0, m.t0 + S), 700, 0);
    near(simgpu_true_power_w(m.s, 0, m.t0 + 3 * S), 400, 0);
    near(energy(&m, 1, 0, 45 * S), 3 * 6100, 0); /* the other one is not touched */
    near(simgpu_true_total_j(m.s, m.t0, m.t0 + 15 * S), 11600, 0);
    sim_stop(&m);
}

static void settings_fill_up(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", NULL);
    for (int i = 0; i < SIMGPU_MAX_SETS; i++)
        assert_int_equal(simgpu_set(m.s, 0, SIMGPU_SET_LIMIT, 400000000 + i, 0), 0);
    assert_int_equal(simgpu_set(m.s, 0, SIMGPU_SET_LIMIT, 1, 0), -ENOSPC);
    sim_stop(&m);
}

static void driven_by_hand(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "2", "waveform", "const:100W", "gpu", "0:waveform=drive,idle=80W", "ring", "8",
              NULL);
    near(energy(&m, 0, 0, 10 * S), 800, 0); /* idle until somebody drives */
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 1 * S, 400), 0);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 3 * S, 650.5), 0);
    near(energy(&m, 0, 0, 4 * S), 80 + 800 + 650.5, 1e-15);
    near(energy(&m, 0, 2 * S, 3 * S + 500 * MS), 400 + 325.25, 1e-15);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 3 * S, 500),
                     0); /* replaces the one that begins there */
    near(energy(&m, 0, 0, 4 * S), 80 + 800 + 500, 1e-15);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 2 * S, 500), -EINVAL);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 4 * S, NAN), -EINVAL);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 4 * S, -1), -EINVAL);
    assert_int_equal(simgpu_drive_power(m.s, 1, m.t0 + 4 * S, 100), -ENOTSUP);
    assert_int_equal(simgpu_drive_power(m.s, 2, m.t0 + 4 * S, 100), -EINVAL);
    /* Held down by a limit; the time counts. */
    sim_at(&m, 5 * S);
    assert_int_equal(simgpu_set(m.s, 0, SIMGPU_SET_LIMIT, 300000000, 0), 0);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 5 * S, 700), 0);
    assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + 6 * S, 200), 0);
    near(energy(&m, 0, 5 * S, 7 * S), 500, 0);
    assert_int_equal(simgpu_capped_time(m.s, 0, m.t0 + 7 * S), S);
    struct simgpu_setting set;
    assert_int_equal(simgpu_drive_setting(m.s, 0, &set), 0);
    assert_true(set.limit_set && set.limit_w == 300 && set.limit_default_w == 700 && set.driven);
    /* The ring of 8 forgets; what it forgot is unknown, not zero. */
    for (int i = 7; i < 15; i++)
        assert_int_equal(simgpu_drive_power(m.s, 0, m.t0 + i * S, 100), 0);
    assert_true(isnan(energy(&m, 0, 1 * S, 14 * S)));
    assert_true(isnan(simgpu_true_total_j(m.s, m.t0 + 1 * S, m.t0 + 14 * S)));
    /* The start is never forgotten, or a counter would end with the ring: 80 + 2 x 400 + 2 x 500 + 300 + 200
     * + 7 x 100. */
    near(energy(&m, 0, 0, 14 * S), 3080, 1e-15);
    near(simgpu_true_total_j(m.s, m.t0, m.t0 + 14 * S), 3080 + 1400, 1e-15);
    near(energy(&m, 0, 9 * S, 20 * S), 1100, 0);
    sim_stop(&m);
}

struct race {
    struct sim *m;
    _Atomic int done, answered;
    int64_t steps;
};

static void *race_drive(void *arg)
{
    struct race *r = arg;
    /* on a busy machine the reader may not run before the last step: go on until it has had its turn */
    for (int64_t i = 1; i <= r->steps || (!atomic_load(&r->answered) && i < 1000 * r->steps); i++) {
        simgpu_drive_power(r->m->s, 0, r->m->t0 + i * MS, 100 + (double)(i % 7) * 50);
        simgpu_advance_to(r->m->s, r->m->t0 + i * MS - MS);
    }
    atomic_store(&r->done, 1);
    return NULL;
}

/* A reader beside a writer that runs round a small ring: energy never goes back, and every answer is
 * possible. */
static void driven_while_read(void **state)
{
    (void)state;
    struct sim m;
    sim_start(&m, "gpus", "1", "waveform", "drive", "idle", "100W", "ring", "64", NULL);
    struct race r = {.m = &m, .steps = 200000};
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, race_drive, &r), 0);
    simgpu_fj last = 0;
    int64_t last_t = m.t0, answers = 0;
    while (!atomic_load(&r.done)) {
        int64_t now = simgpu_now(m.s);
        simgpu_fj e;
        if (now == last_t || simgpu_energy(m.s, 0, now, &e))
            continue;
        if (answers++) {
            simgpu_fj p = (e - last) / (now - last_t);
            assert_true(p >= 100000000 && p <= 400000000);
        }
        last = e;
        last_t = now;
        atomic_store(&r.answered, 1);
    }
    pthread_join(t, NULL);
    assert_true(answers > 0);
    sim_stop(&m);
}

static void damaged_states(void **state)
{
    (void)state;
    struct sim m;
    struct simgpu *s;
    char why[512];
    sim_start(&m, "gpus", "1", NULL);
    m.s->h->version++;
    assert_int_equal(simgpu_open(&s, m.path, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "another version"));
    m.s->h->version--;
    uint64_t at = m.s->g[0].seg_at;
    m.s->g[0].seg_at = m.s->size + 4096;
    assert_int_equal(simgpu_open(&s, m.path, why, sizeof why), -EINVAL);
    m.s->g[0].seg_at = at;
    m.s->h->gpu_count = 64;
    assert_int_equal(simgpu_open(&s, m.path, why, sizeof why), -EINVAL);
    m.s->h->gpu_count = 1;
    m.s->h->magic[0] = 'x';
    assert_int_equal(simgpu_open(&s, m.path, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "is not a state file"));
    assert_int_equal(simgpu_open(&s, "/nonexistent/x", why, sizeof why), -ENOENT);
    assert_int_equal(simgpu_open(&s, "/", why, sizeof why), -EISDIR);
    assert_int_equal(truncate(m.path, 100), 0);
    sim_stop(&m);
}

static void bad_configurations(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"gpus", "65"},
        {"gpus", "1.5"},
        {"seed", "-1"},
        {"virtual", "yes"},
        {"ring", "7"},
        {"profile", "h1000"},
        {"refresh", "100"},
        {"jitter", "50ms"},
        {"gain", "0"},
        {"gain", "11"},
        {"usage", "1W"},
        {"counter", "maybe"},
        {"scope", "node"},
        {"mig", "8g.80gb"},
        {"mig", "4g.40gb+4g.40gb"},
        {"pci", "1b:00.0"},
        {"pci", "0000:1b:00.0x"},
        {"uuid", "51340000"},
        {"cuda", "13.x"},
        {"fault", "kind=melt"},
        {"fault", "gpu=1"},
        {"fault", "kind=jump"},
        {"fault", "kind=jump,value=3W"},
        {"fault", "kind=reset,value=3W"},
        {"fault", "kind=error"},
        {"fault", "kind=reset,at=3"},
        {"fault", "kind=reset,for=0s"},
        {"fault", "kind=reset,what=everything"},
        {"fault", "kind=error,code=0"},
        {"process", "mem=3GiB"},
        {"process", "pid=0"},
        {"process", "pid=7,mem=3W"},
        {"gpu", "9:gain=1"},
        {"gpu", "0:seed=1"},
        {"gpu", "gain=1"},
        {"wattage", "3"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct sim m;
        char why[512] = "";
        int e = sim_create_only(&m, why, sizeof why, pairs[i][0], pairs[i][1], NULL);
        unlink(m.path);
        if (e != -EINVAL)
            fail_msg("%s %s gives %d", pairs[i][0], pairs[i][1], e);
        assert_true(strlen(why) > 10 && why[strlen(why) - 1] == '.');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycle_by_hand),
        cmocka_unit_test(integral_against_sum),
        cmocka_unit_test(generators_keep_their_word),
        cmocka_unit_test(waveform_file),
        cmocka_unit_test(bad_waveforms),
        cmocka_unit_test(quantities),
        cmocka_unit_test(limit_holds_down),
        cmocka_unit_test(settings_fill_up),
        cmocka_unit_test(driven_by_hand),
        cmocka_unit_test(driven_while_read),
        cmocka_unit_test(damaged_states),
        cmocka_unit_test(bad_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
