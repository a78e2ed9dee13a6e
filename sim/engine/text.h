/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that the simulated engine says and how it counts tokens. A token is an optional space with up to
 * 12 bytes of letters (ASCII letters and every byte from 0x80 up, cut between characters), or up to 3 digits,
 * or one other byte; a run of blanks is one token. Each word said is exactly one token, so that counting the
 * text gives the usage again.
 */
#ifndef SIM_ENGINE_TEXT_H
#define SIM_ENGINE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define SIM_WORD_MAX 13 /* bytes, with its space */

/* Length in bytes of the token at p[0], n > 0. */
size_t sim_text_token(const char *p, size_t n);
uint64_t sim_text_count(const char *p, size_t n);
uint32_t sim_text_id(const char *token, size_t n, uint32_t vocab);
/* The i-th word of the text with this key, with a leading space but for the first; no NUL. Returns its
 * length. It needs no escape in JSON. utf8: words with characters of two, three and four bytes. */
size_t sim_text_word(uint64_t key, uint32_t i, bool utf8, char out[SIM_WORD_MAX]);

#endif
