/* SPDX-License-Identifier: Apache-2.0 */
/* A pull reader for the XML that tools print: elements, their text, their attributes as written. It never
 * allocates and knows no entities but the five of XML and character numbers: what a DTD declares is passed
 * over, so that no document can make it grow or open anything. Several documents after each other are read as
 * one ("nvidia-smi -q -x -l"). */
#ifndef JM_WIRE_XMLPULL_H
#define JM_WIRE_XMLPULL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/span.h"

#define JM_XML_DEPTH 48

enum jm_xml_kind { JM_XML_END_OF_TEXT, JM_XML_OPEN, JM_XML_CLOSE, JM_XML_TEXT };

struct jm_xml_event {
    enum jm_xml_kind kind;
    struct jm_span name;       /* of an element */
    struct jm_span attributes; /* of one that opens: all of it as written */
    struct jm_span text;       /* without blanks around it, entities as written; never empty */
};

struct jm_xml {
    struct jm_span in;
    size_t at;
    int depth;
    struct jm_span open[JM_XML_DEPTH];
    bool close; /* <x/>: its end is still to be told */
};

void jm_xml_init(struct jm_xml *x, struct jm_span text);
/* JM_EPARSE (err names the byte), JM_ELIMIT: too deep. At the end of the text inside an element: JM_EPARSE,
 * so that a file that was cut is known as such; what came before has been told. */
int jm_xml_next(struct jm_xml *x, struct jm_xml_event *e, struct jm_err *err);
/* An attribute's value as written; false: there is none. */
bool jm_xml_attribute(struct jm_span attributes, const char *name, struct jm_span *value);
/* Text without its entities; at most cap bytes with the NUL. Returns buf. */
char *jm_xml_text(struct jm_span raw, char *buf, size_t cap);

#endif
