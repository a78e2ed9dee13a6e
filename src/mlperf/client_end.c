/* SPDX-License-Identifier: Apache-2.0 */
/* How a session of the client ends: client.log and client.json, the Director's files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "mlperf/client_impl.h"
#include "mlperf/textlog.h"

#include "base/banned.h"

#define PARTING_NS (30 * JM_NS_PER_S)
#define FILE_LIMIT ((int64_t)4 << 30)

int jm_client_path(const struct jm_client *c, const char *rel, char out[4096], struct jm_err *err)
{
    int n = snprintf(out, 4096, "%s/%s", c->report->dir, rel);
    return n < 0 || n >= 4096
               ? jm_err_set(err, JM_ELIMIT, "the path of %s in the session is longer than 4095 bytes", rel)
               : 0;
}

/* What the public tool has no word for. */
static int own_facts(struct jm_client *c, const struct jm_err *why, struct jm_err *err)
{
    struct jm_str json;
    struct jm_jsonw w;
    jm_str_init(&json);
    jm_jsonw_init(&w, &json, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "version", JM_VERSION);
    jm_jsonw_kbool(&w, "complete", why == NULL);
    if (why) {
        jm_jsonw_kstr(&w, "stage", c->report->stage);
        jm_jsonw_kstr(&w, "ended", why->text);
    }
    jm_jsonw_key(&w, "ntp");
    if (c->report->ntp.asked) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "server", c->conf->ntp);
        jm_jsonw_knum(&w, "worst_offset_s", c->report->ntp.offset_s);
        jm_jsonw_knum(&w, "delay_s", c->report->ntp.delay_s);
        jm_jsonw_end(&w);
    } else {
        jm_jsonw_str(&w, c->conf->ntp ? "no answer" : "not asked (--no-ntp)");
    }
    jm_jsonw_key(&w, "clock_difference_ms");
    jm_jsonw_array(&w);
    jm_jsonw_num(&w, c->report->clock_min_ms);
    jm_jsonw_num(&w, c->report->clock_max_ms);
    jm_jsonw_end(&w);
    jm_jsonw_kstr(&w, "workload", c->conf->workload);
    jm_jsonw_key(&w, "workload_status");
    jm_jsonw_object(&w);
    for (int m = 0; m < JM_MLPERF_MODES; m++)
        if (c->ran[m])
            jm_jsonw_ki64(&w, jm_mlperf_mode_name((enum jm_mlperf_mode)m), c->workload_status[m]);
    jm_jsonw_end(&w);
    jm_jsonw_end(&w);
    int rc = jm_str_ok(&json, "client.json", err);
    if (!rc)
        rc = jm_mlperf_summary_own(c->summary, jm_str_span(&json), err);
    jm_str_release(&json);
    return rc;
}

/* client.log and client.json; why: what ended the session early, NULL: nothing did. */
static int write_own(struct jm_client *c, const struct jm_err *why, struct jm_err *err)
{
    char path[4096];
    int rc = jm_client_path(c, "power/client.log", path, err);
    if (!rc)
        rc = jm_str_ok(&c->log, "client.log", err);
    if (!rc)
        rc = jm_file_write(path, jm_str_span(&c->log), err);
    if (!rc)
        rc = own_facts(c, why, err);
    if (!rc)
        rc = jm_mlperf_summary_hash(c->summary, c->report->dir, err);
    if (!rc)
        rc = jm_client_path(c, "power/client.json", path, err);
    if (!rc)
        rc = jm_mlperf_summary_save(c->summary, path, err);
    c->recording = false;
    return rc;
}

/* One file. JM_EABSENT: the Director has none of that name. */
static int fetch(struct jm_client *c, const char *file, struct jm_err *err)
{
    char path[4096];
    int64_t limit = c->conf->file_limit ? c->conf->file_limit : FILE_LIMIT;
    int rc = jm_client_path(c, file, path, err);
    if (!rc)
        rc = jm_file_mkparents(path, err);
    if (rc)
        return rc;
    jm_logf(&c->conf->log, JM_LOG_INFO, "mlperf", "Fetching file %s", file);
    rc = jm_mlperf_sendf(c->conn, jm_client_after(c, jm_client_reply_ns(c)), err, "download,%s,%s",
                         c->report->id, file);
    if (!rc)
        rc = jm_mlperf_recv_file(c->conn, path, limit, jm_client_reply_ns(c), err);
    return rc ? jm_err_prefix(err, "%s", file) : 0;
}

/* All files that are not there yet; a broken connection is made anew once. all: false where some need not be
 * there. */
static int fetch_all(struct jm_client *c, bool resume, struct jm_err *err)
{
    char path[4096];
    struct stat st;
    bool again = true;
    c->report->wanted = c->report->fetched = 0;
    for (size_t i = 0; jm_mlperf_fetch_files[i]; i++) {
        const char *file = jm_mlperf_fetch_files[i];
        if (c->conf->volts && c->conf->amps && strncmp(file, "ranging/", 8) == 0)
            continue; /* there was no such phase */
        c->report->wanted++;
        int rc = jm_client_path(c, file, path, err);
        if (rc)
            return rc;
        if (resume && !lstat(path, &st)) {
            c->report->fetched++;
            continue;
        }
        struct jm_err why = {0};
        rc = fetch(c, file, &why);
        if (rc == JM_ENET && again) {
            again = false;
            jm_client_note(c, JM_LOG_WARN, "%s; connecting once more", why.text);
            jm_mlperf_conn_close(c->conn);
            rc = jm_client_greet(c, &why);
            jm_client_stage(c, "download");
            if (!rc)
                rc = fetch(c, file, &why);
        }
        /* joulemark does not need it, the submission must not have it, and Directors before v4.1 lack it */
        if (rc && rc != JM_ENET && rc != JM_ESTATE && strcmp(file, "run_1/ptd_out.txt") == 0) {
            jm_client_note(c, JM_LOG_WARN, "%s", why.text);
            if (c->conn->fd < 0)
                rc = jm_client_greet(c, &why);
            else
                rc = 0;
            jm_client_stage(c, "download");
            c->report->wanted--;
            if (!rc)
                continue;
        }
        if (rc)
            return jm_err_set(err, rc, "%s", why.text);
        c->report->fetched++;
    }
    return 0;
}

/* The measurement is whole: files, then nothing is left at the Director. */
int jm_client_finish(struct jm_client *c, struct jm_err *err)
{
    jm_client_stage(c, "done");
    jm_client_note(c, JM_LOG_INFO, "Done runs");
    int rc = write_own(c, NULL, err);
    if (!rc)
        rc = jm_client_ask(c, jm_client_measure_ns(c), err, "session,%s,done", c->report->id);
    if (rc)
        return rc;
    jm_client_stage(c, "download");
    rc = fetch_all(c, false, err);
    if (rc)
        return rc;
    c->report->complete = true;
    jm_client_stage(c, "cleanup");
    rc = jm_client_ask(c, jm_client_reply_ns(c), err, "cleanup,%s", c->report->id);
    if (rc)
        jm_logf(&c->conf->log, JM_LOG_WARN, "mlperf", "the Director keeps its copy of the session: %s",
                err ? err->text : "");
    return 0;
}

/* Something went wrong: what we have is written down, and the Director is asked to stop and for what it has.
 * err stays as it is. */
void jm_client_give_up(struct jm_client *c, const struct jm_err *why)
{
    struct jm_err other = {0};
    int64_t now = jm_client_real(c); /* into the file alone: the caller gets it as an error */
    jm_mlperf_textlog(&c->log, "client", now, jm_mlperf_utc_offset(now), JM_LOG_ERROR, jm_span_of(why->text));
    if (!c->report->dir[0])
        return;
    if (c->recording && write_own(c, why, &other))
        jm_logf(&c->conf->log, JM_LOG_ERROR, "mlperf", "%s", other.text);
    char path[4096];
    struct jm_str sentence;
    jm_str_init(&sentence);
    jm_str_addf(&sentence, "%s\n", why->text);
    jm_mlperf_client_kept(c->report, &sentence);
    jm_str_addc(&sentence, '\n');
    if (!sentence.failed && !jm_client_path(c, "INCOMPLETE.txt", path, &other))
        jm_file_write(path, jm_str_span(&sentence), &other);
    jm_str_release(&sentence);
    bool talk = c->conn->fd >= 0 && why->code != JM_ENET && why->code != JM_ETIMEOUT &&
                strcmp(c->report->stage, "done") != 0 && strcmp(c->report->stage, "download") != 0;
    if (!talk)
        return;
    c->conn->wake = (struct jm_mlperf_wake){NULL, -1}; /* being interrupted is no reason to hang up */
    if (!jm_client_ask(c, PARTING_NS, &other, "session,%s,done", c->report->id) && why->code != JM_ESTATE)
        fetch_all(c, false, &other);
}

int jm_mlperf_client_fetch(const struct jm_mlperf_client_conf *conf, const char *dir,
                           struct jm_mlperf_client_report *report, struct jm_err *err)
{
    struct jm_client c = {.conf = conf, .report = report};
    struct jm_str text;
    struct jm_json *root = NULL;
    struct jm_span id;
    char path[4096];
    *report = (struct jm_mlperf_client_report){.stage = "start", .clock_min_ms = NAN, .clock_max_ms = NAN};
    jm_str_init(&text);
    snprintf(report->dir, sizeof report->dir, "%s", dir);
    int rc = jm_client_path(&c, "power/client.json", path, err);
    if (!rc)
        rc = jm_file_read(path, (size_t)16 << 20, &text, err);
    if (!rc)
        rc = jm_json_parse(jm_str_span(&text), &root, err);
    if (!rc && (!jm_json_str(jm_json_get(root, "session_name"), &id) || !jm_mlperf_id_ok(id) ||
                id.n >= sizeof report->id))
        rc = jm_err_set(err, JM_EPARSE, "%s names no session that a Director could have", path);
    struct jm_mlperf_client_conf own = *conf;
    if (!rc && jm_json_is_array(jm_json_path(root, "phases.ranging")) &&
        !jm_json_len(jm_json_path(root, "phases.ranging")))
        own.volts = own.amps = "given"; /* there was no ranging run */
    c.conf = &own;
    if (!rc)
        snprintf(report->id, sizeof report->id, "%.*s", (int)id.n, id.p);
    jm_json_free(root);
    jm_str_release(&text);
    if (rc)
        return rc;
    jm_str_init(&c.log);
    c.conn = calloc(1, sizeof *c.conn);
    if (!c.conn)
        return jm_err_set(err, JM_ENOMEM, "out of memory at the start of a session");
    c.conn->fd = -1;
    jm_client_stage(&c, "connect");
    rc = jm_client_greet(&c, err);
    jm_client_stage(&c, "download");
    if (!rc)
        rc = fetch_all(&c, true, err);
    if (!rc) {
        struct jm_err why = {0};
        report->complete = true;
        if (!jm_client_path(&c, "INCOMPLETE.txt", path, &why))
            unlink(path);
        jm_client_stage(&c, "cleanup");
        if (jm_client_ask(&c, jm_client_reply_ns(&c), &why, "cleanup,%s", report->id))
            jm_logf(&conf->log, JM_LOG_WARN, "mlperf", "the Director keeps its copy of the session: %s",
                    why.text);
    }
    if (c.connected)
        jm_mlperf_conn_close(c.conn);
    free(c.conn);
    jm_str_release(&c.log);
    return rc;
}

void jm_mlperf_client_kept(const struct jm_mlperf_client_report *r, struct jm_str *out)
{
    if (!r->dir[0]) {
        jm_str_adds(out, "Nothing was measured and nothing is kept.");
        return;
    }
    if (strcmp(r->stage, "done") == 0 || strcmp(r->stage, "download") == 0)
        jm_str_addf(out,
                    "Both runs were measured: this side's files are in %s, %d of the Director's %d were "
                    "fetched. The rest is still in the Director's output directory as %s; fetch it with "
                    "--fetch %s, or copy it from there.",
                    r->dir, r->fetched, r->wanted, r->id, r->dir);
    else
        jm_str_addf(out,
                    "The session is not complete (it ended at \"%s\") and cannot be submitted; what was said "
                    "and written so far is kept in %s, and in the Director's output directory as %s.",
                    r->stage, r->dir, r->id);
}
