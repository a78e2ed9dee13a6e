/* SPDX-License-Identifier: Apache-2.0 */
/* Writes small sessions for tests: one sample a second with a known power, LoadGen's logs, both JSON files.
 */
#ifndef JM_TEST_FIX_SESSION_H
#define JM_TEST_FIX_SESSION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "mlperf/session.h"

#define T0   INT64_C(1753689600) /* 2025-07-28 08:00:00 UTC */
#define NAME "2025-07-28_08-00-00"

static inline void fix_write(const char *dir, const char *rel, struct jm_span data)
{
    char path[8192];
    struct jm_err err;
    snprintf(path, sizeof path, "%s/%s", dir, rel);
    if (jm_file_mkparents(path, &err) || jm_file_write(path, data, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static inline void fix_text(const char *dir, const char *rel, const char *text)
{
    fix_write(dir, rel, jm_span_of(text));
}

/* "MM-DD-YYYY HH:MM:SS.mmm" of milliseconds after T0 */
static inline const char *fix_stamp(int64_t ms, char out[32])
{
    int64_t s = T0 + (ms >= 0 ? ms / 1000 : -((999 - ms) / 1000));
    struct jm_civil c = jm_time_civil(s);
    snprintf(out, 32, "%02d-%02d-%04d %02d:%02d:%02d.%03d", c.month, c.day, c.year, c.hour, c.minute,
             c.second, (int)(ms - (s - T0) * 1000));
    return out;
}

static inline void fix_sample(struct jm_str *spl, int64_t ms, double watts, double volts, double amps,
                              const char *mode, const char *rest)
{
    char t[32];
    jm_str_addf(spl, "Time,%s,Watts,%.6f,Volts,%.6f,Amps,%.6f,PF,0.900000,Mark,%s_%s%s\n", fix_stamp(ms, t),
                watts, volts, amps, NAME, mode, rest);
}

/* 30 samples at k + 0.5 s of 100 + k W: of the window from 10 s to 20 s they give, each for the second before
 * it, 0.5 x 110 + (111 + ... + 119) + 0.5 x 120 = 1150 J; ten lie inside it, their sum is 110 + ... + 119 =
 * 1145 W */
static inline void fix_spl(const char *dir, const char *folder, const char *mode)
{
    struct jm_str spl;
    char rel[64];
    jm_str_init(&spl);
    for (int k = 0; k < 30; k++)
        fix_sample(&spl, k * 1000 + 500, 100 + k, 230, 0.5 + k * 0.01, mode, "");
    snprintf(rel, sizeof rel, "%s/spl.txt", folder);
    fix_write(dir, rel, jm_str_span(&spl));
    jm_str_release(&spl);
}

static inline void fix_entry(struct jm_str *out, const char *key, const char *value)
{
    jm_str_addf(
        out,
        ":::MLLOG {\"key\": \"%s\", \"value\": %s, \"time_ms\": 1.25, \"namespace\": \"mlperf::logging\", "
        "\"event_type\": \"POINT_IN_TIME\", \"metadata\": {\"is_error\": false, \"is_warning\": false, "
        "\"file\": \"loadgen.cc\", \"line_no\": 562, \"pid\": 1, \"tid\": 2}}\n",
        key, value);
}

/* power_begin and power_end at milliseconds after T0 */
static inline void fix_detail(const char *dir, const char *folder, int64_t begin, int64_t end)
{
    struct jm_str log;
    char rel[64], t[32], v[40];
    jm_str_init(&log);
    fix_entry(&log, "loadgen_version", "\"5.1.0 @ 50de99161e\"");
    fix_entry(&log, "effective_scenario", "\"Offline\"");
    snprintf(v, sizeof v, "\"%s\"", fix_stamp(begin, t));
    fix_entry(&log, "power_begin", v);
    snprintf(v, sizeof v, "\"%s\"", fix_stamp(end, t));
    fix_entry(&log, "power_end", v);
    fix_entry(&log, "result_samples_per_second", "376.512");
    fix_entry(&log, "result_samples_per_second", "1");
    fix_entry(&log, "result_min_duration_met", "true");
    snprintf(rel, sizeof rel, "%s/mlperf_log_detail.txt", folder);
    fix_write(dir, rel, jm_str_span(&log));
    jm_str_release(&log);
    snprintf(rel, sizeof rel, "%s/mlperf_log_summary.txt", folder);
    fix_text(
        dir, rel,
        "SUT name : PySUT\nSamples per second: 376.512\nResult is : VALID\n  Min duration satisfied : Yes\n");
}

/* extra: more members, each with a comma before it */
static inline void fix_side(const char *dir, const char *side, int timezone, const char *extra)
{
    struct jm_str j;
    char rel[64];
    jm_str_init(&j);
    jm_str_addf(
        &j,
        "{\"version\": \"1.0\", \"timezone\": %d, \"modules\": {}, \"sources\": {\"lib/client.py\": \"aa\"}, "
        "\"messages\": [{\"cmd\": \"mlcommons/power client v3\", \"cmd_time\": 1753687116.5, \"reply\": "
        "\"mlcommons/power server v3\", \"reply_time\": 1753687116.75}], \"uuid\": {\"client\": \"c-1\", "
        "\"server\": \"s-1\"}, \"session_name\": \"%s\", \"results\": {\"run_1/spl.txt\": \"00\"}, "
        "\"phases\": "
        "{\"ranging\": [[1, 2], [3, 4], [5, 6], [7, 8]], \"testing\": [[1.5, 2], [3, 4], [5, 6], [7, 8]]}%s}",
        timezone, NAME, extra);
    snprintf(rel, sizeof rel, "power/%s.json", side);
    fix_write(dir, rel, jm_str_span(&j));
    jm_str_release(&j);
}

static inline void fix_session(const char *dir)
{
    static const char *const folders[2][2] = {{"ranging", "ranging"}, {"run_1", "testing"}};
    for (int i = 0; i < 2; i++) {
        fix_spl(dir, folders[i][0], folders[i][1]);
        fix_detail(dir, folders[i][0], 10000, 20000);
    }
    fix_side(dir, "client", 0, "");
    fix_side(
        dir, "server", 0,
        ", \"ptd_messages\": [{\"cmd\": \"Hello\", \"reply\": \"Hello, PTDaemon here!\"}], \"ptd_config\": "
        "{\"command\": [\"ptd\", \"-p\", \"8888\"], \"device_type\": 49, \"interface_flag\": \"\", "
        "\"device_port\": "
        "\"/dev/usbtmc0\", \"channel\": null}");
    fix_text(dir, "power/client.log", "a\r\nb\r\n");
    fix_text(dir, "power/server.log", "a\nb\n");
    fix_text(dir, "power/ptd_logs.txt",
             "07-28-2025 07:59:00.000: Uncertainty checking for YokogawaWT310E is activated\n"
             "07-28-2025 08:00:00.000: Go with mark '" NAME "_ranging'\n"
             "07-28-2025 08:00:01.000: ERROR: Can't evaluate uncertainty of this sample!\n"
             "07-28-2025 08:00:30.000: Completed test\n");
}

static inline struct jm_mlperf_session *fix_read(const char *dir)
{
    struct jm_mlperf_session *s = NULL;
    struct jm_err err = {0};
    if (jm_mlperf_session_read(dir, 0, &s, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return s;
}

/* A new folder below the working directory. */
static inline const char *fix_dir(char out[256], const char *name)
{
    char cmd[600];
    snprintf(out, 256, "fix_session.%d/%s", (int)getpid(), name);
    snprintf(cmd, sizeof cmd, "rm -rf '%s' && mkdir -p '%s'", out, out);
    if (system(cmd))
        abort();
    return out;
}

static inline void fix_clean(void)
{
    char cmd[100];
    snprintf(cmd, sizeof cmd, "rm -rf fix_session.%d", (int)getpid());
    if (system(cmd))
        abort();
}

#endif
