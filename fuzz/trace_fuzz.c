/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of any format: the file is read twice through, then by number from its end. The first byte chooses
 * what is done with it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "load/plan.h"
#include "load/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(const char *path, const struct jm_trace_opts *o)
{
    struct jm_trace *t = NULL, *d = NULL;
    struct jm_trace_row r;
    struct jm_err err;
    if (jm_trace_open(path, o, &t, &err) != 0)
        return;
    const struct jm_trace_facts *f = jm_trace_facts(t);
    if (f->rows < 1 || f->most_isl > 100000000 ||
        (o->oversize == JM_OVERSIZE_CLIP && f->most_isl > o->most_tokens))
        abort();
    int64_t last = INT64_MIN;
    for (int64_t k = 0; k < f->rows && k < 64; k++) {
        if (jm_trace_at(t, k, &r, &err) != 0)
            abort();
        if (r.t >= 0 && (r.t < last || r.t < f->first))
            abort();
        last = r.t >= 0 ? r.t : last;
        for (size_t i = 0; i < r.turns; i++)
            for (size_t c = 0; c < r.turn[i].text.n; c++)
                last += r.turn[i].text.p[c] == 0 ? 0 : 0; /* every byte can be read */
    }
    if (jm_trace_dup(t, &d, &err) == 0)
        for (int64_t k = f->rows - 1; k >= 0 && k > f->rows - 8; k--)
            if (jm_trace_at(d, k, &r, &err) != 0)
                abort();
    jm_trace_free(d);
    jm_trace_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jm_trace_opts o = {.most_tokens = -1, .default_osl = -1, .line_most = 1 << 16};
    char path[64];
    if (size < 1)
        return 0;
    int fd = memfd_create("trace", 0);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (data[0] & 1) {
        o.most_tokens = 1000;
        o.oversize = data[0] & 2 ? JM_OVERSIZE_CLIP : JM_OVERSIZE_SKIP;
    }
    if (data[0] & 4)
        o.from = (int64_t)(data[0] >> 3) * 1000000000;
    one(path, &o);
    close(fd);
    return 0;
}
