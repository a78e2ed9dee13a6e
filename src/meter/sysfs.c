/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/banned.h"

#define MAX_NAMES 4096

bool jm_sysfs_path(char out[JM_SYSFS_PATH], const char *root, const char *deflt, const char *fmt, ...)
{
    int n = snprintf(out, JM_SYSFS_PATH, "%s/", root ? root : deflt);
    if (n < 0 || n >= JM_SYSFS_PATH)
        return false;
    va_list ap;
    va_start(ap, fmt);
    int m = vsnprintf(out + n, (size_t)(JM_SYSFS_PATH - n), fmt, ap);
    va_end(ap);
    return m >= 0 && m < JM_SYSFS_PATH - n;
}

bool jm_sysfs_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int jm_sysfs_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static int whole(int fd, char *buf, size_t cap)
{
    ssize_t n;
    do
        n = pread(fd, buf, cap, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : (int)n;
}

int jm_sysfs_text(const char *path, char *buf, size_t cap)
{
    char raw[JM_SYSFS_TEXT];
    buf[0] = '\0';
    int fd = jm_sysfs_open(path);
    if (fd < 0)
        return fd;
    int n = whole(fd, raw, sizeof raw);
    close(fd);
    if (n < 0)
        return n;
    struct jm_span rest = {raw, (size_t)n}, line;
    if (!jm_span_line(&rest, &line))
        return 0;
    line = jm_span_trim(line);
    size_t len = 0;
    for (size_t i = 0; i < line.n && len + 1 < cap; i++)
        if ((unsigned char)line.p[i] >= ' ' && line.p[i] != 0x7f)
            buf[len++] = line.p[i];
    buf[len] = '\0';
    return (int)len;
}

int jm_sysfs_number(struct jm_span text, int64_t *out)
{
    struct jm_span rest = text, line;
    if (!jm_span_line(&rest, &line))
        return -ENODATA;
    int rc = jm_num_i64(jm_span_trim(line), out);
    return rc == 0 ? 0 : rc == JM_ERANGE ? -ERANGE : -EBADMSG;
}

int jm_sysfs_pread(int fd, int64_t *out)
{
    char raw[64];
    int n = whole(fd, raw, sizeof raw);
    if (n < 0)
        return n;
    return jm_sysfs_number((struct jm_span){raw, (size_t)n}, out);
}

int jm_sysfs_i64(const char *path, int64_t *out)
{
    int fd = jm_sysfs_open(path);
    if (fd < 0)
        return fd;
    int rc = jm_sysfs_pread(fd, out);
    close(fd);
    return rc;
}

/* Shared by the caller and its helper thread; whoever comes last frees it. */
struct timed {
    pthread_mutex_t lock;
    pthread_cond_t done_cond;
    char path[JM_SYSFS_PATH];
    int64_t value;
    int rc;
    bool done, abandoned;
};

static void timed_free(struct timed *t)
{
    pthread_cond_destroy(&t->done_cond);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void *timed_main(void *arg)
{
    struct timed *t = arg;
    int64_t v = 0;
    int rc = jm_sysfs_i64(t->path, &v);
    pthread_mutex_lock(&t->lock);
    t->value = v;
    t->rc = rc;
    t->done = true;
    bool last = t->abandoned;
    pthread_cond_signal(&t->done_cond);
    pthread_mutex_unlock(&t->lock);
    if (last)
        timed_free(t);
    return NULL;
}

int jm_sysfs_i64_timed(const char *path, int64_t limit_ns, int64_t *out)
{
    struct timed *t = calloc(1, sizeof *t);
    pthread_t th;
    if (!t)
        return -ENOMEM;
    snprintf(t->path, sizeof t->path, "%s", path);
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->done_cond, &attr);
    pthread_condattr_destroy(&attr);
    int rc = pthread_create(&th, NULL, timed_main, t);
    if (rc) {
        timed_free(t);
        return -rc;
    }
    pthread_detach(th);
    struct jm_clock sys = jm_clock_system();
    int64_t end = jm_clock_mono(&sys) + limit_ns;
    struct timespec ts = {.tv_sec = end / JM_NS_PER_S, .tv_nsec = end % JM_NS_PER_S};
    pthread_mutex_lock(&t->lock);
    int w = 0;
    while (!t->done && w != ETIMEDOUT)
        w = pthread_cond_timedwait(&t->done_cond, &t->lock, &ts);
    bool done = t->done;
    rc = done ? t->rc : -ETIMEDOUT;
    if (done && rc == 0)
        *out = t->value;
    t->abandoned = !done;
    pthread_mutex_unlock(&t->lock);
    if (done)
        timed_free(t);
    return rc;
}

bool jm_sysfs_list_each(struct jm_span text, void (*fn)(void *self, int v), void *self)
{
    struct jm_span rest = jm_span_trim(text), part;
    int count = 0;
    while (rest.n && jm_span_field(&rest, ',', &part)) {
        ptrdiff_t dash = jm_span_chr(part, '-');
        int64_t a, b;
        struct jm_span first = dash < 0 ? part : jm_span_sub(part, 0, (size_t)dash);
        if (jm_num_i64(first, &a) || a < 0 || a > INT32_MAX)
            return false;
        b = a;
        if (dash >= 0 && (jm_num_i64(jm_span_sub(part, (size_t)dash + 1, part.n), &b) || b < a))
            return false;
        for (int64_t v = a; v <= b; v++) {
            if (v > INT32_MAX || ++count > 65536)
                return false;
            fn(self, (int)v);
        }
    }
    return true;
}

static void keep_first(void *self, int v)
{
    int *first = self;
    if (*first < 0)
        *first = v;
}

int jm_sysfs_list_first(const char *path)
{
    char text[JM_SYSFS_TEXT];
    int first = -1, n = jm_sysfs_text(path, text, sizeof text);
    if (n > 0)
        jm_sysfs_list_each((struct jm_span){text, (size_t)n}, keep_first, &first);
    return first;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(a, b);
}

int jm_sysfs_dir(const char *path, const char *prefix, struct jm_names *out)
{
    *out = (struct jm_names){0};
    DIR *d = opendir(path);
    if (!d)
        return -errno;
    size_t cap = 0, plen = strlen(prefix);
    int rc = 0;
    for (struct dirent *e; (e = readdir(d)) && out->n < MAX_NAMES;) {
        if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, plen) != 0)
            continue;
        if (out->n == cap) {
            cap = cap ? 2 * cap : 16;
            void *v = realloc(out->v, cap * sizeof *out->v);
            if (!v) {
                rc = -ENOMEM;
                break;
            }
            out->v = v;
        }
        snprintf(out->v[out->n++], sizeof *out->v, "%s", e->d_name);
    }
    closedir(d);
    if (rc)
        jm_names_release(out);
    else if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_name);
    return rc;
}

void jm_names_release(struct jm_names *a)
{
    free(a->v);
    *a = (struct jm_names){0};
}

int jm_sysfs_package_rank(const char *root, int cpu)
{
    char dir[JM_SYSFS_PATH], path[JM_SYSFS_PATH];
    int64_t mine, other, seen[64];
    int rank = 0;
    struct jm_names names;
    if (cpu < 0 || !jm_sysfs_path(dir, root, "/sys", "devices/system/cpu") ||
        !jm_sysfs_path(path, dir, "", "cpu%d/topology/physical_package_id", cpu) ||
        jm_sysfs_i64(path, &mine) || jm_sysfs_dir(dir, "cpu", &names))
        return -1;
    for (size_t i = 0; i < names.n && rank < 64; i++) {
        int k = 0;
        if (!jm_sysfs_path(path, dir, "", "%s/topology/physical_package_id", names.v[i]) ||
            jm_sysfs_i64(path, &other) || other >= mine)
            continue;
        while (k < rank && seen[k] != other)
            k++;
        if (k == rank)
            seen[rank++] = other;
    }
    jm_names_release(&names);
    return rank;
}

int jm_sysfs_hex(const char *path, uint64_t *out)
{
    char text[32];
    int n = jm_sysfs_text(path, text, sizeof text);
    uint64_t v = 0;
    if (n < 0)
        return n;
    int i = n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;
    if (i == n || n - i > 16)
        return -EBADMSG;
    for (; i < n; i++) {
        int c = text[i], d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        d = c >= 'A' && c <= 'F' ? c - 'A' + 10 : d;
        if (d < 0)
            return -EBADMSG;
        v = v << 4 | (uint64_t)d;
    }
    *out = v;
    return 0;
}

static bool hex_file(const char *dir, const char *device, const char *file, uint64_t *out)
{
    char path[JM_SYSFS_PATH];
    return jm_sysfs_path(path, dir, "", "%s/%s", device, file) && jm_sysfs_hex(path, out) == 0;
}

bool jm_sysfs_pci_has(const char *sysfs_root, unsigned vendor, int base_class)
{
    char dir[JM_SYSFS_PATH];
    struct jm_names names;
    bool found = false;
    if (!jm_sysfs_path(dir, sysfs_root, "/sys", "bus/pci/devices") || jm_sysfs_dir(dir, "", &names))
        return false;
    for (size_t i = 0; i < names.n && !found; i++) {
        uint64_t v, class;
        found = hex_file(dir, names.v[i], "vendor", &v) && v == vendor &&
                (base_class < 0 ||
                 (hex_file(dir, names.v[i], "class", &class) && class >> 16 == (uint64_t)base_class));
    }
    jm_names_release(&names);
    return found;
}

enum jm_status jm_sysfs_status(int e)
{
    switch (-e) {
    case 0: return JM_S_OK;
    case EACCES:
    case EPERM: return JM_S_DENIED;
    case ENOENT: return JM_S_ABSENT;
    case ENODEV:
    case ENXIO: return JM_S_LOST;
    case EOPNOTSUPP:
    case ENOSYS: return JM_S_UNSUPPORTED;
    case EBADMSG:
    case ERANGE: return JM_S_IMPLAUSIBLE;
    default:
        return JM_S_GAP; /* EAGAIN, EIO, ENODATA, EINVAL, ETIMEDOUT: this read failed, the next may not */
    }
}

const char *jm_sysfs_why(int e, char buf[128])
{
    if (e == -EBADMSG)
        return "its text is no number";
    return strerror_r(-e, buf, 128);
}
