/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cmds.h"
#include "model/window.h"

#include "base/banned.h"

struct opts {
    struct jm_common common;
    const char *socket;
};

static int mark(struct jm_cli *cli, void *opts, struct jm_err *err)
{
    const struct opts *o = opts;
    const char *path = o->socket ? o->socket : getenv("JOULEMARK_MARK_SOCKET"), *name = cli->operand[0];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = strlen(name), len = path ? strlen(path) : 0;
    if (!len)
        return jm_err_set(
            err, JM_EUSAGE,
            "no recorder to mark: run this inside joulemark run, or give the --socket that joulemark "
            "record shows");
    if (len >= sizeof to.sun_path)
        return jm_err_set(err, JM_EUSAGE, "the socket's path %.60s... is longer than %zu bytes", path,
                          sizeof to.sun_path - 1);
    if (!n || n >= sizeof((struct jm_mark *)NULL)->name || strpbrk(name, "\n\r"))
        return jm_err_set(err, JM_EUSAGE, "the name of a mark has 1 to %zu bytes and no line end",
                          sizeof((struct jm_mark *)NULL)->name - 1);
    memcpy(to.sun_path, path, len);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot make a socket");
    char text[160] = "mark ";
    memcpy(text + 5, name, n);
    text[5 + n] = '\n';
    int rc = 0;
    if (sendto(fd, text, n + 6, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to) < 0) {
        int e = errno;
        rc = e == ENOENT || e == ECONNREFUSED
                 ? jm_err_set(err, JM_EABSENT, "no recorder listens at %s any more", path)
                 : jm_err_sys(err, e, "cannot send the mark to %s", path);
    }
    close(fd);
    return rc;
}

static const struct jm_opt table[] = {{"socket", 0, JM_OPT_STR, offsetof(struct opts, socket), .arg = "PATH",
                                       .help = "Socket of the recorder.", .deflt = "JOULEMARK_MARK_SOCKET"},
                                      JM_OPTS_COMMON,
                                      {NULL}};

const struct jm_cmd jm_cmd_mark = {
    .name = "mark",
    .group = "Measure",
    .summary = "Put a named mark into the run that is being recorded",
    .usage = "NAME",
    .description = "Inside joulemark run the recorder is found by itself. A mark stands in the run at the "
                   "moment at which "
                   "the recorder received it.",
    .examples = "joulemark run -- sh -c 'load; joulemark mark loaded; work' # the mark splits the run",
    .opts = table,
    .opts_size = sizeof(struct opts),
    .min_operands = 1,
    .max_operands = 1,
    .fn = mark,
};
