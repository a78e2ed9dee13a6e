/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent: prompts from a JSONL file, or synthetic ones of a given length. A set is prepared once and
 * then read-only, so that every thread makes its requests from it; the same seed gives the same prompts. */
#ifndef JM_LOAD_PROMPTS_H
#define JM_LOAD_PROMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "load/client.h"
#include "load/dialect.h"
#include "load/load.h"
#include "load/plan.h"
#include "load/trace.h"
#include "wire/jsontok.h"

/* One request ready to be sent. */
struct jm_prompt {
    struct jm_str wire; /* the whole HTTP request */
    struct jm_str text; /* the prompt alone */
    char slice[32], sha256[65];
    int64_t asked_isl, asked_osl; /* -1: no wish */
};
void jm_prompt_init(struct jm_prompt *p);
void jm_prompt_release(struct jm_prompt *p);

/* How the length of synthetic prompts was reached. */
enum jm_isl_mode {
    JM_ISL_NONE,     /* prompts of a file */
    JM_ISL_TOKENIZE, /* the server's tokenizer counted each word, its usage the rest: exact */
    JM_ISL_PROBE,    /* tokens = a + b * words from the usage of two probes */
    JM_ISL_WORDS,    /* nobody counts: one word was taken for one token */
    JM_ISL_IDS       /* token ids: just as many as wanted */
};

#define JM_WORDS_MOST 256

/* Prompts of one JSONL file. */
struct jm_prompt_set {
    struct jm_str file;
    struct jm_prompt_line *line;
    size_t lines;
    char sha256[65];
};

struct jm_prompts {
    const struct jm_load_cfg *cfg; /* the load's own copy */
    const struct jm_plan *plan;    /* cfg's, or made from it */
    struct jm_plan *own;
    int max_model_len;
    const struct jm_reader *reader;
    struct jm_client *client;
    const char *model;
    char sha256[65];           /* of the file, or of what the synthetic prompts are made from */
    struct jm_prompt_set *set; /* by slice; without lines: synthetic */
    /* synthetic */
    bool synthetic;
    int isl; /* the length that is tried out */
    enum jm_isl_mode mode;
    bool checked; /* usage of a probe agreed with the length asked for */
    size_t words; /* of the list that are used */
    const char *word[JM_WORDS_MOST];
    int cost[JM_WORDS_MOST]; /* tokens of each, with JM_ISL_TOKENIZE */
    int cheapest;
    int32_t id[JM_WORDS_MOST]; /* with JM_ISL_IDS: what prompts are made of */
    size_t ids;
    bool ids_known;            /* by the server's tokenizer; else they are just small numbers */
    double overhead, per_word; /* tokens that every prompt has; tokens a word without JM_ISL_TOKENIZE */
};

/* Reads the file, or finds out how long prompts become (asks the endpoint). max_model_len -1: unknown. */
int jm_prompts_init(struct jm_prompts *p, const struct jm_load_cfg *cfg, const struct jm_reader *reader,
                    struct jm_client *client, const char *model, int max_model_len, struct jm_err *err);
void jm_prompts_release(struct jm_prompts *p);
/* What one request is made from. */
struct jm_talk;
struct jm_recipe {
    int slice;
    int64_t k;
    struct jm_draw draw;
    const struct jm_trace_row *row; /* of its trace or data set; NULL: none */
    struct jm_talk *talk;           /* the conversation it belongs to: the user's words are added to it */
};
/* Any thread; a talk belongs to one. */
int jm_prompts_recipe(const struct jm_prompts *p, const struct jm_recipe *r, struct jm_prompt *out,
                      struct jm_err *err);
/* Adds the answer to a conversation. */
void jm_talk_answer(const struct jm_prompts *p, struct jm_talk *t, struct jm_span answer);
/* The settings without a plan as a plan of one slice. NULL without memory. */
struct jm_plan *jm_plan_of_cfg(const struct jm_load_cfg *cfg);
/* Makes request number index (0-based; a file is gone through again from its start) of the first slice. Words
 * of synthetic prompts also depend on cfg->first_id: two loads of one run send no text twice, or the engine's
 * prefix cache would answer for the later one. Lengths do not depend on it. */
int jm_prompts_make(const struct jm_prompts *p, int64_t index, struct jm_prompt *out, struct jm_err *err);
const char *jm_isl_mode_name(enum jm_isl_mode m);

/* --- parts (prompt_file.c, synth.c) */
struct jm_prompt_line {
    struct jm_jtoken text;
    struct jm_span turns, ids;
    int64_t max_tokens;
    char slice[32];
};
/* Reads the lines of s->file; errors name path and line. */
int jm_prompt_file_read(struct jm_prompt_set *s, const struct jm_reader *reader, const char *path,
                        struct jm_err *err);
void jm_prompt_set_release(struct jm_prompt_set *s);
/* Finds out what words cost. */
int jm_synth_calibrate(struct jm_prompts *p, struct jm_err *err);
/* Appends the text of synthetic prompt number index for a budget of isl tokens. With JM_ISL_IDS: its ids,
 * each behind a comma unless the text is empty or ends with a bracket. */
void jm_synth_text(const struct jm_prompts *p, int64_t index, int isl, struct jm_str *out);
/* Appends so many tokens of text that depends on index alone, without what a template adds. */
void jm_synth_piece(const struct jm_prompts *p, int64_t index, int64_t tokens, struct jm_str *out);
/* A request with this prompt. stream false, max_tokens 1: a probe. */
int jm_prompts_write(const struct jm_prompts *p, const struct jm_ask *ask, struct jm_str *wire,
                     struct jm_err *err);

#endif
