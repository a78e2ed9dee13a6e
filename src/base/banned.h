/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that this project does not use: unbounded copies, locale-dependent number parsing, hidden state.
 * Include last. Use jm_str for text, jm_parse_* (base/num.h) for numbers. */
#ifndef JM_BASE_BANNED_H
#define JM_BASE_BANNED_H
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef stpcpy
#pragma GCC poison strcpy strcat strncpy strncat stpcpy sprintf vsprintf gets
#pragma GCC poison atoi atol atoll atof strtod strtof strtold strtok strtok_r
#pragma GCC poison asctime ctime gmtime localtime rand srand
#endif
