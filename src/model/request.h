/* SPDX-License-Identifier: Apache-2.0 */
/* One call to the engine with all its stamps, token counts and its end. A stamp or count that does not exist
 * is -1, never 0. Stamps are CLOCK_MONOTONIC ns; receive stamps come from the kernel (SO_TIMESTAMPNS,
 * converted by clock pairs) where the transport can, which the run says. */
#ifndef JM_MODEL_REQUEST_H
#define JM_MODEL_REQUEST_H

#include <stdint.h>

#include "base/span.h"

enum jm_stamp {
    JM_T_SCHEDULED,     /* when the load plan wanted it sent */
    JM_T_ADMITTED,      /* when a slot was free */
    JM_T_CONNECTED,     /* connection ready (reused ones: before scheduled) */
    JM_T_SENT,          /* last request byte handed to the kernel */
    JM_T_HEADERS,       /* end of the response header */
    JM_T_FIRST_BYTE,    /* first byte of the response */
    JM_T_FIRST_EVENT,   /* first stream event of any kind */
    JM_T_FIRST_TOKEN,   /* first event that carries a token (text, reasoning or tool call) */
    JM_T_FIRST_VISIBLE, /* first event that carries non-reasoning text */
    JM_T_LAST_TOKEN,
    JM_T_USAGE,
    JM_T_DONE,        /* [DONE] or the dialect's end */
    JM_T_CLOSED,      /* response complete or connection gone */
    JM_T_FIRST_CHUNK, /* first event with a choice in it, whether it carries a token or only a role */
    JM_T_LAST_CHUNK,  /* last one of those: often the finish_reason without text */
    JM_T_COUNT
};

enum jm_end {
    JM_END_OK,
    JM_END_REFUSED, /* connection refused or unreachable */
    JM_END_TLS,
    JM_END_AUTH,        /* 401, 403 */
    JM_END_NOT_FOUND,   /* 404: model or path */
    JM_END_RATE_LIMIT,  /* 429 */
    JM_END_HTTP_CLIENT, /* other 4xx */
    JM_END_HTTP_SERVER, /* 5xx */
    JM_END_ERROR_EVENT, /* an error inside a 200 stream */
    JM_END_CUT,         /* the stream ended without its end mark, or was reset */
    JM_END_STALLED,     /* no byte for the stall limit */
    JM_END_TIMEOUT,     /* the whole request took longer than its limit */
    JM_END_PROTOCOL,    /* bytes that are no answer */
    JM_END_ABORTED,     /* finish_reason abort, or cancelled by plan */
    JM_END_EMPTY,       /* a well-formed answer without any token */
    JM_END_UNFINISHED,  /* still running when the run ended */
    JM_END_COUNT
};

const char *jm_end_name(int end); /* "ok", "refused", "rate-limit", ... */
int jm_end_parse(struct jm_span s);
const char *jm_stamp_name(int stamp); /* "scheduled", ... */

enum jm_token_source {
    JM_TOK_UNKNOWN, /* nobody counted */
    JM_TOK_USAGE,   /* the server's usage */
    JM_TOK_IDS,     /* token ids in the stream */
    JM_TOK_IMPORTED /* as the foreign file says */
};

struct jm_request {
    int64_t id; /* 1-based, in order of schedule */
    int trial;
    char slice[32]; /* workload slice, "" for the only one */
    int64_t t[JM_T_COUNT];
    enum jm_end end;
    int http_status; /* -1: none came */
    char finish[24]; /* finish_reason as the server said, "" where it did not */
    char error[160]; /* what went wrong, in words of the server or of the system */
    int64_t prompt_tokens, output_tokens, cached_tokens, reasoning_tokens; /* -1 unknown */
    enum jm_token_source token_source;
    int64_t asked_isl, asked_osl; /* what the plan wanted, -1: no such wish */
    int64_t prompt_bytes, output_bytes;
    char prompt_sha256[65], output_sha256[65];
    int64_t events;   /* stream events that carried tokens */
    int64_t chunks;   /* stream events with a choice in them: with tokens, role only, finish; -1 unknown */
    int64_t messages; /* all stream events but the end mark, usage included; -1 unknown */
    int64_t shared_stamp; /* events that came in one read with an earlier one: they share its stamp */
    int stream, reused;   /* whether it streamed, whether the connection was reused */
    double quality;       /* score where quality is given, NAN otherwise */
    int64_t session;      /* conversation it is a turn of, -1: none */
    int turn;             /* 0-based, -1: none */
    int planned_abort;    /* 1: the plan cancelled it, else 0 */
};

enum jm_token_flag {
    JM_TE_REASONING = 1,
    JM_TE_TOOL = 2,
    JM_TE_SHARED = 4,      /* shares its stamp with the event before (same read) */
    JM_TE_COUNT_KNOWN = 8, /* tokens is the server's count; else one event of unknown token count */
    JM_TE_NO_TEXT = 16,    /* a token that came without text */
    JM_TE_BUNDLED = 32     /* the first event, when it brought what was generated long before: reasoning that
                              was not sent, or a proxy's buffer. Times per token of this request mean little */
};

struct jm_token_event {
    int64_t t;
    uint16_t tokens; /* with JM_TE_COUNT_KNOWN; else 0 */
    uint16_t flags;
    uint32_t behind_us; /* so much after t the bytes were read; 0 where that was not kept */
};

/* Clears r: every stamp and count -1, quality NAN. */
void jm_request_init(struct jm_request *r);

#endif
