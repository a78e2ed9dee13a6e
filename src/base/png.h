/* SPDX-License-Identifier: Apache-2.0 */
/* SVG to PNG lives in a module of its own (src/modules/rsvg.c), loaded when the first PNG is asked for. It
 * uses nothing of this library. */
#ifndef JM_BASE_PNG_H
#define JM_BASE_PNG_H

#include <stddef.h>

#include "base/err.h"

#define JM_PNG_ABI    1
#define JM_PNG_SYMBOL "jm_png_module"
#define JM_PNG_WHY    200

struct jm_png_ops {
    int abi;
    const char *(*version)(void); /* "librsvg 2.54.7" */
    /* Draws the SVG at `scale` pixels a user unit. put gets the bytes of the PNG in order; not 0 ends it. 0,
     * or -1 with why. */
    int (*render)(const char *svg, size_t n, double scale, int (*put)(void *self, const void *p, size_t n),
                  void *self, char why[JM_PNG_WHY]);
};

/* JM_EABSENT with a sentence, as jm_module_load. */
int jm_png_load(const struct jm_png_ops **out, struct jm_err *err);

#endif
