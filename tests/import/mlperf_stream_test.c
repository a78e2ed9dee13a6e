/* SPDX-License-Identifier: Apache-2.0 */
/* A session whose logs are larger than a run keeps of a raw file: they are in it by name and hash, and its
 * power is computed all the same. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "mlperf/imported.h"

#define DIR  "mlperf_stream_test.d"
#define RUN  DIR "/out.jmr"
#define SIZE ((off_t)JM_RUN_RAW_MAX + 12345)

/* text, then a hole of NUL bytes up to SIZE, then more */
static void large(const char *path, const char *text, const char *more)
{
    assert_int_equal(jm_file_write(path, jm_span_of(text), NULL), 0);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, more, strlen(more), SIZE), (ssize_t)strlen(more));
    close(fd);
}

static void by_name_and_hash(void **state)
{
    struct jm_err err;
    struct jm_str spl;
    struct jm_import_opts io = {.overwrite = true};
    struct jm_run *run;
    char sha[JM_SHA256_HEX];
    size_t n;
    (void)state;
    assert_int_equal(system("rm -rf " DIR " && mkdir -p " DIR "/run_1"), 0);
    jm_str_init(&spl);
    /* 100 + k W at k + 0.5 s: 0.5 x 110 + (111 + ... + 119) + 0.5 x 120 = 1150 J in the 10 s from 10 s on */
    for (int k = 0; k < 20; k++)
        jm_str_addf(&spl, "Time,07-28-2025 08:00:%02d.500,Watts,%d.0,Volts,230.0,Amps,0.5,PF,0.9,Mark,m\n", k,
                    100 + k);
    large(DIR "/run_1/spl.txt", spl.buf,
          "\nTime,07-28-2025 08:00:20.500,Watts,120.0,Volts,230.0,Amps,0.5,PF,0.9,Mark,m\n");
    jm_str_release(&spl);
    large(DIR "/run_1/mlperf_log_detail.txt",
          ":::MLLOG {\"key\": \"power_begin\", \"value\": \"07-28-2025 08:00:10.000\"}\n",
          "\n:::MLLOG {\"key\": \"power_end\", \"value\": \"07-28-2025 08:00:20.000\"}\n");
    const struct jm_importer *imp = jm_importer_find(NULL, DIR, &err);
    assert_non_null(imp);
    if (imp->import(DIR, RUN, &io, &err))
        fail_msg("%s", err.text);
    assert_int_equal(jm_run_open(RUN, &run, &err), 0);
    const struct jm_run_raw *raw = jm_run_raw(run, &n);
    int seen = 0;
    for (size_t i = 0; i < n; i++) {
        char path[256];
        snprintf(path, sizeof path, DIR "/%s", raw[i].name);
        assert_int_equal(jm_file_sha256(path, sha, &err), 0);
        assert_string_equal(raw[i].sha256, sha);
        assert_true(raw[i].bytes > SIZE && !raw[i].kept);
        seen++;
    }
    assert_int_equal(seen, 2);
    jm_run_close(run);
    double watts = imported_watts(DIR, DIR "/again");
    assert_true(fabs(watts - 115) < 1e-9 * 115);
}

static int clean(void **state)
{
    (void)state;
    return system("rm -rf " DIR) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_name_and_hash)};
    return cmocka_run_group_tests(tests, NULL, clean);
}
