/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mlperf/proto.h"

/* What CPython 3.11 prints for repr(float). */
static void floats_as_python_prints_them(void **state)
{
    static const struct {
        double v;
        const char *text;
    } row[] = {{1753687116.83205, "1753687116.83205"},
               {1753687116.7281592, "1753687116.7281592"},
               {19.044333 * 1.1, "20.948766300000003"},
               {0.30078 * 1.1, "0.33085800000000004"},
               {2.169 * 1.1, "2.3859000000000004"},
               {0.0, "0.0"},
               {-0.0, "-0.0"},
               {5.0, "5.0"},
               {0.1, "0.1"},
               {0.0001, "0.0001"},
               {0.00001, "1e-05"},
               {1.5e-5, "1.5e-05"},
               {123456789012345680.0, "1.2345678901234568e+17"},
               {1e16, "1e+16"},
               {1e15, "1000000000000000.0"},
               {1234567890123456.0, "1234567890123456.0"},
               {5e-324, "5e-324"},
               {1.7976931348623157e308, "1.7976931348623157e+308"},
               {-2.5, "-2.5"},
               {1784000000.0, "1784000000.0"}};
    char buf[JM_MLPERF_REPR];
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        assert_string_equal(jm_mlperf_repr(row[i].v, buf), row[i].text);
}

static void session_ids(void **state)
{
    char id[JM_MLPERF_ID];
    (void)state;
    /* the ids and stamps of two published sessions (v5.1: UTC; v4.1: 4 h west) */
    jm_mlperf_id_make(INT64_C(1753687116832184000), 0, jm_span_of(""), id);
    assert_string_equal(id, "2025-07-28_07-18-36");
    jm_mlperf_id_make(INT64_C(1721748908496231000), -14400, jm_span_of("my-Label_1"), id);
    assert_string_equal(id, "2024-07-23_11-35-08_my-Label_1");
    assert_true(jm_mlperf_id_ok(jm_span_of(id)));
    static const char *const bad[] = {"../../x", "a/b", "a b", "", "a.b", "é", "x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(jm_mlperf_id_ok(jm_span_of(bad[i])));
        if (bad[i][0])
            assert_false(jm_mlperf_label_ok(jm_span_of(bad[i])));
    }
    assert_true(jm_mlperf_label_ok(jm_span_of("")));
    assert_false(jm_mlperf_label_ok((struct jm_span){"a\0b", 3}));
    char longest[JM_MLPERF_LABEL + 2];
    memset(longest, 'x', sizeof longest);
    assert_true(jm_mlperf_label_ok((struct jm_span){longest, JM_MLPERF_LABEL}));
    assert_false(jm_mlperf_label_ok((struct jm_span){longest, JM_MLPERF_LABEL + 1}));
    jm_mlperf_id_make(0, 0, (struct jm_span){longest, JM_MLPERF_LABEL}, id);
    assert_int_equal(strlen(id), 20 + JM_MLPERF_LABEL);
    assert_true(jm_mlperf_id_ok(jm_span_of(id)));
}

static void uuids(void **state)
{
    /* spellings that CPython's uuid.UUID() takes and refuses */
    static const char *const good[] = {
        "56a4d881-4d7c-4a84-a7b8-c40515ad068d", "56A4D8814D7C4A84A7B8C40515AD068D",
        "{56a4d881-4d7c-4a84-a7b8-c40515ad068d}", "urn:uuid:56a4d881-4d7c-4a84-a7b8-c40515ad068d",
        "56-a4d8814d7c4a84a7b8c40515ad068d-"};
    static const char *const bad[] = {"",
                                      "56a4d881",
                                      "56a4d881-4d7c-4a84-a7b8-c40515ad068",
                                      "56a4d881-4d7c-4a84-a7b8-c40515ad068d0",
                                      "g6a4d881-4d7c-4a84-a7b8-c40515ad068d",
                                      "../../../../etc/passwd"};
    char out[JM_MLPERF_UUID], other[JM_MLPERF_UUID];
    struct jm_err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(jm_mlperf_uuid_parse(jm_span_of(good[i]), out));
        assert_string_equal(out, "56a4d881-4d7c-4a84-a7b8-c40515ad068d");
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(jm_mlperf_uuid_parse(jm_span_of(bad[i]), out));
    assert_int_equal(jm_mlperf_uuid_new(out, &err), 0);
    assert_int_equal(jm_mlperf_uuid_new(other, &err), 0);
    assert_string_not_equal(out, other);
    assert_int_equal(out[14], '4'); /* the version's place */
    assert_non_null(strchr("89ab", out[19]));
}

static void commands(void **state)
{
    static const struct {
        const char *line;
        enum jm_mlperf_verb verb;
    } row[] = {{"time", JM_MLPERF_V_TIME},
               {"time,now", JM_MLPERF_V_TIME},
               {"set_ntp", JM_MLPERF_V_SET_NTP},
               {"stop", JM_MLPERF_V_STOP},
               {"new,,u", JM_MLPERF_V_NEW},
               {"new,u", JM_MLPERF_V_UNKNOWN},
               {"new,a,b,c", JM_MLPERF_V_UNKNOWN},
               {"session,x", JM_MLPERF_V_UNKNOWN},
               {"session,x,done", JM_MLPERF_V_SESSION_DONE},
               {"session,x,done,", JM_MLPERF_V_SESSION_UNKNOWN},
               {"session,x,start,ranging", JM_MLPERF_V_SESSION_START},
               {"session,x,start,testing", JM_MLPERF_V_SESSION_START},
               {"session,*,stop,testing", JM_MLPERF_V_SESSION_STOP},
               {"session,x,start,accuracy", JM_MLPERF_V_SESSION_UNKNOWN},
               {"session,x,start,testing,230,2", JM_MLPERF_V_SESSION_START},
               {"session,x,start,ranging,230,2", JM_MLPERF_V_SESSION_UNKNOWN},
               {"session,x,upload,client.log", JM_MLPERF_V_SESSION_UNKNOWN},
               {"download,x,run_1/spl.txt", JM_MLPERF_V_DOWNLOAD},
               {"download,x", JM_MLPERF_V_UNKNOWN},
               {"cleanup,x", JM_MLPERF_V_CLEANUP},
               {"cleanup", JM_MLPERF_V_UNKNOWN},
               {"", JM_MLPERF_V_UNKNOWN},
               {",,,,,,,,,,,,,,", JM_MLPERF_V_UNKNOWN},
               {"TIME", JM_MLPERF_V_UNKNOWN}};
    struct jm_mlperf_cmd cmd;
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        jm_mlperf_cmd_parse(jm_span_of(row[i].line), &cmd);
        assert_int_equal(cmd.verb, row[i].verb);
    }
    jm_mlperf_cmd_parse(jm_span_of("session,s1,start,testing,230.5,2.2"), &cmd);
    assert_true(cmd.fixed);
    assert_int_equal(cmd.mode, JM_MLPERF_TESTING);
    assert_true(jm_span_is(cmd.volts, "230.5") && jm_span_is(cmd.amps, "2.2") &&
                jm_span_is(cmd.session, "s1"));
}

static void replies(void **state)
{
    char id[JM_MLPERF_ID], uuid[JM_MLPERF_UUID];
    struct jm_err err = {0};
    double t;
    (void)state;
    assert_int_equal(
        jm_mlperf_new_reply(jm_span_of("OK 2025-07-28_07-18-36,0b65afba-71db-488c-adae-d14390fa5647"), id,
                            uuid, &err),
        0);
    assert_string_equal(id, "2025-07-28_07-18-36");
    assert_string_equal(uuid, "0b65afba-71db-488c-adae-d14390fa5647");
    static const char *const bad[] = {"OK",
                                      "OK x",
                                      "OK ../x,0b65afba-71db-488c-adae-d14390fa5647",
                                      "OK x,0b65afba-71db-488c-adae-d14390fa5647,y",
                                      "Error: invalid label",
                                      ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(jm_mlperf_new_reply(jm_span_of(bad[i]), id, uuid, &err), JM_EPARSE);
    assert_int_equal(jm_mlperf_time_reply(jm_span_of("1753687116.83205"), &t, &err), 0);
    assert_true(t == 1753687116.83205);
    assert_int_equal(jm_mlperf_time_reply(jm_span_of("Error"), &t, &err), JM_EPARSE);
    assert_int_equal(jm_mlperf_time_reply(jm_span_of("nan"), &t, &err), JM_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(floats_as_python_prints_them),
                                       cmocka_unit_test(session_ids), cmocka_unit_test(uuids),
                                       cmocka_unit_test(commands), cmocka_unit_test(replies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
