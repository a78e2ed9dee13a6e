/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/zip.h"
#include "wire/manifest.h"
#include "wire/tar.h"

static int nothing_begins(void *self, const char *name, int64_t size, struct jm_err *err)
{
    (void)name;
    (void)size;
    (void)err;
    ++*(int *)self;
    return 0;
}

static int nothing_comes(void *self, struct jm_span bytes, struct jm_err *err)
{
    (void)self;
    (void)bytes;
    (void)err;
    return 0;
}

static int nothing_ends(void *self, struct jm_err *err)
{
    (void)self;
    (void)err;
    return 0;
}

static const struct jm_tar_ops ops = {nothing_begins, nothing_comes, nothing_ends};

static int read_all(struct jm_span s, int *files, struct jm_err *e)
{
    struct jm_tar t;
    *files = 0;
    jm_tar_init(&t, &ops, files, 8);
    int rc = jm_tar_feed(&t, s, e);
    return rc ? rc : jm_tar_done(&t, e);
}

static void put(struct jm_str *s, const char *name, const char *text)
{
    struct jm_err e = {0};
    size_t n = strlen(text);
    assert_int_equal(jm_tar_header(name, (int64_t)n, s, &e), 0);
    jm_str_adds(s, text);
    jm_str_pad(s, s->len + jm_tar_padding((int64_t)n), '\0');
}

/* The checksum of a header by hand: "a" is 97; modes "0000644\0" is 350, twice "0000000\0" of the owners 672,
 * size and time "00000000005\0" and "00000000000\0" 533 and 528, type 48, "ustar" 559 and "00" 96, eight
 * blanks 256: 3139 = 06103. */
static void header(void **state)
{
    struct jm_str s;
    struct jm_err e = {0};
    (void)state;
    jm_str_init(&s);
    assert_int_equal(jm_tar_header("a", 5, &s, &e), 0);
    assert_int_equal(s.len, 512);
    assert_memory_equal(s.buf + 148, "006103\0 ", 8);
    assert_memory_equal(s.buf + 257,
                        "ustar\0"
                        "00",
                        8);
    assert_int_equal(jm_tar_header("../a", 5, &s, &e), JM_EINVAL);
    assert_int_equal(jm_tar_header("/a", 5, &s, &e), JM_EINVAL);
    assert_int_equal(jm_tar_header("a b", 5, &s, &e), JM_EINVAL);
    assert_int_equal(jm_tar_header("a", JM_TAR_SIZE + 1, &s, &e), JM_EINVAL);
    jm_str_release(&s);
}

/* Any byte that is changed outside of a file's own bytes is seen. */
static void every_byte(void **state)
{
    struct jm_str s;
    struct jm_err e = {0};
    int files;
    (void)state;
    jm_str_init(&s);
    put(&s, "a", "hello");
    put(&s, "b/c", "");
    jm_str_pad(&s, s.len + JM_TAR_END, '\0');
    assert_int_equal(read_all(jm_str_span(&s), &files, &e), 0);
    assert_int_equal(files, 2);
    for (size_t i = 0; i < s.len; i++) {
        if (i >= 512 && i < 517)
            continue;
        s.buf[i] = (char)(s.buf[i] ^ 4);
        int rc = read_all(jm_str_span(&s), &files, &e);
        /* another letter in a name is another name: the manifest tells that, and here the checksum */
        assert_int_equal(rc, JM_ECORRUPT);
        s.buf[i] = (char)(s.buf[i] ^ 4);
    }
    for (size_t n = 0; n < s.len; n += 97)
        assert_int_equal(read_all(jm_span_sub(jm_str_span(&s), 0, n), &files, &e), JM_ECORRUPT);
    jm_str_reset(&s);
    put(&s, "b", "");
    put(&s, "a", "");
    jm_str_pad(&s, s.len + JM_TAR_END, '\0');
    assert_int_equal(read_all(jm_str_span(&s), &files, &e), JM_ECORRUPT); /* out of order */
    jm_str_release(&s);
}

static int keep(void *self, struct jm_span s, struct jm_err *err)
{
    (void)err;
    jm_str_addspan(self, s);
    return 0;
}

static void frame(void **state)
{
    struct jm_str in, packed, out;
    struct jm_zip *z;
    struct jm_unzip *u;
    struct jm_err e = {0};
    (void)state;
    jm_str_init(&in);
    jm_str_init(&packed);
    jm_str_init(&out);
    for (int i = 0; i < 100000; i++)
        jm_str_addf(&in, "%d,", i * 7919 % 10007);
    assert_int_equal(jm_zip_new(6, keep, &packed, &z, &e), 0);
    for (size_t i = 0; i < in.len; i += 1000)
        assert_int_equal(jm_zip_add(z, jm_span_sub(jm_str_span(&in), i, 1000), &e), 0);
    assert_int_equal(jm_zip_end(z, &e), 0);
    jm_zip_free(z);
    assert_int_equal(jm_unzip_new(in.len, keep, &out, &u, &e), 0);
    for (size_t i = 0; i < packed.len; i += 777)
        assert_int_equal(jm_unzip_add(u, jm_span_sub(jm_str_span(&packed), i, 777), &e), 0);
    assert_int_equal(jm_unzip_end(u, &e), 0);
    assert_true(jm_span_eq(jm_str_span(&in), jm_str_span(&out)));
    assert_int_equal(jm_unzip_add(u, JM_SPAN("x"), &e), JM_ECORRUPT);
    jm_unzip_free(u);
    assert_int_equal(jm_unzip_new(in.len - 1, keep, &out, &u, &e), 0);
    assert_int_equal(jm_unzip_add(u, jm_str_span(&packed), &e), JM_ELIMIT);
    jm_unzip_free(u);
    assert_int_equal(jm_unzip_new(in.len, keep, &out, &u, &e), 0);
    assert_int_equal(jm_unzip_add(u, jm_span_sub(jm_str_span(&packed), 0, packed.len / 2), &e), 0);
    assert_int_equal(jm_unzip_end(u, &e), JM_ECORRUPT);
    jm_unzip_free(u);
    jm_str_release(&in);
    jm_str_release(&packed);
    jm_str_release(&out);
}

static int count(void *self, struct jm_span name, struct jm_span sha256, struct jm_err *err)
{
    (void)name;
    (void)sha256;
    (void)err;
    ++*(int *)self;
    return 0;
}

static void manifest(void **state)
{
#define SHA "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    static const char *const bad[] = {"",
                                      SHA "  a",
                                      SHA " a\n",
                                      SHA "  \n",
                                      SHA "  ../a\n",
                                      "E" SHA " a\n",
                                      SHA "  a b\n",
                                      "x" SHA "  a\n",
                                      "\n"};
    struct jm_err e = {0};
    int n = 0;
    (void)state;
    assert_int_equal(jm_manifest_read(jm_span_of(SHA "  a\n" SHA "  b/c.json\n"), count, &n, &e), 0);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(jm_manifest_read(jm_span_of(bad[i]), count, &n, &e), JM_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(header), cmocka_unit_test(every_byte),
                                       cmocka_unit_test(frame), cmocka_unit_test(manifest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
