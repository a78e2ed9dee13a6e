/* SPDX-License-Identifier: Apache-2.0 */
/* What `joulemark mlperf check` shows of judged sessions: text, JSON (joulemark.mlperf.check/1), one page. */
#ifndef JM_CLI_MLPERF_CHECK_H
#define JM_CLI_MLPERF_CHECK_H

#include <stdbool.h>

#include "base/json.h"
#include "base/str.h"
#include "mlperf/rule.h"

/* One session, judged; owned. */
struct jm_judged {
    char *path;
    char *error;      /* why it could not be judged; NULL: it was */
    bool no_figures;  /* r is not filled */
    bool no_official; /* of Training and Tiny: the public power checker does not look at them */
    bool thinned;     /* what holds was let go of, only counted */
    char round[8], round_from[32];
    struct jm_mlperf_result r;
    struct jm_mlperf_checked c;
    size_t n[5]; /* outcomes by verdict */
};
void jm_judged_count(struct jm_judged *j);
void jm_judged_release(struct jm_judged *j);
void jm_judged_thin(struct jm_judged *j); /* keeps breaches only */
bool jm_judged_fails(const struct jm_judged *j);
/* "llama2-70b-99 · Offline", what is known of it; "" */
void jm_judged_what(const struct jm_judged *j, struct jm_str *out);

struct jm_check_show {
    int width;
    bool color, ascii, all;
};
/* Everything about one, or one line. */
void jm_check_text(const struct jm_judged *j, const struct jm_check_show *o, struct jm_str *s);
void jm_check_line(const struct jm_judged *j, const struct jm_check_show *o, struct jm_str *s);
void jm_check_sum(const struct jm_judged *j, size_t n, const struct jm_check_show *o, struct jm_str *s);
/* An element of "sessions". */
void jm_check_json(const struct jm_judged *j, struct jm_jsonw *w);
void jm_check_json_sum(const struct jm_judged *j, size_t n, struct jm_jsonw *w);
void jm_check_html(const struct jm_judged *j, size_t n, struct jm_str *s);

#endif
