/* SPDX-License-Identifier: Apache-2.0 */
/* PTDaemon's log by its lines, fed whole and in pieces. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cut.h"
#include "wire/log_lines.h"
#include "wire/ptd_log.h"

static int note(void *self, const struct jm_ptd_message *m)
{
    if (m->analyzer < 1 || m->line < 1 || (m->inner && m->t_ns < 0) || (m->note && m->kind != JM_PTD_INFO))
        abort();
    jm_str_addf(self, "%lld %lld %lld %d%d%d%d%d ", (long long)m->t_ns, (long long)m->line_t_ns,
                (long long)m->line, m->analyzer, (int)m->kind, m->upper, m->inner, m->note);
    jm_str_addspan(self, m->text);
    return 0;
}

static int feed(const uint8_t *p, size_t n, size_t step, struct jm_str *out)
{
    struct jm_log_lines l;
    struct jm_log_line x;
    struct jm_ptd_log log;
    jm_ptd_log_init(&log);
    jm_log_lines_init(&l, 200);
    for (size_t at = 0; at < n; at += step) {
        struct jm_span in = {(const char *)p + at, n - at < step ? n - at : step};
        while (jm_log_lines_next(&l, &in, &x) == 1)
            jm_ptd_log_line(&log, x.text, x.number, note, out);
    }
    if (jm_log_lines_end(&l, &x) == 1)
        jm_ptd_log_line(&log, x.text, x.number, note, out);
    jm_log_lines_release(&l);
    return log.analyzers;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!n)
        return 0;
    struct cut c = cut(feed, p, n);
    if (!c.same || c.whole != c.pieces)
        abort();
    return 0;
}
