/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the command line that need no command: processes below an endpoint, the child, the progress line,
 * names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/benchlive.h"
#include "cli/benchorder.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/path.h"
#include "cli/procs.h"
#include "cli/term.h"

static void put_proc(const char *root, int pid, const char *stat)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d/stat", root, pid);
    assert_int_equal(jm_file_mkparents(path, NULL), 0);
    assert_int_equal(jm_file_write(path, jm_span_of(stat), NULL), 0);
}

static void processes_below(void **state)
{
    (void)state;
    char root[] = "procs.XXXXXX", cmd[64];
    int64_t pid[8];
    assert_non_null(mkdtemp(root));
    put_proc(root, 10, "10 (vllm) S 1 10 10 0\n");
    put_proc(root, 11, "11 (a name) with (paren)) R 10 0\n");
    put_proc(root, 12, "12 (x) S 11 0\n");
    put_proc(root, 13, "13 (x) S 1 0\n");
    put_proc(root, 14, "garbage");
    put_proc(root, 15, "15 (x) S 12 0\n");
    size_t n = jm_procs_below(root, 10, pid, 8);
    assert_int_equal(n, 4);
    int64_t want[] = {10, 11, 12, 15}, sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pid[i];
    assert_true(pid[0] == want[0] && sum == 48);
    assert_int_equal(jm_procs_below(root, 10, pid, 2), 2); /* bounded */
    assert_int_equal(jm_procs_below(root, 99, pid, 8), 1); /* itself, though unknown */
    assert_int_equal(jm_procs_below("nowhere", 10, pid, 8), 1);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", root);
    assert_int_equal(system(cmd), 0);
}

static int run_child(const char *script, int sig)
{
    struct jm_child c;
    struct jm_err err = {0};
    const char *argv[] = {"sh", "-c", script, NULL};
    assert_int_equal(jm_child_start(&c, (char **)(uintptr_t)argv, "JM_TEST_VALUE", "seven", &err), 0);
    if (sig) {
        jm_child_wait(&c, 200 * JM_NS_PER_MS, &err);
        kill(getpid(), sig); /* blocked here, to be forwarded */
    }
    while (!c.done)
        assert_int_equal(jm_child_wait(&c, 100 * JM_NS_PER_MS, &err), 0);
    return c.status;
}

static void child_status(void **state)
{
    (void)state;
    struct jm_err err = {0};
    assert_int_equal(jm_child_prepare(&err), 0);
    assert_int_equal(run_child("exit 0", 0), 0);
    assert_int_equal(run_child("exit 77", 0), 77);
    assert_int_equal(run_child("kill -9 $$", 0), 137);
    assert_int_equal(run_child("[ \"$JM_TEST_VALUE\" = seven ] && [ -n \"$PATH\" ]", 0), 0);
    assert_int_equal(run_child("trap 'exit 5' USR1; while :; do sleep 0.02; done", SIGUSR1), 5);
    assert_int_equal(run_child("while :; do sleep 0.02; done", SIGTERM), 143);
    assert_int_equal(jm_child_pending(), 0);
    struct jm_child c;
    char none[] = "no-such-command-here", dir[] = "/";
    char *argv[] = {none, NULL};
    assert_int_equal(jm_child_start(&c, argv, "A", NULL, &err), JM_EABSENT);
    assert_int_equal(c.status, 127);
    argv[0] = dir;
    assert_true(jm_child_start(&c, argv, "A", NULL, &err) < 0);
    assert_int_equal(c.status, 126);
}

/* What a call of jm_term writes to standard error. */
static size_t captured(void (*fn)(struct jm_term *), struct jm_term *t, char *out, size_t size)
{
    int fds[2], saved = dup(2);
    assert_int_equal(pipe(fds), 0);
    fflush(stderr);
    dup2(fds[1], 2);
    close(fds[1]);
    fn(t);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    ssize_t n = read(fds[0], out, size - 1);
    close(fds[0]);
    n = n < 0 ? 0 : n;
    out[n] = '\0';
    return (size_t)n;
}

static void three_times(struct jm_term *t)
{
    for (int i = 0; i < 3; i++)
        jm_term_progress(t, 0.5, "phase %d", i);
    jm_term_say(t, "said");
    jm_term_progress_end(t);
}

static void progress_lines(void **state)
{
    (void)state;
    char out[4096];
    struct jm_term t;
    jm_term_init(&t);
    t.width = 40;
    t.progress = true;
    t.err_tty = false;
    captured(three_times, &t, out, sizeof out);
    assert_string_equal(out, "said\n"); /* the first line only after 10 s */
    t.last_progress = 1;                /* long ago */
    captured(three_times, &t, out, sizeof out);
    assert_string_equal(out, "phase 0\nsaid\n");
    t.err_tty = true;
    captured(three_times, &t, out, sizeof out);
    assert_string_equal(out, "\r\033[K[##########..........] phase 0\r\033[Ksaid\n"); /* the line gives way */
    t.progress = false;
    captured(three_times, &t, out, sizeof out);
    assert_string_equal(out, "said\n");
    jm_term_release(&t);
}

static void made(void *self, int columns, bool color, struct jm_str *out)
{
    (void)self;
    jm_str_addf(out, "%d%s", columns, color ? " colored" : "");
}

static void made_once(struct jm_term *t)
{
    jm_term_progress_made(t, made, NULL);
}

/* Half a minute of a load: 8 requests/s, 1000 tokens/s that the server counts, 2 kW. */
static void live_line(void **state)
{
    (void)state;
    struct jm_bench_live v;
    struct jm_load_live l = {.in_flight = 32, .ttft_p50_ms = 62.4, .ttft_p99_ms = 118.2};
    struct jm_str s;
    struct jm_term t;
    char out[200];
    jm_str_init(&s);
    jm_bench_live_init(&v);
    jm_bench_live_line(&v, &l, "warm-up", 3.2, 79, false, &s);
    assert_string_equal(s.buf, "warm-up 4s left  TTFT 62/118ms  32 run"); /* nothing to divide yet */
    for (int i = 0; i <= 300; i++) {
        l.finished = 8 * i / 10;
        l.tokens = l.known = 100 * i;
        jm_bench_live_add(&v, i * (JM_NS_PER_S / 10), &l, 2000, 2);
    }
    jm_str_reset(&s);
    jm_bench_live_line(&v, &l, "measure", 37, 120, false, &s);
    assert_string_equal(
        s.buf, "measure 37s left  ~2.00 J/tok  2.00 kW  1000 tok/s  TTFT 62/118ms  8.0 req/s  32 run");
    /* narrower and narrower: what matters less goes first, the time left never */
    for (int columns = 100; columns >= 0; columns--) {
        jm_str_reset(&s);
        jm_bench_live_line(&v, &l, "measure", 37, columns, false, &s);
        assert_true(s.len <= (size_t)columns);
        if (columns >= 79)
            assert_non_null(strstr(s.buf, "~2.00 J/tok"));
        if (columns >= 16)
            assert_non_null(strstr(s.buf, "measure 37s left"));
    }
    /* a meter is lost, requests fail: that comes before all but the phase */
    l.failed = 3;
    jm_bench_live_add(&v, 30 * JM_NS_PER_S + 1, &l, 2000, 1);
    jm_str_reset(&s);
    jm_bench_live_line(&v, &l, "measure", 37, 45, false, &s);
    assert_string_equal(s.buf, "measure 37s left  1 of 2 meters  3 failed");
    jm_str_reset(&s);
    jm_bench_live_line(&v, &l, "measure", 37, 79, true, &s);
    assert_non_null(strstr(s.buf, "\033[1;31m3 failed\033[0m"));
    jm_str_reset(&s);
    jm_bench_live_log(&v, &l, "measure", 23, 60, &s);
    assert_string_equal(
        s.buf, "measure: 23 of 60 s, 8.00 requests/s, 1000 output tokens/s, 32 running, TTFT p50 62.4 ms "
               "p99 118.2 ms, 2.00 kW, about 2.00 J/token so far, 1 of 2 meters, 3 failed");
    /* nobody counts: events are not called tokens, and there are no joules per token */
    jm_bench_live_init(&v);
    for (int i = 0; i <= 100; i++) {
        l.finished = l.uncounted = i;
        l.known = 0;
        l.tokens = 50 * i;
        jm_bench_live_add(&v, i * (JM_NS_PER_S / 10), &l, NAN, 0);
    }
    jm_str_reset(&s);
    jm_bench_live_line(&v, &l, "measure", NAN, 120, false, &s);
    assert_string_equal(s.buf, "measure  500 events/s  TTFT 62/118ms  10.0 req/s  32 run  3 failed");
    /* the line knows the terminal, and a log gets a sentence */
    jm_term_init(&t);
    t.width = 60;
    t.progress = t.err_tty = true;
    t.err_color = true;
    captured(made_once, &t, out, sizeof out);
    assert_string_equal(out, "\r\033[K59 colored");
    t.err_color = t.err_tty = t.line_shown = false;
    t.last_progress = 1;
    captured(made_once, &t, out, sizeof out);
    assert_string_equal(out, "0\n");
    jm_term_release(&t);
    jm_str_release(&s);
}

static void names_beside(void **state)
{
    (void)state;
    struct jm_str s;
    jm_str_init(&s);
    assert_int_equal(jm_path_beside("out/a.jmr", ".html", &s, NULL), 0);
    assert_string_equal(s.buf, "out/a.html");
    jm_str_reset(&s);
    assert_int_equal(jm_path_beside("run", ".json", &s, NULL), 0);
    assert_string_equal(s.buf, "run.json");
    jm_str_release(&s);
}

/* A B, B A; and each of the six orders of three about as often (600 ± 4 standard deviations of 22.4). */
static void orders_of_slices(void **state)
{
    size_t o[3], again[3];
    int seen[27] = {0};
    (void)state;
    for (int trial = 0; trial < 3; trial++) {
        jm_bench_order(JM_ORDER_ABBA, trial, 1, o, 2);
        assert_true(o[0] == (size_t)(trial == 1) && o[1] == (size_t)(trial != 1));
        jm_bench_order(JM_ORDER_WRITTEN, trial, 1, o, 2);
        assert_true(o[0] == 0 && o[1] == 1);
    }
    for (int trial = 0; trial < 3600; trial++) {
        jm_bench_order(JM_ORDER_RANDOM, trial, 7, o, 3);
        jm_bench_order(JM_ORDER_RANDOM, trial, 7, again, 3);
        assert_memory_equal(o, again, sizeof o);
        assert_true(o[0] != o[1] && o[1] != o[2] && o[0] != o[2]);
        seen[9 * o[0] + 3 * o[1] + o[2]]++;
    }
    static const int all[] = {5, 7, 11, 15, 19, 21}; /* 012 021 102 120 201 210 in base 3 */
    for (size_t i = 0; i < 6; i++)
        assert_in_range(seen[all[i]], 510, 690);
    assert_string_equal(jm_bench_order_name(JM_ORDER_ABBA), "abba");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_of_slices), cmocka_unit_test(processes_below),
                                       cmocka_unit_test(child_status),     cmocka_unit_test(progress_lines),
                                       cmocka_unit_test(live_line),        cmocka_unit_test(names_beside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
