/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: SQLite helpers, the writer's and the reader's state. */
#ifndef JM_RUN_INTERNAL_H
#define JM_RUN_INTERNAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "run/codec.h"
#include "run/details.h"
#include "run/events.h"
#include "run/run.h"

#define JM_RUN_TEXT_MAX (1u << 20) /* longest text or small blob that is read back */

/* ---- schema.c */
extern const char jm_run_ddl[];
/* What the first 100 bytes of a file say. */
struct jm_run_header {
    bool wal; /* still in WAL mode: recording, or cut */
    int version;
};
/* JM_EPARSE when the file is no run file, JM_EVERSION when a newer one, JM_EABSENT/JM_EDENIED/JM_EIO. */
int jm_run_header(const char *path, struct jm_run_header *out, struct jm_err *err);
/* Connection settings that hold for every file that may come from elsewhere, and a look whether every table
 * is one. */
int jm_run_guard(sqlite3 *db, const char *path, struct jm_err *err);
/* Tables that came after version 1 began are missing in older files. JM_ECORRUPT when it is no plain table.
 */
int jm_run_has_table(sqlite3 *db, const char *path, const char *table, bool *there, struct jm_err *err);

/* ---- sql.c */
/* Turns the last error of db into a jm_err: full, locked, corrupt, ... doing: "write", "read". */
int jm_sql_err(sqlite3 *db, int rc, const char *doing, const char *path, struct jm_err *err);
int jm_sql_exec(sqlite3 *db, const char *sql, const char *doing, const char *path, struct jm_err *err);
int jm_sql_prepare(sqlite3 *db, const char *sql, const char *path, sqlite3_stmt **out, struct jm_err *err);
/* Binds from 1 on: i int64, o int64 with -1 as NULL, z with 0 as NULL, d double with NAN as NULL, t text
 * (NULL: NULL), e text ("": NULL), b blob (pointer, size_t), B the same (empty: NULL), n NULL. Borrowed until
 * the statement is reset. */
int jm_sql_bind(sqlite3_stmt *st, const char *fmt, ...);
/* Column helpers; text is copied and cut at cap. */
void jm_sql_text(sqlite3_stmt *st, int col, char *buf, size_t cap);
int64_t jm_sql_i64(sqlite3_stmt *st, int col, int64_t missing);
double jm_sql_double(sqlite3_stmt *st, int col);
struct jm_span jm_sql_span(sqlite3_stmt *st, int col);

/* ---- pack.c: zstd with limits. enc: JM_ENC_PLAIN or JM_ENC_ZSTD, whichever is smaller. */
enum { JM_ENC_PLAIN = 1, JM_ENC_ZSTD = 2 };
/* Packs plain into out (replaced); returns the enc, negative on error. */
int jm_pack(struct jm_span plain, int level, struct jm_str *out, struct jm_err *err);
/* Undoes it; what would be larger than limit is JM_ECORRUPT. */
int jm_unpack(int enc, struct jm_span data, size_t limit, struct jm_str *out, struct jm_err *err);

/* ---- the writer */
enum jm_run_stmt {
    JM_Q_METER,
    JM_Q_METER_STATE,
    JM_Q_DOMAIN,
    JM_Q_CHANNEL,
    JM_Q_CHUNK,
    JM_Q_PAIR,
    JM_Q_TRIAL,
    JM_Q_TRIAL_END,
    JM_Q_WINDOW,
    JM_Q_WINDOW_END,
    JM_Q_MARK,
    JM_Q_ENV,
    JM_Q_REQUEST,
    JM_Q_DETAILS,
    JM_Q_TOKENS,
    JM_Q_TEXT,
    JM_Q_RAW,
    JM_Q_SCRAPE,
    JM_Q_FACTOR,
    JM_Q_CLAIM,
    JM_Q_COUNT
};

struct jm_run_pending { /* readings of one channel that are not in the file yet */
    struct jm_reading *v;
    size_t n, cap;
    int64_t last_t0;
    bool any, is_double, is_unsigned;
};

#define JM_RUN_TIMES_KEPT 64
#define JM_RUN_TIMES_MAX  4096 /* readings of a kept time column */
struct jm_run_times {     /* a time column lately written: a channel read in the same sweep refers to it */
    struct jm_reading *r; /* times only */
    size_t n;
    int64_t chunk;
    bool own; /* refers to none itself */
};

struct jm_run_writer {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *st[JM_Q_COUNT];
    bool in_tx, dirty;
    int64_t dirty_since;  /* mono of the flush that first saw dirt; INT64_MIN: none did */
    unsigned writes;      /* statements in the open transaction */
    struct jm_err broken; /* code != 0: the first failure that ended writing */
    int n_meter;
    struct jm_run_pending *ch;
    size_t n_ch, cap_ch;
    struct jm_run_times times[JM_RUN_TIMES_KEPT];
    size_t times_at;
    struct jm_event_batch *events;
    struct jm_request *details; /* of requests whose rows are in the open transaction */
    size_t n_details, cap_details;
    struct jm_str plain, packed; /* scratch */
    int64_t raw_stored;
};

/* writer.c: runs the statement q (bound by fmt) inside the open transaction. */
int jm_run_write(struct jm_run_writer *w, enum jm_run_stmt q, struct jm_err *err, const char *fmt, ...);
int jm_run_commit(struct jm_run_writer *w, struct jm_err *err);
/* A full disk or a failing device ends writing: what has been committed stays, and is not tried away. */
void jm_run_note_failure(struct jm_run_writer *w, const struct jm_err *e);
/* chunks.c */
int jm_run_write_pending(struct jm_run_writer *w, struct jm_err *err);
int jm_run_add_pending(struct jm_run_writer *w, const struct jm_channel *c, struct jm_err *err);
int jm_run_add_details(struct jm_run_writer *w, const struct jm_request *r, struct jm_err *err);
int jm_run_write_details(struct jm_run_writer *w, struct jm_err *err);
int jm_run_write_events(struct jm_run_writer *w, struct jm_err *err);
/* seal.c: from any open writable connection in WAL to a single file. */
int jm_run_fold(sqlite3 *db, const char *path, struct jm_err *err);
void jm_run_writer_free(struct jm_run_writer *w);

/* ---- the reader */
struct jm_run_chunk {
    int64_t id, t_first, t_last, n;
};

#define JM_RUN_SEEN       4096u             /* places, a power of two */
#define JM_RUN_SEEN_BYTES ((size_t)3 << 20) /* of all columns */
struct jm_run_seen {                        /* a time column that chunks of other channels referred to */
    int64_t chunk;
    struct jm_reading *v; /* times only; NULL: none */
    size_t n;
};

#define JM_RUN_PLAIN_BYTES ((size_t)8 << 20) /* of all chunks */
struct jm_run_plain { /* a chunk of readings, unpacked: several passes go over all of them */
    int64_t times;
    size_t n;
    char p[];
};

struct jm_run {
    sqlite3 *db;
    char *path;
    struct jm_run_info info;
    struct jm_domain_tree tree;
    struct jm_channel *chan;
    size_t n_chan;
    struct jm_run_meter *meter;
    size_t n_meter;
    struct jm_window *window;
    size_t n_window;
    struct jm_mark *mark;
    size_t n_mark;
    struct jm_clock_pair *pair;
    size_t n_pair;
    struct jm_run_env_row *env;
    size_t n_env;
    struct jm_run_raw *raw;
    size_t n_raw;
    struct jm_run_claim *claim;
    size_t n_claim;
    struct jm_run_chunk **chunk; /* per channel, in order */
    size_t *n_chunk;
    struct jm_request *request;
    size_t n_request;
    bool requests_loaded;
    struct jm_err requests_err;
    sqlite3_stmt *get_chunk;
    struct jm_run_seen *seen; /* JM_RUN_SEEN places by their chunk, NULL before the first */
    size_t seen_bytes;
    struct jm_run_plain ***plain; /* by channel and number of the chunk, NULL where none is kept */
    size_t plain_bytes;
};

/* readings.c */
void jm_run_forget_times(struct jm_run *r);
void jm_run_forget_chunks(struct jm_run *r);
/* load.c: tables into the reader. */
int jm_run_load(struct jm_run *r, struct jm_err *err);
int jm_run_load_requests(struct jm_run *r, struct jm_err *err);

#endif
