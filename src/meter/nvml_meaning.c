/* SPDX-License-Identifier: Apache-2.0 */
/* What a power query of NVML means, by architecture and driver branch.
 *
 * Sources: Yang, Adamek, Armour, "Accurate and Convenient Energy Measurements for GPUs: A Detailed Study of
 * NVIDIA GPU's Built-In Power Sensor" (SC24, arXiv 2312.02741) and its data GPU_Power_Benchmark: H100, Ada,
 * Ampere, Turing, Volta, Pascal, Maxwell; and the words of nvml.h since CUDA 12.2: "On Ampere (except GA100)
 * or newer GPUs, the API returns power averaged over 1 sec interval". The study stops at Hopper: later parts
 * are taken as Hopper, which is said. Refresh periods are replaced by measured ones. */
#include "meter/nvml.h"

#include "base/banned.h"

#define MS  JM_NS_PER_MS
#define ANY 9999

enum { KEPLER = 2, MAXWELL = 3, PASCAL = 4, VOLTA = 5, TURING = 6, AMPERE = 7, ADA = 8, HOPPER = 9 };
enum { GA100_NO = 1, GA100_YES = 2, GA100_ANY = 3 };

static const struct {
    unsigned queries; /* bit per enum jm_nvml_query */
    unsigned arch_from, arch_to;
    int ga100;
    int driver_from, driver_to; /* major, both inclusive */
    struct jm_nvml_meaning m;
} table[] = {
#define U (1u << JM_NVML_Q_USAGE)
#define A (1u << JM_NVML_Q_AVERAGE)
#define I (1u << JM_NVML_Q_INSTANT)
    {A, 0, ANY, GA100_ANY, 0, ANY, {JM_G_TRAILING_MEAN, 1000 * MS, 100 * MS, "measured"}},
    {U | I, KEPLER, MAXWELL, GA100_ANY, 0, ANY, {JM_G_TRAILING_MEAN, 0, 100 * MS, "measured"}}, /* low-pass */
    {U | I, PASCAL, VOLTA, GA100_ANY, 0, ANY, {JM_G_PARTIAL, 10 * MS, 20 * MS, "measured"}},
    {U | I, TURING, TURING, GA100_ANY, 0, ANY, {JM_G_BLOCK_MEAN, 100 * MS, 100 * MS, "measured"}},
    {U | I, AMPERE, AMPERE, GA100_YES, 0, ANY, {JM_G_PARTIAL, 25 * MS, 100 * MS, "measured"}},
    {U, AMPERE, ADA, GA100_NO, 530, 530, {JM_G_BLOCK_MEAN, 100 * MS, 100 * MS, "measured"}},
    {U, AMPERE, ADA, GA100_NO, 0, ANY, {JM_G_TRAILING_MEAN, 1000 * MS, 100 * MS, "measured"}},
    {I, AMPERE, ADA, GA100_NO, 0, ANY, {JM_G_BLOCK_MEAN, 100 * MS, 100 * MS, "measured"}},
    {U, HOPPER, HOPPER, GA100_ANY, 0, ANY, {JM_G_TRAILING_MEAN, 1000 * MS, 100 * MS, "measured"}},
    {I, HOPPER, HOPPER, GA100_ANY, 0, ANY, {JM_G_PARTIAL, 25 * MS, 100 * MS, "measured"}},
    {U, HOPPER + 1, ANY, GA100_ANY, 0, ANY, {JM_G_TRAILING_MEAN, 1000 * MS, 100 * MS, "header"}},
    {I, HOPPER + 1, ANY, GA100_ANY, 0, ANY, {JM_G_PARTIAL, 25 * MS, 100 * MS, "assumed"}},
#undef U
#undef A
#undef I
};

struct jm_nvml_meaning jm_nvml_meaning(enum jm_nvml_query q, unsigned arch, uint32_t device_id,
                                       int driver_major)
{
    uint32_t id = device_id >> 16; /* pci.ids: 2080..20ff are GA100 (A100, A800, A30, CMP 170HX) */
    int ga100 = id >= 0x2080 && id <= 0x20ff ? GA100_YES : GA100_NO;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if ((table[i].queries & (1u << q)) && arch >= table[i].arch_from && arch <= table[i].arch_to &&
            (table[i].ga100 & ga100) && driver_major >= table[i].driver_from &&
            driver_major <= table[i].driver_to)
            return table[i].m;
    /* an architecture that the library does not tell */
    return (struct jm_nvml_meaning){JM_G_TRAILING_MEAN, 0, 100 * MS, "assumed"};
}
