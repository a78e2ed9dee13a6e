/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a piece of your own code:
 *
 *     cc measure.c -o measure $(pkg-config --cflags --libs joulemark) && ./measure run.jmr
 */
#include <math.h>
#include <stdio.h>

#include <joulemark.h>

static double work(void)
{
    double x = 0;
    for (long i = 1; i < 300000000; i++)
        x += 1.0 / (double)i;
    return x;
}

int main(int argc, char **argv)
{
    joulemark_options o = JOULEMARK_OPTIONS_INIT;
    joulemark_session *s;
    joulemark_report *r;
    joulemark_error e;
    const char *profile;
    o.file = argc > 1 ? argv[1] : "run.jmr";
    o.label = "sum of reciprocals";
    o.overwrite = 1;
    if (joulemark_session_open(&o, &s, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 4;
    }
    if (!joulemark_session_channels(s))
        fprintf(stderr, "no meter: %s\n", joulemark_session_why(s));
    joulemark_window_begin(s, "work", &e);
    double x = work();
    joulemark_window_end(s, &e);
    joulemark_note(s, "plan.result", x > 0 ? "done" : "?");
    if (joulemark_session_close(s, &e) || joulemark_report_open(o.file, &r, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 4;
    }
    for (size_t i = 0; i < joulemark_report_count(r); i++) {
        joulemark_result q = {.size = sizeof q};
        joulemark_report_get(r, i, &q);
        if (q.have)
            printf("%-12s %-24s %12.6g %-4s [%g, %g] %s %s\n", q.metric, q.set, q.value, q.unit, q.lo, q.hi,
                   q.provenance, q.validity);
        else
            printf("%-12s %-24s no value: %s\n", q.metric, q.set, q.reasons);
    }
    printf("%s", joulemark_report_validity(r, &profile));
    printf(" for profile %s\n", profile);
    joulemark_report_close(r);
    return 0;
}
