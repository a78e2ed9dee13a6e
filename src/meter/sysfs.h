/* SPDX-License-Identifier: Apache-2.0 */
/* Small kernel files below a root that can be set: /sys, /proc, or a fake tree. */
#ifndef JM_METER_SYSFS_H
#define JM_METER_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/span.h"
#include "model/words.h"

#define JM_SYSFS_PATH 512
#define JM_SYSFS_TEXT 256

/* root (or deflt where it is NULL) + "/" + formatted rest. false: longer than out. */
bool jm_sysfs_path(char out[JM_SYSFS_PATH], const char *root, const char *deflt, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool jm_sysfs_exists(const char *path);

/* First line of a file, without blanks around it and without control characters, NUL-terminated. Returns its
 * length or -errno. */
int jm_sysfs_text(const char *path, char *buf, size_t cap);
/* A file that holds one decimal integer; 0 or -errno (-EBADMSG: other text, -ERANGE: does not fit). */
int jm_sysfs_i64(const char *path, int64_t *out);
/* A file that holds one number in hexadecimal, with or without 0x: "0x10de", as those of PCI devices do. */
int jm_sysfs_hex(const char *path, uint64_t *out);
/* The decimal one from the text of such a file. */
int jm_sysfs_number(struct jm_span text, int64_t *out);
/* The same by one pread from an open descriptor. Never allocates. */
int jm_sysfs_pread(int fd, int64_t *out);
/* As jm_sysfs_i64, but gives up after limit_ns with -ETIMEDOUT: some drivers hang in a read. A read that
 * never ends keeps its thread. */
int jm_sysfs_i64_timed(const char *path, int64_t limit_ns, int64_t *out);
/* Opens for reading; a descriptor or -errno. */
int jm_sysfs_open(const char *path);

/* The kernel's lists "0-3,8" (CPUs, nodes): calls fn for each number; false: not such a list, or more than
 * 65536 numbers. */
bool jm_sysfs_list_each(struct jm_span text, void (*fn)(void *self, int v), void *self);
/* First number of such a list in a file, or -1. */
int jm_sysfs_list_first(const char *path);

/* Packages counted from 0 in order of their physical ids (which may be 36 and 2364): that of a CPU, or -1. */
int jm_sysfs_package_rank(const char *sysfs_root, int cpu);

/* Is there a PCI device of this vendor and base class (0x03 display, 0x12 processing accelerator; -1: any)?
 */
bool jm_sysfs_pci_has(const char *sysfs_root, unsigned vendor, int base_class);

struct jm_names {
    char (*v)[JM_SYSFS_TEXT];
    size_t n;
};
/* Names in a folder that begin with prefix, numbers in them compared as numbers; 0 or -errno. */
int jm_sysfs_dir(const char *path, const char *prefix, struct jm_names *out);
void jm_names_release(struct jm_names *a);

/* What a failed read says of a channel. */
enum jm_status jm_sysfs_status(int negative_errno);
const char *jm_sysfs_why(int negative_errno, char buf[128]);

#endif
