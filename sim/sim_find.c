/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_main.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sim_find_nvml(const char *lib, bool old, char *out, size_t n, char *why, size_t whylen)
{
    char exe[PATH_MAX], path[PATH_MAX + 64];
    const char *file = old ? "libnvidia-ml-old.so.1" : "libnvidia-ml.so.1";
    char *real;
    if (lib) {
        real = realpath(lib, NULL);
        if (!real)
            snprintf(why, whylen, "--lib %.400s: %s.", lib, strerror(errno));
    } else {
        ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
        exe[len > 0 ? len : 0] = 0;
        char *slash = strrchr(exe, '/');
        if (slash)
            *slash = 0;
        snprintf(path, sizeof path, "%s/gpu/%s", exe, file);
        if (access(path, R_OK) != 0)
            snprintf(path, sizeof path, "%s/%s", SIM_LIBDIR, file);
        real = realpath(path, NULL);
        if (!real)
            snprintf(why, whylen,
                     "the simulated libnvidia-ml.so.1 lies neither beside this program nor in its library "
                     "directory; name it with --lib.");
    }
    if (!real)
        return -ENOENT;
    bool fits = strlen(real) < n;
    if (fits)
        memcpy(out, real, strlen(real) + 1);
    else
        snprintf(why, whylen, "the path of libnvidia-ml.so.1 is too long.");
    free(real);
    return fits ? 0 : -ENAMETOOLONG;
}
