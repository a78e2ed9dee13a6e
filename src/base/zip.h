/* SPDX-License-Identifier: Apache-2.0 */
/* One Zstandard frame as a stream, in both directions (RFC 8878). The same bytes, level and version of the
 * library give the same frame. */
#ifndef JM_BASE_ZIP_H
#define JM_BASE_ZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

/* Gets what comes out; not 0 ends the stream and is passed on. */
typedef int (*jm_zip_sink)(void *self, struct jm_span bytes, struct jm_err *err);

struct jm_zip;
struct jm_unzip;

const char *jm_zip_version(void); /* "1.5.4" */
int jm_zip_new(int level, jm_zip_sink sink, void *self, struct jm_zip **out, struct jm_err *err);
int jm_zip_add(struct jm_zip *z, struct jm_span bytes, struct jm_err *err);
int jm_zip_end(struct jm_zip *z, struct jm_err *err); /* with a checksum */
void jm_zip_free(struct jm_zip *z);

/* JM_ECORRUPT: damaged, or more behind the frame; JM_ELIMIT: more than `limit` bytes come out. */
int jm_unzip_new(uint64_t limit, jm_zip_sink sink, void *self, struct jm_unzip **out, struct jm_err *err);
int jm_unzip_add(struct jm_unzip *z, struct jm_span bytes, struct jm_err *err);
int jm_unzip_end(struct jm_unzip *z, struct jm_err *err); /* JM_ECORRUPT: the frame was cut */
void jm_unzip_free(struct jm_unzip *z);

#endif
