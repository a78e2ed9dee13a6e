/* SPDX-License-Identifier: Apache-2.0 */
/* A whole session, judged by a revision of the public checker and by our rules. First byte: the revision;
 * then the files in the order of names, parted by lines of "%%". Every rule must say something, once more for
 * the same bytes, and the worst of them must be the verdict. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "mlperf/official.h"

static const char *const names[] = {
    "power/server.json", "power/client.json",           "power/ptd_logs.txt", "ranging/mlperf_log_detail.txt",
    "ranging/spl.txt",   "run_1/mlperf_log_detail.txt", "run_1/spl.txt"};
static char dir[64];

static void clean(void)
{
    static const char *const folders[] = {"power", "ranging", "run_1", ""};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        remove(path);
    }
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        rmdir(path);
    }
}

static void make(void)
{
    static const char *const folders[] = {"power", "ranging", "run_1"};
    char path[256];
    snprintf(dir, sizeof dir, "%s/jm-check-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(dir))
        abort();
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        if (mkdir(path, 0700))
            abort();
    }
    atexit(clean);
}

static void put(const char *name, const char *p, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_mlperf_session *s = NULL;
    struct jm_err err = {0};
    size_t revisions = 0;
    if (!dir[0])
        make();
    while (jm_mlperf_revision_table[revisions].name)
        revisions++;
    const char *revision = n ? jm_mlperf_revision_table[p[0] % revisions].name : NULL;
    struct jm_span rest = {(const char *)p + (n > 0), n - (n > 0)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ptrdiff_t at = jm_span_find(rest, JM_SPAN("\n%%\n"));
        size_t len = at < 0 ? rest.n : (size_t)at + 1;
        put(names[i], rest.p ? rest.p : "", len);
        rest = jm_span_sub(rest, len + (at < 0 ? 0 : 3), rest.n);
    }
    if (jm_mlperf_session_read(dir, JM_MLPERF_READ_ALL, &s, &err))
        abort();
    struct jm_mlperf_result r;
    int computed = jm_mlperf_compute(s, &r, &err);
    for (int twice = 0; twice < 2; twice++) {
        struct jm_mlperf_checked c;
        enum jm_mlperf_verdict worst = JM_MLPERF_PASS;
        struct jm_str text;
        if (jm_mlperf_check(s, computed ? NULL : &r, twice ? NULL : revision, &c, &err))
            abort();
        for (size_t i = 0; i < c.n_outcomes; i++) {
            enum jm_mlperf_verdict v = c.outcomes[i].verdict;
            if (!c.outcomes[i].rule || !c.outcomes[i].text || !*c.outcomes[i].text)
                abort();
            if (v != JM_MLPERF_ABSENT && v > worst)
                worst = v;
        }
        if (worst != c.verdict || c.n_outcomes < 60)
            abort();
        for (int i = 0; i < 11; i++)
            if ((c.official.check[i].verdict == JM_MLPERF_FAIL ||
                 c.official.check[i].verdict == JM_MLPERF_WARN) != (c.official.check[i].text != NULL) &&
                c.official.check[0].verdict != JM_MLPERF_ABSENT)
                abort();
        jm_str_init(&text);
        jm_mlperf_official_print(&c.official, &text);
        jm_str_release(&text);
        jm_mlperf_checked_release(&c);
    }
    jm_mlperf_session_free(s);
    return 0;
}
