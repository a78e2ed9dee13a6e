/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fileout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/banned.h"

int jm_file_out_open(struct jm_file_out *f, const char *path, struct jm_err *err)
{
    f->fd = -1;
    int n = snprintf(f->path, sizeof f->path, "%s", path);
    if (n < 0 || (size_t)n >= sizeof f->path - 40)
        return jm_err_sys(err, ENAMETOOLONG, "cannot write %.60s", path);
    for (unsigned i = 0; i < 100 && f->fd < 0; i++) {
        n = snprintf(f->temp, sizeof f->temp, "%.*s.%ld.%u.tmp", (int)sizeof f->path - 41, path,
                     (long)getpid(), i);
        if (n < 0)
            return jm_err_sys(err, ENAMETOOLONG, "cannot write %.60s", path);
        f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0 && errno != EEXIST)
            return jm_err_sys(err, errno, "cannot create %s", f->temp);
    }
    return f->fd >= 0 ? 0 : jm_err_sys(err, EEXIST, "cannot create a temporary file beside %s", path);
}

int jm_file_out_add(struct jm_file_out *f, struct jm_span data, struct jm_err *err)
{
    while (data.n) {
        ssize_t n = write(f->fd, data.p, data.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return jm_err_sys(err, errno, "cannot write %s", f->path);
        data = jm_span_sub(data, (size_t)n, data.n);
    }
    return 0;
}

int jm_file_out_commit(struct jm_file_out *f, bool replace, struct jm_err *err)
{
    int e = fsync(f->fd) && errno != EINVAL ? errno : 0;
    if (close(f->fd) && !e)
        e = errno;
    f->fd = -1;
    /* link() does not replace, rename() does */
    bool renamed = replace;
    if (e)
        renamed = false;
    if (!e && !replace && link(f->temp, f->path)) {
        e = errno;
        renamed = e != EEXIST && access(f->path, F_OK) != 0; /* a file system without links */
    }
    if (renamed)
        e = rename(f->temp, f->path) ? errno : 0;
    if (!renamed || e)
        unlink(f->temp);
    if (e == EEXIST)
        return jm_err_set(err, JM_ECONFLICT, "%s is there already; --force writes over it", f->path);
    return e ? jm_err_sys(err, e, "cannot write %s", f->path) : 0;
}

void jm_file_out_abandon(struct jm_file_out *f)
{
    if (f->fd < 0)
        return;
    close(f->fd);
    f->fd = -1;
    unlink(f->temp);
}
