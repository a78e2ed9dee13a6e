/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/option.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct opts {
    bool flag;
    const char *text;
    int64_t n, time;
    double x, rate, power;
    int kind;
    struct jm_opt_list list;
};

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct jm_opt table[] = {
        {"flag", 'f', JM_OPT_FLAG, offsetof(struct opts, flag), .help = "x"},
        {"text", 't', JM_OPT_STR, offsetof(struct opts, text), .help = "x"},
        {"n", 'n', JM_OPT_INT, offsetof(struct opts, n), -5, 5, .help = "x"},
        {"time", 0, JM_OPT_DURATION, offsetof(struct opts, time), .help = "x"},
        {"x", 0, JM_OPT_NUM, offsetof(struct opts, x), .help = "x"},
        {"rate", 0, JM_OPT_RATE, offsetof(struct opts, rate), .help = "x"},
        {"power", 0, JM_OPT_POWER, offsetof(struct opts, power), .help = "x"},
        {"kind", 0, JM_OPT_ENUM, offsetof(struct opts, kind), .choices = "a|b", .help = "x"},
        {"list", 'l', JM_OPT_LIST, offsetof(struct opts, list), .help = "x"},
        {NULL}};
    struct opts o = {0};
    struct jm_opt_arena *arena = NULL;
    struct jm_err err = {0};
    int rc = jm_opt_yaml(table, &o, (struct jm_span){(const char *)p, n}, "input", &arena, &err);
    if (rc && !err.text[0])
        abort();
    if (!rc && (o.n < -5 || o.n > 5 || o.kind < 0 || o.kind > 1 || o.list.n > 64))
        abort();
    jm_opt_arena_free(arena);
    return 0;
}
