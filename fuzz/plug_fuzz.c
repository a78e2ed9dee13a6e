/* SPDX-License-Identifier: Apache-2.0 */
/* A reply of a smart plug, to each reader. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/klap.h"
#include "wire/plug.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    int (*const all[])(struct jm_span, struct jm_plug_reply *, struct jm_err *) = {
        jm_plug_shelly1, jm_plug_shelly2, jm_plug_tasmota, jm_plug_kasa, jm_plug_tapo};
    struct jm_plug_reply r;
    struct jm_err err;
    for (size_t k = 0; k < 5; k++) {
        int rc = all[k]((struct jm_span){(const char *)p, n}, &r, &err);
        if (rc > 0 || r.n > JM_PLUG_METERS || (rc == 0) != (r.n > 0))
            abort();
        for (size_t i = 0; i < r.n; i++)
            if ((r.m[i].power_status == JM_S_OK && !isfinite(r.m[i].power_w)) ||
                (r.m[i].energy_status == JM_S_OK && !(r.m[i].energy_j >= 0)))
                abort();
    }
    char id[JM_PLUG_METERS][JM_KASA_CHILD];
    size_t children = jm_plug_kasa_children((struct jm_span){(const char *)p, n}, id, JM_PLUG_METERS);
    for (size_t i = 0; i < children; i++)
        if (strlen(id[i]) >= JM_KASA_CHILD || strpbrk(id[i], "\"\\"))
            abort();
    char *text = malloc(n + 1);
    struct jm_klap klap = {.key = {1}};
    struct jm_span plain;
    if (text) {
        jm_kasa_decode(p, n, text);
        memcpy(text, p, n);
        if (jm_klap_open(&klap, (uint8_t *)text, n, &plain) &&
            (plain.p < text || plain.p + plain.n > text + n))
            abort();
    }
    free(text);
    return 0;
}
