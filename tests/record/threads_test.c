/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder with its threads, on the kernel's clocks. No statement about time is stricter than a busy
 * machine allows. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/fake.h"
#include "record/record.h"

static struct jm_err err;
static char path[64], sock[64];
static struct jm_clock sys;

static void reset(void)
{
    memset(fake_slot, 0, sizeof fake_slot);
    fake_slot[0].refresh_ns = fake_slot[1].refresh_ns = 20 * JM_NS_PER_MS;
    fake_slot[0].counters = 3;
    fake_slot[1].counters = 1;
    err = (struct jm_err){0};
    sys = jm_clock_system();
}

static struct jm_record_cfg config(void)
{
    snprintf(path, sizeof path, "/tmp/jm-threads-%d.jmr", (int)getpid());
    return (struct jm_record_cfg){.path = path,
                                  .create = {.label = "threads", .overwrite = true, .seed = 1},
                                  .registry = fake_registry,
                                  .period_ns = 20 * JM_NS_PER_MS};
}

static struct jm_recorder *started(const struct jm_record_cfg *cfg)
{
    struct jm_recorder *r = NULL;
    if (jm_recorder_new(cfg, &r, &err))
        print_message("%s\n", err.text);
    assert_non_null(r);
    assert_int_equal(jm_recorder_start(r, &err), 0);
    return r;
}

static struct jm_run *finished(struct jm_recorder *r)
{
    struct jm_run *run = NULL;
    assert_int_equal(jm_recorder_finish(r, &err), 0);
    assert_int_equal(jm_run_open(path, &run, &err), 0);
    assert_true(jm_run_info(run)->sealed);
    return run;
}

static void nap(int ms)
{
    jm_clock_sleep_until(&sys, jm_clock_mono(&sys) + ms * JM_NS_PER_MS, NULL);
}

/* Until there are so many readings, and so many meters that answer: a busy machine may take its time. */
static bool reaches(struct jm_recorder *r, uint64_t readings, int meters_ok, struct jm_record_live *live)
{
    for (int i = 0; i < 3000; i++) {
        jm_recorder_live(r, live);
        if (live->readings >= readings && (int)live->meters_ok == meters_ok)
            return true;
        nap(10);
    }
    return false;
}

struct sender {
    struct jm_recorder *r;
    int first, n;
};

static void *send_requests(void *self)
{
    struct sender *s = self;
    struct jm_token_event ev[100];
    for (int k = 0; k < 100; k++)
        ev[k] = (struct jm_token_event){.t = 1000000 * k, .tokens = 1, .flags = JM_TE_COUNT_KNOWN};
    for (int i = 0; i < s->n; i++) {
        struct jm_request q;
        jm_request_init(&q);
        q.id = s->first + i;
        q.end = JM_END_OK;
        if (jm_recorder_request(s->r, &q, ev, 100) || (i % 50 == 0 && jm_recorder_mark(s->r, "tick")))
            return self;
    }
    return NULL;
}

static void everything_at_once(void **state)
{
    (void)state;
    reset();
    struct jm_record_cfg cfg = config();
    struct jm_recorder *r = started(&cfg);
    pthread_t t[3];
    struct sender s[3];
    int64_t t0, t1;
    assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err), 0);
    for (int i = 0; i < 3; i++) {
        s[i] = (struct sender){r, 1 + 1000 * i, 1000};
        assert_int_equal(pthread_create(&t[i], NULL, send_requests, &s[i]), 0);
    }
    nap(500);
    struct jm_record_live live;
    assert_true(reaches(r, 240, 2, &live)); /* of six channels */
    assert_true(live.watts > 1000);
    for (int i = 0; i < 3; i++) {
        void *bad = &s;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    int64_t pid = 5;
    fake_slot[0].uses_pid = 5;
    assert_int_equal(jm_recorder_find_sut(r, &pid, 1, &err), 1);
    assert_int_equal(jm_recorder_window_end(r, 0, &t1, &err), 0);
    struct jm_run *run = finished(r);
    size_t n;
    assert_non_null(jm_run_requests(run, &n));
    assert_int_equal(n, 3000);
    jm_run_marks(run, &n);
    assert_int_equal(n, 60);
    jm_run_clock_pairs(run, &n);
    assert_true(n >= 2);
    assert_string_equal(jm_run_env(run, "sut.gpus"), "FAKE-0-1");
    for (int c = 0; c < 6; c++) {
        struct jm_readings a = {0};
        assert_int_equal(jm_run_readings(run, c, INT64_MIN, INT64_MAX, &a, &err), 0);
        assert_true(a.n > 20);
        size_t before = 0, after = 0, edge = 0;
        for (size_t i = 1; i < a.n; i++) {
            bool move = a.v[i].value != a.v[i - 1].value;
            before += move && a.v[i].t1 <= t0;
            after += move && a.v[i - 1].t0 >= t1;
            edge += (a.v[i].flags & JM_RF_EDGE) != 0;
        }
        if (c != 3 && c != 5) /* counters: two refreshes on each side */
            assert_true(before >= 2 && after >= 2);
        assert_true(edge >= 2);
        jm_readings_release(&a);
    }
    jm_run_close(run);
    assert_int_equal(fake_slot[0].closed, 1);
}

static void one_that_hangs_delays_nobody(void **state)
{
    (void)state;
    reset();
    struct jm_record_cfg cfg = config();
    cfg.no_selftest = true;
    struct jm_recorder *r = started(&cfg);
    int64_t t0, t1;
    assert_int_equal(jm_recorder_window_begin(r, JM_R_MEASURE, "m", 0, &t0, &err), 0);
    fake_slot[1].hangs_at = jm_clock_mono(&sys);
    nap(600); /* longer than its deadline of 300 ms */
    struct jm_record_live live;
    assert_true(reaches(r, 0, 1, &live));
    assert_true(reaches(r, live.readings + 4 * 40, 1, &live)); /* of the other one's four channels */
    assert_int_equal(jm_recorder_window_end(r, 0, &t1, &err), 0);
    struct jm_run *run = finished(r);
    size_t n;
    const struct jm_run_meter *m = jm_run_meters(run, &n);
    assert_string_equal(m[0].state, "ok");
    assert_string_equal(m[1].state, "lost");
    assert_non_null(strstr(m[1].reason, "has not come back"));
    struct jm_readings a = {0};
    assert_int_equal(jm_run_readings(run, 0, INT64_MIN, INT64_MAX, &a, &err), 0);
    assert_true(a.v[a.n - 1].t1 > t1 && a.n > 40);
    jm_readings_release(&a);
    jm_run_close(run);
    assert_int_equal(fake_slot[1].closed, 0);
    fake_slot[1].release = true; /* it comes back to an empty house, and tidies up after itself */
    for (int i = 0; i < 6000 && !fake_slot[1].closed; i++)
        nap(10);
    assert_int_equal(fake_slot[1].closed, 1);
}

static void one_that_hangs_from_the_start(void **state)
{
    (void)state;
    reset();
    fake_slot[1].hangs_at = 1;
    struct jm_record_cfg cfg = config();
    struct jm_recorder *r = started(&cfg);
    int64_t pid = 5;
    assert_int_equal(jm_recorder_find_sut(r, &pid, 1, &err),
                     0); /* fake0 answers; the other is not waited for */
    struct jm_run *run = finished(r);
    size_t n;
    assert_string_equal(jm_run_meters(run, &n)[1].state, "lost");
    jm_run_close(run);
    fake_slot[1].release = true;
    for (int i = 0; i < 6000 && !fake_slot[1].closed; i++)
        nap(10);
    assert_int_equal(fake_slot[1].closed, 1);
}

static void tell(const char *text)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", sock);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&a, sizeof a),
                     (ssize_t)strlen(text));
    close(fd);
}

static void marks_from_outside(void **state)
{
    (void)state;
    reset();
    fake_slot[0].state = fake_slot[1].state = JM_PROBE_ABSENT;
    struct jm_record_cfg cfg = config();
    snprintf(sock, sizeof sock, "/tmp/jm-mark-%d", (int)getpid());
    cfg.mark_socket = sock;
    struct jm_recorder *r = started(&cfg);
    struct stat st;
    assert_int_equal(stat(sock, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    int64_t before = jm_clock_mono(&sys);
    tell("mark prefill begins\n");
    tell("marx");
    tell("mark a\x01"
         "b");
    nap(50);
    tell("mark last"); /* just before the end */
    struct jm_run *run = finished(r);
    int64_t after = jm_clock_mono(&sys);
    size_t n;
    const struct jm_mark *m = jm_run_marks(run, &n);
    assert_int_equal(n, 3);
    assert_string_equal(m[0].name, "prefill begins");
    assert_true(m[0].t >= before && m[0].t <= after);
    assert_string_equal(m[1].name, "a?b");
    assert_string_equal(m[2].name, "last");
    assert_string_equal(jm_run_env(run, "record.bad_marks"), "1");
    jm_run_close(run);
    assert_int_not_equal(stat(sock, &st), 0); /* gone */
    /* a file that is no socket stays */
    cfg.mark_socket = path;
    struct jm_run_create keep = cfg.create;
    snprintf(sock, sizeof sock, "/tmp/jm-mark-%d.jmr", (int)getpid());
    cfg.path = sock;
    cfg.create = keep;
    r = NULL;
    assert_int_equal(jm_recorder_new(&cfg, &r, &err), JM_ECONFLICT);
    assert_int_equal(stat(path, &st), 0);
    unlink(sock);
}

static void a_full_disk_ends_writing_not_measuring(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        reset();
        struct jm_record_cfg cfg = config();
        cfg.no_selftest = true;
        struct jm_recorder *r = NULL;
        struct jm_record_live live = {0};
        signal(SIGXFSZ, SIG_IGN);
        if (jm_recorder_new(&cfg, &r, &err) || jm_recorder_start(r, &err))
            _exit(1);
        struct rlimit lim = {300 << 10, 300 << 10};
        setrlimit(RLIMIT_FSIZE, &lim);
        struct jm_str noise;
        jm_str_init(&noise);
        for (unsigned i = 0, x = 1; i < 200000; i++, x = x * 1103515245 + 12345)
            jm_str_addc(&noise, (char)(x >> 16));
        for (int i = 0; i < 100 && !live.failed; i++) {
            jm_recorder_raw(r, "noise", NULL, jm_str_span(&noise));
            nap(50);
            jm_recorder_live(r, &live);
        }
        jm_str_release(&noise);
        if (live.failed != JM_EFULL || jm_recorder_mark(r, "x") != JM_EFULL)
            _exit(2);
        if (jm_recorder_finish(r, &err) != JM_EFULL || !strstr(err.text, path))
            _exit(3);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct jm_run *run = NULL;
    snprintf(path, sizeof path, "/tmp/jm-threads-%d.jmr", (int)pid);
    assert_int_equal(jm_run_open(path, &run, &err), 0);
    jm_run_close(run);
    assert_int_equal(jm_run_recover(path, NULL, &err), 0);
    unlink(path);
}

static void the_end_without_a_start(void **state)
{
    (void)state;
    reset();
    struct jm_record_cfg cfg = config();
    struct jm_recorder *r = NULL;
    assert_int_equal(jm_recorder_new(&cfg, &r, &err), 0);
    jm_run_close(finished(r));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(one_that_hangs_delays_nobody),
        cmocka_unit_test(one_that_hangs_from_the_start),
        cmocka_unit_test(marks_from_outside),
        cmocka_unit_test(a_full_disk_ends_writing_not_measuring),
        cmocka_unit_test(the_end_without_a_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
