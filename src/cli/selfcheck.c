/* SPDX-License-Identifier: Apache-2.0 */
/* Server and client are children, each on a CPU of its own where there are two: CPU time and memory of the
 * one are not counted with the other, and a row begins with a fresh heap. */
#include "cli/selfcheck.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "base/clock.h"
#include "cli/signals.h"
#include "load/selfcheck.h"

#include "base/banned.h"

enum {
    ROWS_MOST = 32,
    STREAMS_MOST = 65000,
    TOKENS = 100,
    EVENT_BYTES = 250,
    SPARE_FDS = 128,
    PEM_BYTES = 4096
};
#define TTFT_NS   (50 * JM_NS_PER_MS)
#define FAST_NS   (10 * JM_NS_PER_MS) /* between tokens */
#define SLOW_NS   (50 * JM_NS_PER_MS)
#define FAST_MOST 2000 /* streams with the short gap: 200,000 events/s */
#define WARM_NS   JM_NS_PER_S
#define MEASURE   (4 * JM_NS_PER_S)
#define DEFAULT   "1,100,1000,4000"

struct check {
    struct jm_cli *cli;
    const struct jm_selfcheck_opts *o;
    int cpu[2]; /* of the client and of the server, -1: anywhere */
    const struct jm_tls_ops *tls;
    struct jm_tls_ctx *cert;
    char ca_file[64];
    struct jm_selfcheck_row *row; /* shared with the client */
    double base_kib;              /* memory of one stream and all that is there once */
};

/* --- children
 * ----------------------------------------------------------------------------------------------------- */
static void choose_cpus(struct check *c)
{
    cpu_set_t set;
    int found = 0;
    c->cpu[0] = c->cpu[1] = -1;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int i = CPU_SETSIZE - 1; i >= 0 && found < 2; i--) /* the first CPU has most of the interrupts */
        if (CPU_ISSET(i, &set))
            c->cpu[found++] = i;
    if (found < 2)
        c->cpu[0] = c->cpu[1] = -1;
}

static void begin_child(int cpu)
{
    cpu_set_t set;
    struct rlimit lim;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* the parent ends it */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    if (cpu >= 0) {
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
        lim.rlim_cur = lim.rlim_max;
        setrlimit(RLIMIT_NOFILE, &lim);
    }
}

static pid_t fork_server(struct check *c, const struct jm_selfmock_cfg *cfg, struct jm_selfmock_log *log)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct jm_err err;
        begin_child(c->cpu[1]);
        int rc = jm_selfmock_serve(cfg, log, &err);
        if (rc)
            snprintf(log->why, sizeof log->why, "%.190s", err.text);
        _exit(rc ? 1 : 0);
    }
    return pid;
}

static pid_t fork_client(struct check *c, const struct jm_selfcheck_cfg *cfg,
                         const struct jm_selfmock_cfg *server, struct jm_selfmock_log *log)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct jm_err err;
        begin_child(c->o->threads > 1 ? -1 : c->cpu[0]);
        int rc = jm_selfcheck_run(cfg, server, log, c->row, &err);
        if (rc)
            snprintf(c->row->error, sizeof c->row->error, "%.250s", err.text);
        _exit(rc ? 1 : 0);
    }
    return pid;
}

/* Waits for a child; false when the user stopped, or after the limit. *status as of waitpid. */
static bool wait_child(struct check *c, pid_t pid, int64_t limit_ns, const char *what, double from, double to,
                       int *status)
{
    struct jm_clock clock = jm_clock_system();
    int64_t begin = jm_clock_mono(&clock), now = begin;
    *status = -1;
    while (now - begin < limit_ns) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return true;
        if (what)
            jm_term_progress(&c->cli->term,
                             from + (to - from) * fmin(1, (double)(now - begin) / (double)limit_ns), "%s",
                             what);
        if (jm_signals_sleep_until(now + 20 * JM_NS_PER_MS))
            break;
        now = jm_clock_mono(&clock);
    }
    kill(pid, SIGKILL);
    waitpid(pid, status, 0);
    return false;
}

static bool listening(struct jm_selfmock_log *log)
{
    struct jm_clock clock = jm_clock_system();
    int64_t until = jm_clock_mono(&clock) + 5 * JM_NS_PER_S;
    while (atomic_load(&log->port) == 0 && jm_clock_mono(&clock) < until)
        jm_clock_sleep_until(&clock, jm_clock_mono(&clock) + JM_NS_PER_MS, NULL);
    return atomic_load(&log->port) > 0;
}

/* --- one row
 * ------------------------------------------------------------------------------------------------------ */
static int one(struct check *c, int streams, int tokens, int64_t warm, int64_t measure, const char *what,
               double from, double to, struct jm_err *err)
{
    struct jm_selfmock_cfg server = {.ttft_ns = TTFT_NS,
                                     .gap_ns = streams <= FAST_MOST ? FAST_NS : SLOW_NS,
                                     .tokens = tokens,
                                     .event_bytes = EVENT_BYTES,
                                     .cert = c->cert,
                                     .tls = c->tls};
    int64_t length = server.ttft_ns + (tokens - 1) * server.gap_ns;
    struct jm_selfcheck_cfg client = {.ca_file = c->cert ? c->ca_file : NULL,
                                      .transport = c->o->curl ? "curl" : "plain",
                                      .streams = streams,
                                      .threads = c->o->threads ? (int)c->o->threads : 1,
                                      .warm_ns = warm,
                                      .measure_ns = measure};
    size_t answers = (size_t)streams * ((size_t)((warm + measure) / length) + 2) + 8;
    struct jm_selfmock_log *log = jm_selfmock_log_new(answers, tokens, err);
    int status = 0, rc = 0;
    if (!log)
        return JM_ENOMEM;
    *c->row = (struct jm_selfcheck_row){.streams = streams};
    pid_t s = fork_server(c, &server, log);
    if (s < 0) {
        rc = jm_err_sys(err, errno, "the self-check's server cannot be started");
        jm_selfmock_log_free(log);
        return rc;
    }
    if (!listening(log)) {
        rc = jm_err_set(err, JM_EIO, "the self-check's server did not start: %s",
                        log->why[0] ? log->why : "no reason given");
    } else {
        pid_t p = fork_client(c, &client, &server, log);
        if (p < 0)
            rc = jm_err_sys(err, errno, "the self-check's client cannot be started");
        else if (!wait_child(c, p, warm + measure + length + 60 * JM_NS_PER_S, what, from, to, &status))
            rc = jm_signals_stop
                     ? jm_err_set(err, JM_ESTATE, "stopped by a signal")
                     : jm_err_set(err, JM_ETIMEOUT, "the self-check with %d streams did not end", streams);
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            rc = jm_err_set(err, JM_EIO, "the self-check with %d streams failed: %s", streams,
                            c->row->error[0] ? c->row->error : "its process ended early");
    }
    atomic_store(&log->stop, true);
    wait_child(c, s, 3 * JM_NS_PER_S, NULL, 0, 0, &status);
    jm_selfmock_log_free(log);
    return rc;
}

/* Memory of one stream alone, which is mostly what is there once; so that a row can say what a stream costs.
 */
static int baseline(struct check *c, struct jm_err *err)
{
    int rc = one(c, 1, 10, TTFT_NS, 10 * FAST_NS, "memory of one stream", 0, 0.02, err);
    c->base_kib = rc == 0 ? c->row->rss_kib : NAN;
    return rc;
}

static double kib_per_stream(const struct check *c, const struct jm_selfcheck_row *r)
{
    return r->streams > 1 ? (r->rss_kib - c->base_kib) / (r->streams - 1) : r->rss_kib;
}

static const char *verdict(const struct jm_selfcheck_row *r)
{
    return r->events_per_s == 0                   ? "failed"
           : r->client_limited && r->mock_limited ? "client-limited, mock-limited"
           : r->client_limited                    ? "client-limited"
           : r->mock_limited                      ? "mock-limited"
           : !(r->kernel_stamps >= 0.99)          ? "user-stamps"
           : r->failed                            ? "requests failed"
                                                  : "ok";
}

/* --- output
 * ------------------------------------------------------------------------------------------------------- */
static void us(struct jm_str *out, size_t to, double ms)
{
    char text[32];
    double v = ms * 1e3;
    if (isnan(v))
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, fabs(v) < 99.95 ? "%.1f" : "%.0f", v);
    size_t n = strlen(text), line = 0;
    for (size_t i = out->len; i > 0 && out->buf[i - 1] != '\n'; i--)
        line++;
    for (; line + n < to; line++)
        jm_str_addc(out, ' ');
    if (line + n > to)
        jm_str_addc(out, ' ');
    jm_str_adds(out, text);
}

static void text_row(const struct check *c, const struct jm_selfcheck_row *r, struct jm_str *out)
{
    const char *v = verdict(r);
    bool good = strcmp(v, "ok") == 0, color = c->cli->term.out_color;
    jm_str_addf(out, "%7d %9.0f", r->streams, r->events_per_s);
    us(out, 24, r->ttft.p50);
    us(out, 32, r->ttft.p99);
    us(out, 39, r->token.p50);
    us(out, 47, r->token.p99);
    us(out, 56, r->token_user.p99);
    jm_str_addf(out, " %5.1f%%", r->events ? 100 * (double)r->shared / (double)r->events : 0.0);
    us(out, 70, r->cpu_us_per_event / 1e3);
    us(out, 77, kib_per_stream(c, r) / 1e3);
    jm_str_addf(out, " %s%s%s\n", color ? (good ? "\033[32m" : "\033[33m") : "", good ? "ok" : "*",
                color ? "\033[0m" : "");
}

static void notes(const struct jm_selfcheck_row *r, struct jm_str *out)
{
    char text[600] = "";
    const char *v = verdict(r);
    if (r->client_limited)
        snprintf(text, sizeof text,
                 "%d streams: client-limited: this side was too busy or read too late (%.0f %% of a core), "
                 "so the run "
                 "would say so; its kernel stamps are those of the columns.",
                 r->streams, 100 * r->cpu);
    else if (r->error[0])
        snprintf(text, sizeof text, "%d streams: %s: %s", r->streams, v, r->error);
    if (text[0])
        jm_str_wrap(out, jm_span_of(text), 2, 80);
    text[0] = '\0';
    if (r->mock_limited)
        snprintf(text, sizeof text,
                 "%d streams: mock-limited: the built-in server itself sent up to %.3g ms behind its "
                 "schedule (p99%s), so "
                 "fewer events came than planned; the errors are against its real send times.",
                 r->streams, r->mock_late_p99_ms, r->mock_blocked > 0 ? ", and its socket was full" : "");
    else if (!(r->kernel_stamps >= 0.99) && r->events_per_s > 0)
        snprintf(text, sizeof text, "%d streams: user-stamps: this kernel stamped only %.0f %% of the reads.",
                 r->streams, 100 * r->kernel_stamps);
    if (text[0])
        jm_str_wrap(out, jm_span_of(text), 2, 80);
}

static void head(const struct check *c, struct jm_str *out)
{
    struct utsname u;
    double load[1];
    bool color = c->cli->term.out_color;
    char where[64] = "Client and server share one CPU", text[512];
    if (c->cpu[0] >= 0)
        snprintf(where, sizeof where, "Client on CPU %d, server on CPU %d", c->cpu[0], c->cpu[1]);
    if (uname(&u) != 0)
        snprintf(u.release, sizeof u.release, "?");
    if (getloadavg(load, 1) != 1)
        load[0] = NAN;
    jm_str_addf(out, "%sSelf-check of the load generator%s\n", color ? "\033[1m" : "",
                color ? "\033[0m" : "");
    snprintf(text, sizeof text,
             "%s%s, events of %d bytes, TTFT %d ms, a token every %d ms (above %d streams: %d ms). %s, Linux "
             "%.40s, load "
             "average %.2f.",
             c->cert ? "https" : "http", c->o->curl ? " by libcurl" : "", EVENT_BYTES,
             (int)(TTFT_NS / JM_NS_PER_MS), (int)(FAST_NS / JM_NS_PER_MS), FAST_MOST,
             (int)(SLOW_NS / JM_NS_PER_MS), where, u.release, load[0]);
    jm_str_wrap(out, jm_span_of(text), 0, 80);
    jm_str_adds(out, "\n                TTFT error us  token error us  by read  shared    CPU    RAM\n");
    jm_str_adds(out, "streams  events/s  p50     p99    p50     p99  us, p99   reads  us/ev    KiB\n");
}

static void write_text(const struct check *c, const struct jm_selfcheck_row *row, size_t n,
                       struct jm_str *out)
{
    head(c, out);
    for (size_t i = 0; i < n; i++)
        text_row(c, &row[i], out);
    size_t before = out->len;
    jm_str_addc(out, '\n');
    for (size_t i = 0; i < n; i++)
        notes(&row[i], out);
    if (out->len > before + 1)
        jm_str_addc(out, '\n');
    jm_str_wrap(
        out,
        JM_SPAN(
            "Errors are this client's stamps (the kernel's) minus the server's send times; of TTFT, as "
            "measured minus as served. \"By read\" is the same by the time at which a program would see the "
            "bytes. Events that shared a read have one stamp for all of them and are left out. RAM is growth "
            "a "
            "stream over that of one; a single stream's holds all that is there once."),
        0, 80);
}

static void json_errors(struct jm_jsonw *w, const char *name, const struct jm_selfcheck_errors *e, bool more)
{
    char key[64];
    snprintf(key, sizeof key, "%s_p50_ms", name);
    jm_jsonw_knum(w, key, e->p50);
    snprintf(key, sizeof key, "%s_p99_ms", name);
    jm_jsonw_knum(w, key, e->p99);
    if (more) {
        snprintf(key, sizeof key, "%s_p999_ms", name);
        jm_jsonw_knum(w, key, e->p999);
    }
}

static void write_json(const struct check *c, const struct jm_selfcheck_row *row, size_t n,
                       struct jm_str *out)
{
    struct jm_jsonw w;
    jm_jsonw_init(&w, out, 0);
    jm_jsonw_object(&w);
    jm_jsonw_key(&w, "streams");
    jm_jsonw_array(&w);
    for (size_t i = 0; i < n; i++) {
        const struct jm_selfcheck_row *r = &row[i];
        bool ran = r->events_per_s > 0;
        jm_jsonw_object(&w);
        jm_jsonw_ki64(&w, "n", r->streams);
        jm_jsonw_knum(&w, "events_per_s", ran ? r->events_per_s : NAN);
        json_errors(&w, "ttft_error", &r->ttft, false);
        json_errors(&w, "token_error", &r->token, true);
        jm_jsonw_knum(&w, "cpu_us_per_event", ran ? r->cpu_us_per_event : NAN);
        jm_jsonw_knum(&w, "rss_kib_per_stream", ran ? kib_per_stream(c, r) : NAN);
        jm_jsonw_kstr(&w, "verdict", verdict(r));
        json_errors(&w, "user_ttft_error", &r->ttft_user, false);
        json_errors(&w, "user_token_error", &r->token_user, false);
        json_errors(&w, "gap_error", &r->gap, false);
        json_errors(&w, "shared_token_error", &r->token_shared, false);
        jm_jsonw_ki64(&w, "events", r->events);
        jm_jsonw_ki64(&w, "events_shared", r->shared);
        jm_jsonw_knum(&w, "cpu", ran ? r->cpu : NAN);
        jm_jsonw_knum(&w, "kernel_stamps", r->kernel_stamps);
        jm_jsonw_knum(&w, "mock_late_p99_ms", ran ? r->mock_late_p99_ms : NAN);
        jm_jsonw_ki64(&w, "failed", r->failed);
        if (r->error[0])
            jm_jsonw_kstr(&w, "error", r->error);
        jm_jsonw_end(&w);
    }
    jm_jsonw_end(&w);
    jm_jsonw_kbool(&w, "tls", c->cert != NULL);
    jm_jsonw_kstr(&w, "transport", c->o->curl ? "curl" : "plain");
    jm_jsonw_key(&w, "cpus");
    jm_jsonw_object(&w);
    jm_jsonw_ki64(&w, "client", c->cpu[0]);
    jm_jsonw_ki64(&w, "server", c->cpu[1]);
    jm_jsonw_end(&w);
    jm_jsonw_knum(&w, "rss_kib_of_one", c->base_kib);
    jm_jsonw_end(&w);
    jm_str_addc(out, '\n');
}

/* --- the command
 * -------------------------------------------------------------------------------------------------- */
static int parse_streams(const char *list, int n[ROWS_MOST], size_t *count, struct jm_err *err)
{
    struct jm_span rest = jm_span_of(list), item;
    *count = 0;
    while (jm_span_field(&rest, ',', &item)) {
        int64_t v;
        if (jm_num_i64(jm_span_trim(item), &v) != 0 || v < 1 || v > STREAMS_MOST)
            return jm_err_set(err, JM_EUSAGE,
                              "--streams takes numbers from 1 to %d, like %s: \"%.*s\" is none", STREAMS_MOST,
                              DEFAULT, (int)(item.n < 40 ? item.n : 40), item.p);
        if (*count == ROWS_MOST)
            return jm_err_set(err, JM_EUSAGE, "--streams takes at most %d numbers", ROWS_MOST);
        n[(*count)++] = (int)v;
    }
    return *count ? 0 : jm_err_set(err, JM_EUSAGE, "--streams takes numbers, like %s", DEFAULT);
}

static int start_tls(struct check *c, struct jm_err *err)
{
    char pem[PEM_BYTES], why[JM_TLS_WHY];
    int rc = jm_tls_load(&c->tls, err);
    if (rc)
        return rc;
    if (!(c->cert = c->tls->server_new("127.0.0.1", pem, sizeof pem, why)))
        return jm_err_set(err, JM_ETLS, "%s", why);
    int fd = memfd_create("joulemark-selfcheck", 0); /* the client verifies it, as it would any server's */
    if (fd < 0 || write(fd, pem, strlen(pem)) != (ssize_t)strlen(pem))
        return jm_err_sys(err, errno, "the self-check's certificate cannot be kept");
    snprintf(c->ca_file, sizeof c->ca_file, "/proc/self/fd/%d", fd);
    return 0;
}

static bool enough_files(struct jm_selfcheck_row *r)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) != 0 || lim.rlim_max == RLIM_INFINITY ||
        lim.rlim_max >= (rlim_t)r->streams + SPARE_FDS)
        return true;
    snprintf(r->error, sizeof r->error,
             "%d connections need more open files than the limit of %llu allows: run \"ulimit -n %d\" before",
             r->streams, (unsigned long long)lim.rlim_max, r->streams + SPARE_FDS);
    return false;
}

static int rows(struct check *c, const int *n, size_t count, struct jm_selfcheck_row *row, bool *failed,
                struct jm_err *err)
{
    char what[64];
    int64_t measure = c->o->measure ? c->o->measure : MEASURE;
    int rc = baseline(c, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        row[i] = (struct jm_selfcheck_row){.streams = n[i]};
        snprintf(what, sizeof what, "self-check: %d stream%s", n[i], n[i] == 1 ? "" : "s");
        if (enough_files(&row[i])) {
            struct jm_err why;
            rc = one(c, n[i], TOKENS, measure < WARM_NS ? measure : WARM_NS, measure, what,
                     (double)i / (double)count, (double)(i + 1) / (double)count, &why);
            row[i] = *c->row;
            if (rc == JM_ESTATE) {
                *err = why;
            } else if (rc) {
                row[i] = (struct jm_selfcheck_row){.streams = n[i]};
                snprintf(row[i].error, sizeof row[i].error, "%.250s", why.text);
                rc = 0;
            }
        }
        *failed |= row[i].events_per_s == 0 || row[i].failed;
    }
    jm_term_progress_end(&c->cli->term);
    return rc;
}

int jm_selfcheck(struct jm_cli *cli, const struct jm_selfcheck_opts *o, struct jm_err *err)
{
    struct check c = {.cli = cli, .o = o};
    struct jm_selfcheck_row row[ROWS_MOST];
    struct jm_str out;
    int n[ROWS_MOST];
    size_t count;
    bool failed = false;
    int rc = parse_streams(o->streams ? o->streams : DEFAULT, n, &count, err);
    if (rc)
        return rc;
    c.row = mmap(NULL, sizeof *c.row, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c.row == MAP_FAILED)
        return jm_err_sys(err, errno, "no shared memory for the self-check");
    choose_cpus(&c);
    if (o->tls)
        rc = start_tls(&c, err);
    if (rc == 0)
        rc = rows(&c, n, count, row, &failed, err);
    if (rc == 0) {
        jm_str_init(&out);
        if (cli->common->json)
            write_json(&c, row, count, &out);
        else
            write_text(&c, row, count, &out);
        rc = jm_str_ok(&out, "the self-check's figures", err);
        if (rc == 0)
            jm_cli_out(cli, jm_str_span(&out));
        jm_str_release(&out);
    }
    if (c.cert)
        c.tls->ctx_free(c.cert);
    munmap(c.row, sizeof *c.row);
    return rc ? rc : failed ? JM_EXIT_SYSTEM : JM_EXIT_OK;
}
