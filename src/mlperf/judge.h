/* SPDX-License-Identifier: Apache-2.0 */
/* Our own rules over one session: what the files that hold them share. Each rule says one thing: that it
 * holds, that it is broken (with its severity, or a milder verdict where that is just), or that what it looks
 * at is not there. Rules that do not hold in the session's round say nothing. */
#ifndef JM_MLPERF_JUDGE_H
#define JM_MLPERF_JUDGE_H

#include "mlperf/official.h"

struct jm_judge {
    const struct jm_mlperf_session *s;
    const struct jm_mlperf_result *r; /* NULL: not at hand */
    const struct jm_mlperf_revision *rev;
    struct jm_mlperf_checked *out;
    struct jm_err *err;
    int rc; /* first error; nothing is added after it */
    /* UTC; known only where the flag says so */
    bool load[JM_MLPERF_MODES];
    int64_t begin[JM_MLPERF_MODES], end[JM_MLPERF_MODES];
    const char *name; /* session's; NULL: not known */
    int analyzers;    /* at least 1 */
};

void jm_judge_pass(struct jm_judge *j, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void jm_judge_breach(struct jm_judge *j, const char *id, const char *evidence, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void jm_judge_say(struct jm_judge *j, const char *id, enum jm_mlperf_verdict v, const char *evidence,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void jm_judge_absent(struct jm_judge *j, const char *id, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int jm_judge_round(const struct jm_judge *j); /* 31 of v3.1; 99: not known */
/* ", " between the words of a list, no more than so many of them. */
void jm_judge_list(struct jm_str *out, size_t *n, const char *word);
void jm_judge_list_end(struct jm_str *out, size_t n);

void jm_judge_files(struct jm_judge *j);    /* files.*, sources.*, results.* */
void jm_judge_ptd(struct jm_judge *j);      /* ptd.*, server.debug */
void jm_judge_clocks(struct jm_judge *j);   /* session.*, clock.* */
void jm_judge_messages(struct jm_judge *j); /* messages.* */
void jm_judge_log(struct jm_judge *j);      /* ptdlog.* */
void jm_judge_samples(struct jm_judge *j);  /* samples.* */
void jm_judge_load(struct jm_judge *j);     /* load.* */
void jm_judge_ranging(struct jm_judge *j);  /* ranging.* */

#endif
