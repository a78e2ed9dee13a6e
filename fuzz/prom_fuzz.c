/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: how the rest is cut into pieces. The samples must be the same however it is cut. */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "cut.h"
#include "wire/prom.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void put(struct jm_str *out, const struct jm_prom_sample *s)
{
    jm_str_addspan(out, s->name);
    jm_str_addc(out, '/');
    jm_str_addspan(out, s->family);
    jm_str_addf(out, "/%d/%d %d %d %d", (int)s->type, (int)s->part, s->has_time, s->exemplar,
                s->value == s->value);
    for (size_t i = 0; i < s->n_labels; i++) {
        char buf[64];
        size_t k = jm_prom_unescape(s->label[i].value, buf, sizeof buf);
        jm_str_addspan(out, s->label[i].name);
        jm_str_add(out, buf, k < sizeof buf ? k : sizeof buf);
    }
    jm_str_addc(out, '\n');
}

static int feed(const uint8_t *p, size_t n, size_t step, struct jm_str *out)
{
    struct jm_prom r;
    struct jm_prom_sample s;
    struct jm_err err;
    int rc = 0;
    jm_prom_init(&r, &(struct jm_prom_limits){.line_bytes = 300, .total_bytes = 5000, .families = 5});
    for (size_t at = 0; at < n && rc == 0; at += step) {
        size_t k = step < n - at ? step : n - at;
        struct jm_span in = {(const char *)p + at, k};
        while ((rc = jm_prom_next(&r, &in, at + k == n, &s, &err)) == 1)
            put(out, &s);
    }
    if (rc == 0)
        jm_str_addf(out, "%llu %llu %llu", (unsigned long long)r.samples, (unsigned long long)r.bad_lines,
                    (unsigned long long)r.types);
    jm_prom_release(&r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 1)
        return 0;
    struct cut c = cut(feed, p, n);
    if (c.whole != c.pieces || (c.whole == 0 && !c.same))
        abort();
    return 0;
}
