/* SPDX-License-Identifier: Apache-2.0 */
#include "import/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

#define GIVE_BACK (4u << 20)
#define COUNTED   (64u << 20)

static const struct {
    const char *magic;
    size_t n;
    const char *what;
} strangers[] = {
    {"\xff\xfe", 2, "UTF-16 text; save it as UTF-8"},
    {"\xfe\xff", 2, "UTF-16 text; save it as UTF-8"},
    {"{\0", 2, "UTF-16 text; save it as UTF-8"},
    {"[\0", 2, "UTF-16 text; save it as UTF-8"},
    {"\0{", 2, "UTF-16 text; save it as UTF-8"},
    {"\0[", 2, "UTF-16 text; save it as UTF-8"},
    {"\x1f\x8b", 2, "compressed with gzip; unpack it first (gunzip)"},
    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd; unpack it first (unzstd)"},
    {"PK\x03\x04", 4, "a zip archive; unpack it first (unzip)"},
    {"\xfd"
     "7zXZ",
     5, "compressed with xz; unpack it first (unxz)"},
    {"PAR1", 4, "a Parquet file; export it as JSON or CSV"},
};

static int look(struct jm_ifile *f, struct jm_err *err)
{
    if (!f->all.n)
        return jm_err_set(err, JM_EPARSE, "%s is empty", f->path);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        if (f->all.n >= strangers[i].n && memcmp(f->all.p, strangers[i].magic, strangers[i].n) == 0)
            return jm_err_set(err, JM_EPARSE, "%s is %s", f->path, strangers[i].what);
    f->text = f->all;
    if (jm_span_starts(f->text, JM_SPAN("\xef\xbb\xbf")))
        f->text = jm_span_sub(f->text, 3, f->text.n);
    return 0;
}

static int map(struct jm_ifile *f, size_t n, struct jm_err *err)
{
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return jm_err_sys(err, errno, "cannot open %s", f->path);
    void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    int e = errno;
    close(fd);
    if (p == MAP_FAILED)
        return jm_err_sys(err, e, "cannot map %s", f->path);
    f->map = p;
    f->all = (struct jm_span){p, n};
    madvise(p, n, MADV_SEQUENTIAL);
    return 0;
}

int jm_ifile_open(const char *path, struct jm_ifile *f, struct jm_err *err)
{
    struct stat st;
    int rc;
    *f = (struct jm_ifile){.path = path};
    jm_str_init(&f->own);
    if (stat(path, &st))
        return jm_err_sys(err, errno, "cannot open %s", path);
    if (!S_ISREG(st.st_mode)) /* it is read twice: to know it, and to import it */
        return jm_err_set(err, JM_EPARSE, "%s is no regular file", path);
    if (st.st_size > (off_t)JM_IFILE_READ_MAX) {
        rc = map(f, (size_t)st.st_size, err);
    } else {
        rc = jm_file_read(path, JM_IFILE_READ_MAX, &f->own, err);
        f->all = jm_str_span(&f->own);
    }
    f->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (!rc)
        rc = look(f, err);
    if (rc)
        jm_ifile_close(f);
    return rc;
}

void jm_ifile_close(struct jm_ifile *f)
{
    if (f->map)
        munmap(f->map, f->all.n);
    f->map = NULL;
    jm_str_release(&f->own);
    f->all = f->text = (struct jm_span){NULL, 0};
}

int jm_ifile_form(const char *path, int (*form)(struct jm_span text), int *kind, struct jm_err *err)
{
    struct jm_ifile f;
    int rc = jm_ifile_open(path, &f, err);
    if (rc)
        return rc;
    *kind = form(f.text);
    jm_ifile_close(&f);
    return 0;
}

void jm_ifile_used(const struct jm_ifile *f, const char *p, size_t *mark)
{
    size_t at = (size_t)(p - f->all.p);
    if (!f->map || at < *mark + GIVE_BACK)
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from = *mark / page * page, to = at / page * page;
    if (to > from)
        madvise((char *)f->map + from, to - from, MADV_DONTNEED);
    *mark = to;
}

const char *jm_ifile_where(const struct jm_ifile *f, const char *p, char buf[64])
{
    size_t at = (size_t)(p - f->all.p), lines = 1;
    if (at > COUNTED) {
        snprintf(buf, 64, "byte %zu", at);
        return buf;
    }
    for (const char *q = f->all.p; q < p && (q = memchr(q, '\n', (size_t)(p - q))); q++)
        lines++;
    snprintf(buf, 64, "line %zu (byte %zu)", lines, at);
    return buf;
}

const char *jm_ifile_name(const struct jm_ifile *f)
{
    const char *slash = strrchr(f->path, '/');
    return slash ? slash + 1 : f->path;
}
