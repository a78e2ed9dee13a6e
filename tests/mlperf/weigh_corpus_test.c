/* SPDX-License-Identifier: Apache-2.0 */
/* The time-weighted power of a session, taken while its samples stream by, against that of the imported run,
 * which compute/gauge.c integrates from the readings of the run file: two programs, one rule. And the
 * published sessions against expected.json, an independent reading of their logs (numpy). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "imported.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "mlperf/session.h"
#include "wire/spl.h"

static char corpus[4096];

static void near(const char *name, const char *what, double got, double want, double rel)
{
    if (!(fabs(got - want) <= rel * fabs(want)))
        print_error("%s: %s is %.17g, expected %.17g\n", name, what, got, want);
    assert_true(fabs(got - want) <= rel * fabs(want));
}

static int64_t integer(const struct jm_json *c, const char *key)
{
    int64_t v = -1;
    assert_true(jm_json_i64(jm_json_get(c, key), &v));
    return v;
}

static int64_t stamp(const struct jm_json *c, const char *key)
{
    struct jm_span s;
    int64_t ns = -1;
    assert_true(jm_json_str(jm_json_get(c, key), &s));
    assert_int_equal(jm_spl_time(s, &ns), 0);
    return ns;
}

static void expected(const char *name, const struct jm_json *c, const struct jm_mlperf_session *s)
{
    const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
    const struct jm_mlperf_loadgen *lg = &s->loadgen[JM_MLPERF_TESTING];
    const struct jm_mlperf_samples *w = &p->window;
    const struct jm_json *tz = jm_json_get(c, "tz");
    double watts, joules, seconds;
    int64_t zone[2], begin, end;
    struct jm_span round;
    bool drop = s->round.drop_nonpositive;
    int64_t n = drop ? w->n_positive : w->rows, sum = drop ? w->sum_positive_uw : w->sum_all_uw;
    assert_true(jm_json_str(jm_json_get(c, "round"), &round) && jm_span_is(round, s->round.name));
    assert_true(jm_json_num(jm_json_get(c, "avg_W"), &watts) &&
                jm_json_num(jm_json_get(c, "energy_J"), &joules) &&
                jm_json_num(jm_json_get(c, "duration"), &seconds));
    assert_int_equal(n, integer(c, "n"));
    assert_int_equal(w->rows, integer(c, "n_window"));
    assert_int_equal(p->file.rows, integer(c, "n_rows"));
    assert_int_equal(p->file.nonpositive, integer(c, "nonpos_in_file"));
    assert_int_equal(p->channels, integer(c, "channels"));
    assert_int_equal(lg->begin, stamp(c, "begin"));
    assert_int_equal(lg->end, stamp(c, "end"));
    assert_int_equal(lg->checker_begin, lg->begin);
    assert_int_equal(lg->checker_end, lg->end);
    for (size_t i = 0; i < 2; i++)
        assert_true(jm_json_i64(jm_json_at(tz, i), &zone[i]));
    assert_int_equal(s->server.timezone_s, zone[0]); /* of the power log */
    assert_int_equal(s->client.timezone_s, zone[1]); /* of LoadGen's */
    assert_true(jm_mlperf_window(s, JM_MLPERF_TESTING, &begin, &end));
    assert_int_equal(begin, lg->begin + (s->round.local_time ? zone[1] : 0) * JM_NS_PER_S);
    double mean = (double)sum * 1e-6 / (double)n;
    near(name, "mean", mean, watts, 1e-9);
    near(name, "duration", (double)(end - begin) * 1e-9, seconds, 1e-9);
    near(name, "energy", mean * (double)(end - begin) * 1e-9, joules, 1e-9);
}

static void sessions(void **state)
{
    struct jm_str text;
    struct jm_json *doc;
    struct jm_span name;
    struct jm_err err;
    char path[8192];
    int n = 0;
    (void)state;
    jm_str_init(&text);
    snprintf(path, sizeof path, "%s/expected.json", corpus);
    assert_int_equal(jm_file_read(path, 1 << 24, &text, NULL), 0);
    assert_int_equal(jm_json_parse(jm_str_span(&text), &doc, NULL), 0);
    for (size_t i = 0; i < jm_json_len(doc); i++) {
        const struct jm_json *c = jm_json_at(doc, i);
        struct jm_mlperf_session *s;
        if (!jm_json_str(jm_json_get(c, "case"), &name) || !jm_span_starts(name, JM_SPAN("v")))
            continue;
        snprintf(path, sizeof path, "%s/%.*s", corpus, (int)name.n, name.p);
        assert_true(jm_mlperf_session_at(path));
        if (jm_mlperf_session_read(path, 0, &s, &err))
            fail_msg("%s", err.text);
        expected(path, c, s);
        const struct jm_mlperf_power *p = &s->power[JM_MLPERF_TESTING];
        near(path, "time-weighted power", p->joules / p->seconds, imported_watts(path, "weigh_corpus_test"),
             1e-9);
        jm_mlperf_session_free(s);
        n++;
    }
    jm_json_free(doc);
    jm_str_release(&text);
    assert_int_equal(n, 17);
}

int main(void)
{
    const char *build = getenv("JM_BUILD");
    snprintf(corpus, sizeof corpus, "%s/corpus/mlperf", build ? build : "build");
    if (access(corpus, R_OK) != 0) {
        printf("1..0 # SKIP no public test data (make corpus)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(sessions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
