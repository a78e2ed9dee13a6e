/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "mlperf/summary.h"

/* What Python's json.dump(…, indent=4) writes for the same keys and values (the beginning, with our sources,
 * is looked at apart). */
static const char expected[] = "    \"messages\": [\n"
                               "        {\n"
                               "            \"cmd\": \"time\",\n"
                               "            \"cmd_time\": 1753687116.8320274,\n"
                               "            \"reply\": \"1753687116.83205\",\n"
                               "            \"reply_time\": 1753687116.8320723\n"
                               "        }\n"
                               "    ],\n"
                               "    \"uuid\": {\n"
                               "        \"client\": \"56a4d881-4d7c-4a84-a7b8-c40515ad068d\",\n"
                               "        \"server\": \"0b65afba-71db-488c-adae-d14390fa5647\"\n"
                               "    },\n"
                               "    \"session_name\": \"2025-07-28_07-18-36\",\n"
                               "    \"results\": {},\n"
                               "    \"phases\": {\n"
                               "        \"ranging\": [\n"
                               "            [\n"
                               "                1753687116.5,\n"
                               "                2.25\n"
                               "            ]\n"
                               "        ],\n"
                               "        \"testing\": []\n"
                               "    },\n"
                               "    \"ptd_messages\": [\n"
                               "        {\n"
                               "            \"cmd\": \"Hello\",\n"
                               "            \"reply\": \"first\"\n"
                               "        },\n"
                               "        {\n"
                               "            \"cmd\": \"Stop\",\n"
                               "            \"reply\": \"first\"\n"
                               "        },\n"
                               "        {\n"
                               "            \"cmd\": \"Hello\",\n"
                               "            \"reply\": \"second\"\n"
                               "        }\n"
                               "    ],\n"
                               "    \"ptd_config\": [\n"
                               "        {\n"
                               "            \"device_type\": 8,\n"
                               "            \"channel\": null\n"
                               "        }\n"
                               "    ],\n"
                               "    \"debug\": true\n"
                               "}";

static void text(void **state)
{
    struct jm_err err = {0};
    struct jm_mlperf_summary *s = jm_mlperf_summary_new(&err);
    struct jm_vclock vc = {0};
    struct jm_clock clock = jm_clock_virtual(&vc, NULL);
    struct jm_str out;
    (void)state;
    vc.own = INT64_C(2250000000);
    vc.real_offset = INT64_C(1753687116500000000) - vc.own;
    jm_str_init(&out);
    assert_non_null(s);
    jm_mlperf_summary_zone(s, 3600);
    jm_mlperf_summary_ids(s, "2025-07-28_07-18-36", "56a4d881-4d7c-4a84-a7b8-c40515ad068d",
                          "0b65afba-71db-488c-adae-d14390fa5647");
    assert_int_equal(jm_mlperf_summary_message(s, JM_SPAN("time"), INT64_C(1753687116832027435),
                                               JM_SPAN("1753687116.83205"), INT64_C(1753687116832072258),
                                               &err),
                     0);
    jm_mlperf_summary_phase(s, JM_MLPERF_RANGING, 0, &clock);
    jm_mlperf_summary_phase(s, JM_MLPERF_RANGING, 2, &clock); /* 1 was not yet */
    assert_int_equal(jm_mlperf_summary_ptd(s, 1, JM_SPAN("Hello"), JM_SPAN("first"), &err), 0);
    assert_int_equal(jm_mlperf_summary_ptd(s, 2, JM_SPAN("Hello"), JM_SPAN("second"), &err), 0);
    assert_int_equal(jm_mlperf_summary_ptd(s, 1, JM_SPAN("Stop"), JM_SPAN("first"), &err), 0);
    assert_int_equal(jm_mlperf_summary_config(s, JM_SPAN("[{\"device_type\":8,\"channel\":null}]"), &err), 0);
    jm_mlperf_summary_debug(s, true);
    assert_int_equal(jm_mlperf_summary_text(s, &out, &err), 0);
    const char *at = strstr(out.buf, "    \"messages\"");
    assert_non_null(at);
    assert_string_equal(at, expected);
    static const char head[] = "{\n    \"version\": \"1.0\",\n    \"timezone\": -3600,\n    \"modules\": {\n"
                               "        \"joulemark\": \"joulemark\"\n    },\n    \"sources\": {\n"
                               "        \"joulemark\": \"";
    assert_memory_equal(out.buf, head, strlen(head));
    jm_str_release(&out);
    jm_mlperf_summary_free(s);
}

/* A client's has neither PTDaemon nor configuration; bytes that are no UTF-8 make no broken JSON. */
static void client(void **state)
{
    struct jm_err err = {0};
    struct jm_mlperf_summary *s = jm_mlperf_summary_new(&err);
    struct jm_str out;
    (void)state;
    jm_str_init(&out);
    assert_int_equal(jm_mlperf_summary_message(s, JM_SPAN("\xff\"\\\x01"), 0, JM_SPAN(""), 0, &err), 0);
    assert_int_equal(jm_mlperf_summary_text(s, &out, &err), 0);
    assert_non_null(strstr(out.buf, "\"cmd\": \"\xef\xbf\xbd\\\"\\\\\\u0001\""));
    assert_null(strstr(out.buf, "ptd_messages"));
    assert_null(strstr(out.buf, "debug"));
    assert_non_null(strstr(out.buf, "\"ptd_config\": [\n        null\n    ]"));
    jm_str_release(&out);
    jm_mlperf_summary_free(s);
}

static void hashes(void **state)
{
    char dir[] = "summary_test.XXXXXX", path[128], cmd[128];
    struct jm_err err = {0};
    struct jm_mlperf_summary *s = jm_mlperf_summary_new(&err);
    struct jm_str out;
    (void)state;
    assert_non_null(mkdtemp(dir));
    static const char *const name[] = {"run_1", "power"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, name[i]);
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(path, sizeof path, "%s/%s/x.txt", dir, name[i]);
        assert_int_equal(jm_file_write(path, i ? JM_SPAN("abc") : JM_SPAN(""), &err), 0);
    }
    snprintf(path, sizeof path, "%s/link", dir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(jm_mlperf_summary_hash(s, dir, &err), 0);
    jm_str_init(&out);
    assert_int_equal(jm_mlperf_summary_text(s, &out, &err), 0);
    /* FIPS 180-4's sums of "abc" and of nothing, sorted by name, and nothing of the link */
    assert_non_null(strstr(out.buf, "    \"results\": {\n"
                                    "        \"power/x.txt\": \"a9993e364706816aba3e25717850c26c9cd0d89d\",\n"
                                    "        \"run_1/x.txt\": \"da39a3ee5e6b4b0d3255bfef95601890afd80709\"\n"
                                    "    },\n"));
    jm_str_release(&out);
    jm_mlperf_summary_free(s);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    assert_int_equal(system(cmd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text), cmocka_unit_test(client),
                                       cmocka_unit_test(hashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
