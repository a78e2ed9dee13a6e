/* SPDX-License-Identifier: Apache-2.0 */
/* What an exporter says of a device: the text format, the table of metrics, labels, values, DCGM's blanks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/prom.h"
#include "wire/promdev.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void describe(const struct jm_prom_series *s, struct jm_span value)
{
    struct jm_promdev_quantity q;
    int64_t v;
    if (!jm_promdev_describe(s, 0, &q))
        return;
    if (strlen(q.key) >= sizeof q.key || strlen(q.label) >= sizeof q.label || !q.key[0] || !q.kind.name[0])
        abort();
    jm_dev_sampled(&q.kind, 30 * INT64_C(1000000000));
    if (jm_dev_native(value, q.kind.text10, q.kind.scale10, &v) == JM_S_OK && v < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static struct jm_prom_series series;
    struct jm_span all = {(const char *)p, n};
    struct jm_prom prom;
    struct jm_prom_sample s;
    struct jm_err err;
    if (jm_promdev_labels(all, &series))
        describe(&series, series.metric);
    jm_prom_init(&prom, &(struct jm_prom_limits){.line_bytes = 4000, .total_bytes = 1 << 20, .families = 50});
    while (jm_prom_next(&prom, &all, true, &s, &err) == 1) {
        series = jm_promdev_series(&s);
        describe(&series, jm_prom_value_text(&s));
    }
    jm_prom_release(&prom);
    return 0;
}
