/* SPDX-License-Identifier: Apache-2.0 */
/* Files of factors, tariffs, time zones and what stands on a command line. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "factor/factor.h"
#include "model/embodied.h"
#include "wire/factorfile.h"
#include "wire/tzif.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span text = {(const char *)p, n};
    struct jm_factor_set set = {0};
    struct jm_err err = {0};
    struct jm_tz tz = {0};
    int rc = jm_factor_file(text, &set, &err);
    if (rc && (set.n || !err.text[0]))
        abort();
    for (size_t i = 0; i < set.n; i++) {
        const struct jm_factor *f = &set.f[i];
        struct jm_factor_mean m;
        for (size_t k = 0; k < f->n; k++)
            if (f->step[k].t1 <= f->step[k].t0 || !isfinite(f->step[k].value) ||
                (k && f->step[k].t0 < f->step[k - 1].t1))
                abort();
        if (f->n) {
            jm_factor_mean(f, f->step[0].t0 - 1, f->step[f->n - 1].t1, &m);
            if (isfinite(m.value) || m.missing != f->step[0].t0 - 1 || m.covered > 1)
                abort();
        }
        jm_factor_scope2(f);
    }
    jm_factor_set_release(&set);
    if (n < 65536 && memchr(p, ':', n)) {
        jm_factor_tariff(text, "/nonexistent", &set, &err);
        jm_factor_set_release(&set);
    }
    if (!jm_tz_file(text, &tz, &err))
        for (int64_t t = -4000000000; t < 8000000000; t += 987654321)
            jm_tz_offset(&tz, t);
    jm_tz_release(&tz);
    if (!jm_tz_rule(text, &tz, &err))
        for (int64_t t = 0; t < 4000000000; t += 87654321)
            jm_tz_offset(&tz, t);
    if (n < 4096) {
        char *s = malloc(n + 1);
        struct jm_embodied e;
        if (!s)
            return 0;
        memcpy(s, p, n);
        s[n] = '\0';
        jm_factor_carbon_given(s, &set, &err);
        jm_factor_price_given(s, &set, &err);
        jm_factor_check(&set, &err);
        jm_factor_set_release(&set);
        jm_embodied_parse(s, &e, &err);
        free(s);
    }
    return 0;
}
