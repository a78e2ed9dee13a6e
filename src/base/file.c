/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

/* Closes fd. */
static int read_all(int fd, const char *path, size_t limit, struct jm_str *out, struct jm_err *err)
{
    size_t start = out->len;
    int rc = 0;
    for (;;) {
        char buf[16384]; /* st_size is 4096 or 0 for sysfs and procfs files: read until the end instead */
        ssize_t n = read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = jm_err_sys(err, errno, "cannot read %s", path);
            break;
        }
        if (!n)
            break;
        if ((size_t)n > limit - (out->len - start)) {
            rc = jm_err_set(err, JM_ELIMIT, "%s is larger than the limit of %zu bytes", path, limit);
            break;
        }
        jm_str_add(out, buf, (size_t)n);
        if ((rc = jm_str_ok(out, path, err)))
            break;
    }
    close(fd);
    return rc;
}

int jm_file_read(const char *path, size_t limit, struct jm_str *out, struct jm_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s", path);
    return read_all(fd, path, limit, out, err);
}

int jm_file_read_regular(const char *path, size_t limit, struct jm_str *out, struct jm_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* never waits on a pipe */
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return read_all(fd, path, limit, out, err);
    close(fd);
    return jm_err_set(err, JM_EINVAL, "cannot read %s: it is no regular file", path);
}

int jm_file_blocks(const char *path, char *buffer, size_t size, jm_file_block_fn fn, void *self,
                   struct jm_err *err)
{
    struct stat st;
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* never waits on a pipe */
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        rc = jm_err_set(err, JM_EINVAL, "cannot read %s: it is no regular file", path);
    while (!rc) {
        ssize_t n = read(fd, buffer, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = jm_err_sys(err, errno, "cannot read %s", path);
        if (n <= 0)
            break;
        rc = fn(self, (struct jm_span){buffer, (size_t)n}, err);
    }
    close(fd);
    return rc;
}

static int write_all(int fd, struct jm_span data)
{
    while (data.n) {
        ssize_t n = write(fd, data.p, data.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        data = jm_span_sub(data, (size_t)n, data.n);
    }
    return 0;
}

/* Devices, pipes and the like cannot be replaced by a rename. */
static int write_in_place(const char *path, struct jm_span data, struct jm_err *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s for writing", path);
    int e = write_all(fd, data);
    if (close(fd) && !e)
        e = errno;
    return e ? jm_err_sys(err, e, "cannot write %s", path) : 0;
}

static int write_renamed(const char *path, mode_t mode, struct jm_span data, struct jm_err *err)
{
    char temp[PATH_MAX];
    int fd = -1;
    for (unsigned i = 0; i < 100 && fd < 0; i++) {
        int n = snprintf(temp, sizeof temp, "%s.%ld.%u.tmp", path, (long)getpid(), i);
        if (n < 0 || (size_t)n >= sizeof temp)
            return jm_err_sys(err, ENAMETOOLONG, "cannot write %s", path);
        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return jm_err_sys(err, errno, "cannot create %s", temp);
    }
    if (fd < 0)
        return jm_err_sys(err, EEXIST, "cannot create a temporary file beside %s", path);
    int e = write_all(fd, data);
    if (!e && mode && fchmod(fd, mode))
        e = errno; /* a file that is replaced keeps its permissions */
    if (!e && fsync(fd) && errno != EINVAL)
        e = errno;
    if (close(fd) && !e)
        e = errno;
    if (!e && rename(temp, path))
        e = errno;
    if (e) {
        unlink(temp);
        return jm_err_sys(err, e, "cannot write %s", path);
    }
    return 0;
}

int jm_file_write(const char *path, struct jm_span data, struct jm_err *err)
{
    struct stat st;
    if (stat(path, &st))
        return write_renamed(path, 0, data, err);
    if (S_ISDIR(st.st_mode))
        return jm_err_set(err, JM_EINVAL, "cannot write %s: it is a directory", path);
    if (!S_ISREG(st.st_mode))
        return write_in_place(path, data, err);
    char *real = realpath(path, NULL); /* a symbolic link stays one */
    int rc = write_renamed(real ? real : path, st.st_mode & 07777, data, err);
    free(real);
    return rc;
}

int jm_file_mkparents(const char *path, struct jm_err *err)
{
    char dir[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof dir)
        return jm_err_sys(err, ENAMETOOLONG, "cannot create the directory of %.80s...", path);
    memcpy(dir, path, n + 1);
    for (char *p = dir + 1; n && *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(dir, 0777) && errno != EEXIST)
            return jm_err_sys(err, errno, "cannot create the directory %s", dir);
        *p = '/';
    }
    return 0;
}
