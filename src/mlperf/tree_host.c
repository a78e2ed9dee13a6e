/* SPDX-License-Identifier: Apache-2.0 */
/* What a Linux machine says of itself, for a system description. Facts only; what has to be looked up in a
 * data sheet or asked of a person stays empty. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/file.h"
#include "base/num.h"
#include "mlperf/tree.h"

#include "base/banned.h"

#define FILE_MOST ((size_t)4 << 20)

static bool slurp(const char *root, const char *rel, struct jm_str *text)
{
    char path[4096];
    struct jm_err ignored;
    jm_str_reset(text);
    snprintf(path, sizeof path, "%s/%s", root, rel);
    return !jm_file_read(path, FILE_MOST, text, &ignored);
}

/* The value of "key : value" or "key=value", quotes taken off. */
static bool field(struct jm_span text, const char *key, struct jm_span *value)
{
    struct jm_span line, k = jm_span_of(key);
    while (jm_span_line(&text, &line)) {
        if (!jm_span_starts(line, k))
            continue;
        struct jm_span rest = jm_span_trim(jm_span_sub(line, k.n, line.n));
        if (!rest.n || (rest.p[0] != ':' && rest.p[0] != '='))
            continue;
        *value = jm_span_trim(jm_span_sub(rest, 1, rest.n));
        if (value->n > 1 && value->p[0] == '"' && value->p[value->n - 1] == '"')
            *value = jm_span_sub(*value, 1, value->n - 2);
        return value->n > 0;
    }
    return false;
}

static void cpu(struct jm_mlperf_host *h, struct jm_span info)
{
    struct jm_span v, line, rest = info;
    int64_t n, top = -1;
    if (field(info, "model name", &v))
        jm_str_addspan(&h->cpu, v);
    if (field(info, "cache size", &v))
        jm_str_addspan(&h->caches, v);
    while (jm_span_line(&rest, &line))
        if (jm_span_starts(line, JM_SPAN("physical id")) && field(line, "physical id", &v) &&
            !jm_num_i64(v, &n) && n > top && n < 1024)
            top = n;
    h->sockets = (int)top + 1;
    if (field(info, "cpu cores", &v) && !jm_num_i64(v, &n) && n > 0 && n < 100000)
        h->cores = (int)n;
}

static void number(struct jm_str *out, double bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    int u = 0;
    for (; bytes >= 999.5 && u < 5; u++)
        bytes /= 1000;
    jm_str_addf(out, bytes < 10 && u ? "%.1f %s" : "%.0f %s", bytes, unit[u]);
}

static bool virtual_disk(const char *name)
{
    static const char *const begin[] = {"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"};
    for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

static void disks(struct jm_mlperf_host *h, const char *sys)
{
    char path[4096], rel[300];
    struct jm_str t;
    double bytes = 0;
    bool nvme = false, disk = false, solid = false;
    int64_t v;
    snprintf(path, sizeof path, "%s/block", sys);
    DIR *d = opendir(path);
    jm_str_init(&t);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || virtual_disk(e->d_name) || strlen(e->d_name) > 100)
            continue;
        snprintf(rel, sizeof rel, "block/%s/size", e->d_name);
        if (!slurp(sys, rel, &t) || jm_num_i64(jm_span_trim(jm_str_span(&t)), &v) || v <= 0)
            continue;
        bytes += 512.0 * (double)v;
        if (strncmp(e->d_name, "vd", 2) == 0 || strncmp(e->d_name, "xvd", 3) == 0)
            continue; /* a virtual machine's: the host knows what it is */
        snprintf(rel, sizeof rel, "block/%s/queue/rotational", e->d_name);
        bool turns = slurp(sys, rel, &t) && jm_span_is(jm_span_trim(jm_str_span(&t)), "1");
        nvme |= strncmp(e->d_name, "nvme", 4) == 0;
        disk |= turns;
        solid |= !turns && strncmp(e->d_name, "nvme", 4) != 0;
    }
    if (d)
        closedir(d);
    if (bytes > 0) {
        number(&h->storage, bytes);
        jm_str_addf(&h->storage_type, "%s%s%s", nvme ? "NVMe SSD" : "", nvme && solid ? ", " : "",
                    solid ? "SSD" : "");
        if (disk)
            jm_str_adds(&h->storage_type, h->storage_type.len ? ", HDD" : "HDD");
    }
    jm_str_release(&t);
}

static void network(struct jm_mlperf_host *h, const char *sys)
{
    char path[4096], rel[300];
    struct jm_str t;
    int64_t v, best = 0;
    snprintf(path, sizeof path, "%s/class/net", sys);
    DIR *d = opendir(path);
    h->nics = h->nics_up = d ? 0 : -1;
    jm_str_init(&t);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(rel, sizeof rel, "class/net/%.100s/device/uevent", e->d_name);
        if (e->d_name[0] == '.' || !slurp(sys, rel, &t))
            continue; /* no hardware: lo, bridges, veth */
        h->nics++;
        snprintf(rel, sizeof rel, "class/net/%.100s/operstate", e->d_name);
        if (!slurp(sys, rel, &t) || !jm_span_is(jm_span_trim(jm_str_span(&t)), "up"))
            continue;
        h->nics_up++;
        snprintf(rel, sizeof rel, "class/net/%.100s/speed", e->d_name);
        if (slurp(sys, rel, &t) && !jm_num_i64(jm_span_trim(jm_str_span(&t)), &v) && v > best)
            best = v;
    }
    if (best)
        jm_str_addf(&h->network, "%" PRId64, best);
    if (d)
        closedir(d);
    jm_str_release(&t);
}

static void gpus(struct jm_mlperf_host *h, const char *proc)
{
    char path[4096], rel[300];
    struct jm_str t;
    struct jm_span v;
    snprintf(path, sizeof path, "%s/driver/nvidia/gpus", proc);
    DIR *d = opendir(path);
    jm_str_init(&t);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(rel, sizeof rel, "driver/nvidia/gpus/%.100s/information", e->d_name);
        if (e->d_name[0] == '.' || !slurp(proc, rel, &t))
            continue;
        h->gpus++;
        if (!h->gpu.len && field(jm_str_span(&t), "Model", &v))
            jm_str_addspan(&h->gpu, v);
    }
    if (d)
        closedir(d);
    jm_str_release(&t);
}

static const char *fs_name(long magic)
{
    static const struct {
        long magic;
        const char *name;
    } row[] = {{0xEF53, "ext4"},      {0x58465342, "xfs"}, {0x9123683E, "btrfs"},    {0x2FC12FC1, "zfs"},
               {0x01021994, "tmpfs"}, {0x6969, "nfs"},     {0x794C7630, "overlayfs"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        if (row[i].magic == magic)
            return row[i].name;
    return NULL;
}

void jm_mlperf_host_read(const char *proc_root, const char *sysfs_root, const char *os_release,
                         struct jm_mlperf_host *h)
{
    const char *proc = proc_root ? proc_root : "/proc", *sys = sysfs_root ? sysfs_root : "/sys";
    struct jm_str t;
    struct jm_span v;
    struct statfs fs;
    int64_t n;
    *h = (struct jm_mlperf_host){.nics = -1, .nics_up = -1};
    struct jm_str *all[] = {&h->cpu,          &h->caches, &h->memory,  &h->storage,
                            &h->storage_type, &h->os,     &h->kernel,  &h->bios,
                            &h->product,      &h->gpu,    &h->network, &h->filesystem};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        jm_str_init(all[i]);
    jm_str_init(&t);
    if (slurp(proc, "cpuinfo", &t))
        cpu(h, jm_str_span(&t));
    if (slurp(proc, "meminfo", &t) && field(jm_str_span(&t), "MemTotal", &v)) {
        struct jm_span kb;
        jm_span_field(&v, ' ', &kb);
        if (!jm_num_i64(kb, &n))
            jm_str_addf(&h->memory, "%.0f GB", (double)n * 1024 / 1e9);
    }
    if (slurp(proc, "sys/kernel/osrelease", &t))
        jm_str_addspan(&h->kernel, jm_span_trim(jm_str_span(&t)));
    if (slurp("", os_release ? os_release : "etc/os-release", &t) &&
        field(jm_str_span(&t), "PRETTY_NAME", &v))
        jm_str_addspan(&h->os, v);
    if (slurp(sys, "class/dmi/id/bios_version", &t))
        jm_str_addspan(&h->bios, jm_span_trim(jm_str_span(&t)));
    if (slurp(sys, "class/dmi/id/product_name", &t))
        jm_str_addspan(&h->product, jm_span_trim(jm_str_span(&t)));
    disks(h, sys);
    network(h, sys);
    gpus(h, proc);
    if (!proc_root && !statfs("/", &fs) && fs_name((long)fs.f_type))
        jm_str_adds(&h->filesystem, fs_name((long)fs.f_type));
    jm_str_release(&t);
}

void jm_mlperf_host_release(struct jm_mlperf_host *h)
{
    struct jm_str *all[] = {&h->cpu,          &h->caches, &h->memory,  &h->storage,
                            &h->storage_type, &h->os,     &h->kernel,  &h->bios,
                            &h->product,      &h->gpu,    &h->network, &h->filesystem};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        jm_str_release(all[i]);
}
