/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* FIPS 180-4 examples (NIST CSRC, SHA256.pdf and the long message of the secure hash validation set). */
static void sha256_vectors(void **state)
{
    static const struct {
        const char *text, *hex;
    } row[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
         "mnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
    char out[JM_SHA256_HEX];
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        jm_sha256_hex(jm_span_of(row[i].text), out);
        assert_string_equal(out, row[i].hex);
    }
    /* a million times "a", in pieces of many lengths; with the processor's instructions where it has them,
     * and without */
    for (int plain = 0; plain < 2; plain++) {
        struct jm_sha256 s;
        char a[200];
        memset(a, 'a', sizeof a);
        jm_sha256_init(&s);
        s.fast = s.fast && !plain;
        for (size_t done = 0, step = 1; done < 1000000; done += step, step = step % 199 + 1) {
            if (step > 1000000 - done)
                step = 1000000 - done;
            jm_sha256_add(&s, a, step);
        }
        jm_sha256_done(&s, out);
        assert_string_equal(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}

/* FIPS 180-4 examples (NIST CSRC, SHA1.pdf and the long message of the secure hash validation set). */
static void sha1_vectors(void **state)
{
    static const struct {
        const char *text, *hex;
    } row[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopq"
         "rsmnopqrstnopqrstu",
         "a49b2446a02c645bf419f995b67091253a04a259"}};
    struct jm_sha1 s;
    char out[JM_SHA1_HEX], a[200];
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        jm_sha1_init(&s);
        jm_sha1_add(&s, row[i].text, strlen(row[i].text));
        jm_sha1_done(&s, out);
        assert_string_equal(out, row[i].hex);
    }
    memset(a, 'a', sizeof a);
    jm_sha1_init(&s);
    for (size_t done = 0, step = 1; done < 1000000; done += step, step = step % 199 + 1) {
        if (step > 1000000 - done)
            step = 1000000 - done;
        jm_sha1_add(&s, a, step);
    }
    jm_sha1_done(&s, out);
    assert_string_equal(out, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "file_test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    return system(cmd);
}

static const char *in(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_and_read(void **state)
{
    (void)state;
    struct jm_err err = {0};
    struct jm_str s;
    struct stat st;
    jm_str_init(&s);
    assert_int_equal(jm_file_write(in("a"), JM_SPAN("abc"), &err), 0);
    assert_int_equal(jm_file_read(in("a"), 3, &s, &err), 0);
    assert_string_equal(s.buf, "abc");
    assert_int_equal(jm_file_read(in("a"), 3, &s, &err), 0); /* appends */
    assert_string_equal(s.buf, "abcabc");
    assert_int_equal(jm_file_read(in("a"), 2, &s, &err), JM_ELIMIT);
    char hex[JM_SHA256_HEX];
    assert_int_equal(jm_file_sha256(in("a"), hex, &err), 0);
    assert_memory_equal(hex, "ba7816bf", 8);
    assert_int_equal(chmod(in("a"), 0640), 0);
    assert_int_equal(jm_file_write(in("a"), JM_SPAN("new"), &err), 0);
    assert_int_equal(stat(in("a"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    jm_str_release(&s);
}

static void link_stays_a_link(void **state)
{
    (void)state;
    struct jm_err err = {0};
    struct stat st;
    char link[256];
    snprintf(link, sizeof link, "%s", in("link"));
    assert_int_equal(jm_file_write(in("target"), JM_SPAN("1"), &err), 0);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(jm_file_write(link, JM_SPAN("22"), &err), 0);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(in("target"), &st), 0);
    assert_int_equal(st.st_size, 2);
}

static void says_what_failed(void **state)
{
    (void)state;
    struct jm_err err = {0};
    struct jm_str s;
    jm_str_init(&s);
    assert_int_equal(jm_file_read(in("nothing"), 10, &s, &err), JM_EABSENT);
    assert_non_null(strstr(err.text, "/nothing: No such file"));
    assert_true(jm_file_read(dir, 10, &s, &err) < 0); /* a directory */
    assert_int_equal(jm_file_write(dir, JM_SPAN("x"), &err), JM_EINVAL);
    assert_int_equal(jm_file_write(in("no/dir"), JM_SPAN("x"), &err), JM_EABSENT);
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(jm_file_write("/dev/full", JM_SPAN("x"), &err), JM_EFULL);
    assert_int_equal(jm_file_write("/dev/null", JM_SPAN("x"), &err), 0);
    assert_int_equal(access("/dev/null", F_OK), 0);
    if (access("/dev/zero", R_OK) == 0) /* endless */
        assert_int_equal(jm_file_read("/dev/zero", 100000, &s, &err), JM_ELIMIT);
    jm_str_release(&s);
}

static void parents(void **state)
{
    (void)state;
    struct jm_err err = {0};
    struct stat st;
    assert_int_equal(jm_file_mkparents(in("x/y/z.jmr"), &err), 0);
    assert_int_equal(stat(in("x/y"), &st), 0);
    assert_int_equal(stat(in("x/y/z.jmr"), &st), -1);
    assert_int_equal(jm_file_mkparents(in("x/y/z.jmr"), &err), 0);
    assert_int_equal(jm_file_mkparents("plain", &err), 0);
    assert_int_equal(jm_file_mkparents("", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha1_vectors),     cmocka_unit_test(sha256_vectors),
        cmocka_unit_test(write_and_read),   cmocka_unit_test(link_stays_a_link),
        cmocka_unit_test(says_what_failed), cmocka_unit_test(parents)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
