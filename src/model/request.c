/* SPDX-License-Identifier: Apache-2.0 */
#include "model/request.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

static const char *const ends[JM_END_COUNT] = {
    "ok",          "refused", "tls",     "auth",    "not-found", "rate-limit", "http-4xx", "http-5xx",
    "error-event", "cut",     "stalled", "timeout", "protocol",  "aborted",    "empty",    "unfinished"};
static const char *const stamps[JM_T_COUNT] = {"scheduled",     "admitted",    "connected",   "sent",
                                               "headers",       "first_byte",  "first_event", "first_token",
                                               "first_visible", "last_token",  "usage",       "done",
                                               "closed",        "first_chunk", "last_chunk"};

const char *jm_end_name(int end)
{
    return end >= 0 && end < JM_END_COUNT ? ends[end] : NULL;
}

int jm_end_parse(struct jm_span s)
{
    for (int i = 0; i < JM_END_COUNT; i++)
        if (jm_span_is(s, ends[i]))
            return i;
    return -1;
}

const char *jm_stamp_name(int stamp)
{
    return stamp >= 0 && stamp < JM_T_COUNT ? stamps[stamp] : NULL;
}

void jm_request_init(struct jm_request *r)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < JM_T_COUNT; i++)
        r->t[i] = -1;
    r->end = JM_END_UNFINISHED;
    r->http_status = -1;
    r->prompt_tokens = r->output_tokens = r->cached_tokens = r->reasoning_tokens = -1;
    r->asked_isl = r->asked_osl = r->prompt_bytes = r->output_bytes = -1;
    r->chunks = r->messages = -1;
    r->quality = NAN;
    r->session = -1;
    r->turn = -1;
}
