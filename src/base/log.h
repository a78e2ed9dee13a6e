/* SPDX-License-Identifier: Apache-2.0 */
/* The library never prints: it hands messages to a callback, and says nothing without one. */
#ifndef JM_BASE_LOG_H
#define JM_BASE_LOG_H

enum jm_log_level { JM_LOG_DEBUG, JM_LOG_INFO, JM_LOG_WARN, JM_LOG_ERROR };

struct jm_log {
    void (*fn)(void *self, enum jm_log_level level, const char *room, const char *text);
    void *self;
    enum jm_log_level min;
};

/* log may be NULL. */
void jm_logf(const struct jm_log *log, enum jm_log_level level, const char *room, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
