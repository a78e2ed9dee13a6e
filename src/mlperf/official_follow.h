/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that follow the public checker share. */
#ifndef JM_MLPERF_OFFICIAL_FOLLOW_H
#define JM_MLPERF_OFFICIAL_FOLLOW_H

#include "base/json.h"
#include "mlperf/official.h"
#include "mlperf/pytext.h"

/* What a check returns; a negative JM_E* ends all. */
enum { JM_FOLLOW_PASS, JM_FOLLOW_FAIL, JM_FOLLOW_WARN };

struct jm_follow {
    const struct jm_mlperf_session *s;
    const struct jm_mlperf_revision *r;
    struct jm_json *client, *server;
    struct jm_str client_path, server_path;
    struct jm_str text; /* what the check that runs says */
    struct jm_follow_window {
        bool known;
        double begin, end;
    } window[JM_MLPERF_MODES];
    struct jm_err *err;
};

/* Sets the text and returns JM_FOLLOW_FAIL (JM_FOLLOW_WARN). A check that fails by an exception of the
 * checker's language says "KeyError: 'phases'" or its like. */
int jm_follow_fail(struct jm_follow *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int jm_follow_warn(struct jm_follow *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* o[key]: JM_FOLLOW_PASS and *v, or what the language raises. */
int jm_follow_get(struct jm_follow *f, const struct jm_json *o, const char *key, const struct jm_json **v);
int jm_follow_at(struct jm_follow *f, const struct jm_json *a, size_t i, const struct jm_json **v);
void jm_follow_repr(struct jm_str *out, const struct jm_json *v); /* repr() of a value */
bool jm_follow_equal(const struct jm_json *a, const struct jm_json *b);
/* "<dir>/ranging", as the checker names it. */
const char *jm_follow_mode(enum jm_mlperf_mode m); /* "ranging", "run_1" */
/* FileNotFoundError and its like for what jm_py_open said; JM_ENOMEM stays. */
int jm_follow_no_file(struct jm_follow *f, int rc, const char *path);

/* power_begin and power_end of a mode, read once. */
int jm_follow_load(struct jm_follow *f, enum jm_mlperf_mode m, const struct jm_follow_window **w);

int jm_follow_sources(struct jm_follow *f, const struct jm_json *side);
int jm_follow_uuid(struct jm_follow *f);
int jm_follow_name(struct jm_follow *f);
int jm_follow_messages(struct jm_follow *f);
int jm_follow_results(struct jm_follow *f);
int jm_follow_ptd(struct jm_follow *f);
int jm_follow_config(struct jm_follow *f);
int jm_follow_debug(struct jm_follow *f);
int jm_follow_phases(struct jm_follow *f);
int jm_follow_log(struct jm_follow *f);

#endif
