/* SPDX-License-Identifier: Apache-2.0 */
#include "base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define PLACES 3

static int take(const struct jm_module *m, const char *path, const void **out, char *why, size_t n)
{
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
        snprintf(why, n, "%s", dlerror());
        return JM_EABSENT;
    }
    const void *(*entry)(void);
    *(void **)&entry = dlsym(h, m->symbol);
    const int *ops = entry ? entry() : NULL;
    if (!ops || *ops != m->abi) {
        snprintf(why, n, "%s is of another version of joulemark", path);
        dlclose(h);
        return JM_EVERSION;
    }
    *out = ops; /* the handle is kept on purpose: a library with threads and atexit work is never unloaded */
    return 0;
}

static size_t places(const char *file, char path[PLACES][1200])
{
    size_t n = 0;
    const char *dir = secure_getenv("JM_MODULE_DIR");
    char exe[1024];
    if (dir && *dir) {
        snprintf(path[n++], sizeof path[0], "%s/%s", dir, file);
        return n;
    }
    ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
    char *slash = NULL;
    if (len > 0) {
        exe[len] = '\0';
        slash = strrchr(exe, '/');
    }
    if (slash) {
        *slash = '\0';
        snprintf(path[n++], sizeof path[0], "%s/modules/%s", exe, file);
        snprintf(path[n++], sizeof path[0], "%s/src/modules/%s", exe, file); /* a build folder */
    }
    if (JM_MODULE_PATH[0])
        snprintf(path[n++], sizeof path[0], "%s/%s", JM_MODULE_PATH, file);
    return n;
}

int jm_module_load(const struct jm_module *m, const void **ops, struct jm_err *err)
{
    char path[PLACES][1200] = {{0}}, why[512] = "";
    size_t n = places(m->file, path);
    for (size_t i = 0; i < n; i++) {
        if (access(path[i], F_OK) != 0 && i + 1 < n)
            continue;
        int rc = take(m, path[i], ops, why, sizeof why);
        if (rc == 0)
            return 0;
        if (rc == JM_EVERSION)
            return jm_err_set(err, rc, "%s is not available: %s; install both from one build", m->what, why);
    }
    return jm_err_set(
        err, JM_EABSENT,
        "%s is not available, because its module is not there (%s): install %s, build again, or "
        "set JM_MODULE_DIR to the folder that holds %s",
        m->what, why[0] ? why : "no place to look", m->needs, m->file);
}
