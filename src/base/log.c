/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

void jm_logf(const struct jm_log *log, enum jm_log_level level, const char *room, const char *fmt, ...)
{
    if (!log || !log->fn || level < log->min)
        return;
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log->fn(log->self, level, room, text);
}
