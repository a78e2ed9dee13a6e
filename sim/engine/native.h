/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines' own APIs beside OpenAI's: what is at their paths, how a request of theirs reads as one of
 * OpenAI's, and what their events look like. native.c has the paths and bodies, native_stream.c the events.
 */
#ifndef SIM_ENGINE_NATIVE_H
#define SIM_ENGINE_NATIVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which engine is acted, a bit each: whose paths there are. */
enum sim_api {
    SIM_API_VLLM = 1,
    SIM_API_SGLANG = 2,
    SIM_API_TGI = 4,
    SIM_API_TRITON = 8,
    SIM_API_LLAMACPP = 16,
    SIM_API_OLLAMA = 32,
    SIM_API_LMSTUDIO = 64,
    SIM_API_ALL = 127
};
/* "vllm", ..., "all"; 0: there is no such name. */
unsigned sim_api_of(const char *name);
#define SIM_API_NAMES "vllm, sglang, tgi, triton, llamacpp, ollama, lmstudio or all"

/* How an answer is written. */
enum sim_shape {
    SIM_SHAPE_OPENAI, /* chat or completions */
    SIM_SHAPE_RESPONSES,
    SIM_SHAPE_SGLANG,
    SIM_SHAPE_TGI,
    SIM_SHAPE_TRITON,
    SIM_SHAPE_LLAMACPP,
    SIM_SHAPE_OLLAMA,
    SIM_SHAPE_OLLAMA_CHAT,
    SIM_SHAPE_LMSTUDIO
};

struct sim_engine;
struct sim_request;
struct sim_conn;

/* A request that the own API of an engine answers: its path, and what of it is known by the path alone. */
struct sim_route {
    enum sim_shape shape;
    int stream; /* 1, 0: by the path; -1: the body says */
};
/* The shape that POST path asks for; false: none of the own APIs. */
bool sim_native_route(const struct sim_engine *e, const char *path, struct sim_route *out);
/* The same request as OpenAI's API has it. NULL with a sentence in why. */
json_t *sim_native_body(const struct sim_engine *e, const struct sim_route *r, const json_t *body, bool *chat,
                        char *why, size_t whylen);
/* Answers what else is at the engines' own paths. False: nothing of theirs is there. */
bool sim_native_other(struct sim_engine *e, struct sim_conn *c);
/* How an error reads there. */
json_t *sim_native_error(enum sim_shape shape, int status, const char *type, const char *message);

/* Events (native_stream.c). */
void sim_native_begin(struct sim_request *r);
void sim_native_tokens(struct sim_request *r, uint32_t from, uint32_t n, bool empty, bool odd);
void sim_native_end(struct sim_request *r, const char *finish);
void sim_native_answer(struct sim_request *r, const char *finish);

#endif
