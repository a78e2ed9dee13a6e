/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

#include "wire/loadgen_log.h"

static int ignore(void *self, const struct jm_loadgen_entry *e)
{
    (void)self;
    return e->text.n > 1000000;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    int64_t broken;
    struct jm_span v, text = {(const char *)p, n};
    jm_loadgen_detail(text, ignore, NULL, &broken, NULL);
    jm_loadgen_summary(text, "Result is", &v);
    return 0;
}
