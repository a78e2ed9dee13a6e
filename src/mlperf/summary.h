/* SPDX-License-Identifier: Apache-2.0 */
/* client.json and server.json: what was said and when, in the keys and forms of the public tool
 * (mlcommons/power-dev ptd_client_server/lib/summary.py), 4 blanks a level, floats as Python prints them.
 * "sources" and "modules" name joulemark, not the public tool's files: a checker that knows only the public
 * tool's checksums will say so, and rightly. */
#ifndef JM_MLPERF_SUMMARY_H
#define JM_MLPERF_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "mlperf/proto.h"

struct jm_mlperf_summary;

struct jm_mlperf_summary *jm_mlperf_summary_new(struct jm_err *err);
void jm_mlperf_summary_free(struct jm_mlperf_summary *s);

/* timezone: seconds to add to local time for UTC (minus the offset of the zone). */
void jm_mlperf_summary_zone(struct jm_mlperf_summary *s, int64_t utc_offset_s);
void jm_mlperf_summary_ids(struct jm_mlperf_summary *s, const char *session, const char *client_uuid,
                           const char *server_uuid);
/* A name of "sources" and its SHA-1; joulemark's own is there from the start. */
int jm_mlperf_summary_source(struct jm_mlperf_summary *s, const char *name, const char *sha1,
                             struct jm_err *err);
int jm_mlperf_summary_message(struct jm_mlperf_summary *s, struct jm_span cmd, int64_t cmd_real_ns,
                              struct jm_span reply, int64_t reply_real_ns, struct jm_err *err);
/* Another session on the same connection: what was said so far stays, phases, PTDaemon and results go. */
void jm_mlperf_summary_restart(struct jm_mlperf_summary *s);
/* n of 0 to 3: before start, after start, before stop, after stop. The first of each counts, as the public
 * tool's does until the next one came. */
void jm_mlperf_summary_phase(struct jm_mlperf_summary *s, enum jm_mlperf_mode mode, int n,
                             const struct jm_clock *clock);
/* What was said to a PTDaemon; analyzer from 1. Those of the first analyzer come first, then the second's. */
int jm_mlperf_summary_ptd(struct jm_mlperf_summary *s, int analyzer, struct jm_span cmd, struct jm_span reply,
                          struct jm_err *err);
/* ptd_config, as JSON text; a client's is [null], which it is from the start. */
int jm_mlperf_summary_config(struct jm_mlperf_summary *s, struct jm_span json, struct jm_err *err);
void jm_mlperf_summary_debug(struct jm_mlperf_summary *s, bool debug);
/* The members of a further object "joulemark" (JSON text of the whole object): what the public tool has no
 * word for. */
int jm_mlperf_summary_own(struct jm_mlperf_summary *s, struct jm_span json, struct jm_err *err);

/* "results": SHA-1 of every regular file below dir, by relative path, sorted; links are not followed. At most
 * 4096 files. */
int jm_mlperf_summary_hash(struct jm_mlperf_summary *s, const char *dir, struct jm_err *err);

int jm_mlperf_summary_text(const struct jm_mlperf_summary *s, struct jm_str *out, struct jm_err *err);
/* By a temporary file and rename. */
int jm_mlperf_summary_save(const struct jm_mlperf_summary *s, const char *path, struct jm_err *err);

#endif
