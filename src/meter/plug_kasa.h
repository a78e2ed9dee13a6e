/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a Kasa plug or strip, on a connection of its own. */
#ifndef JM_METER_PLUG_KASA_H
#define JM_METER_PLUG_KASA_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

int jm_kasa_ask(const char *address, struct jm_span request, int64_t timeout_ns, const struct jm_clock *clock,
                struct jm_str *body, struct jm_err *err);

#endif
