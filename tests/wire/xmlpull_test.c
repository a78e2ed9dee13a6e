/* SPDX-License-Identifier: Apache-2.0 */
/* The XML pull reader: what it tells, what it passes over, what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "wire/xmlpull.h"

/* "<a" "=text" ">a" one after the other; "!" where it is no XML. */
static const char *told(const char *text, char *buf, size_t cap)
{
    struct jm_xml x;
    struct jm_xml_event e;
    size_t n = 0;
    int rc;
    buf[0] = 0;
    jm_xml_init(&x, jm_span_of(text));
    while ((rc = jm_xml_next(&x, &e, NULL)) == 0 && e.kind != JM_XML_END_OF_TEXT) {
        struct jm_span s = e.kind == JM_XML_TEXT ? e.text : e.name;
        n += (size_t)snprintf(buf + n, cap - n, "%s%c%.*s", n ? " " : "", "?<>="[e.kind], (int)s.n, s.p);
    }
    if (rc)
        snprintf(buf + n, cap - n, "%s!", n ? " " : "");
    return buf;
}

static void tells(void **state)
{
    char b[400];
    (void)state;
    assert_string_equal(told("<a><b>1 W</b><c/></a>", b, sizeof b), "<a <b =1 W >b <c >c >a");
    assert_string_equal(
        told("<?xml version='1.0'?><!DOCTYPE a SYSTEM \"x\" [<!ELEMENT a (b)> <!-- > -->]>\n<a> x </a>\n", b,
             sizeof b),
        "<a =x >a");
    assert_string_equal(told("<a>1</a>\n<?xml version='1.0'?><a>2</a>", b, sizeof b), "<a =1 >a <a =2 >a");
    assert_string_equal(told("<a><!-- <b> --><![CDATA[ <c> ]]>x</a>", b, sizeof b), "<a =x >a");
    assert_string_equal(told("<a t='>'>x</a>", b, sizeof b), "<a =x >a");
}

static void refuses(void **state)
{
    static const char *const broken[] = {"<a>",      "<a><b></a>",    "</a>",   "<a",    "<>",
                                         "<a><!-- ", "<!DOCTYPE a [", "<a></a", "<a <b>"};
    char b[400], deep[400] = "";
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_true(strchr(told(broken[i], b, sizeof b), '!') != NULL);
    for (int i = 0; i < JM_XML_DEPTH + 1; i++)
        memcpy(deep + 3 * i, "<a>", 4);
    assert_true(strchr(told(deep, b, sizeof b), '!') != NULL);
}

static void attributes_and_entities(void **state)
{
    struct jm_span v;
    char b[40];
    (void)state;
    assert_true(jm_xml_attribute(jm_span_of("x='1' id = \"00:18\" y"), "id", &v));
    assert_true(jm_span_is(v, "00:18"));
    assert_false(jm_xml_attribute(jm_span_of("xid=\"1\" id"), "id", &v));
    assert_false(jm_xml_attribute(jm_span_of("id=\"1"), "other", &v));
    assert_string_equal(jm_xml_text(jm_span_of("a &amp; b &lt;&#65;&gt; &unknown; &"), b, sizeof b),
                        "a & b <A> &unknown; &");
    assert_string_equal(jm_xml_text(jm_span_of("&amp;&amp;&amp;"), b, 3), "&&");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells), cmocka_unit_test(refuses),
                                       cmocka_unit_test(attributes_and_entities)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
