/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static void to_stderr(void *self, enum jm_log_level level, const char *room, const char *text)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    static const char *const colors[] = {"\033[2m", "", "\033[33m", "\033[31m"};
    struct jm_term *t = self;
    char line[1200];
    const char *on = t->err_color ? colors[level] : "", *off = on[0] ? "\033[0m" : "";
    char plain[1024];
    snprintf(plain, sizeof plain, "%s", text);
    jm_text_plain(plain, strlen(plain), true); /* servers and files speak in it too */
    snprintf(line, sizeof line, "%sjoulemark %s: %s: %s%s", on, room, names[level], plain, off);
    jm_term_say(t, line);
}

int jm_cli_log_init(struct jm_log *log, struct jm_term *t, const struct jm_common *c, struct jm_err *err)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    const char *env = getenv("JM_LOG");
    *log = (struct jm_log){to_stderr, t, JM_LOG_WARN};
    if (env && env[0]) {
        int level = -1;
        for (int i = 0; i < 4; i++)
            if (jm_span_is(jm_span_of(env), names[i]))
                level = i;
        if (level < 0)
            return jm_err_set(err, JM_EUSAGE, "JM_LOG: \"%.40s\" is not one of debug, info, warn, error",
                              env);
        log->min = (enum jm_log_level)level;
    }
    if (c && c->verbose && log->min > JM_LOG_INFO)
        log->min = JM_LOG_INFO;
    if (c && c->quiet)
        log->min = JM_LOG_ERROR;
    return 0;
}
