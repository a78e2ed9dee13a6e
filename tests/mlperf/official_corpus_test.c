/* SPDX-License-Identifier: Apache-2.0 */
/* What the Power working group's own checker said of the published sessions (check_<revision>.log beside
 * each), against what following it says: the verdict of each of the eleven checks, and its text. A traceback
 * in a log is an exception: the checker's text is then its last line. */
#include <dirent.h>
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
#include "mlperf/official.h"

static char corpus[4096];

static const char *const rels[JM_MLPERF_FILES] = {"power/client.json",
                                                  "power/client.log",
                                                  "power/ptd_logs.txt",
                                                  "power/server.json",
                                                  "power/server.log",
                                                  "ranging/mlperf_log_detail.txt",
                                                  "ranging/mlperf_log_summary.txt",
                                                  "ranging/spl.txt",
                                                  "run_1/mlperf_log_detail.txt",
                                                  "run_1/mlperf_log_summary.txt",
                                                  "run_1/spl.txt"};

struct said {
    int n;
    struct {
        enum jm_mlperf_verdict v;
        char text[8192];
    } check[11];
};

/* The log with the folder of the session where the checker's machine had it. */
static void read_log(const char *path, struct said *out)
{
    struct jm_str t;
    struct jm_span rest, line;
    jm_str_init(&t);
    assert_int_equal(jm_file_read(path, 1 << 20, &t, NULL), 0);
    memset(out, 0, sizeof *out);
    rest = jm_str_span(&t);
    bool trace = false;
    while (jm_span_line(&rest, &line)) {
        enum jm_mlperf_verdict v = JM_MLPERF_PASS;
        if (jm_span_starts(line, JM_SPAN("INFO:main:")))
            line = jm_span_sub(line, 10, line.n);
        else if (jm_span_starts(line, JM_SPAN("ERROR:main:")))
            line = jm_span_sub(line, 11, line.n);
        else if (jm_span_starts(line, JM_SPAN("WARNING:main:"))) {
            line = jm_span_sub(line, 13, line.n);
            v = JM_MLPERF_WARN;
        }
        if (jm_span_starts(line, JM_SPAN("[x] ")) || jm_span_starts(line, JM_SPAN("[ ] "))) {
            out->check[out->n++].v = line.p[1] == ' ' ? JM_MLPERF_FAIL : v;
            trace = false;
            continue;
        }
        if (!out->n || !line.n)
            continue;
        char *text = out->check[out->n - 1].text;
        if (jm_span_starts(line, JM_SPAN("\t"))) {
            if (out->check[out->n - 1].v == JM_MLPERF_PASS)
                out->check[out->n - 1].v = JM_MLPERF_WARN; /* logs without levels */
            snprintf(text, 8192, "%.*s", (int)line.n - 1, line.p + 1);
        } else if (jm_span_starts(line, JM_SPAN("Traceback"))) {
            trace = true;
        } else if (jm_span_starts(line, JM_SPAN("Expected ")) || jm_span_starts(line, JM_SPAN(" Missing "))) {
            size_t at = strlen(text);
            snprintf(text + at, 8192 - at, "\n%.*s", (int)line.n, line.p);
        } else if (trace && line.p[0] != ' ') {
            snprintf(text, 8192, "%.*s", (int)line.n, line.p);
        }
    }
    jm_str_release(&t);
}

/* Replaces the checker's folder by ours. */
static void rebase(char text[8192], const char *name)
{
    char from[600], copy[8192];
    snprintf(from, sizeof from, "/tmp/mlperf/%s", name);
    char to[4700];
    snprintf(to, sizeof to, "%s/%s", corpus, name);
    for (char *at = text; (at = strstr(at, from)) != NULL; at += strlen(to)) {
        snprintf(copy, sizeof copy, "%s", at + strlen(from));
        snprintf(at, 8192 - (size_t)(at - text), "%s%s", to, copy);
    }
}

static int compare(const char *name, const char *log, const char *revision)
{
    static struct said want;
    char path[9000];
    struct jm_err err = {0};
    struct jm_mlperf_session *s = calloc(1, sizeof *s);
    struct jm_mlperf_checked c = {0};
    int wrong = 0;
    assert_non_null(s);
    snprintf(path, sizeof path, "%s/%s/%s", corpus, name, log);
    read_log(path, &want);
    assert_int_equal(want.n, 11);
    snprintf(s->dir, sizeof s->dir, "%s/%s/performance", corpus, name);
    for (int i = 0; i < JM_MLPERF_FILES; i++) {
        s->file[i].rel = rels[i];
        snprintf(path, sizeof path, "%s/%s", s->dir, rels[i]);
        s->file[i].present = jm_file_sha1(path, s->file[i].sha1, &err) == 0;
    }
    const struct jm_mlperf_revision *r = jm_mlperf_revision_find(revision);
    if (!r)
        fail_msg("no revision %s", revision);
    assert_int_equal(jm_mlperf_official_follow(s, r, &c.official, &err), 0);
    for (int i = 0; i < 11; i++) {
        const char *text = c.official.check[i].text ? c.official.check[i].text : "";
        char *wanted = want.check[i].text;
        rebase(wanted, name);
        size_t n = strlen(text);
        while (n && text[n - 1] == '\n')
            n--;
        if (c.official.check[i].verdict != want.check[i].v || n != strlen(wanted) ||
            strncmp(text, wanted, n) != 0) {
            print_error("%s %s check %d: %s\n  wanted %s: %s\n  got    %s: %.*s\n", name, log, i + 1,
                        c.official.check[i].title, jm_mlperf_verdict_name(want.check[i].v), wanted,
                        jm_mlperf_verdict_name(c.official.check[i].verdict), (int)n, text);
            wrong++;
        }
    }
    jm_mlperf_checked_release(&c);
    free(s);
    return wrong;
}

static void every_log(void **state)
{
    (void)state;
    DIR *d = opendir(corpus);
    struct dirent *e, *f;
    int logs = 0, wrong = 0;
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        char path[5000], revision[64];
        snprintf(path, sizeof path, "%s/%s", corpus, e->d_name);
        DIR *one = *e->d_name == 'v' ? opendir(path) : NULL;
        while (one && (f = readdir(one)) != NULL)
            if (strncmp(f->d_name, "check_", 6) == 0 && strlen(f->d_name) < 60) {
                snprintf(revision, sizeof revision, "%.*s", (int)strlen(f->d_name) - 10, f->d_name + 6);
                wrong += compare(e->d_name, f->d_name, revision);
                logs++;
            }
        if (one)
            closedir(one);
    }
    closedir(d);
    print_message("%d logs\n", logs);
    assert_int_equal(wrong, 0);
    assert_true(logs >= 34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_log)};
    const char *build = getenv("JM_BUILD");
    snprintf(corpus, sizeof corpus, "%s/corpus/mlperf", build ? build : "build");
    if (access(corpus, R_OK) != 0) {
        printf("1..0 # SKIP no public test data (make corpus)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
