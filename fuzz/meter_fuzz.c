/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of small kernel files and of CUDA_VISIBLE_DEVICES. Each parser gets the whole input. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "meter/acpi_meter.h"
#include "meter/nvml.h"
#include "meter/scpi.h"
#include "meter/sysfs.h"
#include "meter/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void count(void *self, int v)
{
    int *k = self;
    if (v < 0 || ++*k > 65536)
        abort();
}

static void select_gpus(const char *list)
{
    struct jm_nvml_gpu gpu[3] = {{.uuid = "GPU-8932f937-d72c"}, {.uuid = "GPU-8932ffff"}, {.uuid = "GPU-1"}};
    struct jm_nvml_session s = {.gpu = gpu, .n = 3};
    size_t selected = 0;
    for (int i = 0; i < 3; i++)
        gpu[i].ordinal = i;
    jm_nvml_select(&s, list);
    for (int i = 0; i < 3; i++)
        selected += gpu[i].selected;
    if (selected != s.n_selected || strlen(s.note) >= sizeof s.note)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct jm_span text = {(const char *)p, n};
    int64_t v, busy = 0;
    uint64_t config = 0;
    int cpus, scale, k = 0;
    jm_sysfs_number(text, &v);
    jm_sysfs_list_each(text, count, &k);
    if (jm_text_stat(text, &busy, &cpus) == 0 && (busy < 0 || cpus < 0))
        abort();
    if (jm_text_parent(text) < -1)
        abort();
    if (jm_text_event(text, &config) && config > UINT32_MAX)
        abort();
    if (jm_text_scale(text, &scale) && (scale < -1100 || scale > 1100))
        abort();
    double avg;
    int64_t samples, bad, good;
    if (jm_text_watts(text, &avg, &samples, &bad, &good) && (bad + good != samples || bad < 0 || good < 0))
        abort();
    jm_scpi_number(text, -6, &v);
    char *copy = malloc(n + 1);
    if (!copy)
        return 0;
    if (n)
        memcpy(copy, p, n);
    copy[n] = '\0';
    if (jm_acpi_part(copy).socket > 65535)
        abort();
    select_gpus(copy);
    free(copy);
    if (n > 0)
        jm_nvml_proc_stride(p, n, p[0], 24, 0xA5);
    return 0;
}
