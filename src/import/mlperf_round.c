/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlperf_round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

/* publication dates of the rounds' results (MLCommons announcements) */
static const struct {
    const char *name;
    int year, month, day;
    bool local_time, drop;
} rounds[] = {
    {"v1.0", 2021, 4, 21, true, false}, {"v1.1", 2021, 9, 22, false, false},
    {"v2.0", 2022, 4, 6, false, false}, {"v2.1", 2022, 9, 8, false, false},
    {"v3.0", 2023, 4, 5, false, false}, {"v3.1", 2023, 9, 11, false, true},
    {"v4.0", 2024, 3, 27, false, true}, {"v4.1", 2024, 8, 28, false, true},
    {"v5.0", 2025, 4, 2, false, true},  {"v5.1", 2025, 9, 9, false, true},
    {"v6.0", 2026, 4, 1, false, true},  {"v6.1", 9999, 1, 1, false, true},
};

static void take(size_t i, const char *from, struct jm_mlperf_round *out)
{
    snprintf(out->name, sizeof out->name, "%s", rounds[i].name);
    out->from = from;
    out->local_time = rounds[i].local_time;
    out->drop_nonpositive = rounds[i].drop;
}

/* Last "vN.M" in the path that is a known round and stands alone (no digit or dot after it). */
static bool by_path(const char *path, struct jm_mlperf_round *out)
{
    bool found = false;
    for (const char *p = path; (p = strchr(p, 'v')); p++) {
        if (p != path && ((p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= '0' && p[-1] <= '9')))
            continue;
        for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++)
            if (strncmp(p, rounds[i].name, 4) == 0 && p[4] != '.' && !(p[4] >= '0' && p[4] <= '9')) {
                take(i, "path", out);
                found = true;
            }
    }
    return found;
}

static int64_t published(const char *name)
{
    size_t i = 0;
    while (strcmp(rounds[i].name, name) != 0)
        i++;
    return jm_time_unix(rounds[i].year, rounds[i].month, rounds[i].day, 0, 0, 0);
}

void jm_mlperf_round_find(const char *path, int64_t t_ns, struct jm_mlperf_round *out)
{
    char real[4096];
    size_t n = sizeof rounds / sizeof rounds[0], i = 0;
    memset(out, 0, sizeof *out);
    char *abs = realpath(path, NULL);
    snprintf(real, sizeof real, "%s", abs ? abs : path);
    free(abs);
    /* a run that is younger than the round's results cannot be of it: then the name in the path means
     * something else */
    if (by_path(real, out) && (t_ns < 0 || t_ns / JM_NS_PER_S < published(out->name)))
        return;
    if (t_ns >= 0)
        while (i + 1 < n && t_ns / JM_NS_PER_S >= published(rounds[i].name))
            i++;
    else
        i = n - 1;
    take(i, t_ns >= 0 ? "date of the run" : "newest known", out);
}

const char *jm_mlperf_claimed(const char *path)
{
    static const char *const names[] = {"SingleStream", "MultiStream", "Offline", "Server", "Interactive"};
    const char *found = NULL, *at = NULL;
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
            }
        }
    return found;
}
