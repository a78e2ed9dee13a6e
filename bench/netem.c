/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check's client here, its server in another network namespace, so that a link with a known delay
 * lies between them. bench/netem makes both. Usage: bench-netem NAMESPACE ADDRESS DELAY_MS STREAMS [SECONDS
 * [LOG]], where LOG is what bench-relay wrote: then the truth is when the link handed each event on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/selfcheck.h"

#include "link.h"

enum { TOKENS = 100, EVENT_BYTES = 250 };

static int fail(const char *what)
{
    fprintf(stderr, "bench-netem: %s\n", what);
    return 4;
}

static int serve(const char *ns, const struct jm_selfmock_cfg *cfg, struct jm_selfmock_log *log)
{
    char path[256];
    struct jm_err err;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(path, sizeof path, "/run/netns/%s", ns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
        atomic_store(&log->port, -1);
        return fail(strerror(errno));
    }
    close(fd);
    return jm_selfmock_serve(cfg, log, &err) ? fail(err.text) : 0;
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

/* The link says when it handed on each event (the first time, where a lost one came again). Bytes can be read
 * only when all before them have come. An event that it did not see whole gets no truth. */
static void link_truth(void *self, struct jm_selfmock_log *log)
{
    struct link_log *link = self;
    size_t n = atomic_load(&link->n);
    qsort(link->e, n, sizeof link->e[0], by_time);
    for (size_t i = 0; i < atomic_load(&log->n) && i < log->cap; i++) {
        struct jm_selfmock_answer *a = jm_selfmock_at(log, i);
        int64_t readable = 0;
        for (int k = 0; k < log->tokens; k++) {
            struct jm_selfmock_event *e = &a->ev[k];
            size_t lo = 0, hi = n;
            while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                if (link->e[mid].sent < e->sent)
                    lo = mid + 1;
                else
                    hi = mid;
            }
            if (lo == n || link->e[lo].sent != e->sent) {
                e->seen = 0;
                readable = INT64_MAX; /* and nothing is known of those behind it */
                continue;
            }
            readable = link->e[lo].arrived > readable ? link->e[lo].arrived : readable;
            if (readable == INT64_MAX)
                e->seen = 0;
            e->sent = readable;
        }
    }
}

static void show(const struct jm_selfcheck_row *r)
{
    printf("%7d %9.0f %9.1f %9.1f %9.1f %9.1f %9.1f %7.1f%% %7" PRId64 "\n", r->streams, r->events_per_s,
           r->ttft.p50 * 1e3, r->ttft.p99 * 1e3, r->token.p50 * 1e3, r->token.p99 * 1e3,
           r->token_user.p99 * 1e3, r->events ? 100 * (double)r->shared / (double)r->events : 0, r->failed);
}

int main(int argc, char **argv)
{
    struct jm_err err;
    struct jm_selfcheck_row row;
    if (argc < 5)
        return fail("usage: bench-netem NAMESPACE ADDRESS DELAY_MS STREAMS [SECONDS]");
    int streams = (int)strtol(argv[4], NULL, 10), seconds = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 4;
    int64_t delay = (int64_t)(strtod(argv[3], NULL) * 1e6);
    struct jm_selfmock_cfg server = {.ttft_ns = 50 * JM_NS_PER_MS,
                                     .gap_ns = 10 * JM_NS_PER_MS,
                                     .tokens = TOKENS,
                                     .event_bytes = EVENT_BYTES,
                                     .address = argv[2]};
    struct jm_selfcheck_cfg client = {.host = argv[2],
                                      .streams = streams,
                                      .threads = 1,
                                      .warm_ns = JM_NS_PER_S,
                                      .measure_ns = seconds * JM_NS_PER_S,
                                      .delay_ns = delay};
    if (argc > 6) {
        client.truth_self = link_map(argv[6]);
        client.truth = client.truth_self ? link_truth : NULL;
        client.delay_ns = 0;
    }
    struct jm_selfmock_log *log = jm_selfmock_log_new((size_t)streams * (size_t)(seconds + 4), TOKENS, &err);
    if (!log)
        return fail(err.text);
    pid_t pid = fork();
    if (pid < 0)
        return fail(strerror(errno));
    if (pid == 0)
        _exit(serve(argv[1], &server, log));
    struct jm_clock clock = jm_clock_system();
    while (atomic_load(&log->port) == 0)
        jm_clock_sleep_until(&clock, jm_clock_mono(&clock) + JM_NS_PER_MS, NULL);
    int rc = atomic_load(&log->port) > 0 ? jm_selfcheck_run(&client, &server, log, &row, &err) : 4;
    atomic_store(&log->stop, true);
    waitpid(pid, NULL, 0);
    if (rc == 0)
        show(&row);
    jm_selfmock_log_free(log);
    return rc ? fail(rc == 4 ? "the server did not start" : err.text) : 0;
}
