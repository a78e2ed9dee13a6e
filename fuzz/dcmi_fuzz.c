/* SPDX-License-Identifier: Apache-2.0 */
/* IPMI bodies of power and energy, and what ipmitool and ipmi-dcmi print. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire/ipmitool.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span s = {(const char *)p, n};
    struct jm_dcmi_power power;
    struct jm_nm_stats nm;
    struct jm_lenovo_energy e;
    struct jm_dcmi_text t;
    uint8_t bytes[64];
    bool declared;
    if (jm_dcmi_power(s, &power) == 0 && jm_dcmi_status(&power, &declared) == JM_S_OK &&
        (power.current_w == 0 || power.current_w == 65535))
        abort();
    if (jm_nm_stats(s, &nm) == 0)
        jm_nm_status(&nm);
    if (jm_lenovo_energy(s, &e) == 0 && e.mj < 0)
        abort();
    jm_dcmi_text(s, &t);
    jm_ipmitool_error(s);
    int got = jm_ipmi_hex(s, bytes, sizeof bytes);
    if (got > (int)sizeof bytes)
        abort();
    return 0;
}
