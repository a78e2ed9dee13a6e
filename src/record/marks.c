/* SPDX-License-Identifier: Apache-2.0 */
/* Marks from outside: a datagram "mark NAME" to a Unix socket puts NAME into the run at the time it arrives.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/internal.h"

#include "base/banned.h"

int jm_record_marks_open(struct jm_recorder *r, struct jm_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct stat st;
    const char *path = r->cfg.mark_socket;
    size_t len = strlen(path);
    if (!len || len >= sizeof a.sun_path)
        return jm_err_set(err, JM_EINVAL, "the path of the mark socket must have 1 to %zu bytes: %s",
                          sizeof a.sun_path - 1, path);
    memcpy(a.sun_path, path, len);
    if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return jm_err_set(err, JM_ECONFLICT, "%s exists and is no socket; choose another path for marks",
                          path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot make a socket for marks");
    unlink(path); /* of an earlier run that was killed */
    if (bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1)) ||
        chmod(path, 0600)) {
        int e = errno;
        close(fd);
        return jm_err_sys(err, e, "cannot bind the socket for marks at %s", path);
    }
    r->mark_fd = fd;
    return 0;
}

void jm_record_marks_read(struct jm_recorder *r)
{
    char buf[512];
    for (int i = 0; i < 100; i++) { /* a flood must not keep the recorder */
        ssize_t n = recv(r->mark_fd, buf, sizeof buf, 0);
        if (n < 0)
            return;
        struct jm_mark m = {.t = jm_clock_mono(&r->clock)};
        struct jm_span name = jm_span_trim((struct jm_span){buf, (size_t)n});
        if (!jm_span_starts(name, JM_SPAN("mark "))) {
            r->bad_marks++;
            continue;
        }
        name = jm_span_trim(jm_span_sub(name, 5, name.n));
        size_t k = 0;
        for (; k < name.n && k < sizeof m.name - 1; k++)
            m.name[k] = (unsigned char)name.p[k] < 0x20 || name.p[k] == 0x7f ? '?' : name.p[k];
        while (k && k == sizeof m.name - 1 && ((unsigned char)m.name[k - 1] & 0xc0) == 0x80)
            m.name[--k] = '\0'; /* no half of a UTF-8 character */
        struct jm_err e = {0};
        if (!jm_record_error(r, NULL) && jm_run_put_mark(r->w, &m, &e))
            jm_record_fail(r, &e);
    }
}

void jm_record_marks_close(struct jm_recorder *r)
{
    if (r->mark_fd < 0)
        return;
    close(r->mark_fd);
    unlink(r->cfg.mark_socket);
    r->mark_fd = -1;
}
