/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

int jm_find_self(char path[JM_FIND_PATH], struct jm_err *err)
{
    ssize_t n = readlink("/proc/self/exe", path, JM_FIND_PATH - 1);
    if (n < 0)
        return jm_err_sys(err, errno, "cannot find the running program through /proc/self/exe");
    path[n] = '\0';
    return 0;
}

int jm_find_sim(char path[JM_FIND_PATH], struct jm_err *err)
{
    static const char *const beside[] = {"joulemark-sim", "sim/joulemark-sim",
                                         "../libexec/joulemark/joulemark-sim"};
    const char *env = getenv("JM_SIM");
    if (env && env[0]) {
        if (access(env, X_OK))
            return jm_err_sys(err, errno, "JM_SIM: cannot run %s", env);
        snprintf(path, JM_FIND_PATH, "%s", env);
        return 0;
    }
    char self[JM_FIND_PATH];
    int rc = jm_find_self(self, err);
    if (rc)
        return rc;
    char *slash = strrchr(self, '/');
    int dir = slash ? (int)(slash - self) : 0;
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        int n = snprintf(path, JM_FIND_PATH, "%.*s/%s", dir, self, beside[i]);
        if (n > 0 && n < JM_FIND_PATH && access(path, X_OK) == 0)
            return 0;
    }
    return jm_err_set(
        err, JM_EABSENT,
        "joulemark-sim is neither beside %s nor in ../libexec/joulemark; build it, or name it in JM_SIM",
        self);
}
