/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_ENGINE_HTTP_PARSE_H
#define SIM_ENGINE_HTTP_PARSE_H

#include "http.h"

/* Length of the head at p with its blank line, 0 while that has not come. */
size_t sim_http_head_end(const char *p, size_t n);
/* 0, or the status to refuse it with and a sentence in why. */
int sim_http_head_parse(struct sim_head *h, const char *p, size_t n, char *why, size_t whylen);
/* Takes body bytes in chunked coding from p: adds them to body and returns how many bytes it took; *done at
 * the end. *status becomes 400 or 413 when it cannot be. */
size_t sim_http_dechunk(int *state, uint64_t *left, const char *p, size_t n, struct sim_buf *body, size_t max,
                        bool *done, int *status);

#endif
