/* SPDX-License-Identifier: Apache-2.0 */
/* What a power query of NVML means, by architecture and driver branch.
 *
 * Sources: Yang, Adamek, Armour, "Accurate and Convenient Energy Measurements for GPUs: A Detailed Study of
 * NVIDIA GPU's Built-In Power Sensor" (SC24, arXiv 2312.02741) and its data GPU_Power_Benchmark: H100, Ada,
 * Ampere, Turing, Volta, Pascal, Maxwell; and the words of nvml.h since CUDA 12.2: "On Ampere (except GA100)
 * or newer GPUs, the API returns power averaged over 1 sec interval". The study stops at Hopper: later parts
 * are taken as Hopper, which is said. Refresh periods are replaced by measured ones. */
#include "model/nvml_meaning.h"

#include <string.h>

#include "base/banned.h"

#define MS  1000000
#define ANY 9999

enum {
    KEPLER = 2,
    MAXWELL = 3,
    PASCAL = 4,
    VOLTA = 5,
    TURING = 6,
    AMPERE = 7,
    ADA = 8,
    HOPPER = 9,
    BLACKWELL = 10,
    RUBIN = 13
};
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

/* What names of products begin with; longer ones first. GA100 has a device id of its own among the Amperes.
 */
static const struct {
    const char *head;
    unsigned arch;
    bool ga100;
} products[] = {
    {"GB", BLACKWELL, false},
    {"B100", BLACKWELL, false},
    {"B200", BLACKWELL, false},
    {"B300", BLACKWELL, false},
    {"RTX PRO", BLACKWELL, false},
    {"GeForce RTX 50", BLACKWELL, false},
    {"Thor", BLACKWELL, false},
    {"GH200", HOPPER, false},
    {"H100", HOPPER, false},
    {"H200", HOPPER, false},
    {"H800", HOPPER, false},
    {"H20", HOPPER, false},
    {"L40", ADA, false},
    {"L20", ADA, false},
    {"L4", ADA, false},
    {"L2", ADA, false},
    {"GeForce RTX 40", ADA, false},
    {"RTX 6000 Ada", ADA, false},
    {"RTX 5880 Ada", ADA, false},
    {"RTX 5000 Ada", ADA, false},
    {"RTX 4500 Ada", ADA, false},
    {"RTX 4000 Ada", ADA, false},
    {"RTX 4000 SFF Ada", ADA, false},
    {"RTX 2000 Ada", ADA, false},
    {"A100", AMPERE, true},
    {"A800", AMPERE, true},
    {"A30", AMPERE, true},
    {"CMP 170HX", AMPERE, true},
    {"A40", AMPERE, false},
    {"A10", AMPERE, false},
    {"A16", AMPERE, false},
    {"A2", AMPERE, false},
    {"RTX A", AMPERE, false},
    {"GeForce RTX 30", AMPERE, false},
    {"T4", TURING, false},
    {"GeForce RTX 20", TURING, false},
    {"GeForce GTX 16", TURING, false},
    {"Quadro RTX", TURING, false},
    {"TITAN RTX", TURING, false},
    {"T1000", TURING, false},
    {"T400", TURING, false},
    {"T600", TURING, false},
    {"V100", VOLTA, false},
    {"TITAN V", VOLTA, false},
    {"Quadro GV100", VOLTA, false},
    {"P100", PASCAL, false},
    {"P40", PASCAL, false},
    {"P4", PASCAL, false},
    {"P6", PASCAL, false},
    {"GeForce GTX 10", PASCAL, false},
    {"TITAN X", PASCAL, false},
    {"Quadro GP100", PASCAL, false},
    {"Quadro P", PASCAL, false},
    {"M40", MAXWELL, false},
    {"M60", MAXWELL, false},
    {"M4", MAXWELL, false},
    {"M10", MAXWELL, false},
    {"GeForce GTX 9", MAXWELL, false},
    {"Quadro M", MAXWELL, false},
    {"K80", KEPLER, false},
    {"K40", KEPLER, false},
    {"K20", KEPLER, false},
    {"Quadro K", KEPLER, false},
    {"R100", RUBIN, false},
    {"VR200", RUBIN, false},
    /* architectures by their own name, as "nvidia-smi -q" has them */
    {"Blackwell", BLACKWELL, false},
    {"Hopper", HOPPER, false},
    {"Ada Lovelace", ADA, false},
    {"Turing", TURING, false},
    {"Volta", VOLTA, false},
    {"Pascal", PASCAL, false},
    {"Maxwell", MAXWELL, false},
    {"Kepler", KEPLER, false},
    {"Ampere", AMPERE, false},
};

bool jm_nvml_product(struct jm_span name, unsigned *arch, uint32_t *device_id)
{
    static const char *const makers[] = {"NVIDIA ", "Tesla "};
    name = jm_span_trim(name);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (jm_span_istarts(name, jm_span_of(makers[i])))
            name = jm_span_sub(name, strlen(makers[i]), name.n);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (jm_span_istarts(name, jm_span_of(products[i].head))) {
            *arch = products[i].arch;
            *device_id = products[i].ga100 ? 0x20b010deu : 0;
            return true;
        }
    return false;
}
