/* SPDX-License-Identifier: Apache-2.0 */
/* What a session leaves in server.json beyond the public tool's keys, and how its directory goes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "mlperf/dsession.h"

#include "base/banned.h"

static void counts(struct jm_jsonw *w, const struct jm_mlperf_dsession *s)
{
    for (int m = 0; m < JM_MLPERF_MODES; m++) {
        jm_jsonw_key(w, jm_mlperf_mode_name((enum jm_mlperf_mode)m));
        jm_jsonw_array(w);
        for (int i = 0; i < s->n && s->peaks[m][0].rows; i++) {
            const struct jm_mlperf_peaks *p = &s->peaks[m][i];
            jm_jsonw_object(w);
            jm_jsonw_ki64(w, "samples", p->rows);
            jm_jsonw_ki64(w, "bad", p->bad);
            jm_jsonw_ki64(w, "missed", p->missed);
            jm_jsonw_ki64(w, "over_range", p->over);
            jm_jsonw_end(w);
        }
        jm_jsonw_end(w);
    }
}

int jm_mlperf_dsession_stamps(struct jm_mlperf_dsession *s, enum jm_mlperf_mode mode, int64_t stopped_ns,
                              struct jm_err *err)
{
    const int64_t quarter = 900 * JM_NS_PER_S, near = 5 * JM_NS_PER_S, zones = 15 * 3600 * JM_NS_PER_S;
    for (int i = 0; i < s->n; i++) {
        const struct jm_mlperf_peaks *p = &s->peaks[mode][i];
        int64_t off = p->last_ns - stopped_ns, size = off < 0 ? -off : off, rest = size % quarter;
        if (!p->rows || size < near)
            continue;
        if (size < zones && size > quarter - near && (rest < near || quarter - rest < near))
            return jm_err_set(
                err, JM_ECONFLICT,
                "the samples of analyzer %d are stamped %.2f h %s this machine's UTC: its PTDaemon runs "
                "in local time. Start it with TZ=UTC in its environment, or let the Director start it",
                i + 1, (double)size / 3600e9, off < 0 ? "behind" : "ahead of");
        struct jm_str text;
        jm_str_init(&text);
        jm_str_addf(&text, "Analyzer [%d]: its last sample is stamped %.1f s %s this machine's clock", i + 1,
                    (double)size / 1e9, off < 0 ? "behind" : "ahead of");
        s->host->log(s->host->self, JM_LOG_WARN, text.buf);
        jm_str_release(&text);
    }
    return 0;
}

static int own(struct jm_mlperf_dsession *s, const char *reason, const struct jm_mlperf_ntp *ntp,
               struct jm_err *err)
{
    const struct jm_mlperf_director *d = s->host->d;
    struct jm_str json;
    struct jm_jsonw w;
    jm_str_init(&json);
    jm_jsonw_init(&w, &json, 0);
    jm_jsonw_object(&w);
    jm_jsonw_kstr(&w, "version", JM_VERSION);
    jm_jsonw_kstr(&w, "source", d->source.ops->name);
    bool simulated = d->source.ops->simulated && d->source.ops->simulated(d->source.self);
    jm_jsonw_kbool(&w, "official", d->source.ops->official && !simulated);
    jm_jsonw_kbool(&w, "simulated", simulated);
    if (!d->source.ops->official)
        jm_jsonw_kstr(&w, "notice", d->source.ops->notice);
    jm_jsonw_kbool(&w, "complete", reason == NULL);
    if (reason)
        jm_jsonw_kstr(&w, "reason", reason);
    jm_jsonw_kbool(&w, "ranging_skipped", s->fixed);
    jm_jsonw_kstr(&w, "ranging_mode", d->config->ranging == JM_MLPERF_RANGE_MAX ? "MAX" : "AUTO");
    jm_jsonw_kbool(&w, "ptd_launched", d->config->launch);
    jm_jsonw_knum(&w, "settle_seconds", (double)d->config->settle_ns / 1e9);
    jm_jsonw_key(&w, "ntp");
    if (ntp) {
        jm_jsonw_object(&w);
        jm_jsonw_kstr(&w, "server", ntp->server);
        jm_jsonw_knum(&w, "offset_seconds", ntp->offset_s);
        jm_jsonw_knum(&w, "delay_seconds", ntp->delay_s);
        jm_jsonw_ki64(&w, "stratum", ntp->stratum);
        jm_jsonw_end(&w);
    } else {
        jm_jsonw_null(&w);
    }
    counts(&w, s);
    jm_jsonw_end(&w);
    int rc = jm_str_ok(&json, "the summary of a session", err);
    if (!rc)
        rc = jm_mlperf_summary_own(s->summary, jm_str_span(&json), err);
    jm_str_release(&json);
    return rc;
}

int jm_mlperf_dsession_save(struct jm_mlperf_dsession *s, const char *reason, const struct jm_mlperf_ntp *ntp,
                            struct jm_err *err)
{
    char path[4300];
    jm_mlperf_summary_debug(s->summary, s->host->d->config->settle_ns < JM_MLPERF_SETTLE);
    int rc = own(s, reason, ntp, err);
    if (!rc)
        rc = jm_mlperf_summary_hash(s->summary, s->dir, err);
    snprintf(path, sizeof path, "%s/server.json", s->power);
    return rc ? rc : jm_mlperf_summary_save(s->summary, path, err);
}

static int remove_at(int parent, const char *name, int depth, struct jm_err *err)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int e = errno;
        if (fd >= 0)
            close(fd);
        return jm_err_sys(err, e, "cannot read the folder %s", name);
    }
    for (struct dirent *e; !rc && (e = readdir(d));) {
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (!fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode))
            rc = depth ? remove_at(fd, e->d_name, depth - 1, err)
                       : jm_err_set(err, JM_ELIMIT, "the folders of a session are too deep");
        else if (unlinkat(fd, e->d_name, 0))
            rc = jm_err_sys(err, errno, "cannot remove %s", e->d_name);
    }
    closedir(d);
    if (!rc && unlinkat(parent, name, AT_REMOVEDIR))
        rc = jm_err_sys(err, errno, "cannot remove %s", name);
    return rc;
}

int jm_mlperf_remove_tree(const char *path, struct jm_err *err)
{
    return remove_at(AT_FDCWD, path, 8, err);
}
