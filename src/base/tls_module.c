/* SPDX-License-Identifier: Apache-2.0 */
#include "base/module.h"
#include "base/tls.h"

#include "base/banned.h"

int jm_tls_load(const struct jm_tls_ops **out, struct jm_err *err)
{
    static const struct jm_module tls = {.file = "joulemark-tls.so",
                                         .symbol = JM_TLS_SYMBOL,
                                         .abi = JM_TLS_ABI,
                                         .what = "https",
                                         .needs = "OpenSSL 3's headers (libssl-dev)"};
    const void *ops;
    int rc = jm_module_load(&tls, &ops, err);
    if (rc == 0)
        *out = ops;
    return rc;
}
