/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/procs.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"

#include "base/banned.h"

struct proc {
    int64_t pid, parent;
};

/* "PID (name) S PPID ...": the name may hold blanks and parentheses, so the last one counts. */
static bool parent_of(const char *root, int64_t pid, int64_t *parent)
{
    char path[512];
    struct jm_str text;
    struct jm_span rest, field;
    bool ok = false;
    jm_str_init(&text);
    snprintf(path, sizeof path, "%s/%lld/stat", root, (long long)pid);
    if (jm_file_read(path, 8192, &text, NULL) == 0) {
        const char *p = strrchr(text.buf, ')');
        rest = jm_span_of(p && p[1] == ' ' ? p + 2 : NULL);
        ok = jm_span_field(&rest, ' ', &field) && jm_span_field(&rest, ' ', &field) &&
             jm_num_i64(field, parent) == 0;
    }
    jm_str_release(&text);
    return ok;
}

size_t jm_procs_below(const char *proc_root, int64_t pid, int64_t *out, size_t max)
{
    const char *root = proc_root ? proc_root : "/proc";
    struct proc *all = NULL;
    size_t n_all = 0, cap = 0, n = 0;
    DIR *d = opendir(root);
    if (max)
        out[n++] = pid;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct proc p;
        if (jm_num_i64(jm_span_of(e->d_name), &p.pid) || !parent_of(root, p.pid, &p.parent))
            continue;
        if (n_all == cap) {
            cap = cap ? 2 * cap : 256;
            struct proc *more = realloc(all, cap * sizeof *more);
            if (!more)
                break;
            all = more;
        }
        all[n_all++] = p;
    }
    if (d)
        closedir(d);
    for (size_t i = 0; i < n; i++) /* children of each one found, in turn */
        for (size_t k = 0; k < n_all && n < max; k++)
            if (all[k].parent == out[i] && all[k].pid != out[i])
                out[n++] = all[k].pid;
    free(all);
    return n;
}
