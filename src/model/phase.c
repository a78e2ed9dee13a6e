/* SPDX-License-Identifier: Apache-2.0 */
#include "model/phase.h"

#include "base/banned.h"

const char *jm_phase_method_name(int m)
{
    static const char *const name[JM_PHASE_METHODS] = {NULL, "D2", "time-share", "J/token"};
    return m > 0 && m < JM_PHASE_METHODS ? name[m] : NULL;
}

const char *jm_phase_weight_name(int w)
{
    static const char *const name[JM_PW_COUNT] = {"engine step", "prefill token", "decode token",
                                                  "context token read"};
    return w >= 0 && w < JM_PW_COUNT ? name[w] : NULL;
}
