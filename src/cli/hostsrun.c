/* SPDX-License-Identifier: Apache-2.0 */
/* One recording of several hosts: all are opened, then begin at one time, end at one time, and become one
 * run. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/child.h"
#include "cli/groups.h"
#include "cli/hosts_impl.h"
#include "cli/path.h"
#include "cli/signals.h"
#include "run/run.h"

#include "base/banned.h"

#define OPEN_NS  (90 * JM_NS_PER_S) /* ssh's connection and the opening of meters */
#define BEGIN_NS (30 * JM_NS_PER_S)
#define END_NS   (90 * JM_NS_PER_S) /* until the file begins to come */
#define STALL_NS (60 * JM_NS_PER_S) /* without a byte of it */
#define SOON_NS  (300 * JM_NS_PER_MS)
#define WORDS    24
#define TIMES    3
#define TIME_NS                                                                                              \
    (60 * JM_NS_PER_MS) /* for an answer; a slower one is good enough to be used, not waited for */
#define FAR_NS (400 * JM_NS_PER_MS) /* the difference that MLPerf Power allows */

/* The options that each recording gets: as words of ours, and quoted for a shell. */
struct passed {
    char *argv[WORDS];
    int n;
    struct jm_str quoted;
    char text[4][64];
};

static void word(struct passed *p, const char *w)
{
    if (p->n + 1 >= WORDS)
        return;
    p->argv[p->n++] = (char *)(uintptr_t)w;
    jm_str_adds(&p->quoted, " '");
    for (; *w; w++)
        if (*w == '\'')
            jm_str_adds(&p->quoted, "'\\''");
        else
            jm_str_addc(&p->quoted, *w);
    jm_str_addc(&p->quoted, '\'');
}

static void pass(struct passed *p, const struct jm_common *c, const struct jm_session_opts *s)
{
    int k = 0;
    p->n = 0;
    if (c->meters) {
        word(p, "--meters");
        word(p, c->meters);
    }
    if (c->devices) {
        word(p, "--devices");
        word(p, c->devices);
    }
    if (c->tdp_w > 0) {
        snprintf(p->text[k], sizeof p->text[0], "%.9g W", c->tdp_w);
        word(p, "--tdp");
        word(p, p->text[k++]);
    }
    if (s->sample_hz > 0) {
        snprintf(p->text[k], sizeof p->text[0], "%.9g Hz", s->sample_hz);
        word(p, "--sample-rate");
        word(p, p->text[k++]);
    }
    if (s->edge_ns > 0) {
        snprintf(p->text[k], sizeof p->text[0], "%.9gs", (double)s->edge_ns * 1e-9);
        word(p, "--edge");
        word(p, p->text[k++]);
    }
    if (s->no_edge)
        word(p, "--no-edge");
    if (s->sync_step)
        word(p, "--sync-step");
    if (s->tolerance > 0) {
        snprintf(p->text[k], sizeof p->text[0], "%.9g", s->tolerance);
        word(p, "--tolerance");
        word(p, p->text[k++]);
    }
    if (c->quiet)
        word(p, "--quiet");
}

static void start_local(struct jm_hosts *all, struct jm_host *h, const struct passed *p)
{
    static char self[] = "/proc/self/exe", name[] = "joulemark";
    char path[4096], *argv[WORDS + 12];
    int n = 0;
    ssize_t k = readlink(self, path, sizeof path - 1);
    (void)all;
    if (k <= 0) {
        jm_host_fail(h, "the program itself is not found: %s", strerror(errno));
        return;
    }
    path[k] = '\0';
    (void)name;
    argv[n++] = path;
    argv[n++] = (char *)(uintptr_t) "record";
    argv[n++] = (char *)(uintptr_t) "--serve";
    if (h->config[0] || all->cli->common->config) {
        argv[n++] = (char *)(uintptr_t) "--config";
        argv[n++] = h->config[0] ? h->config : (char *)(uintptr_t)all->cli->common->config;
    }
    if (h->meters[0]) {
        argv[n++] = (char *)(uintptr_t) "--meters";
        argv[n++] = h->meters;
    }
    for (int i = 0; i < p->n; i++)
        argv[n++] = p->argv[i];
    argv[n] = NULL;
    jm_host_start(h, "", "", argv);
}

/* OUT.hosts/NAME.jmr */
static int place(struct jm_hosts *all, const char *out, struct jm_err *err)
{
    struct jm_str dir;
    jm_str_init(&dir);
    int rc = jm_path_beside(out, ".hosts", &dir, err);
    for (size_t i = 0; !rc && i < all->n; i++) {
        jm_str_addf(&all->host[i].path, "%s/%s.jmr", dir.buf, all->host[i].name);
        rc = jm_str_ok(&all->host[i].path, "a file name", err);
    }
    if (!rc)
        rc = jm_file_mkparents(all->host[0].path.buf, err);
    jm_str_release(&dir);
    return rc;
}

/* Those that have not got so far by now have failed. */
static void too_late(struct jm_hosts *all, int state, const char *what, int64_t ns)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->host[i].state < state)
            jm_host_fail(&all->host[i], "%s within %d s", what, (int)(ns / JM_NS_PER_S));
}

/* Tells of those that failed since it was called last. */
static void say_failed(struct jm_hosts *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->host[i].state == JM_HOST_FAILED && !all->told[i]) {
            all->told[i] = true;
            jm_cli_say(all->cli, "%s: %s%s", all->host[i].name, all->host[i].why,
                       jm_hosts_count(all, 0) ? "; the others go on" : "");
        }
}

static void wait_for_end(struct jm_hosts *all, int64_t duration)
{
    struct jm_clock clock = jm_clock_system();
    int64_t end = duration ? all->began_mono + duration - SOON_NS : INT64_MAX; /* told in time */
    for (;;) {
        int64_t now = jm_clock_mono(&clock), next = now + 500 * JM_NS_PER_MS;
        char of[32] = "";
        if (jm_signals_stop || now >= end || !jm_hosts_count(all, JM_HOST_BEGUN))
            return;
        double done = now > all->began_mono ? (double)(now - all->began_mono) * 1e-9 : 0;
        if (duration)
            snprintf(of, sizeof of, " of %.0f", (double)duration * 1e-9);
        jm_term_progress(&all->cli->term, duration ? done / ((double)duration * 1e-9) : NAN,
                         "recording: %.0f%s s, %zu of %zu hosts", done, of,
                         jm_hosts_count(all, JM_HOST_BEGUN), all->n);
        /* none gets to the end by itself: this hears what they say, and who goes away */
        jm_hosts_hear(all, JM_HOST_FETCHING, next < end ? next : end, true);
        say_failed(all);
    }
}

static int64_t unix_now(struct jm_clock *clock, int64_t *mono)
{
    struct jm_clock_pair now;
    jm_clock_pair(clock, &now);
    *mono = now.mono0;
    return now.real;
}

static void fetch(struct jm_hosts *all)
{
    struct jm_clock clock = jm_clock_system();
    for (;;) {
        int64_t now = jm_clock_mono(&clock);
        jm_hosts_hear(all, JM_HOST_DONE, now + STALL_NS, false);
        bool more = false;
        for (size_t i = 0; i < all->n; i++) {
            struct jm_host *h = &all->host[i];
            if (h->state == JM_HOST_FETCHING && h->moved < now)
                jm_host_fail(h, "its run file stopped coming after %lld of %lld bytes", (long long)h->had,
                             (long long)h->bytes);
            more |= h->state == JM_HOST_FETCHING;
        }
        if (!more)
            return;
    }
}

/* How far their clocks are off, by the quickest of some answers. */
static void ask_times(struct jm_hosts *all)
{
    struct jm_clock clock = jm_clock_system();
    for (int i = 0; i < TIMES; i++) {
        int64_t now = jm_clock_mono(&clock);
        for (size_t k = 0; k < all->n; k++)
            jm_host_ask_time(&all->host[k], jm_clock_mono(&clock));
        jm_hosts_hear(all, JM_HOST_BEGUN, now + TIME_NS, true);
    }
    for (size_t k = 0; k < all->n; k++) {
        const struct jm_host *h = &all->host[k];
        int64_t off = h->offset < 0 ? -h->offset : h->offset;
        if (h->state == JM_HOST_READY && h->trip && off - h->trip / 2 > FAR_NS)
            jm_cli_say(all->cli,
                       "%s: its clock is %.3g s %s this host's: what joins the hosts is their clocks",
                       h->name, (double)off * 1e-9, h->offset > 0 ? "ahead of" : "behind");
    }
}

static int begin_all(struct jm_hosts *all, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int64_t mono;
    jm_hosts_hear(all, JM_HOST_READY, jm_clock_mono(&clock) + OPEN_NS, true);
    if (jm_signals_stop || jm_child_pending()) /* run has its signals for the command, blocked so far */
        return jm_err_set(err, JM_ESTATE, "stopped before the recording began");
    too_late(all, JM_HOST_READY, "it was not ready", OPEN_NS);
    say_failed(all);
    if (!jm_hosts_count(all, JM_HOST_READY))
        return jm_err_set(err, JM_ENET, "none of the hosts could be recorded");
    for (size_t i = 0; i < all->n; i++)
        if (all->host[i].state == JM_HOST_READY && all->host[i].channels == 0)
            jm_cli_say(all->cli, "%s: no meter can be read there; \"joulemark meters\" on it says why",
                       all->host[i].name);
    ask_times(all);
    all->begun = unix_now(&clock, &mono) + SOON_NS;
    all->began_mono = mono + SOON_NS;
    jm_hosts_say(all, JM_HOST_READY, "begin %lld\n", (long long)all->begun);
    jm_hosts_hear(all, JM_HOST_BEGUN, jm_clock_mono(&clock) + BEGIN_NS, false);
    too_late(all, JM_HOST_BEGUN, "it did not begin", BEGIN_NS);
    say_failed(all);
    if (!jm_hosts_count(all, JM_HOST_BEGUN))
        return jm_err_set(err, JM_ENET, "none of the hosts could be recorded");
    return 0;
}

static int end_all(struct jm_hosts *all, int64_t duration, struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int64_t mono, end = unix_now(&clock, &mono) + SOON_NS;
    if (duration && !jm_signals_stop && jm_hosts_count(all, JM_HOST_BEGUN))
        end = all->begun + duration;
    jm_hosts_say(all, JM_HOST_BEGUN, "end %lld\n", (long long)end);
    jm_hosts_hear(all, JM_HOST_FETCHING, jm_clock_mono(&clock) + END_NS, false);
    too_late(all, JM_HOST_FETCHING, "it did not end its recording", END_NS);
    fetch(all);
    say_failed(all);
    if (!jm_hosts_count(all, JM_HOST_DONE))
        return jm_err_set(err, JM_ENET, "no host gave a recording");
    return 0;
}

static int record_all(struct jm_hosts *all, int64_t duration, struct jm_err *err)
{
    int rc = begin_all(all, err);
    if (rc)
        return rc;
    if (!all->cli->common->quiet)
        jm_cli_say(all->cli, "recording on %zu of %zu hosts until %s", jm_hosts_count(all, JM_HOST_BEGUN),
                   all->n, duration ? "the time is up" : "stopped (Ctrl-C)");
    wait_for_end(all, duration);
    jm_term_progress_end(&all->cli->term);
    return end_all(all, duration, err);
}

/* own: a recording of ours that comes first, with the load; NULL: none. */
static int join(struct jm_hosts *all, const struct jm_hosts_opts *o, const char *label, const char *own,
                const char *out, struct jm_err *err)
{
    const char *path[JM_HOSTS + 1], *name[JM_HOSTS + 1];
    struct jm_run_clock seen[JM_HOSTS + 1];
    struct jm_run_missing missing[JM_HOSTS];
    struct jm_run_merge_opts m = {.label = label,
                                  .tolerance_s = NAN,
                                  .overwrite = true, /* what was there was asked about before */
                                  .common = !own,
                                  .name = name,
                                  .clock = seen,
                                  .missing = missing};
    struct jm_groups *g = NULL;
    size_t n = 0;
    int rc = jm_groups_read(&o->group, &o->role, &g, err);
    if (own) {
        name[n] = "local";
        seen[n] = (struct jm_run_clock){0, 0}; /* all others are held against it */
        path[n++] = own;
    }
    for (size_t i = 0; i < all->n; i++) {
        struct jm_host *h = &all->host[i];
        if (h->state == JM_HOST_DONE) {
            name[n] = h->name;
            double off = fabs((double)h->offset) * 1e-9, half = (double)h->trip * 0.5e-9;
            seen[n] = (struct jm_run_clock){h->trip ? fmax(0, off - half) : NAN, h->trip ? off + half : NAN};
            path[n++] = h->path.buf;
        } else {
            missing[m.n_missing++] = (struct jm_run_missing){h->name, h->why};
        }
    }
    if (!rc) {
        m.group = g->group;
        m.n_group = g->n;
        rc = jm_run_merge(path, n, out, &m, err);
    }
    if (rc)
        jm_err_prefix(err, "the recordings are kept beside %s.hosts and can be merged by \"joulemark merge\"",
                      out);
    jm_groups_free(g);
    return rc;
}

static int refuse(const struct jm_hosts *all, const struct jm_hosts_opts *o, struct jm_err *err)
{
    const struct jm_common *c = all->cli->common;
    struct jm_groups *g = NULL;
    if (c->replay || c->yokogawa || c->ptd)
        return jm_err_set(err, JM_EUSAGE,
                          "--%s would be read by every host: give it to one of them, by the configuration "
                          "that config=FILE names behind it in a file of --hosts",
                          c->replay     ? "replay"
                          : c->yokogawa ? "yokogawa"
                                        : "ptd");
    if (o->ssh && strlen(o->ssh) > 480)
        return jm_err_set(err, JM_EUSAGE, "--ssh is too long");
    int rc = jm_groups_read(&o->group, &o->role, &g, err); /* now, not after an hour of recording */
    jm_groups_free(g);
    return rc;
}

static int name_run(const char *verb, const struct jm_session_opts *o, struct jm_str *path,
                    struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    int64_t mono;
    if (o->output)
        jm_str_adds(path, o->output);
    else if (jm_session_default_path(verb, unix_now(&clock, &mono), path, err))
        return JM_ENOMEM;
    int rc = jm_str_ok(path, "a file name", err);
    if (!rc && !o->force && access(path->buf, F_OK) == 0)
        rc = jm_err_set(err, JM_ECONFLICT, "%s is there already; --force writes over it", path->buf);
    return rc ? rc : jm_file_mkparents(path->buf, err);
}

/* Understands, and starts all but, where ours is one of its own, this host. */
static int open_all(struct jm_hosts *all, const struct jm_hosts_opts *o,
                    const struct jm_session_opts *session, const char *out, bool *local, struct jm_err *err)
{
    struct passed p = {.n = 0};
    size_t n = 0;
    int rc = jm_hosts_parse(all, o->hosts, err);
    if (!rc)
        rc = refuse(all, o, err);
    for (size_t i = 0; !rc && local && i < all->n; i++) {
        if (all->host[i].target[0])
            all->host[n++] = all->host[i];
        else
            *local = true;
    }
    if (!rc && local && !(all->n = n))
        rc =
            jm_err_set(err, JM_EUSAGE, "--hosts names no other host than this one, which is recorded anyway");
    if (!rc)
        rc = place(all, out, err);
    if (rc)
        return rc;
    jm_str_init(&p.quoted);
    pass(&p, all->cli->common, session);
    rc = jm_str_ok(&p.quoted, "the options", err);
    for (size_t i = 0; !rc && i < all->n; i++) {
        if (all->host[i].target[0])
            jm_host_start(&all->host[i], o->ssh ? o->ssh : "ssh", p.quoted.buf, NULL);
        else
            start_local(all, &all->host[i], &p);
    }
    jm_str_release(&p.quoted);
    return rc;
}

static struct jm_hosts *new_hosts(struct jm_cli *cli, struct jm_err *err)
{
    struct jm_hosts *all = calloc(1, sizeof *all);
    if (!all)
        jm_err_set(err, JM_ENOMEM, "out of memory for the hosts");
    else
        all->cli = cli;
    return all;
}

static void free_hosts(struct jm_hosts *all)
{
    if (all)
        jm_hosts_end(all);
    free(all);
}

int jm_hosts_asked(const struct jm_hosts_opts *o, struct jm_err *err)
{
    if (o->hosts)
        return 1;
    return o->group.n || o->role.n || o->ssh
               ? jm_err_set(err, JM_EUSAGE, "--group, --role and --ssh belong to --hosts")
               : 0;
}

int jm_hosts_record(struct jm_cli *cli, const struct jm_hosts_opts *o, const struct jm_session_opts *session,
                    int64_t duration, struct jm_str *path, struct jm_err *err)
{
    struct jm_hosts *all = new_hosts(cli, err);
    int rc = all ? name_run("record", session, path, err) : JM_ENOMEM;
    if (!rc)
        rc = open_all(all, o, session, path->buf, NULL, err);
    if (!rc)
        rc = record_all(all, duration, err);
    if (!rc)
        rc = join(all, o, session->label, NULL, path->buf, err);
    free_hosts(all);
    return rc;
}

int jm_hosts_around(struct jm_cli *cli, const struct jm_hosts_opts *o, const struct jm_session_opts *session,
                    const char *verb, jm_hosts_own *own, void *arg, struct jm_session *s, struct jm_err *err)
{
    struct jm_session_opts mine = *session;
    struct jm_hosts *all = new_hosts(cli, err);
    struct jm_str out, beside;
    bool local = false;
    jm_str_init(&out);
    jm_str_init(&beside);
    int rc = all ? name_run(verb, session, &out, err) : JM_ENOMEM;
    if (!rc)
        rc = open_all(all, o, session, out.buf, &local, err);
    if (!rc)
        rc = jm_path_beside(out.buf, ".hosts/load.jmr", &beside, err);
    if (!rc)
        rc = begin_all(all, err);
    if (!rc) {
        if (!local) /* what this host draws is no part of the system */
            cli->common->meters = "null";
        mine.output = beside.buf;
        mine.force = true;
        rc = own(arg, &mine, s, err);
    }
    if (!rc)
        rc = end_all(all, 0, err);
    if (!rc)
        rc = join(all, o, session->label, beside.buf, out.buf, err);
    if (!rc) {
        jm_str_reset(&s->path);
        jm_str_adds(&s->path, out.buf);
        s->metered = true; /* by the hosts; what they lack is a finding */
        rc = jm_str_ok(&s->path, "a file name", err);
    }
    free_hosts(all);
    jm_str_release(&out);
    jm_str_release(&beside);
    return rc;
}
