/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/textlog.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

#include "base/banned.h"

int64_t jm_mlperf_utc_offset(int64_t real_ns)
{
    time_t t = (time_t)(real_ns / JM_NS_PER_S);
    struct tm tm;
    return localtime_r(&t, &tm) ? (int64_t)tm.tm_gmtoff : 0;
}

/* The names of Python's logging. */
static const char *level_name(enum jm_log_level level)
{
    switch (level) {
    case JM_LOG_DEBUG: return "DEBUG";
    case JM_LOG_INFO: return "INFO";
    case JM_LOG_WARN: return "WARNING";
    case JM_LOG_ERROR: break;
    }
    return "ERROR";
}

void jm_mlperf_textlog(struct jm_str *out, const char *who, int64_t real_ns, int64_t utc_offset_s,
                       enum jm_log_level level, struct jm_span text)
{
    int64_t s = real_ns / JM_NS_PER_S;
    struct jm_civil c = jm_time_civil(s + utc_offset_s);
    jm_str_addf(out, "%s %04d-%02d-%02d %02d:%02d:%02d,%03d [%s] ", who, c.year, c.month, c.day, c.hour,
                c.minute, c.second, (int)(real_ns % JM_NS_PER_S / JM_NS_PER_MS), level_name(level));
    for (size_t i = 0; i < text.n; i++)
        jm_str_addc(out, text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
    jm_str_addc(out, '\n');
}

void jm_mlperf_quote(struct jm_str *out, struct jm_span text)
{
    bool single = text.n && memchr(text.p, '\'', text.n) != NULL,
         both = single && memchr(text.p, '"', text.n) != NULL;
    char mark = single && !both ? '"' : '\'';
    jm_str_addc(out, mark);
    for (size_t i = 0; i < text.n;) {
        unsigned char c = (unsigned char)text.p[i];
        size_t n = jm_utf8_len(text.p + i, text.n - i);
        if (c == '\\' || c == (unsigned char)mark)
            jm_str_addf(out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            jm_str_adds(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if (c < ' ' || c == 0x7f)
            jm_str_addf(out, "\\x%02x", c);
        else if (n)
            jm_str_add(out, text.p + i, n);
        else
            jm_str_adds(out, "\xef\xbf\xbd");
        i += n ? n : 1;
    }
    jm_str_addc(out, mark);
}
