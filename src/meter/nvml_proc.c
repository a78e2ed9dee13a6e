/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs a process and its children use. */
#include "meter/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "meter/sysfs.h"
#include "meter/text.h"
#include "base/banned.h"

#define MAX_PROCS 8192
#define FILL      0xA5

struct pids {
    int64_t *v;
    size_t n, cap;
};

static bool has(const struct pids *p, int64_t pid)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i] == pid)
            return true;
    return false;
}

static int put(struct pids *p, int64_t pid)
{
    if (has(p, pid))
        return 0;
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        int64_t *v = realloc(p->v, cap * sizeof *v);
        if (!v)
            return JM_ENOMEM;
        p->v = v;
        p->cap = cap;
    }
    p->v[p->n++] = pid;
    return 0;
}

static int64_t parent_of(const char *root, const char *pid)
{
    char path[JM_SYSFS_PATH], text[JM_SYSFS_TEXT];
    if (!jm_sysfs_path(path, root, "/proc", "%s/stat", pid) || jm_sysfs_text(path, text, sizeof text) <= 0)
        return -1;
    return jm_text_parent(jm_span_of(text));
}

struct family {
    int64_t pid, parent;
};

static int add_children(const char *root, struct pids *p)
{
    char dir[JM_SYSFS_PATH];
    struct jm_names names;
    if (!jm_sysfs_path(dir, root, "/proc", "%s", "") || jm_sysfs_dir(dir, "", &names))
        return 0; /* no /proc: the processes themselves still count */
    struct family *f = calloc(names.n + 1, sizeof *f);
    size_t n = 0;
    int rc = f ? 0 : JM_ENOMEM;
    for (size_t i = 0; i < names.n && f; i++)
        if (jm_num_i64(jm_span_of(names.v[i]), &f[n].pid) == 0) {
            f[n].parent = parent_of(root, names.v[i]);
            n++;
        }
    jm_names_release(&names);
    for (size_t before = p->n + 1; rc == 0 && before != p->n;) { /* until no generation adds one */
        before = p->n;
        for (size_t i = 0; i < n && rc == 0; i++)
            if (has(p, f[i].parent))
                rc = put(p, f[i].pid);
    }
    free(f);
    return rc;
}

size_t jm_nvml_proc_stride(const unsigned char *buf, size_t cap, unsigned n, size_t base, unsigned char fill)
{
    size_t end = cap;
    while (end > 0 && buf[end - 1] == fill)
        end--;
    return n > 0 && end > n * base ? 32 : base;
}

static int uses(int (*list)(jm_nvml_dev, unsigned *, void *), jm_nvml_dev dev, size_t base,
                const struct pids *p, bool *used)
{
    unsigned n = 0;
    if (!list)
        return JM_NVML_FUNCTION_NOT_FOUND;
    int ret = list(dev, &n, NULL); /* how many */
    if (ret != JM_NVML_OK && ret != JM_NVML_INSUFFICIENT_SIZE)
        return ret;
    for (int tries = 0; tries < 4; tries++) {
        unsigned room = n + 16; /* the list may have grown since */
        size_t cap = (size_t)room * 32;
        if (room > MAX_PROCS)
            return JM_NVML_INSUFFICIENT_SIZE;
        unsigned char *buf = malloc(cap);
        if (!buf)
            return JM_NVML_INSUFFICIENT_SIZE;
        memset(buf, FILL, cap);
        n = room;
        ret = list(dev, &n, buf);
        if (ret == JM_NVML_OK && n <= room) {
            size_t stride = jm_nvml_proc_stride(buf, cap, n, base, FILL);
            for (unsigned i = 0; i < n; i++) {
                uint32_t pid;
                memcpy(&pid, buf + i * stride, sizeof pid);
                *used = *used || has(p, pid);
            }
        }
        free(buf);
        if (ret != JM_NVML_INSUFFICIENT_SIZE)
            return ret;
    }
    return JM_NVML_INSUFFICIENT_SIZE;
}

int jm_nvml_find_process(struct jm_meter *m, const int64_t *pids, size_t n_pids, bool *device_used,
                         size_t n_devices)
{
    const struct jm_nvml_session *s = m->priv;
    struct pids p = {0};
    int rc = 0, found = 0;
    size_t device = 0, known = 0;
    for (size_t i = 0; i < n_pids && rc == 0; i++)
        rc = put(&p, pids[i]);
    if (rc == 0)
        rc = add_children(s->proc_root, &p);
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        const struct jm_nvml_gpu *g = &s->gpu[i];
        if (g->count == 0)
            continue; /* no channel: no device of this meter */
        bool used = false;
        if (g->ret == JM_NVML_OK && !g->lost) {
            bool old = !s->api.procs_compute;
            int a = uses(old ? s->api.procs_v1 : s->api.procs_compute, g->dev, old ? 16 : 24, &p, &used);
            int b = uses(s->api.procs_mps, g->dev, 24, &p, &used);
            int c = uses(s->api.procs_graphics, g->dev, 24, &p, &used);
            known += a == JM_NVML_OK || b == JM_NVML_OK || c == JM_NVML_OK;
        }
        if (device < n_devices)
            device_used[device] = used;
        device++;
        found += used;
    }
    free(p.v);
    if (rc)
        return rc;
    return known ? found : JM_EUNSUPPORTED;
}
