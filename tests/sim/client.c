/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"
#include "simgpu_conf.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int create(struct sim *m, char *why, size_t n, va_list ap)
{
    struct simgpu_conf *c = calloc(1, sizeof *c);
    assert_non_null(c);
    snprintf(m->path, sizeof m->path, "/tmp/simgpu-test-XXXXXX");
    int fd = mkstemp(m->path);
    assert_true(fd >= 0);
    close(fd);
    simgpu_conf_init(c);
    int e = simgpu_conf_say(c, -1, "virtual", "", "test", why, n);
    for (const char *k; !e && (k = va_arg(ap, const char *));) {
        const char *v = va_arg(ap, const char *);
        e = strcmp(k, "gpu") == 0 ? simgpu_conf_say_gpu(c, v, "test", why, n)
                                  : simgpu_conf_say(c, -1, k, v, "test", why, n);
    }
    if (!e)
        e = simgpu_conf_apply(c, why, n);
    if (!e)
        e = simgpu_create(c, m->path, why, n);
    simgpu_conf_release(c);
    free(c);
    return e;
}

int sim_create_only(struct sim *m, char *why, size_t n, ...)
{
    va_list ap;
    memset(m, 0, sizeof *m);
    va_start(ap, n);
    int e = create(m, why, n, ap);
    va_end(ap);
    return e;
}

void sim_start(struct sim *m, ...)
{
    char why[512] = "";
    va_list ap;
    memset(m, 0, sizeof *m);
    va_start(ap, m);
    int e = create(m, why, sizeof why, ap);
    va_end(ap);
    if (e)
        fail_msg("%s", why);
    if (simgpu_open(&m->s, m->path, why, sizeof why))
        fail_msg("%s", why);
    m->t0 = m->s->h->start_ns;
    setenv(SIMGPU_ENV, m->path, 1);
}

void sim_stop(struct sim *m)
{
    sim_unload(m);
    simgpu_close(m->s);
    unlink(m->path);
    m->s = NULL;
}

void sim_load(struct sim *m, const char *file)
{
    char path[512];
    const char *build = getenv("JM_BUILD");
    snprintf(path, sizeof path, "%s/sim/gpu/%s", build ? build : ".", file);
    m->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!m->lib)
        fail_msg("%s", dlerror());
    while (((int (*)(void))sim_fn(m, "nvmlShutdown"))() == 0)
        ; /* what a test that failed has left */
    assert_int_equal(((int (*)(void))sim_fn(m, "nvmlInit_v2"))(), 0);
    for (unsigned i = 0; i < m->s->h->gpu_count; i++)
        if (((int (*)(unsigned, nvmlDevice_t *))sim_fn(m, "nvmlDeviceGetHandleByIndex_v2"))(i, &m->dev[i]))
            m->dev[i] = NULL;
}

void sim_unload(struct sim *m)
{
    if (!m->lib)
        return;
    assert_int_equal(((int (*)(void))sim_fn(m, "nvmlShutdown"))(), 0);
    dlclose(m->lib);
    m->lib = NULL;
}

void sim_at(struct sim *m, int64_t t)
{
    assert_int_equal(simgpu_advance_to(m->s, m->t0 + t), 0);
}

sim_any sim_fn(const struct sim *m, const char *name)
{
    void *p = dlsym(m->lib, name);
    sim_any fn;
    if (!p)
        fail_msg("%s is not there", name);
    memcpy(&fn, &p, sizeof fn);
    return fn;
}

int sim_u32(const struct sim *m, const char *name, int gpu, unsigned *out)
{
    return ((fn_dev_u)sim_fn(m, name))(m->dev[gpu], out);
}

int sim_energy(const struct sim *m, int gpu, unsigned long long *mj)
{
    return ((int (*)(nvmlDevice_t, unsigned long long *))sim_fn(m, "nvmlDeviceGetTotalEnergyConsumption"))(
        m->dev[gpu], mj);
}

int sim_field(const struct sim *m, int gpu, unsigned id, unsigned scope, nvmlFieldValue_t *out)
{
    memset(out, 0, sizeof *out);
    out->fieldId = id;
    out->scopeId = scope;
    return ((int (*)(nvmlDevice_t, int, nvmlFieldValue_t *))sim_fn(m, "nvmlDeviceGetFieldValues"))(
        m->dev[gpu], 1, out);
}
