/* SPDX-License-Identifier: Apache-2.0 */
#include "load/tls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define FILE_NAME "joulemark-tls.so"

static int take(const char *path, const struct jm_tls_ops **out, char *why, size_t n)
{
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) {
        snprintf(why, n, "%s", dlerror());
        return JM_EABSENT;
    }
    const struct jm_tls_ops *(*entry)(void);
    *(void **)&entry = dlsym(h, JM_TLS_SYMBOL);
    const struct jm_tls_ops *ops = entry ? entry() : NULL;
    if (!ops || ops->abi != JM_TLS_ABI) {
        snprintf(why, n, "%s is of another version of joulemark", path);
        dlclose(h);
        return JM_EVERSION;
    }
    *out = ops; /* the handle is kept on purpose: a library with threads and atexit work is never unloaded */
    return 0;
}

int jm_tls_load(const struct jm_tls_ops **out, struct jm_err *err)
{
    char path[3][1200] = {{0}}, why[512] = "";
    size_t n = 0;
    const char *dir = secure_getenv("JM_MODULE_DIR");
    if (dir && *dir) {
        snprintf(path[n++], sizeof path[0], "%s/%s", dir, FILE_NAME);
    } else {
        char exe[1024];
        ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
        char *slash = NULL;
        if (len > 0) {
            exe[len] = '\0';
            slash = strrchr(exe, '/');
        }
        if (slash) {
            *slash = '\0';
            snprintf(path[n++], sizeof path[0], "%s/modules/%s", exe, FILE_NAME);
            snprintf(path[n++], sizeof path[0], "%s/src/modules/%s", exe, FILE_NAME); /* a build folder */
        }
        if (JM_MODULE_PATH[0])
            snprintf(path[n++], sizeof path[0], "%s/%s", JM_MODULE_PATH, FILE_NAME);
    }
    for (size_t i = 0; i < n; i++) {
        if (access(path[i], F_OK) != 0 && i + 1 < n)
            continue;
        int rc = take(path[i], out, why, sizeof why);
        if (rc == 0)
            return 0;
        if (rc == JM_EVERSION)
            return jm_err_set(err, rc, "https is not available: %s; install both from one build", why);
    }
    return jm_err_set(
        err, JM_EABSENT,
        "https is not available, because its module is not there (%s): install OpenSSL 3's headers "
        "(libssl-dev), build again, or set JM_MODULE_DIR to the folder that holds %s",
        why[0] ? why : "no place to look", FILE_NAME);
}
