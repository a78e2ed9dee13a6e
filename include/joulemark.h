/* SPDX-License-Identifier: Apache-2.0 */
/* joulemark: energy of LLM inference. The public C API. */
#ifndef JOULEMARK_H
#define JOULEMARK_H

#define JOULEMARK_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library, "0.1.0". */
JOULEMARK_API const char *joulemark_version(void);

#ifdef __cplusplus
}
#endif
#endif
