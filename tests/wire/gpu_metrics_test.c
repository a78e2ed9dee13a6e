/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu's gpu_metrics. The places are those that the compiler gives the fields of kgd_pp_interface.h,
 * written down here once more as groups of equal fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "wire/gpu_metrics.h"

#define HEAD                                                                                                 \
    uint16_t size;                                                                                           \
    uint8_t format, content;
#define OLD /* 1.1 to 1.3 */                                                                                 \
    HEAD uint16_t temperature[6], activity[3], power;                                                        \
    uint64_t energy, clock;                                                                                  \
    uint16_t clocks[14];                                                                                     \
    uint32_t throttle;                                                                                       \
    uint16_t fan, width, speed, pad;                                                                         \
    uint32_t accumulated[2];                                                                                 \
    uint16_t hbm[4];
#define NEW_HEAD HEAD uint16_t temperature[3], power, activity[2];
#define LINKS                                                                                                \
    uint16_t links[4];                                                                                       \
    uint32_t accumulated[2];                                                                                 \
    uint64_t pcie[5];
#define XGMI   uint64_t xgmi[16];
#define CLOCKS uint16_t clocks[8 + 4 + 4 + 4 + 1];
#define APU    /* 2.1 to 2.4 */                                                                              \
    HEAD uint16_t temperature[12], activity[2];                                                              \
    uint64_t clock;                                                                                          \
    uint16_t power, parts[3 + 8], clocks[6 + 6 + 8 + 2];                                                     \
    uint32_t throttle;                                                                                       \
    uint16_t fan, pad[3];

struct xcp_16 {
    uint32_t inst[8];
    uint16_t busy[32 + 4];
    uint64_t acc[8];
};
struct xcp_17 {
    uint32_t inst[8];
    uint16_t busy[32 + 4];
    uint64_t acc[2][8];
};
struct xcp_18 {
    uint32_t inst[8];
    uint16_t busy[40 + 4];
    uint64_t acc[5][8];
};
struct v10 {
    HEAD uint64_t clock;
    uint16_t temperature[6], activity[3], power;
    uint32_t energy;
    uint16_t clocks[14];
    uint32_t throttle;
    uint16_t fan;
    uint8_t width, speed;
};
struct v11 {
    OLD
};
struct v12 {
    OLD uint64_t firmware;
};
struct v13 {
    OLD uint64_t firmware;
    uint16_t voltage[4];
    uint64_t throttle2;
};
struct v14 {
    NEW_HEAD uint16_t vcn[4];
    uint64_t energy, clock;
    uint32_t status[2];
    LINKS XGMI uint64_t firmware;
    CLOCKS uint16_t pad;
};
struct v15 {
    NEW_HEAD uint16_t vcn[4], jpeg[32];
    uint64_t energy, clock;
    uint32_t status[2];
    LINKS uint32_t nak[2];
    XGMI uint64_t firmware;
    CLOCKS uint16_t pad;
};
struct v16_interim {
    NEW_HEAD uint16_t vcn[4], jpeg[32];
    uint64_t energy, clock;
    uint32_t residency[6], status[2];
    LINKS uint32_t nak[2];
    XGMI uint64_t firmware;
    CLOCKS uint16_t pad;
};
struct v16 {
    NEW_HEAD uint64_t energy, clock;
    uint32_t residency[6], lock;
    LINKS uint32_t nak[2];
    XGMI uint64_t firmware;
    CLOCKS uint16_t partitions;
    struct xcp_16 xcp[8];
    uint32_t recovery;
};
#define V17_18                                                                                               \
    NEW_HEAD uint64_t bandwidth;                                                                             \
    uint64_t energy, clock;                                                                                  \
    uint32_t residency[6], lock;                                                                             \
    LINKS uint32_t nak[2];                                                                                   \
    XGMI uint16_t link_status[8], pad;                                                                       \
    uint64_t firmware;                                                                                       \
    CLOCKS uint16_t partitions;
struct v17 {
    V17_18 struct xcp_17 xcp[8];
    uint32_t recovery;
};
struct v18 {
    V17_18 struct xcp_18 xcp[8];
    uint32_t recovery;
};
struct v20 {
    HEAD uint64_t clock;
    uint16_t temperature[12], activity[2], power, parts[3 + 8], clocks[6 + 6 + 8 + 2];
    uint32_t throttle;
    uint16_t fan, pad;
};
struct v21 {
    APU
};
struct v22 {
    APU uint64_t throttle2;
};
struct v23 {
    APU uint64_t throttle2;
    uint16_t average[12];
};
struct v24 {
    APU uint64_t throttle2;
    uint16_t average[12], volt_ampere[6];
};
struct v30 {
    HEAD uint16_t temperature[19], activity[2 + 8 + 16 + 4];
    uint64_t clock;
    uint32_t power;
    uint16_t ipu;
    uint32_t parts[4];
    uint16_t core[16], limits[3], clocks[8 + 16 + 2];
    uint32_t residency[7], filter;
};

/* One table of a version, all ones but for what is given. */
#define TABLE(T, f, c)                                                                                       \
    struct T t;                                                                                              \
    memset(&t, 0xff, sizeof t);                                                                              \
    t.size = sizeof t;                                                                                       \
    t.format = f;                                                                                            \
    t.content = c;                                                                                           \
    t.power = 412;                                                                                           \
    t.clock = 5000000000
#define PARSE()                                                                                              \
    struct jm_gpu_metrics m;                                                                                 \
    struct jm_err err = {0};                                                                                 \
    assert_int_equal(jm_gpu_metrics_parse((struct jm_span){(const char *)&t, sizeof t}, &m, &err), 0);       \
    assert_true(m.has_power &&m.power == 412 && m.has_clock && m.clock_ns == 5000000000)
#define DISCRETE(T, c, now)                                                                                  \
    {                                                                                                        \
        TABLE(T, 1, c);                                                                                      \
        t.energy = 0x12345678;                                                                               \
        PARSE();                                                                                             \
        assert_true(m.has_energy &&m.energy == 0x12345678 && m.current == (now) && !m.apu);                  \
        assert_int_equal(m.power_scale10, 0);                                                                \
        assert_true(m.energy_stated == ((c) >= 4));                                                          \
    }
#define PROCESSOR(T, f, c)                                                                                   \
    {                                                                                                        \
        TABLE(T, f, c);                                                                                      \
        PARSE();                                                                                             \
        assert_true(m.apu && !m.has_energy && !m.current && m.power_scale10 == -3);                          \
    }

static void every_version(void **state)
{
    (void)state;
    DISCRETE(v10, 0, false)
    DISCRETE(v11, 1, false)
    DISCRETE(v12, 2, false)
    DISCRETE(v13, 3, false)
    DISCRETE(v14, 4, true)
    DISCRETE(v15, 5, true)
    DISCRETE(v16_interim, 6, true)
    DISCRETE(v16, 6, true)
    DISCRETE(v17, 7, true)
    DISCRETE(v18, 8, true)
    PROCESSOR(v20, 2, 0)
    PROCESSOR(v21, 2, 1)
    PROCESSOR(v22, 2, 2)
    PROCESSOR(v23, 2, 3)
    PROCESSOR(v24, 2, 4)
    PROCESSOR(v30, 3, 0)
}

/* MangoHud#875: 65535 shown as 66 W. The driver fills the table with ones first. */
static void all_ones_are_no_value(void **state)
{
    (void)state;
    TABLE(v18, 1, 8);
    t.firmware = 7;
    t.partitions = 8;
    PARSE();
    assert_false(m.has_energy);
    assert_true(m.has_firmware && m.firmware_10ns == 7);
    assert_int_equal(m.partitions, 8);
    t.power = 0xffff;
    t.energy = 0xffffffff; /* a counter of 64 bits passes it */
    assert_int_equal(jm_gpu_metrics_parse((struct jm_span){(const char *)&t, sizeof t}, &m, &err), 0);
    assert_true(!m.has_power && m.has_energy);
}

/* Of 32 bits, copied into 64 (smu_v13_0_7_ppt.c, smu_v14_0_2_ppt.c: UINT_MAX). */
static void ones_of_the_register(void **state)
{
    (void)state;
    TABLE(v13, 1, 3);
    t.energy = 0xffffffff;
    PARSE();
    assert_false(m.has_energy);
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    TABLE(v13, 1, 3);
    struct jm_gpu_metrics m;
    struct jm_err err = {0};
    struct jm_span s = {(const char *)&t, sizeof t};
    for (size_t n = 0; n < sizeof t; n++)
        assert_int_equal(jm_gpu_metrics_parse((struct jm_span){s.p, n}, &m, &err), JM_EPARSE);
    assert_non_null(strstr(err.text, "says 120 bytes, but 119 came"));
    t.size = 128;
    assert_int_equal(jm_gpu_metrics_parse(s, &m, &err), JM_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "1.3 of 128 bytes"));
    t.content = 9;
    assert_int_equal(jm_gpu_metrics_parse(s, &m, &err), JM_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "1.9 is not known"));
    assert_false(m.has_power || m.has_energy);
    t.format = 2; /* what it is of is known all the same */
    assert_int_equal(jm_gpu_metrics_parse(s, &m, &err), JM_EUNSUPPORTED);
    assert_true(m.apu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version),
        cmocka_unit_test(all_ones_are_no_value),
        cmocka_unit_test(ones_of_the_register),
        cmocka_unit_test(what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
