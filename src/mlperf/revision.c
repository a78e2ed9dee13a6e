/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/official.h"

#include <string.h>

#include "base/banned.h"

#define PD  "mlcommons/power-dev compliance/check.py "
#define INF "mlcommons/inference tools/submission/power/power_checker.py "

/* In order of time. What is not the same as in the row above it:
 *   r1.1  loads are UTC, the duration rule looks one way, "USB." is accepted, client.json is no longer hashed
 *   r2.1  500 ms; r3.0 PTDaemon 1.10.0
 *   f59033d  more than 1 % uncertain fails (0d72c26), power instead of duration, readings of nan are common
 *   inf_v4.*  800 ms, no time zone, "Current appears to be too high" is common
 *   inf_v5.1, c4b3ad8  PTDaemon 1.11.1, several analyzers, a fourth SR,A */
const struct jm_mlperf_revision jm_mlperf_revision_table[] = {
    {.name = "r1.0",
     .rounds = "v1.0",
     .versions = "1.9.1 1.9.2",
     .versions_text = "1.9.1 and 1.9.2",
     .models = 0,
     .sources = "A Z",
     .tolerance_ms = 200,
     .delta_text = JM_MLPERF_DELTA_200,
     .local_load = true,
     .local_log = true,
     .duration = JM_MLPERF_DUR_ABS_5,
     .one_more_message = true,
     .client_json = true,
     .common_errors = 1,
     .source = PD "branch r1.0 (07da3af, 63240b9)"},
    {.name = "r1.1",
     .rounds = "v1.1",
     .versions = "1.9.1 1.9.2",
     .versions_text = "1.9.1 and 1.9.2",
     .models = 1,
     .sources = "B",
     .tolerance_ms = 200,
     .delta_text = JM_MLPERF_DELTA_200,
     .local_log = true,
     .duration = JM_MLPERF_DUR_DROP_5,
     .common_errors = 1,
     .usb = true,
     .source = PD "branch r1.1; power-dev #239, #240, #250"},
    {.name = "r2.0",
     .rounds = "v2.0",
     .versions = "1.9.1 1.9.2",
     .versions_text = "1.9.1 and 1.9.2",
     .models = 1,
     .sources = "B",
     .tolerance_ms = 200,
     .delta_text = JM_MLPERF_DELTA_200,
     .local_log = true,
     .duration = JM_MLPERF_DUR_DROP_5,
     .common_errors = 1,
     .usb = true,
     .source = PD "branch r2.0"},
    {.name = "r2.1",
     .rounds = "v2.1",
     .versions = "1.9.1 1.9.2",
     .versions_text = "1.9.1 and 1.9.2",
     .models = 1,
     .sources = "B C",
     .tolerance_ms = 500,
     .delta_text = JM_MLPERF_DELTA_SHORT,
     .local_log = true,
     .duration = JM_MLPERF_DUR_DROP_5,
     .common_errors = 1,
     .usb = true,
     .source = PD "branch r2.1; power-dev #262, #267"},
    {.name = "r3.0",
     .rounds = "v3.0",
     .versions = "1.10.0",
     .versions_text = "1.10.0",
     .models = 1,
     .sources = "B C",
     .tolerance_ms = 500,
     .delta_text = JM_MLPERF_DELTA_SHORT,
     .local_log = true,
     .duration = JM_MLPERF_DUR_DROP_5,
     .common_errors = 1,
     .usb = true,
     .source = PD "branch r3.0; power-dev #285, #286; inference #1338"},
    {.name = "f59033d",
     .rounds = "v3.1",
     .versions = "1.10.0",
     .versions_text = "1.10.0",
     .models = 2,
     .sources = "D",
     .sources_too = "E", /* mlcommons/inference at d60733b; results of v3.1 (Krai) ran it */
     .tolerance_ms = 500,
     .delta_text = JM_MLPERF_DELTA_LONG,
     .local_log = true,
     .duration = JM_MLPERF_DUR_WARN_50,
     .power = JM_MLPERF_POWER_EVERY,
     .common_errors = 6,
     .usb = true,
     .uncertain_fails = true,
     .slip = true,
     .logging = true,
     .source = PD "at f59033d; " INF "at 373d191"},
    {.name = "inf_v4.0",
     .rounds = "v4.0",
     .versions = "1.10.0",
     .versions_text = "1.10.0",
     .models = 2,
     .sources = "D E F", /* results of v4.0 (Qualcomm) ran F */
     .tolerance_ms = 800,
     .delta_text = JM_MLPERF_DELTA_LONG,
     .duration = JM_MLPERF_DUR_WARN_50,
     .power = JM_MLPERF_POWER_TIME,
     .common_errors = 6,
     .usb = true,
     .uncertain_fails = true,
     .slip = true,
     .replaces_error = true,
     .logging = true,
     .source = INF "at 0009b1e"},
    {.name = "inf_v4.1",
     .rounds = "v4.1",
     .versions = "1.10.0",
     .versions_text = "1.10.0",
     .models = 2,
     .sources = "E F",
     .tolerance_ms = 800,
     .delta_text = JM_MLPERF_DELTA_LONG,
     .duration = JM_MLPERF_DUR_WARN_50,
     .power = JM_MLPERF_POWER_TIME,
     .common_errors = 6,
     .usb = true,
     .uncertain_fails = true,
     .slip = true,
     .replaces_error = true,
     .logging = true,
     .source = INF "at 0009b1e"},
    {.name = "inf_v5.0",
     .rounds = "v5.0",
     .versions = "1.11.1",
     .versions_text = "['1.11.1']",
     .models = 2,
     .sources = "F G",
     .tolerance_ms = 800,
     .delta_text = JM_MLPERF_DELTA_LONG,
     .duration = JM_MLPERF_DUR_WARN_50,
     .power = JM_MLPERF_POWER_TIME,
     .fourth_amps = 2,
     .common_errors = 6,
     .usb = true,
     .uncertain_fails = true,
     .slip = true,
     .replaces_error = true,
     .config_list = 2,
     .logging = true,
     .source = INF "between 0009b1e and 29a2d41: the forms of both are accepted"},
    {.name = "inf_v5.1",
     .rounds = "v5.1",
     .versions = "1.11.1",
     .versions_text = "['1.11.1']",
     .models = 2,
     .sources = "G",
     .tolerance_ms = 800,
     .delta_text = JM_MLPERF_DELTA_LONG,
     .duration = JM_MLPERF_DUR_WARN_50,
     .power = JM_MLPERF_POWER_TIME,
     .fourth_amps = 1,
     .common_errors = 6,
     .usb = true,
     .uncertain_fails = true,
     .slip = true,
     .replaces_error = true,
     .config_list = 1,
     .logging = true,
     .source =
         "mlcommons/inference tools/submission/submission_checker/checks/power/power_checker.py at 29a2d41"},
    {.name = "c4b3ad8",
     .rounds = "v6.0-",
     .versions = "1.11.1",
     .versions_text = "['1.11.1']",
     .models = 2,
     .sources = "G",
     .tolerance_ms = 800,
     .delta_text = JM_MLPERF_DELTA_LONG,
     .duration = JM_MLPERF_DUR_WARN_50,
     .power = JM_MLPERF_POWER_TIME,
     .fourth_amps = 1,
     .common_errors = 6,
     .usb = true,
     .uncertain_fails = true,
     .slip = true,
     .replaces_error = true,
     .config_list = 1,
     .logging = true,
     .source = PD "at c4b3ad8"},
    {.name = NULL},
};

const struct jm_mlperf_model jm_mlperf_models[] = {
    {"YokogawaWT210", 8, 0},
    {"YokogawaWT500", 35, 1},
    {"YokogawaWT500_multichannel", 48, 1},
    {"YokogawaWT310", 49, 0},
    {"YokogawaWT310E", 49, 1},
    {"YokogawaWT330", 52, 1},
    {"YokogawaWT330E", 52, 0},
    {"YokogawaWT330E", 77, 0},
    {"YokogawaWT330_multichannel", 77, 1},
    {"YokogawaWT210_DC", 508, 2},
    {"YokogawaWT310_DC", 549, 2},
    {"YokogawaWT330_DC", 586, 2},
    {NULL, 0, 0},
};

bool jm_mlperf_model_in(const struct jm_mlperf_model *m, int set)
{
    /* Multichannel WT330E went by the name of the single-channel one in v1.0. */
    if (m->type == 77 && m->set == 0)
        return set == 0;
    return m->set <= set;
}

const struct jm_mlperf_revision *jm_mlperf_revision_find(const char *name)
{
    const struct jm_mlperf_revision *r = jm_mlperf_revision_table;
    size_t n = strlen(name);
    for (; r->name; r++)
        if (strcmp(r->name, name) == 0 || (strcmp(name, "HEAD") == 0 && !r[1].name))
            return r;
    /* A longer hash, and rounds by their own name or that of a branch: v3.1, r3.1, inf_v3.1. */
    for (r = jm_mlperf_revision_table; n > 7 && r->name; r++)
        if (strlen(r->name) == 7 && strspn(name, "0123456789abcdef") == n && strncmp(r->name, name, 7) == 0)
            return r;
    if (n >= 4 && (name[n - 4] == 'v' || name[n - 4] == 'r') &&
        (n == 4 || (n == 8 && strncmp(name, "inf_", 4) == 0)))
        for (r = jm_mlperf_revision_table; r->name; r++)
            if (strncmp(r->rounds + 1, name + n - 3, 3) == 0)
                return r;
    return NULL;
}

const struct jm_mlperf_revision *jm_mlperf_revision_of(const char *round)
{
    const struct jm_mlperf_revision *r = jm_mlperf_revision_table;
    for (; r[1].name; r++) {
        struct jm_mlperf_rule rule = {.rounds = r->rounds};
        if (round && *round && jm_mlperf_rule_applies(&rule, round))
            return r;
    }
    return r;
}

/* Next row of sources.tsv: set, path, SHA-1. */
static bool row(struct jm_span *rest, struct jm_span field[3])
{
    struct jm_span line;
    while (jm_span_line(rest, &line)) {
        if (!line.n || *line.p == '#')
            continue;
        if (jm_span_field(&line, '\t', &field[0]) && jm_span_field(&line, '\t', &field[1]) &&
            jm_span_field(&line, '\t', &field[2]))
            return true;
    }
    return false;
}

char jm_mlperf_sources_set(const struct jm_mlperf_hash *h, size_t n)
{
    struct jm_span rest = {(const char *)jm_mlperf_sources_tsv, jm_mlperf_sources_tsv_len}, f[3];
    char set = 0;
    size_t rows = 0, equal = 0;
    for (bool more = true; more;) {
        more = row(&rest, f);
        if (!more || *f[0].p != set) {
            if (set && rows == n && equal == n)
                return set;
            set = more ? *f[0].p : 0;
            rows = equal = 0;
        }
        rows++;
        for (size_t i = 0; more && i < n; i++)
            if (jm_span_is(f[1], h[i].path) && h[i].sha1 && jm_span_is(f[2], h[i].sha1)) {
                equal++;
                break;
            }
    }
    return 0;
}
