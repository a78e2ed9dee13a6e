/* SPDX-License-Identifier: Apache-2.0 */
/* What --hosts asks for: names, or a file of them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "cli/hosts.h"

#include "base/banned.h"

#define FILE_LIMIT (1u << 20)

/* [user@]host or an alias of ssh's configuration; never an option. */
static bool plain(struct jm_span s, const char *more)
{
    if (!s.n || s.p[0] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && !strchr(more, s.p[i]))
            return false;
    return true;
}

static int name_it(struct jm_hosts *all, struct jm_host *h, struct jm_span name, struct jm_err *err)
{
    ptrdiff_t at = jm_span_chr(name, '@');
    if (at >= 0)
        name = jm_span_sub(name, (size_t)at + 1, name.n);
    snprintf(h->name, sizeof h->name, "%.*s", (int)(name.n < 90 ? name.n : 90), name.p);
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->host[i].name, h->name) == 0)
            return jm_err_set(err, JM_EUSAGE, "--hosts names %s twice", h->name);
    return 0;
}

static int add(struct jm_hosts *all, struct jm_span word, struct jm_err *err)
{
    struct jm_span target = word;
    int64_t port = 0;
    ptrdiff_t colon = jm_span_chr(word, ':');
    if (all->n == JM_HOSTS)
        return jm_err_set(err, JM_EUSAGE, "--hosts names more than %d hosts", JM_HOSTS);
    struct jm_host *h = &all->host[all->n];
    *h = (struct jm_host){.pid = -1, .in = -1, .out = -1, .err = -1, .file = -1, .joulemark = "joulemark"};
    jm_str_init(&h->path);
    if (jm_span_is(word, "local")) {
        all->n++;
        snprintf(h->name, sizeof h->name, "local");
        return 0;
    }
    if (colon >= 0 && jm_span_chr(jm_span_sub(word, (size_t)colon + 1, word.n), ':') < 0) {
        target = jm_span_sub(word, 0, (size_t)colon);
        if (jm_num_i64(jm_span_sub(word, (size_t)colon + 1, word.n), &port) || port < 1 || port > 65535)
            return jm_err_set(err, JM_EUSAGE, "--hosts: %.*s has no port behind the colon", (int)word.n,
                              word.p);
        snprintf(h->port, sizeof h->port, "%d", (int)port);
    }
    if (!plain(target, "._-@%+:") || target.n >= sizeof h->target)
        return jm_err_set(err, JM_EUSAGE, "--hosts takes names as ssh does, [user@]host[:port], not \"%.*s\"",
                          (int)(word.n < 80 ? word.n : 80), word.p);
    snprintf(h->target, sizeof h->target, "%.*s", (int)target.n, target.p);
    int rc = name_it(all, h, target, err);
    all->n += !rc;
    return rc;
}

/* joulemark=PATH config=FILE meters=LIST name=NAME behind a host in a file. */
static int detail(struct jm_host *h, struct jm_span word, struct jm_err *err)
{
    const struct {
        const char *key;
        char *to;
        size_t room;
    } known[] = {{"joulemark=", h->joulemark, sizeof h->joulemark},
                 {"config=", h->config, sizeof h->config},
                 {"meters=", h->meters, sizeof h->meters},
                 {"name=", h->name, sizeof h->name}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].key);
        if (!jm_span_starts(word, jm_span_of(known[i].key)))
            continue;
        struct jm_span v = jm_span_sub(word, n, word.n);
        if (!plain(v, i == 3 ? "._-" : "._-/,:+~=@%") || v.n >= known[i].room)
            return jm_err_set(err, JM_EUSAGE, "%s of the host %s cannot be \"%.*s\"", known[i].key, h->name,
                              (int)(v.n < 80 ? v.n : 80), v.p);
        snprintf(known[i].to, known[i].room, "%.*s", (int)v.n, v.p);
        return 0;
    }
    return jm_err_set(err, JM_EUSAGE,
                      "behind a host may stand joulemark=PATH, config=FILE, meters=LIST and name=NAME, not "
                      "\"%.*s\"",
                      (int)(word.n < 80 ? word.n : 80), word.p);
}

static int line_of(struct jm_hosts *all, struct jm_span line, struct jm_err *err)
{
    bool first = true;
    int rc = 0;
    ptrdiff_t hash = jm_span_chr(line, '#');
    line = jm_span_trim(hash >= 0 ? jm_span_sub(line, 0, (size_t)hash) : line);
    while (!rc && line.n) {
        size_t n = 0;
        while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t')
            n++;
        struct jm_span word = jm_span_sub(line, 0, n);
        line = jm_span_trim(jm_span_sub(line, n, line.n));
        rc = first ? add(all, word, err) : detail(&all->host[all->n - 1], word, err);
        first = false;
    }
    return rc;
}

int jm_hosts_parse(struct jm_hosts *all, const char *text, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(text), one;
    struct jm_str s;
    int rc = 0, no = 0;
    all->n = 0;
    if (access(text, F_OK) != 0) {
        while (!rc && jm_span_field(&rest, ',', &one))
            rc = add(all, jm_span_trim(one), err);
    } else {
        jm_str_init(&s);
        rc = jm_file_read(text, FILE_LIMIT, &s, err);
        rest = jm_str_span(&s);
        while (!rc && jm_span_line(&rest, &one)) {
            no++;
            if ((rc = line_of(all, one, err)))
                jm_err_prefix(err, "%s:%d", text, no);
        }
        jm_str_release(&s);
    }
    for (size_t i = 0; !rc && i < all->n; i++)
        for (size_t k = 0; !rc && k < i; k++)
            if (strcmp(all->host[i].name, all->host[k].name) == 0)
                rc = jm_err_set(err, JM_EUSAGE, "--hosts names %s twice", all->host[i].name);
    if (!rc && !all->n)
        rc = jm_err_set(err, JM_EUSAGE, "--hosts names no host");
    return rc;
}
