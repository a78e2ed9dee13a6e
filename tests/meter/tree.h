/* SPDX-License-Identifier: Apache-2.0 */
/* Fake /sys and /proc trees, made by the tests that read them. */
#ifndef TESTS_METER_TREE_H
#define TESTS_METER_TREE_H

struct tree {
    char root[256];
};

struct tree tree_new(void);
void tree_free(struct tree *t); /* removes it */
/* Writes text (and a line end) to path below the root; makes the folders. An existing file keeps its inode,
 * so that an open descriptor sees the new text. */
void tree_put(const struct tree *t, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void tree_mode(const struct tree *t, const char *path, unsigned mode);
void tree_rm(const struct tree *t, const char *path);
/* Runs fn as a user without privileges when the test runs as root, so that file modes count. */
void as_nobody(void (*fn)(void *), void *arg);

#endif
