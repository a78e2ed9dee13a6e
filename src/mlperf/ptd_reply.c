/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "mlperf/ptd.h"

#include "base/banned.h"

static void range(struct jm_span autorange, struct jm_span value, char out[40])
{
    double v;
    snprintf(out, 40, "Auto");
    if (jm_span_is(autorange, "0") && value.n < 40 && jm_num_double(value, &v) == 0 && v > 0)
        snprintf(out, 40, "%.*s", (int)value.n, value.p);
}

void jm_mlperf_ptd_ranges(struct jm_span reply, struct jm_mlperf_ranges *out)
{
    struct jm_span rest = reply, f[5] = {{0}};
    for (int i = 0; i < 5 && jm_span_field(&rest, ',', &f[i]); i++)
        ;
    range(f[1], jm_span_trim(f[2]), out->amps);
    range(f[3], jm_span_trim(f[4]), out->volts);
}

int jm_mlperf_ptd_last(struct jm_span reply, int64_t *samples, int *first_channel, struct jm_err *err)
{
    struct jm_span rest = reply, word;
    int64_t n = -1, first;
    ptrdiff_t at;
    *first_channel = 1;
    if (jm_span_field(&rest, ' ', &word) && jm_span_field(&rest, ' ', &word) && jm_num_i64(word, &n))
        n = -1;
    if (n < 0 || n > JM_MLPERF_PTD_SAMPLES) {
        char text[100];
        size_t len = reply.n < sizeof text ? reply.n : sizeof text;
        if (len)
            memcpy(text, reply.p, len);
        jm_text_plain(text, len, false);
        return jm_err_set(err, JM_EPARSE, "PTDaemon answered \"%.*s\" when it was asked for its samples",
                          (int)len, text);
    }
    *samples = n;
    if ((at = jm_span_find(reply, JM_SPAN("channels "))) >= 0) {
        rest = jm_span_sub(reply, (size_t)at + 9, reply.n);
        if (jm_span_field(&rest, ' ', &word) && jm_num_i64(word, &first) == 0 && first >= 1 && first <= 64)
            *first_channel = (int)first;
    }
    return 0;
}

bool jm_mlperf_ptd_uncertainty(struct jm_span reply, struct jm_mlperf_ptd_uncertainty *out)
{
    struct jm_span rest = reply, f[8] = {{0}};
    int n = 0;
    while (n < 8 && jm_span_field(&rest, ',', &f[n]))
        n++;
    return n == 8 && jm_span_is(f[0], "Uncertainty") && !jm_num_i64(f[4], &out->samples) &&
           !jm_num_i64(f[5], &out->above) && !jm_num_i64(f[6], &out->within) &&
           !jm_num_i64(f[7], &out->unknown);
}

bool jm_mlperf_ptd_is_error(struct jm_span reply)
{
    return jm_span_find(reply, JM_SPAN("Error")) >= 0 || jm_span_istarts(reply, JM_SPAN("error"));
}
