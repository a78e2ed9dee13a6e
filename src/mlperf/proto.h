/* SPDX-License-Identifier: Apache-2.0 */
/* The client/server protocol of MLPerf power measurements, version 3 (mlcommons/power-dev
 * ptd_client_server/lib/{common,client,server}.py at c4b3ad8): lines over TCP, one reply a command. We end
 * lines with CR LF, and take LF. Nothing here opens a socket (mlperf/net.h does). */
#ifndef JM_MLPERF_PROTO_H
#define JM_MLPERF_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"
#include "mlperf/session.h"

#define JM_MLPERF_PORT         4950
#define JM_MLPERF_MAGIC_CLIENT "mlcommons/power client v3"
#define JM_MLPERF_MAGIC_SERVER "mlcommons/power server v3"

/* Limits of ours; the public tool has none. */
#define JM_MLPERF_LINE  4096 /* bytes of a line without its end */
#define JM_MLPERF_LABEL 128  /* characters of a session's label */
#define JM_MLPERF_ID    160  /* of a session's id, with NUL */
#define JM_MLPERF_CHUNK (1 << 20)

/* What a client may fetch, in the order in which it does; ends with NULL. */
extern const char *const jm_mlperf_fetch_files[];

/* "ranging" and "testing"; "ranging" and "run_1". */
const char *jm_mlperf_mode_name(enum jm_mlperf_mode mode);
const char *jm_mlperf_mode_dir(enum jm_mlperf_mode mode);

/* Letters, digits, - and _; may be empty; at most JM_MLPERF_LABEL. */
bool jm_mlperf_label_ok(struct jm_span label);
/* A session's id as a server may give it: not empty, the characters of a label. */
bool jm_mlperf_id_ok(struct jm_span id);
/* "2025-07-28_07-18-36[_label]" of the server's local time. */
void jm_mlperf_id_make(int64_t real_ns, int64_t utc_offset_s, struct jm_span label, char out[JM_MLPERF_ID]);

/* UUIDs. Any of the spellings that Python's uuid.UUID() takes; out is the usual one. */
#define JM_MLPERF_UUID 37
bool jm_mlperf_uuid_parse(struct jm_span s, char out[JM_MLPERF_UUID]);
int jm_mlperf_uuid_new(char out[JM_MLPERF_UUID], struct jm_err *err); /* version 4, RFC 9562 */

/* A float as Python's repr() prints it: the shortest text that reads back, "1753687116.83205",
 * "20.948766300000003", "1e+16", "nan". */
#define JM_MLPERF_REPR 32
char *jm_mlperf_repr(double v, char out[JM_MLPERF_REPR]);
/* Unix time in seconds, as time.time() has it. */
double jm_mlperf_unix(int64_t real_ns);

/* A client's command. */
enum jm_mlperf_verb {
    JM_MLPERF_V_UNKNOWN, /* replied to with "Error" */
    JM_MLPERF_V_TIME,
    JM_MLPERF_V_SET_NTP,
    JM_MLPERF_V_STOP,
    JM_MLPERF_V_NEW,
    JM_MLPERF_V_SESSION_START,
    JM_MLPERF_V_SESSION_STOP,
    JM_MLPERF_V_SESSION_DONE,
    JM_MLPERF_V_SESSION_UNKNOWN,
    JM_MLPERF_V_DOWNLOAD,
    JM_MLPERF_V_CLEANUP
};
struct jm_mlperf_cmd {
    enum jm_mlperf_verb verb;
    struct jm_span label, uuid; /* new */
    struct jm_span session;     /* "*" is any */
    enum jm_mlperf_mode mode;   /* start, stop */
    bool fixed;                 /* start testing with volts and amps given: no ranging */
    struct jm_span volts, amps;
    struct jm_span file; /* download */
};
void jm_mlperf_cmd_parse(struct jm_span line, struct jm_mlperf_cmd *out);

/* The reply to new: "OK <session>,<uuid>". JM_EPARSE with the reply in the sentence for anything else. */
int jm_mlperf_new_reply(struct jm_span reply, char id[JM_MLPERF_ID], char uuid[JM_MLPERF_UUID],
                        struct jm_err *err);
/* The reply to time. */
int jm_mlperf_time_reply(struct jm_span reply, double *unix_s, struct jm_err *err);

#endif
