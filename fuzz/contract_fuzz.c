/* SPDX-License-Identifier: Apache-2.0 */
/* Acceptance contracts and files of scores. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "compute/contract.h"
#include "wire/scores.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span text = {(const char *)p, n};
    struct jm_contract c;
    struct jm_scores s;
    struct jm_err err = {0};
    int rc = jm_contract_parse(text, "fuzz", &c, &err);
    if (rc && !err.text[0])
        abort();
    if (!rc && (!c.unit || c.boundary <= 0 || !(c.minimum_saving >= 0 && c.minimum_saving < 1) ||
                c.n_slo > JM_CONTRACT_SLOS))
        abort();
    jm_contract_release(&c);
    rc = jm_scores_parse(text, &s, &err);
    if (!rc != (s.n > 0) && !rc)
        abort();
    for (size_t i = 0; i < s.n; i++)
        if (!isfinite(s.v[i]))
            abort();
    jm_scores_release(&s);
    return 0;
}
