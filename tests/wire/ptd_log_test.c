/* SPDX-License-Identifier: Apache-2.0 */
/* Lines as they stand in published sessions (v1.0 Qualcomm, v5.1 Lenovo and GATEOverflow) and in their corpus
 * of messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/str.h"
#include "wire/ptd_log.h"

static int note(void *self, const struct jm_ptd_message *m)
{
    static const char kind[] = "iWE";
    jm_str_addf(self, "%d.%d %c%s%s%s %lld %lld %.*s|", (int)m->line, m->analyzer, kind[m->kind],
                m->upper ? "U" : "", m->inner ? "m" : "", m->note ? "n" : "",
                (long long)(m->t_ns < 0 ? -1 : m->t_ns / JM_NS_PER_MS % 86400000),
                (long long)(m->line_t_ns < 0 ? -1 : m->line_t_ns / JM_NS_PER_MS % 86400000), (int)m->text.n,
                m->text.p);
    return 0;
}

static void lines(struct jm_ptd_log *p, const char *const *text, size_t n, const char *want)
{
    struct jm_str out;
    jm_str_init(&out);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(jm_ptd_log_line(p, jm_span_of(text[i]), (int64_t)i + 1, note, &out), 0);
    assert_string_equal(out.buf, want);
    jm_str_release(&out);
}
#define LINES(p, want, ...)                                                                                  \
    do {                                                                                                     \
        static const char *const t[] = {__VA_ARGS__};                                                        \
        lines(p, t, sizeof t / sizeof t[0], want);                                                           \
    } while (0)

/* 07:19:02.449 is 26342449 ms of its day */
static void whole(void **state)
{
    struct jm_ptd_log p;
    (void)state;
    jm_ptd_log_init(&p);
    LINES(&p,
          "1.1 EU 26342449 26342449 ERROR: Can't evaluate uncertainty of this sample!|"
          "2.1 WU 26342449 26342449 WARNING: Missed 1 samples|"
          "3.1 in 26342449 26342449 Go with mark 's_ranging'|"
          "4.1 E 26342449 26342449 Response to client sent: Error: no measurement to stop|"
          "6.1 i 26342449 26342449 Writing query string :CONF?|"
          "8.1 i 26342449 26342449 Response to client sent: Time,07-28-2025 07:19:02.449,Watts,1|",
          "07-28-2025 07:19:02.449: ERROR: Can't evaluate uncertainty of this sample!",
          "07-28-2025 07:19:02.449: WARNING: Missed 1 samples",
          "07-28-2025 07:19:02.449: Go with mark 's_ranging'",
          "07-28-2025 07:19:02.449: Response to client sent: Error: no measurement to stop", "",
          "07-28-2025 07:19:02.449: Writing query string :CONF?", "...",
          "07-28-2025 07:19:02.449: Response to client sent: Time,07-28-2025 07:19:02.449,Watts,1",
          "Time,07-28-2025 07:19:03.449,Watts,2921.9,Volts,210.456667");
    assert_int_equal(p.not_line_safe, 0);
    assert_int_equal(p.analyzers, 1);
}

/* A message begins in the middle of a number, of another message, of a stamp. 08:59:03.222 is 32343222 ms. */
static void cut(void **state)
{
    struct jm_ptd_log p;
    (void)state;
    jm_ptd_log_init(&p);
    LINES(&p,
          "1.1 im 32343222 -1 Response to client sent: ,Watts,951.9,Volts,210.88|"
          "2.1 EU 12750000 12750000 ERROR: Current appears to be too high for set range|"
          "2.1 EUm 12751000 12750000 ERROR: Can't evaluate uncertainty of this sample!|"
          "3.1 WUm 32343222 -1 WARNING: Missed 1 samples|"
          "4.1 EU -1 -1 ERROR: no stamp at all|",
          "Time,07-28-2025 07:19:05.449,Watts,2867.7,PF,0.98400007-28-2025 08:59:03.222: Response to client "
          "sent: ,Watts,951.9,Volts,210.88",
          "03-17-2021 03:32:30.000: ERROR: Current appears to be too high for set range03-17-2021 "
          "03:32:31.000: "
          "ERROR: Can't evaluate uncertainty of this sample!",
          "07-28-2025 08:5907-28-2025 08:59:03.222: WARNING: Missed 1 samples", "ERROR: no stamp at all");
    assert_int_equal(p.not_line_safe, 3);
}

static void analyzers(void **state)
{
    struct jm_ptd_log p;
    (void)state;
    jm_ptd_log_init(&p);
    LINES(&p, "2.1 WU 26342449 26342449 WARNING: a|4.2 WU 26342449 26342449 WARNING: b|", "Analyzer 1",
          "07-28-2025 07:19:02.449: WARNING: a", "Analyzer 2\r", "07-28-2025 07:19:02.449: WARNING: b",
          "Analyzer identity response of 32 bytes: YOKOGAWA", "Analyzer 99999999", "Analyzer -1");
    assert_int_equal(p.analyzers, 2);
}

/* Neither a date with day and month exchanged nor one that does not exist is a stamp. */
static void no_stamps(void **state)
{
    struct jm_ptd_log p;
    (void)state;
    jm_ptd_log_init(&p);
    LINES(
        &p,
        "1.1 WU -1 -1 28-07-2025 07:19:02.449: WARNING: a|2.1 WU -1 -1 02-30-2025 07:19:02.449: WARNING: a|",
        "28-07-2025 07:19:02.449: WARNING: a", "02-30-2025 07:19:02.449: WARNING: a",
        ": : : : : : : : : : : : : :", "07-28-2025 07:19:02.449:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(cut),
                                       cmocka_unit_test(analyzers), cmocka_unit_test(no_stamps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
