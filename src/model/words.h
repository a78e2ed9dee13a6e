/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the field as types. Each enum has a name function; names are what files and JSON carry,
 * numbers are not. A name that is not known reads as -1. */
#ifndef JM_MODEL_WORDS_H
#define JM_MODEL_WORDS_H

#include "base/span.h"

/* What became of a reading or a result. Missing is never 0: a value counts only with JM_S_OK. */
enum jm_status {
    JM_S_OK,
    JM_S_ABSENT,      /* not there (device, file, counter) */
    JM_S_DENIED,      /* there, no permission */
    JM_S_UNSUPPORTED, /* the device cannot */
    JM_S_STALE,       /* not refreshed for longer than its period allows, or frozen */
    JM_S_RESET,       /* a counter started again inside */
    JM_S_WRAPPED,   /* a known wrap was undone (the value is good), or could hide more than one (ambiguous) */
    JM_S_SUSPENDED, /* the machine slept inside */
    JM_S_GAP,       /* a read failed or came too late */
    JM_S_IMPLAUSIBLE,      /* outside the sanity bound of the device */
    JM_S_BELOW_RESOLUTION, /* the interval is too short for this instrument */
    JM_S_CONFLICT,         /* two things that must agree do not */
    JM_S_LOST,             /* the device vanished */
    JM_S_COUNT
};

/* How a number came to be; it never improves on the way. Ordered from best to worst: the provenance of a
 * combination is the larger. */
enum jm_provenance {
    JM_P_MEASURED,
    JM_P_CALIBRATED, /* measured elsewhere, carried by a stored relation */
    JM_P_ALLOCATED,  /* a share of a measurement by a stated rule */
    JM_P_ESTIMATED,
    JM_P_DECLARED,
    JM_P_SIMULATED,
    JM_P_COUNT
};

enum jm_boundary {
    JM_B_NONE,     /* the quantity has none (a latency) */
    JM_B_GPU,      /* the boards of every GPU of the serving replicas */
    JM_B_DEVICE,   /* all that software sensors own, each joule once; the set is named */
    JM_B_NODE,     /* PSU output, BMC */
    JM_B_WALL,     /* inlet of the whole system, AC or DC stated */
    JM_B_FACILITY, /* PUE times the energy at that PUE's IT point */
    JM_B_DESIGN,   /* TDP x hours x PUE */
    JM_B_COUNT
};

enum jm_unit {
    JM_U_NONE, /* a state or a plain number */
    JM_U_J,
    JM_U_W,
    JM_U_V,
    JM_U_A,
    JM_U_HZ, /* clocks */
    JM_U_CELSIUS,
    JM_U_RATIO, /* 0..1 */
    JM_U_S,
    JM_U_TOKEN,
    JM_U_REQUEST,
    JM_U_COUNT
};

enum jm_role { JM_R_WARMUP, JM_R_MEASURE, JM_R_IDLE, JM_R_COOLDOWN, JM_R_DRAIN, JM_R_COUNT };

enum jm_profile {
    JM_PROFILE_SCREENING,
    JM_PROFILE_CLAIM,
    JM_PROFILE_PUBLICATION,
    JM_PROFILE_MLPERF,
    JM_PROFILE_COUNT
};

enum jm_validity { JM_V_VALID, JM_V_FINDINGS, JM_V_INVALID, JM_V_COUNT };

enum jm_severity {
    JM_SEV_INFO,
    JM_SEV_WARNING,
    JM_SEV_ERROR,
    JM_SEV_COUNT
}; /* an error makes the result invalid */

const char *jm_status_name(int v);     /* "ok", "below-resolution", ... */
const char *jm_provenance_name(int v); /* "measured", ... */
const char *jm_boundary_name(int v);   /* "gpu", ...; NULL for JM_B_NONE */
const char *jm_unit_name(int v);       /* "J", "W", "" ... */
const char *jm_role_name(int v);
const char *jm_profile_name(int v);
const char *jm_validity_name(int v); /* "valid", "findings", "invalid" */
const char *jm_severity_name(int v);
int jm_status_parse(struct jm_span s);
int jm_provenance_parse(struct jm_span s);
int jm_boundary_parse(struct jm_span s);
int jm_unit_parse(struct jm_span s);
int jm_role_parse(struct jm_span s);
int jm_profile_parse(struct jm_span s);

enum jm_provenance jm_provenance_worse(enum jm_provenance a, enum jm_provenance b);

#endif
