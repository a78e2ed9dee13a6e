/* SPDX-License-Identifier: Apache-2.0 */
/* What the public checker's language makes of text, where its verdict rests on it: numbers, stamps, rounding,
 * lines. All are pure but the line reader. */
#ifndef JM_MLPERF_PYTEXT_H
#define JM_MLPERF_PYTEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/span.h"
#include "base/str.h"

/* repr() of a float: shortest digits that read back, exponent below 1e-4 and from 1e16. */
void jm_py_repr(struct jm_str *out, double v);
/* round(v, digits): of the exact binary value, ties to even. */
double jm_py_round(double v, int digits);
/* float(text): blanks around, underscores between digits, inf and nan. False: ValueError. */
bool jm_py_float(struct jm_span s, double *out);
/* strptime(text, "%m-%d-%Y %H:%M:%S.%f") as seconds of UTC. False: ValueError. */
bool jm_py_time(struct jm_span s, double *unix_s);
/* The first stamp of any digits (\d*-\d*-\d* \d*:\d*:\d*\.\d*) in a line. */
bool jm_py_find_stamp(struct jm_span line, struct jm_span *stamp);
/* The stamp ^\d\d-\d\d-\d\d\d\d \d\d:\d\d:\d\d.\d\d\d (23 bytes). */
bool jm_py_line_stamp(struct jm_span line);
struct jm_span jm_py_strip(struct jm_span s); /* all ASCII white space at both ends */

/* Lines of a text file with universal line ends (LF, CRLF, CR), in bounded memory: what a line has beyond
 * JM_PY_LINE bytes is passed over. */
#define JM_PY_LINE ((size_t)1 << 20)
struct jm_py_file {
    FILE *f;
    struct jm_str line;
    char *buf;
    size_t at, have;
    bool ended;    /* the line handed out had a line end */
    bool no_utf8;  /* some line so far cannot be decoded */
    bool after_cr; /* a line feed now belongs to the line before */
};
/* JM_EABSENT, JM_EDENIED, JM_EIO, JM_ENOMEM. */
int jm_py_open(struct jm_py_file *f, const char *path, struct jm_err *err);
/* 1 and *line, 0 at the end, negative: JM_EIO, JM_ENOMEM. */
int jm_py_next(struct jm_py_file *f, struct jm_span *line, struct jm_err *err);
void jm_py_close(struct jm_py_file *f);

#endif
