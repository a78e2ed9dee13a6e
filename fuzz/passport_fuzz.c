/* SPDX-License-Identifier: Apache-2.0 */
/* Passports of instruments: what was read can be written and read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/passport.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_passport a, b;
    struct jm_str s;
    jm_str_init(&s);
    if (!jm_passport_read((struct jm_span){(const char *)p, n}, &a, NULL)) {
        jm_passport_write(&a, &s);
        if (jm_str_span(&s).n < JM_PASSPORT_MAX) {
            if (jm_passport_read(jm_str_span(&s), &b, NULL) || a.n != b.n)
                abort();
            jm_passport_release(&b);
        }
    }
    jm_passport_release(&a);
    jm_str_release(&s);
    return 0;
}
