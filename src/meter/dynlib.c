/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/dynlib.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* The loader begins with the name of the file, which the sentence has already. */
static const char *reason(const char *file)
{
    const char *why = dlerror();
    size_t n = strlen(file);
    if (why && strncmp(why, file, n) == 0 && strncmp(why + n, ": ", 2) == 0)
        why += n + 2;
    return why ? why : "unknown reason";
}

int jm_dynlib_open(struct jm_dynlib *lib, const char *const *names, struct jm_err *err)
{
    char why[256] = "";
    *lib = (struct jm_dynlib){0};
    for (size_t i = 0; names[i] && !lib->handle; i++) {
        lib->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (lib->handle)
            snprintf(lib->file, sizeof lib->file, "%s", names[i]);
        else if (i == 0)
            snprintf(why, sizeof why, "%s", reason(names[i]));
    }
    if (!lib->handle)
        return jm_err_set(err, JM_EABSENT, "%s cannot be loaded: %s", names[0], why);
    lib->simulated = dlsym(lib->handle, "joulemark_sim_gpu_version") != NULL;
    return 0;
}

void *jm_dynlib_symbol(const struct jm_dynlib *lib, const char *const *names)
{
    void *p = NULL;
    for (; *names && !p; names++)
        p = dlsym(lib->handle, *names);
    return p;
}

void jm_dynlib_close(struct jm_dynlib *lib)
{
    if (lib->handle)
        dlclose(lib->handle);
    *lib = (struct jm_dynlib){0};
}
