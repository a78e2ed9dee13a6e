/* SPDX-License-Identifier: Apache-2.0 */
/* The talk with a Tapo plug: a session by KLAP, and questions in it. */
#ifndef JM_METER_PLUG_KLAP_H
#define JM_METER_PLUG_KLAP_H

#include "meter/http.h"
#include "wire/klap.h"

struct jm_tapo {
    struct jm_klap klap;
    char cookie[128]; /* "": no session */
};

/* One question, in a session that is made where there is none, and once more where the plug has forgotten it.
 */
int jm_tapo_ask(struct jm_tapo *t, struct jm_http *h, const char *user, const char *password,
                struct jm_span request, struct jm_str *body, struct jm_err *err);

#endif
