/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/path.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

int jm_path_spare_run(const char *path, struct jm_err *err)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof magic];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return 0;
    bool run = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, head, sizeof head, 0) == sizeof head &&
               memcmp(head, magic, sizeof head) == 0;
    close(fd);
    return run ? jm_err_set(err, JM_ECONFLICT, "%s is a run file and is not overwritten by a text of it",
                            path)
               : 0;
}

int jm_path_beside(const char *path, const char *suffix, struct jm_str *out, struct jm_err *err)
{
    struct jm_span s = jm_span_of(path);
    if (jm_span_ends(s, JM_SPAN(".jmr")))
        s.n -= 4;
    jm_str_addspan(out, s);
    jm_str_adds(out, suffix);
    return jm_str_ok(out, "a file name", err);
}
