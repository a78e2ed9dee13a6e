/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_take.h"

#include <sys/stat.h>

#include "base/file.h"

#include "base/banned.h"

#define MAX_LINE ((size_t)4 << 20) /* loaded_qsl_set of LoadGen's log lists every sample */

struct taking {
    struct jm_str *text; /* NULL: nothing is kept */
    bool over;           /* it is more than a run keeps */
    struct jm_sha256 sha;
    int64_t bytes;
    struct jm_log_lines lines;
    jm_mlperf_line_fn fn;
    void *self;
};

static int all_lines(struct taking *t, struct jm_span block, struct jm_err *err)
{
    struct jm_log_line l;
    int rc;
    while ((rc = jm_log_lines_next(&t->lines, &block, &l)) == 1)
        if ((rc = t->fn(t->self, &l)))
            return rc;
    return rc ? jm_err_set(err, rc, "out of memory while reading a log") : 0;
}

static int keep(struct taking *t, struct jm_span block, struct jm_err *err)
{
    t->bytes += (int64_t)block.n;
    jm_sha256_add(&t->sha, block.p, block.n);
    if (!t->over && t->bytes > JM_RUN_RAW_MAX) {
        t->over = true;
        jm_str_release(t->text);
    }
    if (!t->over)
        jm_str_addspan(t->text, block);
    return jm_str_ok(t->text, "a file of a session", err);
}

static int on_block(void *self, struct jm_span block, struct jm_err *err)
{
    struct taking *t = self;
    int rc = t->text ? keep(t, block, err) : 0;
    return !rc && t->fn ? all_lines(t, block, err) : rc;
}

static int blocks(struct taking *t, const char *path, char *buffer, struct jm_err *err)
{
    struct jm_log_line l;
    struct stat st;
    if (t->text && stat(path, &st) == 0 && st.st_size > JM_RUN_RAW_MAX)
        t->over = true; /* so that nothing of it is gathered */
    jm_log_lines_init(&t->lines, MAX_LINE);
    int rc = jm_file_blocks(path, buffer, JM_MLPERF_TAKE, on_block, t, err);
    if (!rc && t->fn && jm_log_lines_end(&t->lines, &l) == 1)
        rc = t->fn(t->self, &l);
    jm_log_lines_release(&t->lines);
    return rc;
}

int jm_mlperf_lines(const char *path, char *buffer, jm_mlperf_line_fn fn, void *self, struct jm_err *err)
{
    struct taking t = {.fn = fn, .self = self};
    return blocks(&t, path, buffer, err);
}

int jm_mlperf_take(struct jm_run_writer *w, const char *path, const char *as, char *buffer,
                   jm_mlperf_line_fn fn, void *self, struct jm_str *text, struct jm_err *err)
{
    char sha[JM_SHA256_HEX];
    struct jm_str own;
    jm_str_init(&own);
    struct taking t = {.text = text ? text : &own, .fn = fn, .self = self};
    jm_sha256_init(&t.sha);
    int rc = blocks(&t, path, buffer, err);
    if (!rc && t.over) {
        jm_sha256_done(&t.sha, sha);
        rc = jm_run_put_raw_hash(w, as, path, sha, t.bytes, err);
    } else if (!rc) {
        rc = jm_run_put_raw(w, as, path, jm_str_span(t.text), err);
    }
    jm_str_release(&own);
    return rc;
}
