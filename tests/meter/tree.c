/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

struct tree tree_new(void)
{
    struct tree t;
    const char *tmp = getenv("TMPDIR");
    snprintf(t.root, sizeof t.root, "%s/jm-meter-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    must(mkdtemp(t.root) != NULL, "mkdtemp");
    must(chmod(t.root, 0755) == 0, "chmod");
    return t;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

void tree_free(struct tree *t)
{
    nftw(t->root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

void tree_put(const struct tree *t, const char *path, const char *fmt, ...)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", t->root, path);
    for (char *p = full + strlen(t->root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    must(f != NULL, full);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fputc('\n', f);
    must(fclose(f) == 0, full);
}

void tree_mode(const struct tree *t, const char *path, unsigned mode)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", t->root, path);
    must(chmod(full, mode) == 0, full);
}

void tree_rm(const struct tree *t, const char *path)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", t->root, path);
    must(unlink(full) == 0, full);
}

void as_nobody(void (*fn)(void *), void *arg)
{
    uid_t was = geteuid();
    if (was == 0)
        must(seteuid(65534) == 0, "seteuid");
    fn(arg);
    if (was == 0)
        must(seteuid(was) == 0, "seteuid");
}
