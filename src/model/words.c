/* SPDX-License-Identifier: Apache-2.0 */
#include "model/words.h"

#include "base/banned.h"

static const char *const status_names[JM_S_COUNT] = {
    "ok",        "absent", "denied",      "unsupported",      "stale",    "reset", "wrapped",
    "suspended", "gap",    "implausible", "below-resolution", "conflict", "lost"};
static const char *const provenance_names[JM_P_COUNT] = {"measured",  "calibrated", "allocated",
                                                         "estimated", "declared",   "simulated"};
static const char *const boundary_names[JM_B_COUNT] = {NULL,   "gpu",      "device", "node",
                                                       "wall", "facility", "design"};
static const char *const unit_names[JM_U_COUNT] = {"",   "J",     "W", "V",     "A",      "Hz",
                                                   "°C", "ratio", "s", "token", "request"};
static const char *const role_names[JM_R_COUNT] = {"warm-up", "measure", "idle", "cool-down", "drain"};
static const char *const profile_names[JM_PROFILE_COUNT] = {"screening", "claim", "publication", "mlperf"};
static const char *const validity_names[JM_V_COUNT] = {"valid", "findings", "invalid"};
static const char *const severity_names[JM_SEV_COUNT] = {"info", "warning", "error"};

#define WORD(kind, count)                                                                                    \
    const char *jm_##kind##_name(int v)                                                                      \
    {                                                                                                        \
        return v >= 0 && v < (count) ? kind##_names[v] : NULL;                                               \
    }
#define WORD_PARSE(kind, count)                                                                              \
    int jm_##kind##_parse(struct jm_span s)                                                                  \
    {                                                                                                        \
        for (int i = 0; i < (count); i++)                                                                    \
            if (kind##_names[i] && jm_span_is(s, kind##_names[i]))                                           \
                return i;                                                                                    \
        return -1;                                                                                           \
    }

WORD(status, JM_S_COUNT)
WORD(provenance, JM_P_COUNT)
WORD(boundary, JM_B_COUNT)
WORD(unit, JM_U_COUNT)
WORD(role, JM_R_COUNT)
WORD(profile, JM_PROFILE_COUNT)
WORD(validity, JM_V_COUNT)
WORD(severity, JM_SEV_COUNT)
WORD_PARSE(status, JM_S_COUNT)
WORD_PARSE(provenance, JM_P_COUNT)
WORD_PARSE(boundary, JM_B_COUNT)
WORD_PARSE(unit, JM_U_COUNT)
WORD_PARSE(role, JM_R_COUNT)
WORD_PARSE(profile, JM_PROFILE_COUNT)

enum jm_provenance jm_provenance_worse(enum jm_provenance a, enum jm_provenance b)
{
    return a > b ? a : b;
}
