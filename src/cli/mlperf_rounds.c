/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mlperf_rounds.h"

#include <math.h>
#include <unistd.h>

#include "cli/signals.h"
#include "import/mlperf_round.h"
#include "show/fmt.h"

#include "base/banned.h"

void jm_mlperf_cli_init(struct jm_mlperf_cli *c)
{
    c->check = true;
}

static bool stopped(void *self)
{
    (void)self;
    return jm_signals_stop;
}

static void progress(void *self, const struct jm_mlperf_progress *p)
{
    struct jm_cli *cli = self;
    char a[JM_FMT], b[JM_FMT];
    if (p->walking)
        jm_term_progress(&cli->term, NAN, "looking: %s folders, %s sessions", jm_fmt_count(a, p->folders),
                         jm_fmt_count(b, p->sessions));
    else
        jm_term_progress(&cli->term, p->sessions ? (double)p->done / (double)p->sessions : NAN,
                         "%s of %s sessions, %.0f MB", jm_fmt_count(a, p->done), jm_fmt_count(b, p->sessions),
                         (double)p->bytes / 1e6);
}

int jm_mlperf_cli_read(struct jm_cli *cli, const struct jm_mlperf_cli *c, const char *const *dirs, size_t n,
                       struct jm_round_table *t, struct jm_err *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct jm_mlperf_rounds_opts o = {.jobs = c->jobs       ? (int)c->jobs
                                              : cores > 256 ? 256
                                              : cores > 0   ? (int)cores
                                                            : 1,
                                      .check = c->check,
                                      .reported = c->reported.item,
                                      .n_reported = c->reported.n,
                                      .filter = c->filter,
                                      .ops = {stopped, progress, cli}};
    struct jm_mlperf_round as;
    int rc = c->as_round ? jm_mlperf_round_named(c->as_round, &as, err) : 0;
    if (rc)
        return rc;
    if (c->as_round)
        o.as = &as;
    rc = jm_signals_catch(err);
    if (!rc)
        rc = jm_mlperf_rounds(dirs, n, &o, t, err);
    jm_term_progress_end(&cli->term);
    if (rc)
        return rc;
    if (t->interrupted) {
        jm_cli_say(cli, "interrupted: %zu of %lld sessions were read", t->n_row, (long long)t->sessions);
    } else if (!t->n_row && t->filtered) {
        return jm_err_set(err, JM_EABSENT,
                          "the filters leave none of the %lld results; without them show lists what there is",
                          (long long)t->filtered);
    } else if (!t->n_row) {
        return jm_err_set(err, JM_EABSENT,
                          "no MLPerf result with power lies below %s%s: %lld folders were looked into, %lld "
                          "sessions had no power%s%s",
                          dirs[0], n > 1 ? " and the others" : "", (long long)t->folders,
                          (long long)t->without_power, t->n_trouble ? "; not read: " : "",
                          t->n_trouble ? t->trouble[0].path : "");
    }
    if (t->n_trouble && !cli->common->quiet)
        jm_cli_say(cli, "%zu folders or files could not be read, the first: %s: %s", t->n_trouble,
                   t->trouble[0].path, t->trouble[0].why);
    return 0;
}
