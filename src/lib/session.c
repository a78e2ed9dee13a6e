/* SPDX-License-Identifier: Apache-2.0 */
#include "joulemark.h"

#include <stdlib.h>
#include <string.h>

#include "lib/lib.h"
#include "record/record.h"

#include "base/banned.h"

struct joulemark_session {
    struct jm_recorder *rec;
    int window; /* open one, -1: none */
};

const char *joulemark_version(void)
{
    return JM_VERSION;
}

int joulemark_session_open(const joulemark_options *o, joulemark_session **out, joulemark_error *e)
{
    struct jm_err err = {0};
    struct jm_clock clock = jm_clock_system();
    struct jm_clock_pair now;
    struct jm_record_cfg cfg = {0};
    if (!o || o->size < sizeof(size_t) + sizeof(char *) || !o->file || !out)
        return jm_lib_fail(
            e, jm_err_set(&err, JM_EINVAL, "joulemark_session_open needs options with their size and a file"),
            &err);
    joulemark_options all = JOULEMARK_OPTIONS_INIT;
    memcpy(&all, o, o->size < sizeof all ? o->size : sizeof all);
    jm_clock_pair(&clock, &now);
    cfg.path = all.file;
    cfg.create = (struct jm_run_create){.label = all.label,
                                        .kind = "recorded",
                                        .source = "library",
                                        .created_real = now.real,
                                        .seed = (uint64_t)now.real,
                                        .overwrite = all.overwrite != 0};
    cfg.env =
        (struct jm_meter_env){.sysfs_root = all.sysfs_root, .nvml_lib = all.nvml_lib, .devices = all.devices};
    cfg.meters = all.meters;
    cfg.period_ns = all.period_ns;
    joulemark_session *s = calloc(1, sizeof *s);
    int rc = s ? jm_recorder_new(&cfg, &s->rec, &err)
               : jm_err_set(&err, JM_ENOMEM, "out of memory for the session");
    if (!rc) {
        s->window = -1;
        rc = jm_recorder_start(s->rec, &err);
        if (rc)
            jm_recorder_finish(s->rec, NULL);
    }
    if (rc) {
        free(s);
        return jm_lib_fail(e, rc, &err);
    }
    *out = s;
    return 0;
}

size_t joulemark_session_channels(const joulemark_session *s)
{
    return jm_recorder_channels(s->rec);
}

const char *joulemark_session_why(const joulemark_session *s)
{
    const char *why = jm_recorder_why(s->rec);
    return why ? why : "";
}

int joulemark_window_begin(joulemark_session *s, const char *name, joulemark_error *e)
{
    struct jm_err err = {0};
    int64_t t;
    if (s->window >= 0)
        return jm_lib_fail(
            e, jm_err_set(&err, JM_ESTATE, "a window is open; end it before the next one begins"), &err);
    int id = jm_recorder_window_begin(s->rec, JM_R_MEASURE, name ? name : "window", 0, &t, &err);
    if (id < 0)
        return jm_lib_fail(e, id, &err);
    s->window = id;
    return 0;
}

int joulemark_window_end(joulemark_session *s, joulemark_error *e)
{
    struct jm_err err = {0};
    int64_t t;
    if (s->window < 0)
        return jm_lib_fail(e, jm_err_set(&err, JM_ESTATE, "no window is open; begin one first"), &err);
    int rc = jm_recorder_window_end(s->rec, s->window, &t, &err);
    s->window = -1;
    return rc < 0 ? jm_lib_fail(e, rc, &err) : 0;
}

int joulemark_mark(joulemark_session *s, const char *name)
{
    return jm_recorder_mark(s->rec, name);
}

int joulemark_note(joulemark_session *s, const char *key, const char *value)
{
    return jm_recorder_env(s->rec, key, value);
}

int joulemark_session_close(joulemark_session *s, joulemark_error *e)
{
    struct jm_err err = {0};
    int first = 0;
    if (!s)
        return 0;
    if (s->window >= 0)
        first = joulemark_window_end(s, e);
    int rc = jm_recorder_finish(s->rec, &err);
    free(s);
    return rc ? jm_lib_fail(e, rc, &err) : first;
}
