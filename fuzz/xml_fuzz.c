/* SPDX-License-Identifier: Apache-2.0 */
/* The XML pull reader over any bytes: it ends, tells as many ends as beginnings, and spans lie in the text.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "wire/xmlpull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct jm_span s, const uint8_t *data, size_t size)
{
    if (s.n && (s.p < (const char *)data || s.p + s.n > (const char *)data + size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jm_xml x;
    struct jm_xml_event e;
    char text[40];
    size_t events = 0;
    int depth = 0;
    jm_xml_init(&x, (struct jm_span){(const char *)data, size});
    while (jm_xml_next(&x, &e, NULL) == 0 && e.kind != JM_XML_END_OF_TEXT) {
        struct jm_span v;
        depth += e.kind == JM_XML_OPEN ? 1 : e.kind == JM_XML_CLOSE ? -1 : 0;
        if (depth < 0 || depth > JM_XML_DEPTH || ++events > 2 * size + 2)
            abort();
        inside(e.name, data, size);
        inside(e.text, data, size);
        if (jm_xml_attribute(e.attributes, "id", &v))
            inside(v, data, size);
        jm_xml_text(e.text, text, sizeof text);
    }
    return 0;
}
