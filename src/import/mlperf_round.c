/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "import/mlperf_data.h"

#include "base/banned.h"

enum column {
    C_ROUND,
    C_PUBLISHED,
    C_TIME,
    C_DROPPED,
    C_STREAM_UNIT,
    C_STREAM_COUNT,
    C_MULTISTREAM,
    C_EFFICIENCY,
    C_SERVER,
    C_STREAM,
    C_TOLERANCE,
    C_PTD,
    C_DEVICES,
    C_UNCERTAINTY,
    C_CHECKER,
    C_MIN_DURATION,
    C_RUN_FILES,
    C_POWER_FILES,
    C_SOURCE,
    COLUMNS
};

static int64_t day(struct jm_span s)
{
    int64_t y, m, d;
    if (s.n != 10 || jm_num_i64(jm_span_sub(s, 0, 4), &y) || jm_num_i64(jm_span_sub(s, 5, 2), &m) ||
        jm_num_i64(jm_span_sub(s, 8, 2), &d))
        return INT64_MAX;
    return jm_time_unix((int)y, (int)m, (int)d, 0, 0, 0);
}

static struct jm_span list(struct jm_span s)
{
    return jm_span_is(s, "-") ? (struct jm_span){0} : s;
}

/* A row of the table; false: a comment, the line of names, or not that many columns. */
static bool row(struct jm_span line, struct jm_mlperf_round *out)
{
    struct jm_span c[COLUMNS];
    if (!line.n || line.p[0] == '#' || jm_span_starts(line, JM_SPAN("round\t")))
        return false;
    for (size_t i = 0; i < COLUMNS; i++)
        if (!jm_span_field(&line, '\t', &c[i]))
            return false;
    *out = (struct jm_mlperf_round){
        .from = "table",
        .local_time = jm_span_is(c[C_TIME], "local"),
        .drop_nonpositive = jm_span_is(c[C_DROPPED], "nonpositive"),
        .published_s = day(c[C_PUBLISHED]),
        .millijoules = jm_span_is(c[C_STREAM_UNIT], "mJ"),
        .legacy_count = jm_span_is(c[C_STREAM_COUNT], "legacy"),
        .legacy_multistream = jm_span_is(c[C_MULTISTREAM], "legacy"),
        .efficiency = jm_span_is(c[C_EFFICIENCY], "yes"),
        .completed = jm_span_is(c[C_SERVER], "completed"),
        .early_stopping = jm_span_is(c[C_STREAM], "early_stopping"),
        .uncertainty_is_error = jm_span_is(c[C_UNCERTAINTY], "error"),
        .ptd = list(c[C_PTD]),
        .devices = list(c[C_DEVICES]),
        .run_files = list(c[C_RUN_FILES]),
        .power_files = list(c[C_POWER_FILES]),
        .source = c[C_SOURCE],
    };
    snprintf(out->name, sizeof out->name, "%.*s", (int)c[C_ROUND].n, c[C_ROUND].p);
    snprintf(out->checker, sizeof out->checker, "%.*s", (int)c[C_CHECKER].n, c[C_CHECKER].p);
    return jm_num_i64(c[C_TOLERANCE], &out->tolerance_ms) == 0 &&
           jm_num_i64(c[C_MIN_DURATION], &out->min_duration_ms) == 0;
}

static struct jm_span table(void)
{
    return (struct jm_span){(const char *)jm_mlperf_rounds_tsv, jm_mlperf_rounds_tsv_len};
}

bool jm_mlperf_round_at(size_t i, struct jm_mlperf_round *out)
{
    struct jm_span rest = table(), line;
    while (jm_span_line(&rest, &line))
        if (row(line, out) && i-- == 0)
            return true;
    return false;
}

int jm_mlperf_round_named(const char *name, struct jm_mlperf_round *out, struct jm_err *err)
{
    struct jm_span want = jm_span_trim(jm_span_of(name));
    struct jm_mlperf_round r;
    char known[128] = "";
    if (want.n && (want.p[0] == 'v' || want.p[0] == 'V'))
        want = jm_span_sub(want, 1, want.n - 1);
    for (size_t i = 0; jm_mlperf_round_at(i, &r); i++) {
        if (jm_span_is(want, r.name + 1)) {
            *out = r;
            out->from = "given";
            return 0;
        }
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", r.name);
    }
    return jm_err_set(err, JM_EUSAGE, "MLPerf Inference has no round \"%.16s\" with power; known are %s",
                      name, known);
}

/* Where "vN.M" of a round stands alone in the path (no letter or digit before it, no digit or dot after it):
 * 2 where the folder is named after the round ("v4.1", "v4.1_...", "inference_results_v4.1",
 * "..._submissions_v3.1"), 1 elsewhere, as in the name of a system ("rpi4-tflite-v2.1"), 0 not there. *at:
 * the last such place. */
static int named_by(const char *path, const char *round, const char **at)
{
    size_t n = strlen(round);
    int best = 0;
    for (const char *p = path; (p = strstr(p, round)); p++) {
        bool word = p != path && ((p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= 'A' && p[-1] <= 'Z') ||
                                  (p[-1] >= '0' && p[-1] <= '9'));
        if (word || p[n] == '.' || (p[n] >= '0' && p[n] <= '9'))
            continue;
        const char *folder = p;
        while (folder > path && folder[-1] != '/')
            folder--;
        struct jm_span before = {folder, (size_t)(p - folder)};
        int how = !before.n || jm_span_find(before, JM_SPAN("inference_results")) >= 0 ||
                          jm_span_find(before, JM_SPAN("inference-results")) >= 0 ||
                          jm_span_find(before, JM_SPAN("submission")) >= 0
                      ? 2
                      : 1;
        if (how >= best) {
            best = how;
            *at = p;
        }
    }
    return best;
}

static int by_path(const char *path, struct jm_mlperf_round *out)
{
    struct jm_mlperf_round r;
    const char *at = NULL;
    int best = 0;
    for (size_t i = 0; jm_mlperf_round_at(i, &r); i++) {
        const char *p = NULL;
        int how = named_by(path, r.name, &p);
        if (how > best || (how && how == best && p > at)) {
            best = how;
            at = p;
            *out = r;
        }
    }
    return best;
}

static void by_date(int64_t t_ns, struct jm_mlperf_round *out)
{
    struct jm_mlperf_round r;
    for (size_t i = 0; jm_mlperf_round_at(i, &r); i++) {
        *out = r;
        if (t_ns >= 0 && t_ns / JM_NS_PER_S < r.published_s)
            break;
    }
    out->from = t_ns >= 0 ? "date of the run" : "newest known";
}

void jm_mlperf_round_find(const char *path, int64_t t_ns, struct jm_mlperf_round *out)
{
    char real[4096];
    struct jm_mlperf_round named;
    char *abs = realpath(path, NULL);
    snprintf(real, sizeof real, "%s", abs ? abs : path);
    free(abs);
    by_date(t_ns, out);
    int how = by_path(real, &named);
    /* a run that is younger than the round's results cannot be of it: then the name in the path means
     * something else; and a version in the name of a system is no more than a hint */
    if (!how || (t_ns >= 0 && t_ns / JM_NS_PER_S >= named.published_s) ||
        (how == 1 && t_ns >= 0 && strcmp(named.name, out->name) != 0))
        return;
    *out = named;
    out->from = "path";
}

bool jm_mlperf_round_lists(struct jm_span list, struct jm_span item)
{
    struct jm_span one;
    if (!list.p)
        return false;
    while (jm_span_field(&list, ',', &one))
        if (jm_span_eq(one, item))
            return true;
    return false;
}

bool jm_mlperf_round_takes_device(const struct jm_mlperf_round *r, int64_t device_type)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)device_type);
    return jm_mlperf_round_lists(r->devices, jm_span_of(text));
}

bool jm_mlperf_may_infer(const char *ran, const char *claimed)
{
    bool offline = strcasecmp(claimed, "Offline") == 0;
    return (strcasecmp(ran, "SingleStream") == 0 && (offline || strcasecmp(claimed, "MultiStream") == 0)) ||
           (strcasecmp(ran, "MultiStream") == 0 && offline);
}

/* Is the name, at p, the folder that holds performance/, or a session alone? */
static bool own_folder(const char *real, const char *p, size_t n)
{
    static const char *const inner[] = {"", "/", "/performance", "/performance/run_1", "/run_1"};
    if (p > real && p[-1] != '/')
        return false;
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++)
        if (strcmp(p + n, inner[i]) == 0)
            return true;
    return false;
}

const char *jm_mlperf_claimed(const char *path)
{
    return jm_mlperf_claimed_of_run(path, NULL);
}

const char *jm_mlperf_claimed_of_run(const char *path, const char *ran)
{
    static const char *const names[] = {"SingleStream", "MultiStream", "Offline", "Server", "Interactive"};
    const char *found = NULL, *at = NULL;
    bool own = false;
    char real[4096];
    char *abs = realpath(path, NULL);
    snprintf(real, sizeof real, "%s", abs ? abs : path);
    free(abs);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (const char *p = real; (p = strcasestr(p, names[i])); p++) {
            char before = p == real ? '/' : p[-1], after = p[strlen(names[i])];
            bool alone = strchr("/_-.", before) && strchr("/_-.", after); /* the end is in the set too */
            if (alone && p > at) {
                at = p;
                found = names[i];
                own = own_folder(real, p, strlen(names[i]));
            }
        }
    if (!found || own || !ran || strcasecmp(ran, found) == 0 || jm_mlperf_may_infer(ran, found) ||
        (strcasecmp(ran, "Server") == 0 && strcmp(found, "Interactive") == 0))
        return found;
    return NULL;
}
