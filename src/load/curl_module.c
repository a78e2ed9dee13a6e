/* SPDX-License-Identifier: Apache-2.0 */
#include "load/curl.h"
#include "base/module.h"

#include "base/banned.h"

int jm_curl_load(const struct jm_curl_ops **out, struct jm_err *err)
{
    static const struct jm_module curl = {.file = "joulemark-curl.so",
                                          .symbol = JM_CURL_SYMBOL,
                                          .abi = JM_CURL_ABI,
                                          .what = "the transport curl",
                                          .needs = "libcurl's headers (7.88 or later, libcurl4-openssl-dev)"};
    const void *ops;
    int rc = jm_module_load(&curl, &ops, err);
    if (rc == 0)
        *out = ops;
    return rc;
}
