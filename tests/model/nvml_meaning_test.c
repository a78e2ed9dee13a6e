/* SPDX-License-Identifier: Apache-2.0 */
/* Architectures by the names of products as nvidia-smi prints them, and what follows for a power value: the
 * table of Yang, Adamek, Armour (arXiv 2312.02741), result matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/nvml_meaning.h"

static void names(void **state)
{
    static const struct {
        const char *name;
        unsigned arch;          /* NVML_DEVICE_ARCH_*: Kepler 2 ... Blackwell 10 */
        enum jm_gauge_sem draw; /* of power.draw with driver 550 */
        int64_t window_ms;
    } rows[] = {
        {"NVIDIA H100 80GB HBM3", 9, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA GH200 480GB", 9, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA A100-SXM4-80GB", 7, JM_G_PARTIAL, 25},
        {"NVIDIA A30", 7, JM_G_PARTIAL, 25},
        {"NVIDIA A40", 7, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA A10G", 7, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA L40S", 8, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA L4", 8, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA GeForce RTX 4090", 8, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA RTX 6000 Ada Generation", 8, JM_G_TRAILING_MEAN, 1000},
        {"Tesla T4", 6, JM_G_BLOCK_MEAN, 100},
        {"NVIDIA GeForce RTX 2080 SUPER", 6, JM_G_BLOCK_MEAN, 100},
        {"Tesla V100-SXM2-16GB", 5, JM_G_PARTIAL, 10},
        {"Tesla P100-PCIE-16GB", 4, JM_G_PARTIAL, 10},
        {"NVIDIA B200", 10, JM_G_TRAILING_MEAN, 1000},
        {"NVIDIA GB200", 10, JM_G_TRAILING_MEAN, 1000},
        {"Hopper", 9, JM_G_TRAILING_MEAN, 1000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned arch = 0;
        uint32_t id = 1;
        assert_true(jm_nvml_product(jm_span_of(rows[i].name), &arch, &id));
        assert_int_equal(arch, rows[i].arch);
        struct jm_nvml_meaning m = jm_nvml_meaning(JM_NVML_Q_USAGE, arch, id, 550);
        assert_int_equal(m.sem, rows[i].draw);
        assert_int_equal(m.window_ns, rows[i].window_ms * 1000000);
    }
    unsigned arch;
    uint32_t id;
    assert_false(jm_nvml_product(jm_span_of("AMD Instinct MI300X"), &arch, &id));
    assert_false(jm_nvml_product(jm_span_of(""), &arch, &id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
