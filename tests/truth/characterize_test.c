/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of simulated GPU, characterized: its power is driven in steps, its library is read by the NVML
 * meter in virtual time, and period, window and lag are found within 10 % of what its profile was made with
 * (sim/simgpu_profile.c); gains within 1 %. Nothing of the documentation is used: windows are found, not
 * taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <math.h>

#include "compute/traits.h"
#include "record/record.h"
#include "record/step.h"
#include "run/run.h"

#include "simgpu_conf.h"
#include "simgpu_drive.h"
#include "simgpu_truth.h"

#define S       INT64_C(1000000000)
#define MS      INT64_C(1000000)
#define LATENCY "30ms"
#define LAG     0.03

struct kind {
    const char *profile;
    double idle, full;                       /* W */
    double period;                           /* s; 0: exact at every read */
    double usage, average, instant, counter; /* windows, s; NAN: not there */
};

static const struct kind kinds[] = {
    {"h100", 120, 600, 0.1, 1, 1, 0.025, 0},  {"h200", 120, 600, 0.1, 1, 1, 0.025, 0},
    {"gh200", 150, 700, 0.1, 1, 1, 0.025, 0}, {"a100", 80, 380, 0.1, 0.025, NAN, 0.025, 0},
    {"l40s", 60, 330, 0.1, 1, 1, 0.1, 0},     {"b200", 200, 900, 0.1, 1, 1, 0.025, 0},
    {"gb10", 10, 90, 0.1, 1, 1, 0.1, 0},      {"p100", 50, 280, 0.02, 0.01, NAN, 0.01, NAN},
    {"ideal", 120, 600, 0, 0, 0, 0, 0},
};

struct drive {
    struct simgpu *s;
    const struct kind *k;
};

static int set(void *self, bool on, struct jm_err *err)
{
    struct drive *d = self;
    (void)err;
    return simgpu_drive_power(d->s, 0, simgpu_now(d->s), on ? d->k->full : d->k->idle) ? JM_EIO : 0;
}

static void near(const struct kind *k, const char *what, const char *channel, struct jm_trait t, double truth,
                 double slack, const char *note)
{
    if (!(fabs(t.value - truth) <= fmax(0.1 * truth, slack)))
        fail_msg("%s %s: %s %.5f (%.5f to %.5f) of %.5f; %s", k->profile, channel, what, t.value, t.lo, t.hi,
                 truth, note);
}

static void check(const struct kind *k, const struct jm_passport_row *r)
{
    double window = strstr(r->channel, "energy")    ? NAN
                    : strstr(r->channel, "usage")   ? k->usage
                    : strstr(r->channel, "average") ? k->average
                                                    : k->instant;
    near(k, "lag", r->channel, r->lag, LAG, 0, r->note);
    if (k->period > 0)
        near(k, "period", r->channel, r->period, k->period, 0, r->note);
    if (isfinite(window)) /* reads are 1 ms apart: an instant is no longer than that */
        near(k, "window", r->channel, r->window, window, 0.001, r->note);
    if (window > 0 && window < 0.9 * k->period)
        near(k, "duty", r->channel, r->duty, window / k->period, 0, r->note);
}

static void one(const struct kind *k)
{
    struct simgpu_conf *c = malloc(sizeof *c);
    char state[64], file[64], lib[512], why[256] = "", line[128], copy[128];
    const char *build = getenv("JM_BUILD");
    struct simgpu *s = NULL;
    struct jm_vclock vc = {0};
    struct jm_recorder *r = NULL;
    struct jm_run *run = NULL;
    struct jm_err err = {0};
    const char *lines[] = {"virtual",        "seed 5",       "gpus 1",          line,
                           "waveform drive", "phase random", "latency " LATENCY};
    assert_non_null(c);
    snprintf(line, sizeof line, "profile %s", k->profile);
    assert_int_equal(simgpu_conf_init(c), 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(copy, sizeof copy, "%s", lines[i]);
        if (simgpu_conf_line(c, copy, "test", why, sizeof why))
            fail_msg("%s", why);
    }
    if (simgpu_conf_apply(c, why, sizeof why))
        fail_msg("%s", why);
    snprintf(state, sizeof state, "/tmp/jm-traits-%d.state", (int)getpid());
    snprintf(file, sizeof file, "/tmp/jm-traits-%d.jmr", (int)getpid());
    if (simgpu_create(c, state, why, sizeof why) || simgpu_open(&s, state, why, sizeof why))
        fail_msg("%s", why);
    simgpu_conf_release(c);
    free(c);
    setenv(SIMGPU_ENV, state, 1);
    snprintf(lib, sizeof lib, "%s/sim/gpu/libnvidia-ml.so.1", build ? build : ".");
    struct jm_clock clock = jm_clock_virtual(&vc, (int64_t *)&s->h->now_ns);
    struct drive d = {s, k};
    struct jm_step_load load = {set, &d};
    struct jm_record_cfg cfg = {.path = file,
                                .create = {.label = "traits", .overwrite = true, .seed = 1},
                                .env = {.nvml_lib = lib, .clock = clock},
                                .meters = "nvml",
                                .period_ns = MS,
                                .no_edge = true,
                                .no_selftest = true,
                                .clock = clock,
                                .inline_threads = true};
    struct jm_step_plan plan = {
        .steps = 60, .shortest = 50 * MS, .longest = 400 * MS, .rest = 3 * S, .seed = 9};
    assert_int_equal(set(&d, false, NULL), 0);
    if (jm_recorder_new(&cfg, &r, &err) || jm_recorder_start(r, &err) ||
        jm_step_play(r, &clock, &plan, &load, NULL, &err) || jm_recorder_finish(r, &err) ||
        jm_run_open(file, &run, &err))
        fail_msg("%s: %s", k->profile, err.text);
    struct jm_passport p;
    if (jm_traits_find(run, isnan(k->counter) ? NULL : "nvml:energy", &p, &err))
        fail_msg("%s: %s", k->profile, err.text);
    size_t seen = 0;
    for (size_t i = 0; i < p.n; i++) {
        const struct jm_passport_row *x = &p.row[i];
        printf("# %-6s %-16s period %8.2f ms, window %8.2f ms, lag %6.2f +-%.2f ms, gain %.4f\n", k->profile,
               x->channel, 1e3 * x->period.value, 1e3 * x->window.value, 1e3 * x->lag.value,
               500 * (x->lag.hi - x->lag.lo), x->gain.value);
        if (strstr(x->channel, "module") || strstr(x->channel, "memory"))
            continue;
        check(k, x);
        if (isfinite(x->gain.value))
            assert_true(fabs(x->gain.value - 1) < 0.01);
        seen++;
    }
    assert_true(seen >= 1);
    jm_passport_release(&p);
    jm_run_close(run);
    simgpu_close(s);
    unlink(state);
    unlink(file);
}

static void every_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        one(&kinds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
