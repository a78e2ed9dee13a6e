/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are cut, mixed up, of the wrong time, hostile or huge: each leaves its mark, and the rest is
 * read. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "fix_session.h"

#define NS INT64_C(1000000000)

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        print_error("got %.17g, expected %.17g\n", got, want);
    assert_true(fabs(got - want) <= 1e-9 * fmax(1, fabs(want)));
}

/* A session whose run_1/spl.txt is text; one may look at it until the next call. */
static struct jm_mlperf_session *with_spl(const char *name, struct jm_str *spl)
{
    char dir[256];
    fix_session(fix_dir(dir, name));
    fix_write(dir, "run_1/spl.txt", jm_str_span(spl));
    jm_str_reset(spl);
    return fix_read(dir);
}

static void rows(struct jm_str *spl, int from, int to, int64_t shift_ms)
{
    for (int k = from; k < to; k++)
        fix_sample(spl, k * 1000 + 500 + shift_ms, 100 + k, 230, 0.5, "testing", "");
}

static void broken_lines(void **state)
{
    struct jm_str spl;
    (void)state;
    jm_str_init(&spl);
    /* cut within the last line */
    rows(&spl, 0, 30, 0);
    jm_str_adds(&spl, "Time,07-28-2025 08:00:30.500,Watts,13");
    struct jm_mlperf_session *s = with_spl("cut", &spl);
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    assert_int_equal(p->broken, 1);
    assert_non_null(strstr(p->first_broken, "line 31: not a power sample"));
    assert_int_equal(p->file.rows, 30);
    near(p->joules, 1150);
    jm_mlperf_session_free(s);
    /* two writers in one line, a NUL byte, a terminal's escape, a long line */
    rows(&spl, 0, 15, 0);
    jm_str_adds(&spl,
                "Time,07-28-2025 08:0Time,07-28-2025 08:00:15.500,Watts,1,Volts,1,Amps,1,PF,1,Mark,x\n");
    jm_str_add(&spl, "Time,07-28-2025 08:00:15.500,Wa\0ts,1\n", 37);
    jm_str_adds(&spl, "Time\033[2J,\n");
    jm_str_adds(&spl, "Time,07-28-2025 08:00:15.500,Watts,1,Volts,1,Amps,1,PF,1,Mark,");
    for (int i = 0; i < 70000; i++)
        jm_str_addc(&spl, 'm');
    jm_str_adds(&spl, "\nhello\n \n");
    rows(&spl, 15, 30, 0);
    s = with_spl("mixed", &spl);
    p = &s->power[JM_MLPERF_TESTING];
    assert_int_equal(p->broken, 4);
    assert_int_equal(p->other_lines, 1);
    assert_null(strpbrk(p->first_broken, "\033\n"));
    near(p->joules, 1150);
    jm_mlperf_session_free(s);
    /* day and month exchanged in all of it: no sample, and the sentence says so */
    rows(&spl, 0, 0, 0);
    for (int k = 0; k < 30; k++)
        jm_str_addf(&spl, "Time,28-07-2025 08:00:%02d.500,Watts,1,Volts,1,Amps,1,PF,1,Mark,m\n", k);
    s = with_spl("dd-mm", &spl);
    p = &s->power[JM_MLPERF_TESTING];
    assert_int_equal(p->broken, 30);
    assert_int_equal(p->file.rows, 0);
    assert_int_equal(p->first_ns, -1);
    assert_true(isnan(p->joules));
    assert_false(p->covers_begin || p->covers_end);
    assert_non_null(strstr(p->first_broken, "day before the month"));
    jm_mlperf_session_free(s);
    /* nothing at all */
    s = with_spl("empty", &spl);
    p = &s->power[JM_MLPERF_TESTING];
    assert_true(p->present && isnan(p->joules) && isnan(p->max_volts));
    assert_int_equal(p->file.rows + p->broken, 0);
    jm_mlperf_session_free(s);
    jm_str_release(&spl);
}

/* 10,000 samples of the largest value that is one, 1e9 W = 1e15 uW: their sum is 1e19, beyond 64 bits. */
static void large_numbers(void **state)
{
    struct jm_str spl;
    (void)state;
    jm_str_init(&spl);
    for (int k = 0; k < 10000; k++)
        fix_sample(&spl, k * 1000 + 500, 1e9, 230, 0.5, "testing", "");
    jm_str_adds(&spl, "Time,07-28-2025 23:00:15.500,Watts,1000000000.5,Volts,1,Amps,1,PF,1\n"
                      "Time,07-28-2025 "
                      "23:00:15.500,Watts,99100000000000005192630646116011999232.000000,Volts,1,Amps,1,PF,1\n"
                      "Time,07-28-2025 23:00:15.500,Watts,nan,Volts,1,Amps,1,PF,1\n");
    struct jm_mlperf_session *s = with_spl("numbers", &spl);
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    assert_true(p->file.overflow && !p->window.overflow);
    assert_int_equal(p->file.rows, 10000);
    assert_int_equal(p->broken, 3);
    assert_int_equal(p->window.sum_all_uw, INT64_C(10000000000000000));
    near(p->joules, 1e10);
    jm_mlperf_session_free(s);
    jm_str_release(&spl);
}

static void wrong_times(void **state)
{
    struct jm_str spl;
    (void)state;
    jm_str_init(&spl);
    /* a log in summer time: an hour off, so nothing lies in the window */
    rows(&spl, 0, 30, 3600000);
    struct jm_mlperf_session *s = with_spl("dst", &spl);
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    assert_int_equal(p->file.rows, 30);
    assert_int_equal(p->window.rows, 0);
    assert_true(isnan(p->joules) && !p->covers_begin && !p->covers_end);
    assert_int_equal(p->first_ns, (T0 + 3600) * NS + NS / 2);
    jm_mlperf_session_free(s);
    /* the clock is set back by 3 s within the window: what goes back is counted and has no place in the
     * energy, which bridges nothing: 13.5 s is reached again */
    rows(&spl, 0, 14, 0);
    rows(&spl, 11, 30, 0);
    s = with_spl("back", &spl);
    p = &s->power[JM_MLPERF_TESTING];
    assert_int_equal(p->out_of_order, 2);
    assert_int_equal(p->duplicate_stamps, 0); /* 13.5 s comes twice, but not after itself */
    assert_int_equal(p->window.rows, 13);
    near(p->joules, 1150);
    jm_mlperf_session_free(s);
    /* forward by 4 s: 13.5 -> 18.5, so that a block of one second at 18.5 is known and three before it are
     * bridged: that is more than a tenth of the window */
    rows(&spl, 0, 14, 0);
    rows(&spl, 18, 30, 0);
    s = with_spl("forward", &spl);
    p = &s->power[JM_MLPERF_TESTING];
    assert_int_equal(p->max_gap_ns, 5 * NS);
    near(p->bridged_s, 4);
    assert_true(isnan(p->joules));
    jm_mlperf_session_free(s);
    /* the same stamp twice, as PTDaemon writes a missed sample */
    rows(&spl, 0, 15, 0);
    rows(&spl, 14, 30, 0);
    s = with_spl("twice", &spl);
    p = &s->power[JM_MLPERF_TESTING];
    assert_int_equal(p->duplicate_stamps, 1);
    assert_int_equal(p->window.rows, 11);
    near(p->joules, 1150);
    jm_mlperf_session_free(s);
    /* the log begins and ends within the window */
    rows(&spl, 11, 19, 0);
    s = with_spl("short", &spl);
    p = &s->power[JM_MLPERF_TESTING];
    assert_true(!p->covers_begin && !p->covers_end);
    assert_int_equal(p->window.rows, 8);
    jm_mlperf_session_free(s);
    rows(&spl, 14, 16, 0);
    s = with_spl("shorter", &spl);
    assert_true(isnan(s->power[JM_MLPERF_TESTING].joules));
    jm_mlperf_session_free(s);
    /* of another session */
    for (int k = 0; k < 30; k++)
        fix_sample(&spl, k * 1000 + 500, 100, 230, 0.5, k < 10 ? "testing" : "ranging", "");
    s = with_spl("marks", &spl);
    assert_int_equal(s->power[JM_MLPERF_TESTING].marks_other, 20);
    jm_mlperf_session_free(s);
    jm_str_release(&spl);
}

static void windows(void **state)
{
    static const struct {
        int64_t begin, end;
    } row[] = {
        {10000, 10000}, {20000, 10000}, {-90000000, -80000000}, {90000000, 99000000}, {25000, 35000000}};
    char dir[256];
    int64_t b, e;
    (void)state;
    fix_session(fix_dir(dir, "windows"));
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        fix_detail(dir, "run_1", row[i].begin, row[i].end);
        struct jm_mlperf_session *s = fix_read(dir);
        const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
        assert_true(jm_mlperf_window(s, JM_MLPERF_TESTING, &b, &e));
        assert_int_equal(e - b, (row[i].end - row[i].begin) * 1000000);
        assert_true(isnan(p->joules));
        assert_int_equal(p->file.rows, 30);
        assert_int_equal(p->window.rows, i == 4 ? 5 : 0);
        jm_mlperf_session_free(s);
    }
    /* no stamps, or such that are none */
    static const char *const logs[] = {
        "", "\n\n", ":::MLLOG {\"key\": \"power_begin\", \"value\": \"28-07-2025 08:00:10.000\"}\n",
        (":::MLLOG {\"key\": \"power_begin\", \"value\": 7}\n"
         ":::MLLOG {\"key\": \"power_end\", \"value\": []}\n"),
        ":::MLLOG {\"key\": \"power_begin\", \"va"};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        fix_text(dir, "run_1/mlperf_log_detail.txt", logs[i]);
        struct jm_mlperf_session *s = fix_read(dir);
        assert_false(jm_mlperf_window(s, JM_MLPERF_TESTING, &b, &e));
        assert_int_equal(s->loadgen[JM_MLPERF_TESTING].broken, i == 4);
        assert_int_equal(s->loadgen[JM_MLPERF_TESTING].checker_timeless, i >= 2);
        assert_int_equal(s->power[JM_MLPERF_TESTING].file.rows, 30);
        assert_true(isnan(s->power[JM_MLPERF_TESTING].joules));
        jm_mlperf_session_free(s);
    }
}

/* A detail log with a hundred thousand entries, keys without end, a line of 5 MB. */
static void many_entries(void **state)
{
    char dir[256], key[40];
    struct jm_str log;
    (void)state;
    jm_str_init(&log);
    fix_session(fix_dir(dir, "entries"));
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "k%d", i % 5000);
        fix_entry(&log, key, "1");
    }
    jm_str_adds(&log, ":::MLLOG {\"key\": \"loaded_qsl_set\", \"value\": [1");
    for (int i = 0; i < 1250000; i++)
        jm_str_adds(&log, ", 12");
    jm_str_adds(&log, "]}\n");
    fix_entry(&log, "power_begin", "\"07-28-2025 08:00:10.000\"");
    fix_entry(&log, "power_end", "\"07-28-2025 08:00:20.000\"");
    fix_write(dir, "run_1/mlperf_log_detail.txt", jm_str_span(&log));
    jm_str_release(&log);
    struct jm_mlperf_session *s = fix_read(dir);
    const struct jm_mlperf_loadgen *lg = &s->loadgen[JM_MLPERF_TESTING];
    assert_int_equal(lg->lines, 100002);
    assert_int_equal(lg->broken, 1);
    assert_int_equal(lg->n_facts, 1024);
    assert_int_equal(lg->begin, (T0 + 10) * NS); /* kept apart from the facts */
    near(s->power[JM_MLPERF_TESTING].joules, 1150);
    jm_mlperf_session_free(s);
}

static struct jm_mlperf_session *with_server(const char *dir, const char *json)
{
    fix_text(dir, "power/server.json", json);
    return fix_read(dir);
}

static void hostile_json(void **state)
{
    char dir[256];
    struct jm_mlperf_session *s;
    struct jm_str deep;
    (void)state;
    fix_session(fix_dir(dir, "json"));
    jm_str_init(&deep);
    jm_str_adds(&deep, "{\"a\": ");
    for (int i = 0; i < 100000; i++)
        jm_str_addc(&deep, '[');
    static const char *const none[] = {"",
                                       "[]",
                                       "7",
                                       "{",
                                       "{\"version\": \"1.0\"} x",
                                       "{\"a\": \"\xff\"}",
                                       "{\"a\": 1e}",
                                       "\xef\xbb\xbf{}",
                                       "{'a': 1}",
                                       "{\"a\": \"\n\"}",
                                       NULL};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        s = with_server(dir, none[i] ? none[i] : deep.buf);
        assert_true(s->server.present && s->server.broken);
        assert_int_equal(s->server.n_results + s->server.n_messages, 0);
        assert_false(s->client.broken);
        jm_mlperf_session_free(s);
    }
    jm_str_release(&deep);
    /* all of the wrong type; none of it is believed, the first is named */
    s = with_server(
        dir, "{\"version\": 1, \"timezone\": \"UTC\", \"sources\": [], \"results\": 5, \"messages\": {}, "
             "\"uuid\": \"x\", \"session_name\": null, \"phases\": [1], \"ptd_messages\": \"\", "
             "\"ptd_config\": 3, "
             "\"debug\": \"no\"}");
    assert_null(s->server.broken);
    assert_non_null(strstr(s->server.odd, "\"version\""));
    assert_string_equal(s->server.missing, "modules");
    assert_false(s->server.has_timezone || s->server.has_config || s->server.debug);
    assert_null(s->server.version);
    assert_int_equal(s->server.n_sources + s->server.n_results + s->server.n_messages + s->server.n_ptd, 0);
    jm_mlperf_session_free(s);
    /* members twice: the last one counts, as in Python; NUL bytes, escapes; names are names, not paths to
     * follow */
    s = with_server(
        dir, "{\"session_name\": \"a\", \"session_name\": \"../../etc\\u0000/\\u00e9\", \"results\": "
             "{\"../../../etc/passwd\": \"1\", \"x\": \"2\", \"x\": \"3\", \"y\": 4}, \"timezone\": 1e99}");
    assert_string_equal(s->server.session_name, "../../etc?/\xc3\xa9");
    assert_int_equal(s->server.n_results, 3);
    assert_string_equal(s->server.results[1].sha1, "3");
    assert_string_equal(s->server.results[2].sha1, "");
    assert_int_equal(s->server.timezone_s, 0);
    jm_mlperf_session_free(s);
    /* huge and odd numbers, phases without end, null items */
    s = with_server(
        dir,
        "{\"timezone\": -99999999999999999999, \"phases\": {\"testing\": [[1e400, NaN], [1], 2, [1, 2], [1, "
        "2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2]], \"ranging\": {}}, \"ptd_config\": [null, "
        "{\"device_type\": "
        "1e30, \"command\": [1, \"b\"], \"channel\": [1, 3]}, 7], \"messages\": [null, {\"cmd\": \"x\"}]}");
    assert_int_equal(s->server.n_phase[JM_MLPERF_TESTING], 8);
    assert_int_equal(s->server.n_phase[JM_MLPERF_RANGING], 0);
    assert_true(isnan(s->server.phase[JM_MLPERF_TESTING][0].unix_s) &&
                isnan(s->server.phase[JM_MLPERF_TESTING][2].unix_s));
    near(s->server.phase[JM_MLPERF_TESTING][1].unix_s, 1);
    assert_true(s->server.config_is_list);
    assert_int_equal(s->server.n_config, 3);
    assert_int_equal(s->server.config[0].device_type, -1);
    assert_null(s->server.config[0].command);
    assert_int_equal(s->server.config[1].device_type, -1);
    assert_string_equal(s->server.config[1].command, "? b");
    assert_string_equal(s->server.config[1].channel, "[1, 3]");
    assert_int_equal(s->server.n_messages, 2);
    assert_string_equal(s->server.messages[1].reply, "");
    jm_mlperf_session_free(s);
    /* the forms of v1.0 to v5.1 */
    s = with_server(
        dir,
        "{\"ptd_config\": [{\"device_type\": 48, \"dc_flag\": null, \"channel\": [1]}], \"debug\": true}");
    assert_true(s->server.has_config && s->server.config_is_list && s->server.debug);
    assert_int_equal(s->server.config[0].device_type, 48);
    assert_null(s->server.config[0].dc_flag);
    jm_mlperf_session_free(s);
    s = with_server(dir, "{\"ptd_config\": null}");
    assert_false(s->server.has_config);
    jm_mlperf_session_free(s);
}

/* Longer than anybody writes. */
static void large_json(void **state)
{
    char dir[256];
    struct jm_str j;
    (void)state;
    jm_str_init(&j);
    fix_session(fix_dir(dir, "large"));
    jm_str_adds(&j, "{\"messages\": [{}");
    for (int i = 0; i < 80000; i++)
        jm_str_adds(&j, ", {}");
    jm_str_adds(&j, "]}");
    struct jm_mlperf_session *s = with_server(dir, j.buf);
    assert_int_equal(s->server.n_messages, 65536);
    assert_non_null(s->server.odd);
    jm_mlperf_session_free(s);
    jm_str_pad(&j, 5 << 20, ' ');
    s = with_server(dir, j.buf);
    assert_non_null(strstr(s->server.broken, "larger than 4 MiB"));
    assert_int_equal(strlen(s->file[JM_MLPERF_SERVER_JSON].sha1), 40); /* hashed all the same */
    assert_int_equal(s->file[JM_MLPERF_SERVER_JSON].bytes, 5 << 20);
    jm_mlperf_session_free(s);
    jm_str_release(&j);
}

static void odd_files(void **state)
{
    char dir[256], path[512], to[512];
    (void)state;
    fix_session(fix_dir(dir, "files"));
    snprintf(path, sizeof path, "%s/power/client.log", dir);
    assert_int_equal(unlink(path) || mkdir(path, 0777), 0);
    snprintf(path, sizeof path, "%s/power/server.log", dir);
    assert_int_equal(unlink(path) || mkfifo(path, 0666), 0); /* nobody writes: it must not be waited for */
    snprintf(path, sizeof path, "%s/ranging/spl.txt", dir);
    assert_int_equal(unlink(path) || symlink("spl.txt", path), 0); /* to itself */
    snprintf(path, sizeof path, "%s/ranging/mlperf_log_detail.txt", dir);
    assert_int_equal(unlink(path) || symlink("../run_1/mlperf_log_detail.txt", path), 0);
    snprintf(path, sizeof path, "%s/power/ptd_logs.txt", dir);
    snprintf(to, sizeof to, "%s/power/ptd_logs_analyzer_1.txt", dir);
    assert_int_equal(rename(path, to), 0);
    struct jm_mlperf_session *s = fix_read(dir);
    assert_non_null(strstr(s->file[JM_MLPERF_CLIENT_LOG].error, "no regular file"));
    assert_non_null(strstr(s->file[JM_MLPERF_SERVER_LOG].error, "no regular file"));
    assert_non_null(s->file[JM_MLPERF_RANGING_SPL].error);
    assert_string_equal(s->file[JM_MLPERF_RANGING_SPL].sha1, "");
    assert_null(s->file[JM_MLPERF_RANGING_DETAIL].error);
    assert_false(s->file[JM_MLPERF_PTD_LOGS].present || s->ptd_log.present);
    assert_string_equal(s->others[0], "power/ptd_logs_analyzer_1.txt");
    near(s->power[JM_MLPERF_TESTING].joules, 1150);
    jm_mlperf_session_free(s);
}

/* A ranging with more messages than are kept does not crowd out the test. */
static void many_messages(void **state)
{
    char dir[256], t[32];
    struct jm_str log;
    (void)state;
    jm_str_init(&log);
    fix_session(fix_dir(dir, "messages"));
    jm_str_adds(&log, "07-28-2025 07:59:59.000: Go with mark 'x_ranging'\n");
    for (int i = 0; i < 200000; i++)
        jm_str_addf(&log, "%s: WARNING: number %d\n", fix_stamp(i, t), i % 1000);
    jm_str_adds(&log,
                "07-28-2025 08:10:00.000: Go with mark 'x_testing'\n07-28-2025 08:10:01.000: ERROR: it\n");
    fix_write(dir, "power/ptd_logs.txt", jm_str_span(&log));
    jm_str_release(&log);
    struct jm_mlperf_session *s = fix_read(dir);
    const struct jm_mlperf_ptd_log *p = &s->ptd_log;
    assert_int_equal(p->lines, 200003);
    assert_int_equal((int64_t)p->n_events + p->dropped, 200003);
    assert_int_equal(p->dropped, p->dropped_warnings);
    assert_string_equal(p->events[p->n_events - 1].text, "ERROR: it");
    assert_int_equal(p->events[p->n_events - 1].line, 200003);
    assert_ptr_equal(p->events[1].text, p->events[1001].text); /* one copy of a text */
    jm_mlperf_session_free(s);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MEMORY 0
#endif
#endif
#ifndef OWN_MEMORY
#define OWN_MEMORY 1
#endif

static void sparse(const char *dir, const char *rel, int64_t bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, rel);
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    close(fd);
}

/* Files of one line of NUL bytes. The slow suite has larger ones: session_huge_test.py. */
static void huge_files(void **state)
{
    static const enum jm_mlperf_file_id ids[] = {JM_MLPERF_PTD_LOGS, JM_MLPERF_RUN_SPL,
                                                 JM_MLPERF_RANGING_DETAIL, JM_MLPERF_RANGING_SUMMARY,
                                                 JM_MLPERF_SERVER_LOG};
    char dir[256];
    struct rusage before, after;
    const int64_t size = 48 << 20;
    const size_t n = sizeof ids / sizeof ids[0];
    (void)state;
    fix_session(fix_dir(dir, "huge"));
    struct jm_mlperf_session *s = fix_read(dir);
    for (size_t i = 0; i < n; i++)
        sparse(dir, s->file[ids[i]].rel, size);
    jm_mlperf_session_free(s);
    getrusage(RUSAGE_SELF, &before);
    s = fix_read(dir);
    getrusage(RUSAGE_SELF, &after);
    for (size_t i = 0; i < n; i++) {
        assert_null(s->file[ids[i]].error);
        assert_true(s->file[ids[i]].bytes == size);
    }
    assert_int_equal(s->power[JM_MLPERF_TESTING].file.rows, 30);
    assert_int_equal(s->power[JM_MLPERF_TESTING].broken, 1);
    if (OWN_MEMORY)
        assert_true(after.ru_maxrss < 65536 || after.ru_maxrss == before.ru_maxrss);
    jm_mlperf_session_free(s);
}

static int clean(void **state)
{
    (void)state;
    fix_clean();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge_files),    cmocka_unit_test(broken_lines), cmocka_unit_test(wrong_times),
        cmocka_unit_test(large_numbers), cmocka_unit_test(windows),      cmocka_unit_test(many_entries),
        cmocka_unit_test(hostile_json),  cmocka_unit_test(large_json),   cmocka_unit_test(odd_files),
        cmocka_unit_test(many_messages),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
