/* SPDX-License-Identifier: Apache-2.0 */
/* AES-128-CBC by the vectors of NIST SP 800-38A, F.2.1 and F.2.2, and what KLAP
 * makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "wire/klap.h"
#include "wire/snmp.h"

static void cbc(void **state)
{
    static const uint8_t key[] = "\x2b\x7e\x15\x16\x28\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcf\x4f\x3c",
                         iv[] = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
                         text[] = "\x6b\xc1\xbe\xe2\x2e\x40\x9f\x96\xe9\x3d\x7e\x11\x73\x93\x17\x2a"
                                  "\xae\x2d\x8a\x57\x1e\x03\xac\x9c\x9e\xb7\x6f\xac\x45\xaf\x8e\x51",
                         cipher[] = "\x76\x49\xab\xac\x81\x19\xb2\x46\xce\xe9\x8e\x9b\x12\xe9\x19\x7d"
                                    "\x50\x86\xcb\x9b\x50\x72\x19\xee\x95\xdb\x11\x3a\x91\x76\x78\xb2";
    uint8_t data[32];
    (void)state;
    memcpy(data, text, 32);
    jm_aes128_cbc(key, iv, false, data, 32);
    assert_memory_equal(data, cipher, 32);
    jm_aes128_cbc(key, iv, true, data, 32);
    assert_memory_equal(data, text, 32);
}

static void messages(void **state)
{
    static const uint8_t local[16] = {1}, remote[16] = {2};
    uint8_t auth[32], a[32], b[32], out[128];
    struct jm_klap k;
    struct jm_span text;
    (void)state;
    jm_klap_auth("me@example.org", "secret", auth);
    jm_klap_server(local, remote, auth, a);
    jm_klap_client(local, remote, auth, b);
    assert_memory_not_equal(a, b, 32);
    jm_klap_begin(&k, local, remote, auth);
    uint32_t seq = k.seq;
    size_t n = jm_klap_seal(&k, JM_SPAN("{\"method\":\"x\"}"), out, sizeof out);
    assert_int_equal(n, 48);
    assert_int_equal(k.seq, seq + 1);
    assert_true(jm_klap_open(&k, out, n, &text));
    assert_true(jm_span_is(text, "{\"method\":\"x\"}"));
    /* a whole block more where the text fills one; too little room; answers that
     * are none */
    assert_int_equal(jm_klap_seal(&k, JM_SPAN("0123456789abcdef"), out, sizeof out), 64);
    assert_int_equal(jm_klap_seal(&k, JM_SPAN("0123456789abcdef"), out, 63), 0);
    memset(out, 0, sizeof out);
    for (size_t i = 0; i <= sizeof out; i++)
        if (jm_klap_open(&k, out, i, &text))
            assert_true(text.n < i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cbc), cmocka_unit_test(messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
