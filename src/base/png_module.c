/* SPDX-License-Identifier: Apache-2.0 */
#include "base/module.h"
#include "base/png.h"

#include "base/banned.h"

int jm_png_load(const struct jm_png_ops **out, struct jm_err *err)
{
    static const struct jm_module png = {.file = "joulemark-rsvg.so",
                                         .symbol = JM_PNG_SYMBOL,
                                         .abi = JM_PNG_ABI,
                                         .what = "a picture as PNG",
                                         .needs = "librsvg's headers (librsvg2-dev)"};
    const void *ops;
    int rc = jm_module_load(&png, &ops, err);
    if (rc == 0)
        *out = ops;
    return rc;
}
