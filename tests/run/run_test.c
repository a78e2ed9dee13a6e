/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rng.h"
#include "run/sample.h"

static struct jm_err err;

static bool exists(const char *path, const char *suffix)
{
    char p[512];
    struct stat st;
    snprintf(p, sizeof p, "%s%s", path, suffix);
    return stat(p, &st) == 0;
}

static struct jm_run *opened(const char *path)
{
    struct jm_run *r = NULL;
    err = (struct jm_err){0};
    int rc = jm_run_open(path, &r, &err);
    if (rc)
        print_message("%s\n", err.text);
    assert_int_equal(rc, 0);
    return r;
}

static void everything_comes_back(void **state)
{
    (void)state;
    const char *path = sample_path("all.jmr");
    sample_write(path);
    assert_false(exists(path, "-wal"));
    assert_false(exists(path, "-shm"));
    struct jm_run *r = opened(path);
    sample_check(r);
    char sha[JM_SHA256_HEX];
    assert_int_equal(jm_file_sha256(path, sha, &err), 0);
    assert_true(jm_run_info(r)->sealed && !jm_run_info(r)->cut);
    assert_string_equal(jm_run_info(r)->sha256, sha);
    int64_t real;
    /* pair 3: mono 3 s (middle 200 ns later) is real 3 s */
    assert_true(jm_run_to_real(r, SAMPLE_T0 + 3 * JM_NS_PER_S + 1200, &real));
    assert_int_equal(real, INT64_C(1750000003000001000));
    /* an interval: the chunk it lies in and one on either side */
    struct jm_readings a = {0};
    int64_t from = SAMPLE_T0 + 12 * JM_NS_PER_S;
    assert_int_equal(jm_run_readings(r, 0, from, from, &a, &err), 0);
    assert_true(a.n >= 100 && a.v[0].t0 < from && a.v[a.n - 1].t1 > from);
    jm_readings_release(&a);
    assert_int_equal(jm_run_readings(r, 3, 0, 1, &a, &err), JM_EINVAL);
    jm_run_close(r);
}

static void the_same_content_gives_the_same_bytes(void **state)
{
    (void)state;
    char a[JM_SHA256_HEX], b[JM_SHA256_HEX];
    const char *path = sample_path("same.jmr");
    sample_write(path);
    assert_int_equal(jm_file_sha256(path, a, &err), 0);
    sample_write(path);
    assert_int_equal(jm_file_sha256(path, b, &err), 0);
    assert_string_equal(a, b);
}

static void an_existing_file_stays(void **state)
{
    (void)state;
    const char *path = sample_path("there.jmr");
    sample_write(path);
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    c.overwrite = false;
    assert_int_equal(jm_run_create(path, &c, &w, &err), JM_ECONFLICT);
    jm_run_close(opened(path));
    assert_int_equal(jm_run_create("/nonexistent/x.jmr", &c, &w, &err), JM_EABSENT);
    c.overwrite = true;
    assert_int_equal(jm_run_create("/tmp", &c, &w, &err), JM_ECONFLICT); /* a folder is not replaced */
}

static void wrong_input_is_refused(void **state)
{
    (void)state;
    const char *path = sample_path("wrong.jmr");
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    assert_int_equal(jm_run_create(path, &c, &w, &err), 0);
    sample_fill(w);
    struct jm_reading r = sample_reading(0, 10); /* earlier than the last */
    assert_int_equal(jm_run_put_readings(w, &r, 1, &err), JM_EINVAL);
    r = sample_reading(0, SAMPLE_READINGS);
    r.t1 = r.t0 - 1;
    assert_int_equal(jm_run_put_readings(w, &r, 1, &err), JM_EINVAL);
    r.channel = 99;
    assert_int_equal(jm_run_put_readings(w, &r, 1, &err), JM_EINVAL);
    struct jm_request q = sample_request(1); /* the id is taken */
    assert_int_equal(jm_run_put_request(w, &q, NULL, 0, &err), JM_EINVAL);
    struct jm_window again = {1, 0, JM_R_IDLE, "x", 1, 2};
    assert_int_equal(jm_run_open_window(w, &again, &err), JM_EINVAL);
    assert_int_equal(jm_run_set_meter_state(w, 7, "lost", "", &err), JM_EINVAL);
    /* and the run goes on */
    assert_int_equal(jm_run_seal(w, &err), 0);
    struct jm_run *run = opened(path);
    sample_check(run);
    jm_run_close(run);
}

static void readings_at_one_time(void **state)
{
    (void)state;
    const char *path = sample_path("onetime.jmr");
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    assert_int_equal(jm_run_create(path, &c, &w, &err), 0);
    sample_fill(w);
    struct jm_reading r = sample_reading(1, SAMPLE_READINGS);
    for (int i = 0; i < 5; i++) { /* in virtual time nothing need pass between two reads */
        r.value = i;
        assert_int_equal(jm_run_put_readings(w, &r, 1, &err), 0);
        assert_int_equal(jm_run_flush(w, r.t1, true, &err), 0);
    }
    assert_int_equal(jm_run_seal(w, &err), 0);
    struct jm_run *run = opened(path);
    struct jm_readings a = {0};
    assert_int_equal(jm_run_readings(run, 1, INT64_MIN, INT64_MAX, &a, &err), 0);
    assert_int_equal(a.n, SAMPLE_READINGS + 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(a.v[SAMPLE_READINGS + i].value, i);
    /* what was unpacked for one pass and for other channels' times is the same in the next */
    for (int pass = 0; pass < 2; pass++)
        for (int k = 3; k-- > 0;) {
            struct jm_readings b = {0}, alone = {0};
            struct jm_run *fresh = opened(path);
            assert_int_equal(jm_run_readings(run, k, INT64_MIN, INT64_MAX, &b, &err), 0);
            assert_int_equal(jm_run_readings(fresh, k, INT64_MIN, INT64_MAX, &alone, &err), 0);
            assert_true(b.n >= SAMPLE_READINGS && b.n == alone.n);
            for (size_t i = 0; i < b.n; i++)
                assert_true(b.v[i].t0 == alone.v[i].t0 && b.v[i].t1 == alone.v[i].t1 &&
                            b.v[i].value == alone.v[i].value && b.v[i].status == alone.v[i].status &&
                            b.v[i].flags == alone.v[i].flags && b.v[i].channel == alone.v[i].channel);
            jm_readings_release(&b);
            jm_readings_release(&alone);
            jm_run_close(fresh);
        }
    jm_readings_release(&a);
    jm_run_close(run);
}

static void unsealed_is_read_and_recovered(void **state)
{
    (void)state;
    const char *path = sample_path("cut.jmr");
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    assert_int_equal(jm_run_create(path, &c, &w, &err), 0);
    sample_fill(w);
    assert_int_equal(jm_run_flush(w, 0, true, &err), 0);
    /* while it is being written */
    struct jm_run *r = opened(path);
    sample_check(r);
    assert_false(jm_run_info(r)->sealed);
    assert_string_equal(jm_run_info(r)->sha256, "");
    size_t n;
    assert_int_equal(jm_run_windows(r, &n)[1].t1, 0);
    jm_run_close(r);
    jm_run_abandon(w);
    assert_true(exists(path, "-wal"));
    r = opened(path);
    sample_check(r);
    jm_run_close(r);
    assert_true(exists(path, "-wal")); /* reading changed nothing */
    int64_t last = 0;
    assert_int_equal(jm_run_recover(path, &last, &err), 0);
    assert_false(exists(path, "-wal"));
    assert_int_equal(last, SAMPLE_T0 + 29 * JM_NS_PER_S + 400); /* the last clock pair */
    r = opened(path);
    sample_check(r);
    assert_true(jm_run_info(r)->sealed && jm_run_info(r)->cut);
    assert_int_equal(strlen(jm_run_info(r)->sha256), 64);
    jm_run_close(r);
    assert_int_equal(jm_run_recover(path, &last, &err), 1); /* left as it is */
}

static void killed_while_writing(void **state)
{
    (void)state;
    const char *path = sample_path("killed.jmr");
    int pipefd[2];
    assert_int_equal(pipe(pipefd), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct jm_run_create c = sample_create();
        struct jm_run_writer *w = NULL;
        if (jm_run_create(path, &c, &w, NULL))
            _exit(1);
        sample_fill(w);
        int64_t t = SAMPLE_T0 + 100 * JM_NS_PER_S;
        for (int64_t i = 0;; i++, t += JM_NS_PER_S / 10) {
            struct jm_reading r[2] = {{.t0 = t, .t1 = t + 5, .value = i, .channel = 0},
                                      {.t0 = t, .t1 = t + 5, .value = i, .channel = 1}};
            if (jm_run_put_readings(w, r, 2, NULL) || jm_run_flush(w, t, false, NULL))
                _exit(2);
            if (i == 5000 && write(pipefd[1], "x", 1) != 1)
                _exit(3);
        }
    }
    char c;
    assert_int_equal(read(pipefd[0], &c, 1), 1);
    kill(pid, SIGKILL);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    close(pipefd[0]);
    close(pipefd[1]);
    struct jm_run *r = opened(path); /* opens before recovery too */
    assert_false(jm_run_info(r)->sealed);
    jm_run_close(r);
    int64_t last = 0;
    assert_int_equal(jm_run_recover(path, &last, &err), 0);
    r = opened(path);
    assert_true(jm_run_info(r)->cut);
    struct jm_readings a = {0};
    assert_int_equal(jm_run_readings(r, 0, SAMPLE_T0 + 100 * JM_NS_PER_S, INT64_MAX, &a, &err), 0);
    size_t from = 0;
    while (a.v[from].t0 < SAMPLE_T0 + 100 * JM_NS_PER_S)
        from++;
    assert_true(a.n - from >= 4900); /* 5000 were written: at most 10 s = 100 are lost */
    for (size_t i = from; i < a.n; i++)
        assert_int_equal(a.v[i].value, (int64_t)(i - from));
    jm_readings_release(&a);
    jm_run_close(r);
}

static void full_disk(void **state)
{
    (void)state;
    const char *path = sample_path("full.jmr");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) { /* a file-size limit fails like a full disk: the write comes back short, then EFBIG */
        struct jm_run_create c = sample_create();
        struct jm_run_writer *w = NULL;
        struct jm_err e = {0};
        if (jm_run_create(path, &c, &w, NULL))
            _exit(1);
        sample_fill(w);
        if (jm_run_flush(w, 0, true, NULL))
            _exit(2);
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit lim = {600 << 10, 600 << 10};
        setrlimit(RLIMIT_FSIZE, &lim);
        struct jm_rng g;
        jm_rng_init(&g, 1);
        int64_t t = SAMPLE_T0 + 100 * JM_NS_PER_S;
        int rc = 0;
        for (int i = 0; i < 1000000 && !rc; i++, t += 1000000) {
            struct jm_reading r = {.t0 = t, .t1 = t + 5, .value = (int64_t)jm_rng_u64(&g), .channel = 0};
            rc = jm_run_put_readings(w, &r, 1, &e);
            if (!rc)
                rc = jm_run_flush(w, t, false, &e);
        }
        if (rc != JM_EFULL || !strstr(e.text, "full.jmr"))
            _exit(3);
        struct jm_mark m = {t, "after"};
        if (jm_run_put_mark(w, &m, NULL) != JM_EFULL) /* refused at once, without a try */
            _exit(4);
        rc = jm_run_seal(w, &e);
        _exit(rc == JM_EFULL ? 0 : 5);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct jm_run *r = opened(path);
    size_t n;
    jm_run_windows(r, &n);
    assert_int_equal(n, 2);
    int64_t first, last, count;
    assert_true(jm_run_channel_span(r, 0, &first, &last, &count));
    assert_true(count > SAMPLE_READINGS + 10000); /* what was written before is kept */
    jm_run_close(r);
    assert_int_equal(jm_run_recover(path, &last, &err), 0);
    r = opened(path);
    int64_t count2;
    assert_true(jm_run_channel_span(r, 0, &first, &last, &count2));
    assert_int_equal(count2, count);
    jm_run_close(r);
}

/* The same on a real file system without space, where this user may make one. */
static void full_tmpfs(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        char dir[] = "/tmp/jm-full-XXXXXX", path[64];
        struct jm_err e = {0};
        if (!mkdtemp(dir) || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("none", dir, "tmpfs", 0, "size=700k")) {
            rmdir(dir);
            _exit(77);
        }
        snprintf(path, sizeof path, "%s/run.jmr", dir);
        struct jm_run_create c = sample_create();
        struct jm_run_writer *w = NULL;
        struct jm_rng g;
        jm_rng_init(&g, 1);
        int64_t t = SAMPLE_T0, first, last, count = 0, lost;
        int rc = jm_run_create(path, &c, &w, &e);
        if (rc)
            _exit(1);
        sample_fill(w);
        t += 100 * JM_NS_PER_S;
        for (int i = 0; i < 1000000 && !rc; i++, t += 1000000) {
            struct jm_reading r = {.t0 = t, .t1 = t + 5, .value = (int64_t)jm_rng_u64(&g), .channel = 0};
            rc = jm_run_put_readings(w, &r, 1, &e);
            if (!rc)
                rc = jm_run_flush(w, t, false, &e);
        }
        int sealed = jm_run_seal(w, &e);
        if (rc != JM_EFULL || sealed != JM_EFULL)
            _exit(2);
        if (mount("none", dir, NULL, MS_REMOUNT, "size=8m"))
            _exit(3);
        struct jm_run *r = NULL;
        if (jm_run_recover(path, &lost, &e) || jm_run_open(path, &r, &e))
            _exit(4);
        if (!jm_run_channel_span(r, 0, &first, &last, &count) || count < SAMPLE_READINGS + 10000)
            _exit(5);
        jm_run_close(r);
        umount(dir);
        rmdir(dir);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void put_bytes(const char *path, const void *p, size_t n, off_t at)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, p, n, at), (ssize_t)n);
    close(fd);
}

static void not_ours(void **state)
{
    (void)state;
    struct jm_run *r = NULL;
    const char *path = sample_path("other");
    assert_int_equal(jm_run_open(path, &r, &err), JM_EABSENT);
    put_bytes(path, "", 0, 0);
    assert_int_equal(jm_run_open(path, &r, &err), JM_EPARSE);
    put_bytes(path, "hello", 5, 0);
    assert_int_equal(jm_run_open(path, &r, &err), JM_EPARSE);
    assert_non_null(strstr(err.text, "no SQLite database"));
    assert_int_equal(jm_run_recover(path, NULL, &err), JM_EPARSE);
    assert_int_equal(jm_run_open("/", &r, &err), JM_EIO);
    path = sample_path("version.jmr");
    sample_write(path);
    unsigned char v[4] = {0, 0, 0, JM_RUN_VERSION + 1};
    put_bytes(path, v, 4, 60);
    assert_int_equal(jm_run_open(path, &r, &err), JM_EVERSION);
    assert_non_null(strstr(err.text, "version 2"));
    assert_int_equal(jm_run_recover(path, NULL, &err), JM_EVERSION);
    put_bytes(path, "\0\0\0\1", 4, 60);
    put_bytes(path, "GPKG", 4, 68);
    assert_int_equal(jm_run_open(path, &r, &err), JM_EPARSE);
    assert_non_null(strstr(err.text, "not a run file"));
    assert_null(r);
}

static int any_events(void *self, int64_t request, const struct jm_token_event *ev, size_t n)
{
    (void)request;
    *(int64_t *)self += n ? ev[n - 1].t : 0;
    return 0;
}

/* Reads all there is; anything but a crash is right. */
/* Files of before the table of claims: here its name in the schema is made another one. */
static void older_files_have_no_claims(void **state)
{
    (void)state;
    const char *path = sample_path("older.jmr");
    struct jm_str s;
    size_t n, hits = 0;
    sample_write(path);
    jm_str_init(&s);
    assert_int_equal(jm_file_read(path, 16 << 20, &s, &err), 0);
    for (char *p = s.buf; (p = memmem(p, s.len - (size_t)(p - s.buf), "claim", 5)); hits++)
        *p = 'x';
    assert_true(hits >= 3);
    put_bytes(path, s.buf, s.len, 0);
    jm_str_release(&s);
    struct jm_run *r = opened(path);
    jm_run_claims(r, &n);
    assert_int_equal(n, 0);
    jm_run_windows(r, &n);
    assert_int_equal(n, 2);
    jm_run_close(r);
}

static void read_all(const char *path)
{
    struct jm_run *r = NULL;
    err = (struct jm_err){0};
    int rc = jm_run_open(path, &r, &err);
    if (rc) {
        assert_true(rc < 0 && err.code == rc && err.text[0]);
        return;
    }
    size_t n, k;
    int64_t x = 0;
    jm_run_channels(r, &n);
    for (size_t i = 0; i < n; i++) {
        struct jm_readings a = {0};
        jm_run_readings(r, (int)i, INT64_MIN, INT64_MAX, &a, &err);
        jm_readings_release(&a);
    }
    jm_run_requests(r, &k);
    jm_run_events(r, any_events, &x, &err);
    struct jm_str s;
    jm_str_init(&s);
    jm_run_raw_data(r, "config.json", &s, &err);
    jm_str_release(&s);
    jm_run_close(r);
}

static void damaged(void **state)
{
    (void)state;
    struct jm_rng g;
    jm_rng_init(&g, 77);
    struct jm_str good;
    jm_str_init(&good);
    char source[512];
    snprintf(source, sizeof source, "%s", sample_path("good.jmr"));
    sample_write(source);
    assert_int_equal(jm_file_read(source, 1 << 24, &good, &err), 0);
    const char *path = sample_path("bad.jmr");
    for (int k = 0; k < 400; k++) {
        char *copy = malloc(good.len);
        memcpy(copy, good.buf, good.len);
        size_t len = good.len;
        if (k % 3 == 0)
            len = 100 + (size_t)jm_rng_below(&g, good.len - 100);
        for (int e = 0; e < k % 12; e++)
            copy[100 + jm_rng_below(&g, good.len - 100)] = (char)jm_rng_u64(&g);
        if (k % 7 == 0) /* a stretch of rubbish */
            for (size_t at = 100 + jm_rng_below(&g, good.len - 1100), e = 0; e < 1000; e++)
                copy[at + e] = (char)jm_rng_u64(&g);
        unlink(path);
        put_bytes(path, copy, len, 0);
        free(copy);
        read_all(path);
    }
    jm_str_release(&good);
}

static void damaged_journal(void **state)
{
    (void)state;
    struct jm_rng g;
    jm_rng_init(&g, 78);
    const char *path = sample_path("wal.jmr");
    char wal[512], copy[512];
    struct jm_run_create c = sample_create();
    struct jm_run_writer *w = NULL;
    assert_int_equal(jm_run_create(path, &c, &w, &err), 0);
    sample_fill(w);
    jm_run_abandon(w);
    snprintf(wal, sizeof wal, "%s-wal", path);
    struct jm_str main_bytes, wal_bytes;
    jm_str_init(&main_bytes);
    jm_str_init(&wal_bytes);
    assert_int_equal(jm_file_read(path, 1 << 24, &main_bytes, &err), 0);
    assert_int_equal(jm_file_read(wal, 1 << 24, &wal_bytes, &err), 0);
    assert_true(wal_bytes.len > 10000);
    const char *bad = sample_path("wal2.jmr");
    snprintf(copy, sizeof copy, "%s-wal", bad);
    for (int k = 0; k < 60; k++) {
        unlink(bad);
        unlink(copy);
        put_bytes(bad, main_bytes.buf, main_bytes.len, 0);
        put_bytes(copy, wal_bytes.buf, k % 2 ? wal_bytes.len : (size_t)jm_rng_below(&g, wal_bytes.len), 0);
        if (k % 3)
            put_bytes(copy, "\xff\xff\xff", 3, (off_t)jm_rng_below(&g, wal_bytes.len));
        read_all(bad);
        jm_run_recover(bad, NULL, &err);
        read_all(bad);
    }
    jm_str_release(&main_bytes);
    jm_str_release(&wal_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(the_same_content_gives_the_same_bytes),
        cmocka_unit_test(an_existing_file_stays),
        cmocka_unit_test(wrong_input_is_refused),
        cmocka_unit_test(readings_at_one_time),
        cmocka_unit_test(unsealed_is_read_and_recovered),
        cmocka_unit_test(killed_while_writing),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(full_tmpfs),
        cmocka_unit_test(not_ours),
        cmocka_unit_test(older_files_have_no_claims),
        cmocka_unit_test(damaged),
        cmocka_unit_test(damaged_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
