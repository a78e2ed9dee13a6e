/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program under torture: the call that JM_FAIL names ("alloc:17", "write:3", "read:2",
 * "open:5", "dlopen:1", "fsync:1"; "alloc:17+" for that one and all that follow) fails. JM_FAIL_COUNT names a
 * file that gets the number of calls of the kind at the end. Only calls after main() began count, and never
 * those on file descriptor 2, by which a failure is told. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

static char kind[16];
static long at = -1;
static bool onwards, armed;
static atomic_long count;

static bool fails(const char *which)
{
    if (!armed || strcmp(kind, which) != 0)
        return false;
    long n = atomic_fetch_add(&count, 1) + 1;
    return at > 0 && (onwards ? n >= at : n == at);
}

static void report(void)
{
    char text[32];
    const char *path = getenv("JM_FAIL_COUNT");
    armed = false;
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    int n = snprintf(text, sizeof text, "%ld\n", (long)count);
    if (write(fd, text, (size_t)n) != n)
        _exit(99);
    close(fd);
}

__attribute__((constructor)) static void begin(void)
{
    const char *what = getenv("JM_FAIL"), *colon = what ? strchr(what, ':') : NULL;
    if (!colon || (size_t)(colon - what) >= sizeof kind)
        return;
    memcpy(kind, what, (size_t)(colon - what));
    char *end;
    at = strtol(colon + 1, &end, 10);
    onwards = *end == '+';
    unsetenv("LD_PRELOAD"); /* children are their own matter */
    atexit(report);
    armed = true;
}

void *malloc(size_t n)
{
    if (!fails("alloc"))
        return __libc_malloc(n);
    errno = ENOMEM;
    return NULL;
}

void *calloc(size_t n, size_t size)
{
    if (!fails("alloc"))
        return __libc_calloc(n, size);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *p, size_t n)
{
    if (!fails("alloc"))
        return __libc_realloc(p, n);
    errno = ENOMEM;
    return NULL;
}

#define REAL(ret, name, ...)                                                                                 \
    static ret (*real_##name)(__VA_ARGS__);                                                                  \
    if (!real_##name)                                                                                        \
        *(void **)&real_##name = dlsym(RTLD_NEXT, #name);

ssize_t write(int fd, const void *p, size_t n)
{
    REAL(ssize_t, write, int, const void *, size_t)
    if (fd != 2 && fails("write")) {
        errno = ENOSPC;
        return -1;
    }
    return real_write(fd, p, n);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t off)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off_t)
    if (fails("write")) {
        errno = ENOSPC;
        return -1;
    }
    return real_pwrite64(fd, p, n, off);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t off)
{
    return pwrite64(fd, p, n, off);
}

ssize_t read(int fd, void *p, size_t n)
{
    REAL(ssize_t, read, int, void *, size_t)
    if (fails("read")) {
        errno = EIO;
        return -1;
    }
    return real_read(fd, p, n);
}

ssize_t pread64(int fd, void *p, size_t n, off_t off)
{
    REAL(ssize_t, pread64, int, void *, size_t, off_t)
    if (fails("read")) {
        errno = EIO;
        return -1;
    }
    return real_pread64(fd, p, n, off);
}

ssize_t pread(int fd, void *p, size_t n, off_t off)
{
    return pread64(fd, p, n, off);
}

int open64(const char *path, int flags, ...)
{
    REAL(int, open64, const char *, int, ...)
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list ap;
        va_start(ap, flags);
        mode = va_arg(ap, mode_t);
        va_end(ap);
    }
    if (fails("open")) {
        errno = EMFILE;
        return -1;
    }
    return real_open64(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list ap;
        va_start(ap, flags);
        mode = va_arg(ap, mode_t);
        va_end(ap);
    }
    return open64(path, flags, mode);
}

int fsync(int fd)
{
    REAL(int, fsync, int)
    if (fails("fsync")) {
        errno = EIO;
        return -1;
    }
    return real_fsync(fd);
}

int fdatasync(int fd)
{
    REAL(int, fdatasync, int)
    if (fails("fsync")) {
        errno = EIO;
        return -1;
    }
    return real_fdatasync(fd);
}

void *dlopen(const char *path, int flags)
{
    REAL(void *, dlopen, const char *, int)
    return fails("dlopen") ? NULL : real_dlopen(path, flags);
}
