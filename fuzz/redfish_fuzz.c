/* SPDX-License-Identifier: Apache-2.0 */
/* A Redfish body. First byte: which kind of resource it was fetched as. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/redfish.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const uris[] = {"/redfish/v1/Chassis/1/Power", "/redfish/v1/Chassis/1/Sensors/x",
                                       "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/A1",
                                       "/redfish/v1/TelemetryService/MetricReports/r", ""};
    struct jm_rf_set s;
    struct jm_rf_limits lim = {.bytes = 1 << 20, .readings = 64, .links = 16};
    struct jm_err err;
    if (n < 1)
        return 0;
    jm_rf_set_init(&s, &lim);
    int rc = jm_rf_read(&s, (struct jm_span){(const char *)p + 1, n - 1}, uris[p[0] % 5], &err);
    if (rc == 0) {
        struct jm_rf_audit a;
        jm_rf_decide(&s);
        jm_rf_dedupe(&s);
        jm_rf_audit(&s, NULL, &a);
        if (s.n > 64 || s.n_links > 16 || strlen(a.text) >= sizeof a.text)
            abort();
        for (size_t i = 0; i < s.n; i++)
            if (s.r[i].status == JM_S_OK &&
                (!isfinite(s.r[i].value) || s.r[i].value < 0 || !jm_rf_kind_name((int)s.r[i].kind) ||
                 !jm_rf_of_name((int)s.r[i].of)))
                abort();
    } else if (rc > 0 || !err.text[0]) {
        abort();
    }
    jm_rf_set_release(&s);
    return 0;
}
