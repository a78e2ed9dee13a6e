/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: RFC 3414 A.3.2. AES: FIPS 197 C.1, SP 800-38A F.3.13. Messages: bytes as net-snmp 5.9.3 sends and
 * prints them (snmpget -d). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/snmp.h"

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        int v[2];
        for (int i = 0; i < 2; i++)
            v[i] = hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10;
        out[n++] = (uint8_t)(v[0] << 4 | v[1]);
        hex++;
    }
    return n;
}

static void assert_hex(const uint8_t *got, const char *want)
{
    uint8_t w[512];
    size_t n = unhex(want, w);
    assert_memory_equal(got, w, n);
}

static void aes(void **state)
{
    uint8_t key[16], in[48], out[16], iv[16];
    (void)state;
    unhex("000102030405060708090a0b0c0d0e0f", key);
    unhex("00112233445566778899aabbccddeeff", in);
    jm_aes128(key, in, out);
    assert_hex(out, "69c4e0d86a7b0430d8cdb78070b4c55a");
    memcpy(iv, key, 16);
    unhex("2b7e151628aed2a6abf7158809cf4f3c", key);
    unhex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51", in);
    jm_aes128_cfb(key, iv, false, in, 32);
    assert_hex(in, "3b3fd92eb72dad20333449f8e83cfb4a c8a64537a0b3a93fcde3cdad9f1ce58b");
    jm_aes128_cfb(key, iv, true, in, 29); /* a last block that is not whole */
    assert_hex(in, "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45");
}

static void keys(void **state)
{
    struct jm_snmp_peer p = {.version = 3, .auth = JM_SNMP_SHA1, .engine_n = 12};
    (void)state;
    assert_true(jm_snmp_password(JM_SNMP_SHA1, JM_SPAN("maplesyrup"), p.auth_secret));
    assert_hex(p.auth_secret, "9fb5cc0381497b3793528939ff788d5d79145211");
    p.engine[11] = 2;
    jm_snmp_localize(&p);
    assert_hex(p.auth_key, "6695febc9288e36282235fc7151f128497b38f3f");
    assert_false(jm_snmp_password(JM_SNMP_SHA1, JM_SPAN("short"), p.auth_secret));
}

static void oids(void **state)
{
    struct jm_snmp_oid a, b;
    char text[64];
    (void)state;
    assert_true(jm_snmp_oid_parse(JM_SPAN(".1.3.6.1.4.1.318.1.1.26"), &a));
    assert_int_equal(a.n, 10);
    assert_string_equal(jm_snmp_oid_text(&a, text, sizeof text), "1.3.6.1.4.1.318.1.1.26");
    b = a;
    assert_true(jm_snmp_oid_add(&b, 4294967295U));
    assert_true(jm_snmp_oid_below(&b, &a));
    assert_false(jm_snmp_oid_below(&a, &b));
    assert_true(jm_snmp_oid_cmp(&a, &b) < 0);
    assert_false(jm_snmp_oid_parse(JM_SPAN("1.3.x"), &a));
    assert_false(jm_snmp_oid_parse(JM_SPAN("1.3.4294967296"), &a));
    assert_false(jm_snmp_oid_parse(JM_SPAN("1"), &a));
    assert_false(jm_snmp_oid_parse(JM_SPAN(""), &a));
}

/* snmpget -v2c -c public HOST 1.3.6.1.2.1.1.3.0: by hand from X.690. */
static void v2c(void **state)
{
    struct jm_snmp_peer p = {.version = 2, .community = "public"};
    struct jm_snmp_pdu pdu = {.tag = JM_SNMP_GET, .request = 0x1234};
    struct jm_snmp_oid oid;
    struct jm_snmp_value v;
    uint8_t binds[64], msg[128];
    size_t at = 0;
    (void)state;
    assert_true(jm_snmp_oid_parse(JM_SPAN("1.3.6.1.2.1.1.3.0"), &oid));
    assert_true(jm_snmp_ask(binds, sizeof binds, &at, &oid));
    pdu.varbinds = (struct jm_span){(char *)binds, at};
    int n = jm_snmp_encode(&p, &pdu, msg, sizeof msg);
    assert_int_equal(n, 41);
    assert_hex(
        msg, "3027 020101 0406 7075626c6963 a01a 02021234 020100 020100 300e 300c 06082b06010201010300 0500");

    uint8_t reply[] =
        "\x30\x2a\x02\x01\x01\x04\x06public\xa2\x1d\x02\x02\x12\x34\x02\x01\x00\x02\x01\x00\x30\x11"
        "\x30\x0f\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x43\x03\x01\x86\xa0";
    assert_int_equal(jm_snmp_decode(&p, reply, sizeof reply - 1, &pdu), JM_SNMP_TAKEN);
    assert_int_equal(pdu.tag, JM_SNMP_RESPONSE);
    assert_int_equal(pdu.request, 0x1234);
    assert_int_equal(jm_snmp_next(&pdu.varbinds, &oid, &v), 1);
    assert_int_equal(v.type, JM_SNMP_TICKS);
    assert_int_equal(v.num, 100000);
    assert_int_equal(jm_snmp_next(&pdu.varbinds, &oid, &v), 0);
    /* another community is another agent */
    memcpy(p.community, "secret", 7);
    assert_int_equal(jm_snmp_decode(&p, reply, sizeof reply - 1, &pdu), JM_EDENIED);
    p.version = 3;
    assert_int_equal(jm_snmp_decode(&p, reply, sizeof reply - 1, &pdu), JM_EPARSE);
    for (size_t cut = 0; cut < sizeof reply - 1; cut++) {
        p.version = 2;
        assert_int_equal(jm_snmp_decode(&p, reply, cut, &pdu), JM_EPARSE);
    }
}

static bool value(const char *hex, struct jm_snmp_value *v)
{
    uint8_t one[64], list[80] = "\x30\x00\x06\x02\x2b\x06";
    size_t n = unhex(hex, one);
    memcpy(list + 6, one, n);
    list[1] = (uint8_t)(4 + n);
    struct jm_span rest = {(char *)list, 6 + n};
    struct jm_snmp_oid oid;
    return jm_snmp_next(&rest, &oid, v) == 1;
}

static void values(void **state)
{
    struct jm_snmp_value v;
    int64_t x;
    (void)state;
    assert_true(value("0201ff", &v)); /* -1: what APC says of what it cannot measure */
    assert_true(jm_snmp_value_number(&v, 0, &x) && x == -1);
    assert_true(value("4204ffffffff", &v)); /* a Gauge32 without its leading zero is not negative */
    assert_true(v.is_int && v.num == 4294967295);
    assert_true(value("420500ffffffff", &v));
    assert_true(v.is_int && v.num == 4294967295);
    assert_false(value("420501ffffffff", &v));
    assert_true(value("460900ffffffffffffffff", &v));
    assert_false(v.is_int);               /* 2^64 - 1 fits no int64 and is no -1 */
    assert_true(value("0403312e35", &v)); /* "1.5" as text */
    assert_true(jm_snmp_value_number(&v, -2, &x) && x == 150);
    assert_true(value("04034e2f41", &v)); /* "N/A" */
    assert_false(jm_snmp_value_number(&v, 0, &x));
    assert_true(value("44079f780443ac2000", &v)); /* Opaque float 344.25 */
    assert_true(jm_snmp_value_number(&v, -2, &x) && x == 34425);
    assert_true(value("44079f78047fc00000", &v)); /* NaN */
    assert_false(jm_snmp_value_number(&v, 0, &x));
    assert_true(value("8000", &v) && v.type == JM_SNMP_NO_OBJECT);
    assert_false(jm_snmp_value_number(&v, 0, &x));
    assert_false(value("0200", &v));
    assert_false(value("0209010203040506070809", &v));
}

/* A version 3 message made with one peer's keys is taken by another that has the same. */
static void v3(void **state)
{
    struct jm_snmp_peer a = {.version = 3, .auth = JM_SNMP_SHA256, .priv = true, .user = "jm"}, b;
    struct jm_snmp_pdu pdu = {.tag = JM_SNMP_RESPONSE, .request = 7}, got;
    uint8_t msg[512], broken[512];
    (void)state;
    assert_true(jm_snmp_password(a.auth, JM_SPAN("authentic1"), a.auth_secret));
    assert_true(jm_snmp_password(a.auth, JM_SPAN("private12"), a.priv_secret));
    a.engine_n = unhex("80001f8880e9630000d61ff449", a.engine);
    a.boots = 3;
    a.time = 1000;
    jm_snmp_localize(&a);
    b = a;
    int n = jm_snmp_encode(&a, &pdu, msg, sizeof msg);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) { /* no byte can be changed unseen */
        memcpy(broken, msg, (size_t)n);
        broken[i] ^= 1;
        struct jm_snmp_peer c = b;
        assert_int_not_equal(jm_snmp_decode(&c, broken, (size_t)n, &got), JM_SNMP_TAKEN);
    }
    memcpy(broken, msg, (size_t)n);
    assert_int_equal(jm_snmp_decode(&b, broken, (size_t)n, &got), JM_SNMP_TAKEN);
    assert_int_equal(got.request, 7);
    b.time = 2000; /* an answer of a quarter of an hour ago */
    assert_int_equal(jm_snmp_decode(&b, msg, (size_t)n, &got), JM_EDENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(aes),    cmocka_unit_test(keys),
                                       cmocka_unit_test(oids),   cmocka_unit_test(v2c),
                                       cmocka_unit_test(values), cmocka_unit_test(v3)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
