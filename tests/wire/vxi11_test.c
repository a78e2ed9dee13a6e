/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and replies of VXI-11, byte by byte as RFC 5531 and the protocol's page of structures lay them out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "wire/vxi11.h"

static size_t words(uint8_t *out, const uint32_t *w, size_t n)
{
    for (size_t i = 0; i < 4 * n; i++)
        out[i] = (uint8_t)(w[i / 4] >> (24 - 8 * (i % 4)));
    return 4 * n;
}

static void calls(void **state)
{
    uint8_t got[JM_VXI11_CALL], want[256];
    (void)state;
    /* mark; xid, CALL, RPC 2, portmapper 2, GETPORT; no credentials; DEVICE_CORE 0x607AF, version 1, TCP,
     * port 0 */
    static const uint32_t map[] = {0x80000038, 9, 0, 2, 100000, 2, 3, 0, 0, 0, 0, 395183, 1, 6, 0};
    struct jm_vxi11_call c = {.proc = JM_VXI11_GETPORT, .xid = 9};
    assert_int_equal(jm_vxi11_call(&c, got), sizeof map);
    assert_memory_equal(got, want, words(want, map, sizeof map / 4));
    /* create_link: client 0, no lock, "inst0" with three bytes of padding */
    static const uint32_t link[] = {0x80000040, 1, 0, 2, 395183, 1, 10,         0,         0,
                                    0,          0, 0, 0, 0,      5, 0x696e7374, 0x30000000};
    c = (struct jm_vxi11_call){.proc = JM_VXI11_CREATE_LINK, .xid = 1, .data = JM_SPAN("inst0")};
    assert_int_equal(jm_vxi11_call(&c, got), sizeof link);
    assert_memory_equal(got, want, words(want, link, sizeof link / 4));
    /* write: link, timeout, lock timeout, END, "*IDN?\n" */
    static const uint32_t text[] = {0x80000044, 2, 0, 2,    395183, 1, 11, 0,          0,
                                    0,          0, 7, 2000, 0,      8, 6,  0x2a49444e, 0x3f0a0000};
    c = (struct jm_vxi11_call){.proc = JM_VXI11_WRITE,
                               .xid = 2,
                               .link = 7,
                               .timeout_ms = 2000,
                               .data = JM_SPAN("*IDN?\n"),
                               .end = true};
    assert_int_equal(jm_vxi11_call(&c, got), sizeof text);
    assert_memory_equal(got, want, words(want, text, sizeof text / 4));
    static const char big[JM_VXI11_DATA + 1];
    c.data = (struct jm_span){big, sizeof big};
    assert_int_equal(jm_vxi11_call(&c, got), 0);
}

static void replies(void **state)
{
    uint8_t b[128];
    struct jm_vxi11_reply r;
    (void)state;
    static const uint32_t read[] = {3, 1, 0, 0, 0, 0, 0, 4, 5, 0x312e3545, 0x30000000};
    size_t n = words(b, read, sizeof read / 4);
    assert_int_equal(jm_vxi11_reply(JM_VXI11_READ, 3, (struct jm_span){(char *)b, n}, &r), JM_VXI11_OK);
    assert_true(r.end && !r.error && !r.refused && !r.other && jm_span_is(r.data, "1.5E0"));
    /* one of an earlier call */
    assert_int_equal(jm_vxi11_reply(JM_VXI11_READ, 4, (struct jm_span){(char *)b, n}, &r), JM_VXI11_OK);
    assert_true(r.other && !r.data.n);
    for (size_t i = 0; i < 41; i++)
        assert_int_equal(jm_vxi11_reply(JM_VXI11_READ, 3, (struct jm_span){(char *)b, i}, &r), JM_VXI11_BAD);
    /* a length beyond the message */
    b[35] = 9;
    assert_int_equal(jm_vxi11_reply(JM_VXI11_READ, 3, (struct jm_span){(char *)b, n}, &r), JM_VXI11_BAD);
    static const uint32_t gone[] = {3, 1, 0, 0, 0, 1}, denied[] = {3, 1, 1, 1, 1},
                          late[] = {3, 1, 0, 0, 0, 0, 15, 0, 0};
    n = words(b, gone, 6);
    assert_int_equal(jm_vxi11_reply(JM_VXI11_READ, 3, (struct jm_span){(char *)b, n}, &r), JM_VXI11_OK);
    assert_non_null(strstr(r.refused, "not there"));
    n = words(b, denied, 5);
    assert_int_equal(jm_vxi11_reply(JM_VXI11_READ, 3, (struct jm_span){(char *)b, n}, &r), JM_VXI11_OK);
    assert_non_null(strstr(r.refused, "who asks"));
    n = words(b, late, 9);
    assert_int_equal(jm_vxi11_reply(JM_VXI11_READ, 3, (struct jm_span){(char *)b, n}, &r), JM_VXI11_OK);
    assert_int_equal(r.error, JM_VXI11_ETIMEOUT);
    assert_string_equal(jm_vxi11_error_text(15), "the device did not answer in time");
}

static void records(void **state)
{
    size_t size = 0, used = 0;
    (void)state;
    /* "abcdef" in three fragments, and the beginning of another record */
    static const uint8_t pieces[] = "\0\0\0\2ab\0\0\0\1c\200\0\0\3def\200\0\0\1x";
    uint8_t b[sizeof pieces];
    for (size_t n = 0; n < 18; n++) {
        memcpy(b, pieces, sizeof b);
        assert_int_equal(jm_vxi11_record(b, n, 100, &size, &used), JM_VXI11_MORE);
        assert_memory_equal(b, pieces, sizeof b);
    }
    assert_int_equal(jm_vxi11_record(b, 23, 100, &size, &used), JM_VXI11_OK);
    assert_int_equal(size, 6);
    assert_int_equal(used, 18);
    assert_memory_equal(b + 4, "abcdef", 6);
    assert_int_equal(jm_vxi11_record(b + used, 23 - used, 100, &size, &used), JM_VXI11_OK);
    assert_int_equal(size, 1);
    /* too long, and empty fragments without end */
    static const uint8_t huge[] = "\177\377\377\377", empty[] = "\0\0\0\0\0\0\0\0";
    memcpy(b, huge, 4);
    assert_int_equal(jm_vxi11_record(b, 4, 100, &size, &used), JM_VXI11_BAD);
    memcpy(b, empty, 8);
    assert_int_equal(jm_vxi11_record(b, 8, 100, &size, &used), JM_VXI11_BAD);
    memcpy(b, pieces, sizeof b);
    assert_int_equal(jm_vxi11_record(b, 18, 5, &size, &used), JM_VXI11_BAD);
}

static void addresses(void **state)
{
    static const struct {
        const char *text, *host, *device;
        int port, portmap;
    } good[] = {{"wt", "wt", "inst0", 0, 111},
                {"10.0.0.9/inst0", "10.0.0.9", "inst0", 0, 111},
                {"10.0.0.9:1024/gpib0", "10.0.0.9", "gpib0", 1024, 111},
                {"wt/", "wt", "inst0", 0, 111},
                {"wt?portmap=1111", "wt", "inst0", 0, 1111},
                {"[fe80::1]:600/inst1", "fe80::1", "inst1", 600, 111},
                {"[::1]", "::1", "inst0", 0, 111}};
    static const char *const bad[] = {"",
                                      "/inst0",
                                      ":1",
                                      "wt:",
                                      "wt:0",
                                      "wt:65536",
                                      "wt:x",
                                      "[::1",
                                      "[]/inst0",
                                      "[::1]x/inst0",
                                      "wt?port=1",
                                      "wt?portmap=",
                                      "wt/0123456789012345678901234567890123456789012345678901234567890123"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct jm_vxi11_address a;
        if (!jm_vxi11_address(jm_span_of(good[i].text), &a) || !jm_span_is(a.host, good[i].host) ||
            strcmp(a.device, good[i].device) != 0 || a.port != good[i].port || a.portmap != good[i].portmap)
            fail_msg("\"%s\"", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct jm_vxi11_address a;
        if (jm_vxi11_address(jm_span_of(bad[i]), &a))
            fail_msg("\"%s\" was taken", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls), cmocka_unit_test(replies),
                                       cmocka_unit_test(records), cmocka_unit_test(addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
