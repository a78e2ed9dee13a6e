/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of traces, and what their parsers share. */
#include <stdlib.h>
#include <string.h>

#include "load/trace.h"

#include "base/banned.h"

static const struct jm_trace_format *const formats[] = {
    &jm_trace_bailian, &jm_trace_weka,     &jm_trace_mooncake, &jm_trace_sharegpt,
    &jm_trace_azure,   &jm_trace_burstgpt, &jm_trace_timed,    &jm_trace_csv};
enum { N_FORMATS = sizeof formats / sizeof *formats };

const char *jm_trace_formats(void)
{
    return "auto|mooncake|azure|burstgpt|sharegpt|bailian|weka|timed|csv";
}

const struct jm_trace_format *jm_trace_format_find(const char *name)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

const struct jm_trace_format *jm_trace_format_of(struct jm_span line)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i]->is(line))
            return formats[i];
    return NULL;
}

void jm_trace_parse_release(struct jm_trace_parse *p)
{
    free(p->block);
    free(p->turn);
    free(p->text);
    *p = (struct jm_trace_parse){0};
}

int64_t *jm_trace_blocks(struct jm_trace_parse *p, size_t n)
{
    if (n > JM_TRACE_BLOCKS)
        return NULL;
    if (n > p->blocks_cap) {
        size_t cap = p->blocks_cap ? p->blocks_cap : 64;
        while (cap < n)
            cap *= 2;
        int64_t *v = realloc(p->block, cap * sizeof *v);
        if (!v)
            return NULL;
        p->block = v;
        p->blocks_cap = cap;
    }
    return p->block;
}

int64_t jm_trace_answer_tokens(int64_t bytes)
{
    return bytes < 0 ? -1 : bytes < 4 ? 1 : bytes / 4;
}
