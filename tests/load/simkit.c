/* SPDX-License-Identifier: Apache-2.0 */
#include "simkit.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

extern char **environ;

static char program[1000];
static pid_t running; /* so that a failed test leaves no engine behind */

void simkit_start(struct simkit *e, ...)
{
    char line[512] = "";
    int out[2];
    if (running > 0) /* a test before this one failed */
        kill(running, SIGKILL);
    posix_spawn_file_actions_t fa;
    snprintf(e->truth, sizeof e->truth, "/tmp/jm-engine-%d.json", (int)getpid());
    char *argv[24] = {program,      (char *)"engine",  (char *)"--speed",
                      (char *)"40", (char *)"--truth", e->truth};
    size_t n = 6;
    va_list ap;
    va_start(ap, e);
    while (n < 23 && (argv[n] = va_arg(ap, char *)))
        n++;
    va_end(ap);
    assert_int_equal(pipe(out), 0);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, out[1], 1);
    posix_spawn_file_actions_addclose(&fa, out[0]);
    assert_int_equal(posix_spawn(&e->pid, program, &fa, NULL, argv, environ), 0);
    running = e->pid;
    posix_spawn_file_actions_destroy(&fa);
    close(out[1]);
    FILE *f = fdopen(out[0], "r");
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    char *u = strstr(line, "\"url\":\"");
    assert_non_null(u);
    snprintf(e->url, sizeof e->url, "%.*s", (int)strcspn(u + 7, "\""), u + 7);
}

void simkit_stop(struct simkit *e)
{
    int status;
    kill(e->pid, SIGTERM);
    waitpid(e->pid, &status, 0);
    running = 0;
}

static void keep(void *self, const struct jm_request *r, const struct jm_token_event *ev, size_t n,
                 struct jm_span p, struct jm_span o)
{
    struct simkit_book *b = self;
    (void)p, (void)o;
    if (b->n == 512)
        abort();
    b->r[b->n++] = *r;
    for (size_t i = 0; i < n; i++) {
        b->flags |= ev[i].flags;
        b->known += ev[i].tokens;
    }
}

static void put(void *self, const char *key, const char *value)
{
    struct simkit_book *b = self;
    size_t n = strlen(b->facts);
    snprintf(b->facts + n, sizeof b->facts - n, "%s=%s\n", key, value);
}

void simkit_run(const struct jm_load_cfg *cfg, struct simkit_book *b)
{
    struct jm_load_sink sink = {b, keep};
    struct jm_load *l = NULL;
    struct jm_load_live live;
    struct jm_err err;
    memset(b, 0, sizeof *b);
    if (jm_load_new(cfg, &sink, &l, &err) != 0)
        fail_msg("%s", err.text);
    if (jm_load_start(l, &err) != 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < 120000; i++) {
        jm_load_live(l, &live);
        if (live.finished >= cfg->max_requests)
            break;
        usleep(1000);
    }
    jm_load_drain(l, 30000 * MS);
    jm_load_facts(l, put, b);
    jm_load_free(l);
}

struct jm_load_cfg simkit_cfg(const struct simkit *e)
{
    return (struct jm_load_cfg){.url = e->url,
                                .concurrency = 4,
                                .isl = 100,
                                .osl = 24,
                                .ignore_eos = true,
                                .temperature = NAN,
                                .max_requests = 60,
                                .connect_ns = 60000 * MS,
                                .header_ns = 60000 * MS,
                                .stall_ns = 60000 * MS};
}

int simkit_main(const struct CMUnitTest *tests, size_t n)
{
    const char *build = getenv("JM_BUILD");
    snprintf(program, sizeof program, "%s/sim/joulemark-sim", build ? build : "build");
    if (access(program, X_OK) != 0)
        return 77;
    int rc = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
    if (running > 0)
        kill(running, SIGKILL);
    return rc;
}
