/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/lines.h"

static const char text[] = "{\"a\":1}\n\r\n  \n{\"b\":\"x\"}\r\n\n{\"c\":3}";
static const char want[] = "{\"a\":1}|{\"b\":\"x\"}|{\"c\":3}|";

/* The same lines however the bytes are cut; a last line needs no end. */
static void every_split(void **state)
{
    (void)state;
    for (size_t a = 0; a < sizeof text; a++)
        for (size_t b = a; b < sizeof text; b++) {
            struct jm_lines l;
            struct jm_str got;
            struct jm_span line;
            size_t cut[] = {0, a, b, sizeof text - 1};
            jm_lines_init(&l, 0);
            jm_str_init(&got);
            for (int k = 0; k < 3; k++) {
                char *piece =
                    malloc(cut[k + 1] - cut[k] + 1); /* its own memory: nothing may point into the last one */
                memcpy(piece, text + cut[k], cut[k + 1] - cut[k]);
                struct jm_span in = {piece, cut[k + 1] - cut[k]};
                while (jm_lines_next(&l, &in, &line, NULL) == 1) {
                    jm_str_addspan(&got, line);
                    jm_str_addc(&got, '|');
                }
                free(piece);
            }
            if (jm_lines_end(&l, &line) == 1) {
                jm_str_addspan(&got, line);
                jm_str_addc(&got, '|');
            }
            assert_string_equal(got.buf, want);
            assert_int_equal(jm_lines_end(&l, &line), 0);
            jm_str_release(&got);
            jm_lines_release(&l);
        }
}

static void a_line_that_never_ends(void **state)
{
    struct jm_lines l;
    struct jm_err err = {0};
    struct jm_span line, in = JM_SPAN("0123456789");
    (void)state;
    jm_lines_init(&l, 25);
    assert_int_equal(jm_lines_next(&l, &in, &line, &err), 0);
    in = JM_SPAN("0123456789");
    assert_int_equal(jm_lines_next(&l, &in, &line, &err), 0);
    in = JM_SPAN("0123456789\n");
    assert_int_equal(jm_lines_next(&l, &in, &line, &err), JM_ELIMIT);
    assert_non_null(strstr(err.text, "longer than 25 bytes"));
    assert_int_equal(jm_lines_next(&l, &in, &line, &err), JM_ESTATE);
    assert_int_equal(jm_lines_end(&l, &line), 0);
    jm_lines_reset(&l);
    in = JM_SPAN("01234567890123456789012345678901234\n"); /* whole in one piece, and still too long */
    assert_int_equal(jm_lines_next(&l, &in, &line, &err), JM_ELIMIT);
    jm_lines_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_split),
                                       cmocka_unit_test(a_line_that_never_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
