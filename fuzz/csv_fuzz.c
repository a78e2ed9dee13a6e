/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_csv c;
    struct jm_csv_field f[16];
    size_t k;
    char buf[32];
    struct jm_err err;
    jm_csv_init(&c, (struct jm_span){(const char *)p, n}, n && (p[0] & 1) ? ';' : 0);
    size_t before = c.at;
    while (jm_csv_row(&c, f, 16, &k, &err) > 0) {
        if (c.at <= before || !k || c.at > n)
            abort();
        before = c.at;
        for (size_t i = 0; i < k; i++)
            if (f[i].raw.n && (f[i].raw.p < (const char *)p || f[i].raw.p + f[i].raw.n > (const char *)p + n))
                abort();
        jm_csv_text(&f[0], buf, sizeof buf);
    }
    return 0;
}
