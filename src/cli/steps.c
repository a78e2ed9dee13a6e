/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/steps.h"

#include "cli/signals.h"

#include "base/banned.h"

#define SLOWEST (5 * JM_NS_PER_S)

static int play(struct jm_session *s, const struct jm_step_plan *plan, const volatile bool *cancel,
                struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    struct jm_burner *b = NULL;
    int rc = jm_burner_new(&b, err);
    if (rc)
        return rc;
    struct jm_step_load load = jm_burner_load(b);
    rc = jm_step_play(s->rec, &clock, plan, &load, cancel, err);
    jm_burner_free(b);
    return rc;
}

int jm_cli_steps(struct jm_session *s, const struct jm_step_plan *plan, const struct jm_step_load *load,
                 struct jm_err *err)
{
    struct jm_clock clock = jm_clock_system();
    return load ? jm_step_play(s->rec, &clock, plan, load, &jm_signals_stop, err)
                : play(s, plan, &jm_signals_stop, err);
}

int jm_cli_sync_step(struct jm_session *s, int end, struct jm_err *err)
{
    int64_t slow = jm_recorder_slowest(s->rec);
    slow = slow < SLOWEST ? slow : SLOWEST;
    struct jm_step_plan plan = {.seed = (uint64_t)end + 1};
    if (slow > 200 * JM_NS_PER_MS) {
        plan.shortest = slow * 7 / 10;
        plan.longest = 2 * slow;
        plan.rest = 2 * JM_NS_PER_S + 2 * slow;
    }
    if (!s->cli->common->quiet)
        jm_cli_say(s->cli, "steps of load on every CPU, %.0f s at most, to find how late each meter is",
                   (double)jm_step_length(&plan) / 1e9);
    /* the first signal ends the recording, and not the steps that come after it */
    int rc = play(s, &plan, end ? NULL : &jm_signals_stop, err);
    return rc == JM_ESTATE && jm_signals_stop ? 0 : rc;
}
