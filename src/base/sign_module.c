/* SPDX-License-Identifier: Apache-2.0 */
#include "base/module.h"
#include "base/sign.h"

#include "base/banned.h"

int jm_sign_load(const struct jm_sign_ops **out, struct jm_err *err)
{
    static const struct jm_module sign = {.file = "joulemark-sign.so",
                                          .symbol = JM_SIGN_SYMBOL,
                                          .abi = JM_SIGN_ABI,
                                          .what = "signing",
                                          .needs = "OpenSSL 3's headers (libssl-dev)"};
    const void *ops;
    int rc = jm_module_load(&sign, &ops, err);
    if (rc == 0)
        *out = ops;
    return rc;
}
