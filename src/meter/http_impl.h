/* SPDX-License-Identifier: Apache-2.0 */
/* Between meter/http.c and meter/http_auth.c. */
#ifndef JM_METER_HTTP_IMPL_H
#define JM_METER_HTTP_IMPL_H

#include "meter/http.h"

void jm_http_basic(struct jm_str *out, const char *user, const char *password);
/* Takes the challenge of a 401; false where it asks for nothing that is known here. */
bool jm_http_challenge(struct jm_http *h);

#endif
