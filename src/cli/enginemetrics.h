/* SPDX-License-Identifier: Apache-2.0 */
/* --engine-metrics: the engine's own telemetry beside what is measured. */
#ifndef JM_CLI_ENGINEMETRICS_H
#define JM_CLI_ENGINEMETRICS_H

#include "cli/session.h"
#include "load/load.h"

#define JM_OPT_ENGINE_METRICS(where, dflt)                                                                   \
    {                                                                                                        \
        "engine-metrics", 0, JM_OPT_LIST, where,                                                             \
            .arg = "URL",                                                                                    \
            .help = "The serving engine's own metrics: URL (give it again for each replica), auto or off.",  \
            .deflt = dflt                                                                                    \
    }

/* Before jm_recorder_start. given: the option's values; with none of them, the endpoint's usual places (ep
 * not NULL), or nothing. url, lc: of the endpoint. What cannot be had is a fact of the run, and said. */
int jm_session_engine(struct jm_session *s, const struct jm_opt_list *given, const char *url,
                      const struct jm_load_cfg *lc, const struct jm_endpoint *ep, struct jm_err *err);

#endif
