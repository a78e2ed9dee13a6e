/* SPDX-License-Identifier: Apache-2.0 */
/* A foreign YAML document as JSON text, for files that other programs wrote. */
#ifndef JM_BASE_YAMLJSON_H
#define JM_BASE_YAMLJSON_H

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

#define JM_YAMLJSON_MOST  ((size_t)1 << 20) /* bytes of the document */
#define JM_YAMLJSON_NODES 65536
#define JM_YAMLJSON_DEPTH 32

/* Mappings become objects, their keys text; a plain scalar that is a decimal number becomes a number, true
 * and false truth values, null, ~ and nothing null; every other scalar is text. Anchors, aliases and a second
 * document are refused. JM_EPARSE (with line and column), JM_ELIMIT, JM_ENOMEM; JM_EUNSUPPORTED when built
 * without libyaml. */
int jm_yaml_json(struct jm_span text, struct jm_str *json, struct jm_err *err);

#endif
