/* SPDX-License-Identifier: Apache-2.0 */
/* A meter on the simulated devices, in virtual time and against their exact energy. */
#ifndef TESTS_METER_SIMFIX_H
#define TESTS_METER_SIMFIX_H

#include "fix.h"

#include <stdio.h>
#include <stdlib.h>

#include "simgpu_conf.h"
#include "simgpu_truth.h"

struct sim {
    struct fix *f;
    struct simgpu *s;
    char lib[512], path[512];
};

/* lib: below sim/ of the build folder. Lines of the configuration, "key value" or "gpu N key value". */
static inline void start(struct sim *s, struct fix *f, const char *lib, const char *lines)
{
    char why[256] = "", copy[2048], *save = copy;
    struct simgpu_conf *c = malloc(sizeof *c);
    const char *build = getenv("JM_BUILD");
    *s = (struct sim){.f = f};
    assert_non_null(c);
    assert_int_equal(simgpu_conf_init(c), 0);
    snprintf(copy, sizeof copy, "virtual\nseed 7\n%s", lines);
    for (char *line; (line = strsep(&save, "\n"));)
        if (*line && simgpu_conf_line(c, line, "test", why, sizeof why))
            fail_msg("%s", why);
    if (simgpu_conf_apply(c, why, sizeof why))
        fail_msg("%s", why);
    snprintf(s->path, sizeof s->path, "%s/state", f->t.root);
    if (simgpu_create(c, s->path, why, sizeof why))
        fail_msg("%s", why);
    simgpu_conf_release(c);
    free(c);
    if (simgpu_open(&s->s, s->path, why, sizeof why))
        fail_msg("%s", why);
    setenv("JOULEMARK_SIM_GPU", s->path, 1);
    snprintf(s->lib, sizeof s->lib, "%s/sim/%s", build ? build : ".", lib);
    f->env.clock = jm_clock_virtual(&f->vc, (int64_t *)&s->s->h->now_ns);
    f->vc.real_offset = s->s->h->start_real_ns - s->s->h->start_ns;
}

static inline void stop(struct sim *s)
{
    if (s->f->m)
        s->f->m->ops->close(s->f->m);
    s->f->m = NULL;
    simgpu_close(s->s);
}

#endif
