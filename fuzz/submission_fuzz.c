/* SPDX-License-Identifier: Apache-2.0 */
/* Files around a session. The first byte chooses which one the rest is: 's' the system's description, 'a' the
 * analyzer's table, 'c' the same as CSV, 'u' user.conf, 'p' the power settings, else the nameplate. Then the
 * rules are asked. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mlperf/submission.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const struct {
    char mark;
    const char *name;
} files[] = {{'s', "system.json"},
             {'a', "measurements/analyzer_table.md"},
             {'c', "measurements/analyzer_table.csv"},
             {'u', "measurements/user.conf"},
             {'p', "measurements/power_settings.md"},
             {0, "system_power.yaml"}};

static char dir[128];

static void make(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (mkdir(path, 0700) && errno != EEXIST)
        abort();
}

static void clean(void)
{
    static const char *const folders[] = {"performance", "measurements", ""};
    char path[256];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        rmdir(path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    char path[256];
    size_t i = 0;
    if (n < 1)
        return 0;
    if (!dir[0]) {
        snprintf(dir, sizeof dir, "%s/jm_submission_Offline_%d",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
        make("");
        make("performance");
        make("measurements");
        atexit(clean);
    }
    while (files[i].mark && files[i].mark != (char)p[0])
        i++;
    snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(p + 1, 1, n - 1, f) != n - 1)
        abort();
    fclose(f);
    struct jm_mlperf_submission *m;
    struct jm_err err = {0};
    if (jm_mlperf_submission_read(dir, "v6.1", &m, &err))
        abort(); /* whatever the files hold */
    struct jm_mlperf_session *s = calloc(1, sizeof *s);
    struct jm_mlperf_checked c = {0};
    if (!s || jm_mlperf_round_named("v6.1", &s->round, &err))
        abort();
    if (jm_mlperf_submission_check(m, s, NULL, NULL, &c, &err))
        abort();
    jm_mlperf_checked_release(&c);
    free(s);
    jm_mlperf_submission_free(m);
    unlink(path);
    return 0;
}
