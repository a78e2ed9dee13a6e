/* SPDX-License-Identifier: Apache-2.0 */
/* Whole sessions in their layouts and forms; expected figures are calculated by hand in fix_session.h and
 * here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fix_session.h"

#define NS INT64_C(1000000000)

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
        print_error("got %.17g, expected %.17g\n", got, want);
    assert_true(fabs(got - want) <= 1e-9 * fmax(1, fabs(want)));
}

static const struct jm_mlperf_power *run_1(const struct jm_mlperf_session *s)
{
    return &s->power[JM_MLPERF_TESTING];
}

static void plain(void **state)
{
    char dir[256];
    int64_t begin, end;
    (void)state;
    fix_session(fix_dir(dir, "plain"));
    struct jm_mlperf_session *s = fix_read(dir);
    const struct jm_mlperf_power *p = run_1(s);
    assert_true(jm_mlperf_window(s, JM_MLPERF_TESTING, &begin, &end));
    assert_int_equal(begin, (T0 + 10) * NS);
    assert_int_equal(end, (T0 + 20) * NS);
    assert_int_equal(p->file.rows, 30);
    assert_int_equal(p->window.rows, 10);
    assert_int_equal(p->window.good, 10);
    assert_int_equal(p->window.sum_all_uw, INT64_C(1145000000));
    assert_int_equal(p->window.sum_positive_uw, INT64_C(1145000000));
    assert_int_equal(p->window.sum_pf_micro, 9000000);
    assert_int_equal(p->window.min_uw, 110000000);
    assert_int_equal(p->window.max_uw, 119000000);
    assert_int_equal(p->first_ns, T0 * NS + NS / 2);
    assert_int_equal(p->last_ns, (T0 + 29) * NS + NS / 2);
    assert_int_equal(p->max_gap_ns, NS);
    near(p->joules, 1150);
    near(p->seconds, 10);
    near(p->bridged_s, 0);
    near(p->max_volts, 230);
    near(p->max_amps, 0.5 + 29 * 0.01);
    assert_true(p->covers_begin && p->covers_end);
    assert_int_equal(p->marks_other + p->broken + p->duplicate_stamps + p->out_of_order + p->other_lines, 0);
    assert_string_equal(p->first_mark, NAME "_testing");
    assert_string_equal(s->round.name, "v5.1");

    const struct jm_mlperf_loadgen *lg = &s->loadgen[JM_MLPERF_TESTING];
    near(jm_mlperf_number(lg, "result_samples_per_second"), 376.512); /* the first of a key */
    assert_string_equal(jm_mlperf_fact(lg, "effective_scenario")->text, "Offline");
    assert_true(jm_mlperf_fact(lg, "result_min_duration_met")->is_bool);
    assert_string_equal(jm_mlperf_fact(lg, "result_validity")->text, "VALID"); /* the summary has it only */
    assert_null(jm_mlperf_fact(lg, "result_query_count"));
    assert_true(isnan(jm_mlperf_number(lg, "effective_scenario")));
    assert_int_equal(lg->lines, 7);

    assert_string_equal(s->client.session_name, NAME);
    assert_string_equal(s->client.uuid_server, "s-1");
    assert_int_equal(s->client.n_messages, 1);
    near(s->client.messages[0].reply_time, 1753687116.75);
    assert_int_equal(s->client.n_phase[JM_MLPERF_TESTING], 4);
    near(s->client.phase[JM_MLPERF_TESTING][0].unix_s, 1.5);
    assert_false(s->client.has_config);
    assert_true(s->server.has_config && !s->server.config_is_list);
    assert_int_equal(s->server.n_config, 1);
    assert_int_equal(s->server.config[0].device_type, 49);
    assert_string_equal(s->server.config[0].command, "ptd -p 8888");
    assert_null(s->server.config[0].channel);
    assert_true(isnan(s->server.ptd[0].cmd_time));
    assert_null(s->client.missing);
    assert_null(s->client.odd);

    assert_int_equal(s->ptd_log.n_events, 4);
    assert_int_equal(s->ptd_log.events[2].kind, JM_MLPERF_EV_ERROR);
    assert_int_equal(s->ptd_log.events[2].t_ns, (T0 + 1) * NS);
    assert_int_equal(s->ptd_log.events[2].line, 3);
    assert_string_equal(s->ptd_log.events[3].text, "Completed test");

    /* sha1sum of "a\nb\n" and "a\r\nb\r\n" */
    assert_string_equal(s->file[JM_MLPERF_SERVER_LOG].sha1, "05dec960e24d918b8a73a1c53bcbbaac2ee5c2e0");
    assert_string_equal(s->file[JM_MLPERF_SERVER_LOG].sha1_lf, "05dec960e24d918b8a73a1c53bcbbaac2ee5c2e0");
    assert_string_equal(s->file[JM_MLPERF_CLIENT_LOG].sha1, "72dd82ee6968b55d1833597e2d6e1638a100c2ea");
    assert_true(s->file[JM_MLPERF_CLIENT_LOG].has_crlf && !s->file[JM_MLPERF_SERVER_LOG].has_crlf);
    /* another hash is recorded, so that both forms are there */
    assert_int_equal(strlen(s->file[JM_MLPERF_RUN_SPL].sha1_crlf), 40);
    assert_int_equal(strlen(s->file[JM_MLPERF_RUN_SPL].sha1_lf), 40);
    assert_string_equal(s->file[JM_MLPERF_RUN_SPL].rel, "run_1/spl.txt");
    jm_mlperf_session_free(s);
}

static void layouts(void **state)
{
    char dir[256], sub[512];
    struct jm_mlperf_session *s;
    struct jm_err err;
    (void)state;
    fix_dir(dir, "layout");
    snprintf(sub, sizeof sub, "%s/performance", dir);
    fix_session(sub);
    fix_text(sub, "run_1/mlperf_log_accuracy.json", "[]");
    fix_text(sub, "power/odd/deep.txt", "");
    static const char *const ways[] = {"",
                                       "/",
                                       "/performance",
                                       "/performance/run_1",
                                       "/performance/run_1/",
                                       "/performance/power",
                                       "/performance/ranging"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        snprintf(sub, sizeof sub, "%s%s", dir, ways[i]);
        assert_true(jm_mlperf_session_at(sub));
        s = fix_read(sub);
        for (int f = 0; f < JM_MLPERF_FILES; f++)
            assert_true(s->file[f].present && !s->file[f].error && s->file[f].bytes > 0);
        near(run_1(s)->joules, 1150);
        assert_int_equal(s->n_others, 2);
        assert_string_equal(s->others[0], "power/odd/");
        assert_string_equal(s->others[1], "run_1/mlperf_log_accuracy.json");
        jm_mlperf_session_free(s);
    }
    /* the logs alone, copied somewhere */
    fix_dir(dir, "flat");
    fix_spl(dir, ".", "testing");
    fix_detail(dir, ".", 10000, 20000);
    assert_true(jm_mlperf_session_at(dir));
    s = fix_read(dir);
    near(run_1(s)->joules, 1150);
    assert_false(s->client.present || s->server.present || s->power[JM_MLPERF_RANGING].present ||
                 s->ptd_log.present || s->loadgen[JM_MLPERF_RANGING].present);
    assert_true(isnan(s->power[JM_MLPERF_RANGING].joules));
    jm_mlperf_session_free(s);
    /* performance without power is no session; nor is nothing */
    fix_dir(dir, "perf");
    fix_detail(dir, "performance/run_1", 0, 1);
    assert_false(jm_mlperf_session_at(dir));
    assert_int_equal(jm_mlperf_session_read(dir, 0, &s, &err), JM_EABSENT);
    assert_int_equal(jm_mlperf_session_read("does/not/exist", 0, &s, &err), JM_EABSENT);
    assert_false(jm_mlperf_session_at(""));
    /* flags */
    snprintf(sub, sizeof sub, "fix_session.%d/layout", (int)getpid());
    assert_int_equal(jm_mlperf_session_read(sub, JM_MLPERF_NO_HASHES | JM_MLPERF_NO_PTD_LOG, &s, &err), 0);
    assert_false(s->ptd_log.present);
    assert_string_equal(s->file[JM_MLPERF_RUN_SPL].sha1, "");
    jm_mlperf_session_free(s);
}

/* What the text files look like after a checkout that changed their line ends: v2.0's repository. */
static void line_ends(void **state)
{
    char dir[256], path[512], hash[JM_SHA1_HEX], extra[200];
    struct jm_str lf, crlf;
    struct jm_sha1 h;
    (void)state;
    jm_str_init(&lf);
    jm_str_init(&crlf);
    fix_session(fix_dir(dir, "ends"));
    snprintf(path, sizeof path, "%s/run_1/spl.txt", dir);
    assert_int_equal(jm_file_read(path, 1 << 20, &lf, NULL), 0);
    for (size_t i = 0; i < lf.len; i++) {
        if (lf.buf[i] == '\n')
            jm_str_addc(&crlf, '\r');
        jm_str_addc(&crlf, lf.buf[i]);
    }
    jm_str_adds(&crlf, "\r\n");
    jm_sha1_init(&h);
    jm_sha1_add(&h, crlf.buf, crlf.len);
    jm_sha1_done(&h, hash);
    snprintf(extra, sizeof extra, ", \"results\": {\"run_1/spl.txt\": \"%s\"}", hash);
    fix_side(dir, "server", 0, extra); /* of a member that stands twice the last one counts */
    /* as written: CRLF and a blank line at the end */
    fix_write(dir, "run_1/spl.txt", jm_str_span(&crlf));
    struct jm_mlperf_session *s = fix_read(dir);
    assert_true(run_1(s)->crlf && run_1(s)->blank_last);
    near(run_1(s)->joules, 1150);
    assert_string_equal(s->server.results[0].sha1, hash);
    assert_string_equal(s->file[JM_MLPERF_RUN_SPL].sha1, hash);
    assert_string_equal(s->file[JM_MLPERF_RUN_SPL].sha1_crlf, hash);
    jm_mlperf_session_free(s);
    /* as checked out: LF */
    jm_str_addc(&lf, '\n');
    fix_write(dir, "run_1/spl.txt", jm_str_span(&lf));
    s = fix_read(dir);
    assert_true(!run_1(s)->crlf && run_1(s)->blank_last);
    near(run_1(s)->joules, 1150);
    assert_string_not_equal(s->file[JM_MLPERF_RUN_SPL].sha1, hash);
    assert_string_equal(s->file[JM_MLPERF_RUN_SPL].sha1_crlf, hash);
    jm_mlperf_session_free(s);
    /* mixed, a CR of its own, CR CR LF (v1.0's ptd_logs.txt): the CRLF form has CR before each LF once */
    fix_text(dir, "run_1/spl.txt", "a\r\nb\nc\rd\r\r\n\r\n\ne\r");
    s = fix_read(dir);
    jm_sha1_init(&h);
    jm_sha1_add(&h, "a\r\nb\r\nc\rd\r\r\n\r\n\r\ne\r", 18);
    jm_sha1_done(&h, hash);
    assert_string_equal(s->file[JM_MLPERF_RUN_SPL].sha1_crlf, hash);
    jm_sha1_init(&h);
    jm_sha1_add(&h, "a\nb\nc\rd\r\n\n\ne\r", 13);
    jm_sha1_done(&h, hash);
    assert_string_equal(s->file[JM_MLPERF_RUN_SPL].sha1_lf, hash);
    assert_int_equal(run_1(s)->other_lines, 4);
    jm_mlperf_session_free(s);
    jm_str_release(&lf);
    jm_str_release(&crlf);
}

/* Sample 14 (114 W) is missed: the line from 113 W to 115 W bridges one second, and gives 1150 J again.
 * Sample 16 is over range: -(3 + 116). Sample 25 has no reading. */
static void sentinels(void **state)
{
    char dir[256];
    struct jm_str spl;
    (void)state;
    jm_str_init(&spl);
    fix_session(fix_dir(dir, "sentinels"));
    for (int k = 0; k < 30; k++) {
        if (k == 14)
            jm_str_addf(
                &spl,
                "Time,07-28-2025 08:00:13.501,Watts,-2.000000,Volts,-2.000000,Amps,-2.000000,PF,-2.000000,"
                "Mark," NAME "_testing\n");
        else if (k == 16)
            fix_sample(&spl, 16500, -119, 230, -3.5, "testing", "");
        else if (k == 25)
            fix_sample(&spl, 25500, -1, 230, -1, "testing", "");
        else
            fix_sample(&spl, k * 1000 + 500, 100 + k, 230, 0.5, "testing", "");
    }
    fix_sample(&spl, 30500, 0, 230, 0, "testing", ""); /* 0 W is a reading */
    fix_write(dir, "run_1/spl.txt", jm_str_span(&spl));
    struct jm_mlperf_session *s = fix_read(dir);
    const struct jm_mlperf_power *p = run_1(s);
    assert_int_equal(p->window.rows, 10);
    assert_int_equal(p->window.good, 8);
    assert_int_equal(p->window.missed, 1);
    assert_int_equal(p->window.over, 1);
    assert_int_equal(p->window.bad, 0);
    assert_int_equal(p->file.bad, 1);
    assert_int_equal(p->window.nonpositive, 2);
    assert_int_equal(p->file.nonpositive, 4);
    assert_int_equal(p->file.good, 28);
    /* 1145 - 114 - 116 = 915; as written also -2 and -119 */
    assert_int_equal(p->window.sum_positive_uw, INT64_C(915000000));
    assert_int_equal(p->window.sum_all_uw, INT64_C(794000000));
    near(p->joules, 1150);
    near(p->bridged_s, 1);
    near(p->over_s, 1);
    jm_mlperf_session_free(s);
    jm_str_release(&spl);
}

static void channels_and_analyzers(void **state)
{
    char dir[256], t[32];
    struct jm_str spl;
    (void)state;
    jm_str_init(&spl);
    fix_session(fix_dir(dir, "channels"));
    for (int k = 0; k < 30; k++)
        fix_sample(&spl, k * 1000 + 500, 100 + k, 230, 0.5, "testing",
                   ",Ch1,Watts,60,Volts,230,Amps,1,PF,1,Ch2,Watts,40,Volts,230,Amps,1,PF,1,Ch3,Watts,0,Volts,"
                   "0,Amps,0,PF,0");
    fix_write(dir, "run_1/spl.txt", jm_str_span(&spl));
    /* two analyzers: 8 W over range as -11 (the merge adds its absolute value), and 100 + k W. The file says
     * 111 + k, 108 + k is meant: 1150 + 80 = 1230 J */
    jm_str_reset(&spl);
    for (int k = 0; k < 30; k++) {
        fix_stamp(k * 1000 + 500, t);
        jm_str_addf(
            &spl,
            "Time,%s,Watts,%d.000000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000,Mark," NAME "_ranging,"
            "Analyzer1,Time,%s,Watts,-11.000000,Volts,240.000000,Amps,-3.033333,PF,1.000000,Mark," NAME
            "_ranging,Analyzer2,Time,%s,Watts,%d.000000,Volts,240.000000,Amps,0.500000,PF,0.900000,Mark," NAME
            "_ranging\n",
            t, 111 + k, t, t, 100 + k);
    }
    fix_write(dir, "ranging/spl.txt", jm_str_span(&spl));
    struct jm_mlperf_session *s = fix_read(dir);
    assert_int_equal(run_1(s)->channels, 3);
    assert_int_equal(run_1(s)->analyzers, 0);
    near(run_1(s)->joules, 1150);
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_RANGING];
    assert_int_equal(p->analyzers, 2);
    assert_int_equal(p->channels, 0);
    assert_int_equal(p->window.over, 10);
    assert_int_equal(p->window.nonpositive, 0); /* which is why the published mean takes them */
    near(p->joules, 1230);
    near(p->over_s, 10);
    jm_mlperf_session_free(s);
    jm_str_release(&spl);
}

/* v1.0: the power log in the Director's local time, LoadGen's in the SUT's. */
static void local_time(void **state)
{
    char dir[256];
    int64_t begin, end;
    (void)state;
    fix_dir(dir, "v1.0_zones");
    fix_session(dir);
    static const int64_t day = 86400000;
    /* 1600 days before T0 is 2021-03-11, which v1.0 can be; UTC is 21600 s after the server's, -3600 s after
     * the client's local time */
    struct jm_str spl;
    jm_str_init(&spl);
    for (int k = 0; k < 30; k++)
        fix_sample(&spl, k * 1000 + 500 - 1600 * day - 21600000, 100 + k, 230, 0.5, "testing", "");
    fix_write(dir, "run_1/spl.txt", jm_str_span(&spl));
    jm_str_release(&spl);
    fix_detail(dir, "run_1", 10000 - 1600 * day + 3600000, 20000 - 1600 * day + 3600000);
    fix_side(dir, "client", -3600, "");
    fix_side(dir, "server", 21600, "");
    struct jm_mlperf_session *s = fix_read(dir);
    assert_string_equal(s->round.name, "v1.0");
    assert_true(jm_mlperf_window(s, JM_MLPERF_TESTING, &begin, &end));
    assert_int_equal(begin, (T0 + 10 - 1600 * 86400) * NS);
    assert_int_equal(run_1(s)->first_ns, (T0 - 1600 * 86400) * NS + NS / 2);
    assert_int_equal(run_1(s)->window.rows, 10);
    near(run_1(s)->joules, 1150);
    jm_mlperf_session_free(s);
}

/* Logs before LoadGen 1.0 and in MLPerf's first form. */
static void old_logs(void **state)
{
    char dir[256];
    (void)state;
    fix_session(fix_dir(dir, "old"));
    fix_text(dir, "run_1/mlperf_log_detail.txt",
             "\"pid\": 6, \"tid\": 6, \"ts\": 100ns : version : .5a1\n"
             "\"pid\": 6, \"tid\": 6, \"ts\": 200ns : WARNING : Something odd\n"
             "\"pid\": 6, \"tid\": 6, \"ts\": 600ns : POWER_BEGIN : 07-28-2025 08:00:10.000\n"
             "\"pid\": 6, \"tid\": 6, \"ts\": 700ns : POWER_END : 07-28-2025 08:00:20.000\n");
    struct jm_mlperf_session *s = fix_read(dir);
    const struct jm_mlperf_loadgen *lg = &s->loadgen[JM_MLPERF_TESTING];
    assert_true(lg->old_format);
    assert_int_equal(lg->begin, -1); /* no JSON message of that key */
    assert_int_equal(lg->checker_begin, (T0 + 10) * NS);
    assert_int_equal(lg->warnings, 1);
    assert_string_equal(jm_mlperf_fact(lg, "power_begin")->text, "07-28-2025 08:00:10.000");
    assert_string_equal(jm_mlperf_fact(lg, "loadgen_version")->text, ".5a1");
    near(run_1(s)->joules, 1150);
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
        cmocka_unit_test(plain),
        cmocka_unit_test(layouts),
        cmocka_unit_test(line_ends),
        cmocka_unit_test(sentinels),
        cmocka_unit_test(channels_and_analyzers),
        cmocka_unit_test(local_time),
        cmocka_unit_test(old_logs),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
