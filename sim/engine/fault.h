/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can go wrong on purpose. Faults are named in one table; a specification is a list
 * "name[=value],name[=value]", given for all requests (--fault), in the header X-Joulemark-Fault, or behind a
 * plus sign in the model's name ("8b-h100+cut=5").
 */
#ifndef SIM_ENGINE_FAULT_H
#define SIM_ENGINE_FAULT_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>

enum sim_fault_id {
    /* before the answer */
    SIM_F_STATUS,
    SIM_F_REFUSE,
    SIM_F_RESET,
    SIM_F_SLOW_HEADERS,
    SIM_F_DELAY,
    /* the end of the stream */
    SIM_F_CUT,
    SIM_F_RST,
    SIM_F_STALL,
    SIM_F_ERROR_EVENT,
    SIM_F_ERROR_FIELD,
    SIM_F_ABORT,
    SIM_F_NO_DONE,
    SIM_F_NO_FINISH,
    SIM_F_FAKE_STOP,
    /* what it says */
    SIM_F_NO_USAGE,
    SIM_F_USAGE_FINISH,
    SIM_F_USAGE_OFF,
    SIM_F_ZERO_USAGE,
    SIM_F_TRUNCATE,
    SIM_F_EARLY_EOS,
    SIM_F_NULL_ROLE,
    SIM_F_NO_ROLE,
    SIM_F_EMPTY,
    SIM_F_BUNDLE,
    SIM_F_TOOL_CALL,
    /* its lines */
    SIM_F_CRLF,
    SIM_F_CR,
    SIM_F_NO_SPACE,
    SIM_F_TRAILING_SPACE,
    SIM_F_BOM,
    SIM_F_COMMENTS,
    SIM_F_NAMED,
    SIM_F_TWO_DATA,
    SIM_F_HUGE,
    SIM_F_BAD_JSON,
    SIM_F_BAD_UTF8,
    /* its bytes */
    SIM_F_SPLIT,
    SIM_F_SPLIT_CHUNKS,
    SIM_F_MERGE,
    SIM_F_LONG_LENGTH,
    SIM_F_SHORT_LENGTH,
    SIM_F_HTTP10,
    SIM_F_BAD_CHUNK,
    /* which requests */
    SIM_F_EVERY,
    SIM_F_COUNT
};

struct sim_fault_row {
    enum sim_fault_id id;
    const char *name;
    const char *value; /* what it means; NULL: takes none */
    int64_t fallback, min, max;
    const char *help;
};
extern const struct sim_fault_row sim_fault_table[SIM_F_COUNT];

struct sim_faults {
    uint64_t on; /* bit per id */
    int32_t value[SIM_F_COUNT];
};

static inline bool sim_has(const struct sim_faults *f, enum sim_fault_id id)
{
    return f->on >> id & 1;
}

/* Adds what spec (n bytes) says to f. 0, or -1 with a sentence in why. A number alone is a status. */
int sim_fault_parse(struct sim_faults *f, const char *spec, size_t n, char *why, size_t whylen);
void sim_fault_help(FILE *out);

#endif
