/* SPDX-License-Identifier: Apache-2.0 */
#include "load/listener.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "load/load.h"

#include "base/banned.h"

#define INODES     16
#define TABLE_SIZE ((size_t)64 << 20)

/* Programs that pass connections on: their process is not the engine. */
static const char *const forwarders[] = {"docker-proxy", "ssh",   "sshd",         "haproxy",     "nginx",
                                         "envoy",        "socat", "rootlessport", "slirp4netns", "pasta",
                                         "kubectl",      "caddy", "traefik"};

/* "%X" digits */
static bool hex_number(struct jm_span s, uint64_t *out)
{
    uint64_t v = 0;
    if (!s.n || s.n > 16)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        int d = c >= '0' && c <= '9'                     ? c - '0'
                : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                         : -1;
        if (d < 0)
            return false;
        v = v << 4 | (unsigned)d;
    }
    *out = v;
    return true;
}

static bool next_word(struct jm_span *rest, struct jm_span *word)
{
    *rest = jm_span_trim(*rest);
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
        n++;
    *word = jm_span_sub(*rest, 0, n);
    *rest = jm_span_sub(*rest, n, rest->n);
    return word->n > 0;
}

/* "  0: 00000000:1F90 00000000:0000 0A ... uid timeout inode": state 0A is LISTEN */
static void scan_table(struct jm_span text, int port, int64_t *inodes, size_t *n)
{
    struct jm_span line;
    while (jm_span_line(&text, &line)) {
        struct jm_span w, local = {0}, state = {0};
        uint64_t v;
        int64_t inode = -1;
        for (int k = 0; k < 10 && next_word(&line, &w); k++) {
            if (k == 1)
                local = w;
            else if (k == 3)
                state = w;
            else if (k == 9 && jm_num_i64(w, &inode) != 0)
                inode = -1;
        }
        ptrdiff_t colon = jm_span_chr(local, ':');
        if (colon < 0 || !jm_span_is(state, "0A") || inode <= 0 || *n == INODES ||
            !hex_number(jm_span_sub(local, (size_t)colon + 1, local.n), &v) || v != (uint64_t)port)
            continue;
        inodes[(*n)++] = inode;
    }
}

/* 1 found, 0 not, -1 no permission */
static int holds(const char *root, const char *pid, const int64_t *inodes, size_t n)
{
    char path[600], link[64], want[64];
    snprintf(path, sizeof path, "%s/%s/fd", root, pid);
    DIR *d = opendir(path);
    if (!d)
        return errno == EACCES || errno == EPERM ? -1 : 0;
    int found = 0;
    for (struct dirent *e; !found && (e = readdir(d));) {
        ssize_t len = readlinkat(dirfd(d), e->d_name, link, sizeof link - 1);
        if (len <= 0)
            continue;
        link[len] = '\0';
        for (size_t i = 0; i < n && !found; i++) {
            snprintf(want, sizeof want, "socket:[%lld]", (long long)inodes[i]);
            found = strcmp(link, want) == 0;
        }
    }
    closedir(d);
    return found;
}

static bool forwards(const char *root, int64_t pid, char *name, size_t n)
{
    char path[600];
    struct jm_str s;
    snprintf(path, sizeof path, "%s/%lld/comm", root, (long long)pid);
    jm_str_init(&s);
    bool yes = false;
    if (jm_file_read(path, 4096, &s, NULL) == 0) {
        struct jm_span comm = jm_span_trim(jm_str_span(&s));
        snprintf(name, n, "%.*s", (int)(comm.n < n - 1 ? comm.n : n - 1), comm.p);
        for (size_t i = 0; i < sizeof forwarders / sizeof *forwarders; i++)
            yes |= jm_span_is(comm, forwarders[i]);
    }
    jm_str_release(&s);
    return yes;
}

int64_t jm_listener_find(const char *root, int port, char *why, size_t n)
{
    static const char *const tables[] = {"net/tcp", "net/tcp6"};
    int64_t inodes[INODES], pid = -1;
    size_t found = 0;
    bool read_any = false;
    for (size_t i = 0; i < 2; i++) {
        char path[600];
        struct jm_str s;
        snprintf(path, sizeof path, "%s/%s", root, tables[i]);
        jm_str_init(&s);
        if (jm_file_read(path, TABLE_SIZE, &s, NULL) == 0) {
            read_any = true;
            scan_table(jm_str_span(&s), port, inodes, &found);
        }
        jm_str_release(&s);
    }
    if (!found) {
        snprintf(why, n,
                 read_any ? "no process of this network namespace listens on port %d (is it in a container?)"
                          : "the socket table of port %d cannot be read (%s/net/tcp)",
                 port, root);
        return -1;
    }
    DIR *d = opendir(root);
    if (!d) {
        snprintf(why, n, "%s cannot be read", root);
        return -1;
    }
    size_t denied = 0;
    for (struct dirent *e; pid < 0 && (e = readdir(d));) {
        int64_t v;
        if (jm_num_i64(jm_span_of(e->d_name), &v) != 0 || v <= 0)
            continue;
        int h = holds(root, e->d_name, inodes, found);
        if (h > 0)
            pid = v;
        denied += h < 0;
    }
    closedir(d);
    char name[32] = "";
    if (pid < 0 && denied)
        snprintf(
            why, n,
            "the listener of port %d belongs to another user: run as that user or with sudo (%zu processes "
            "could not be looked at)",
            port, denied);
    else if (pid < 0)
        snprintf(why, n,
                 "port %d has a listener, but no process of this machine holds it (another container?)",
                 port);
    else if (forwards(root, pid, name, sizeof name)) {
        snprintf(why, n,
                 "port %d is held by %s (process %lld), which passes connections on: give the engine's own "
                 "address",
                 port, name, (long long)pid);
        pid = -1;
    }
    return pid;
}

/* --- the processes of an engine
 * ----------------------------------------------------------------------------------- */
static int64_t parent_of(const char *root, const char *pid)
{
    char path[600];
    struct jm_str s;
    int64_t parent = -1;
    snprintf(path, sizeof path, "%s/%s/stat", root, pid);
    jm_str_init(&s);
    if (jm_file_read(path, 65536, &s, NULL) == 0) {
        /* "pid (name) state ppid ...": the name may hold blanks and brackets, the last ) ends it */
        struct jm_span rest = jm_str_span(&s), w;
        size_t close = rest.n;
        while (close && rest.p[close - 1] != ')')
            close--;
        rest = jm_span_sub(rest, close, rest.n);
        if (!(next_word(&rest, &w) && next_word(&rest, &w) && jm_num_i64(w, &parent) == 0))
            parent = -1;
    }
    jm_str_release(&s);
    return parent;
}

struct family {
    int64_t pid, parent;
    bool in;
};

size_t jm_load_process_tree(const char *root, int64_t pid, int64_t *out, size_t cap)
{
    struct family *all = NULL;
    size_t n = 0, room = 0, taken = 0;
    DIR *d = opendir(root ? root : "/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        int64_t v;
        if (jm_num_i64(jm_span_of(e->d_name), &v) != 0 || v <= 0)
            continue;
        if (n == room) {
            size_t more = room ? room * 2 : 256;
            struct family *p = realloc(all, more * sizeof *p);
            if (!p)
                break;
            all = p;
            room = more;
        }
        all[n++] = (struct family){v, parent_of(root ? root : "/proc", e->d_name), v == pid};
    }
    if (d)
        closedir(d);
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; !all[i].in && k < n; k++)
                if (all[k].in && all[i].parent == all[k].pid)
                    grew = all[i].in = true;
    }
    if (cap)
        out[taken++] = pid;
    for (size_t i = 0; i < n && taken < cap; i++)
        if (all[i].in && all[i].pid != pid)
            out[taken++] = all[i].pid;
    free(all);
    return taken;
}
