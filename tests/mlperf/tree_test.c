/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine says of itself, from a tree of files as the kernel writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "mlperf/client.h"
#include "mlperf/tree.h"

static char root[] = "/tmp/jm-tree-XXXXXX";

static void put(const char *rel, const char *text)
{
    char path[512];
    struct jm_err err = {0};
    snprintf(path, sizeof path, "%s/%s", root, rel);
    assert_int_equal(jm_file_mkparents(path, &err), 0);
    assert_int_equal(jm_file_write(path, jm_span_of(text), &err), 0);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return jm_mlperf_tree_remove(root, NULL);
}

static void a_server(void **state)
{
    (void)state;
    char proc[64], sys[64], os[64];
    struct jm_mlperf_host h;
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8568Y+\ncache size\t: "
                        "307200 KB\nphysical id\t: 0\n"
                        "cpu cores\t: 48\n\nprocessor\t: 1\nmodel name\t: Intel(R) Xeon(R) Platinum "
                        "8568Y+\nphysical id\t: 1\ncpu "
                        "cores\t: 48\n");
    put("proc/meminfo", "MemTotal:       2113384100 kB\nMemFree: 1 kB\n");
    put("proc/sys/kernel/osrelease", "6.8.0-64-generic\n");
    put("proc/driver/nvidia/gpus/0000:18:00.0/information", "Model: \t\t NVIDIA B200\nIRQ: 1\n");
    put("proc/driver/nvidia/gpus/0000:2a:00.0/information", "Model: \t\t NVIDIA B200\n");
    put("sys/class/dmi/id/bios_version", "ESE122T-3.11\n");
    put("sys/class/dmi/id/product_name", "ThinkSystem SR680a V3\n");
    put("sys/block/nvme0n1/size", "7501476528\n");
    put("sys/block/nvme0n1/queue/rotational", "0\n");
    put("sys/block/sda/size", "1953525168\n");
    put("sys/block/sda/queue/rotational", "1\n");
    put("sys/block/loop0/size", "999999999999\n");
    put("sys/class/net/lo/operstate", "unknown\n");
    put("sys/class/net/eth0/device/uevent", "DRIVER=mlx5_core\n");
    put("sys/class/net/eth0/operstate", "up\n");
    put("sys/class/net/eth0/speed", "400000\n");
    put("sys/class/net/eth1/device/uevent", "DRIVER=mlx5_core\n");
    put("sys/class/net/eth1/operstate", "down\n");
    put("sys/class/net/eth1/speed", "-1\n");
    put("os-release", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 24.04.2 LTS\"\n");
    snprintf(proc, sizeof proc, "%s/proc", root);
    snprintf(sys, sizeof sys, "%s/sys", root);
    snprintf(os, sizeof os, "%s/os-release", root);
    jm_mlperf_host_read(proc, sys, os, &h);
    assert_string_equal(h.cpu.buf, "Intel(R) Xeon(R) Platinum 8568Y+");
    assert_int_equal(h.sockets, 2);
    assert_int_equal(h.cores, 48);
    assert_string_equal(h.memory.buf, "2164 GB"); /* 2113384100 * 1024 / 1e9 = 2164.1 */
    /* (7501476528 + 1953525168) * 512 = 4.84e12 */
    assert_string_equal(h.storage.buf, "4.8 TB");
    assert_string_equal(h.storage_type.buf, "NVMe SSD, HDD");
    assert_string_equal(h.os.buf, "Ubuntu 24.04.2 LTS");
    assert_string_equal(h.kernel.buf, "6.8.0-64-generic");
    assert_string_equal(h.bios.buf, "ESE122T-3.11");
    assert_string_equal(h.product.buf, "ThinkSystem SR680a V3");
    assert_int_equal(h.gpus, 2);
    assert_string_equal(h.gpu.buf, "NVIDIA B200");
    assert_int_equal(h.nics, 2);
    assert_int_equal(h.nics_up, 1);
    assert_string_equal(h.network.buf, "400000");
    jm_mlperf_host_release(&h);
}

/* Where nothing is to be read nothing is claimed. */
static void an_unknown_machine(void **state)
{
    (void)state;
    struct jm_mlperf_host h;
    jm_mlperf_host_read("/nowhere", "/nowhere", "nowhere", &h);
    assert_int_equal(h.cpu.len + h.memory.len + h.storage.len + h.os.len + h.gpu.len + h.network.len, 0);
    assert_int_equal(h.sockets, 0);
    assert_int_equal(h.cores, 0);
    assert_int_equal(h.gpus, 0);
    assert_int_equal(h.nics, -1);
    jm_mlperf_host_release(&h);
}

static void paths_are_made_plain(void **state)
{
    (void)state;
    char out[4096], want[4096], link[128], deep[256], long_path[5000];
    struct jm_err err = {0};
    assert_non_null(realpath(root, want));
    put("a/b/file", "");
    snprintf(link, sizeof link, "%s/link", root);
    snprintf(deep, sizeof deep, "%s/a", root);
    assert_int_equal(symlink(deep, link), 0);
    snprintf(deep, sizeof deep, "%s/link/./b//../b/new/../other", root);
    assert_int_equal(jm_mlperf_path_real(deep, out, &err), 0);
    strncat(want, "/a/b/other", sizeof want - strlen(want) - 1);
    assert_string_equal(out, want);
    assert_int_equal(jm_mlperf_path_real("/../..", out, &err), 0);
    assert_string_equal(out, "/");
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = 0;
    assert_int_not_equal(jm_mlperf_path_real(long_path, out, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server),
        cmocka_unit_test(an_unknown_machine),
        cmocka_unit_test(paths_are_made_plain),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
