/* SPDX-License-Identifier: Apache-2.0 */
/* SVG to PNG with librsvg and cairo (rsvg_handle_render_document(3), cairo_surface_write_to_png_stream(3)).
 * See base/png.h. */
#include "base/png.h"

#include <cairo.h>
#include <librsvg/rsvg.h>
#include <math.h>
#include <stdio.h>

#include "base/banned.h"

#define MOST 16384.0 /* pixels a side */

struct sink {
    int (*put)(void *self, const void *p, size_t n);
    void *self;
};

static cairo_status_t take(void *closure, const unsigned char *p, unsigned n)
{
    struct sink *s = closure;
    return s->put(s->self, p, n) ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static const char *version(void)
{
    return "librsvg " LIBRSVG_VERSION;
}

static int fail(char why[JM_PNG_WHY], GError *e, const char *text)
{
    snprintf(why, JM_PNG_WHY, "%s", e ? e->message : text);
    if (e)
        g_error_free(e);
    return -1;
}

static int draw(RsvgHandle *h, double width, double height, struct sink *s, char why[JM_PNG_WHY])
{
    GError *e = NULL;
    RsvgRectangle whole = {0, 0, width, height};
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)ceil(width), (int)ceil(height));
    cairo_t *c = cairo_create(surface);
    int rc = 0;
    if (!rsvg_handle_render_document(h, c, &whole, &e))
        rc = fail(why, e, "it cannot be drawn");
    cairo_destroy(c);
    cairo_surface_flush(surface);
    cairo_status_t status = rc ? CAIRO_STATUS_SUCCESS : cairo_surface_write_to_png_stream(surface, take, s);
    if (status != CAIRO_STATUS_SUCCESS)
        rc = fail(why, NULL, cairo_status_to_string(status));
    cairo_surface_destroy(surface);
    return rc;
}

static int render(const char *svg, size_t n, double scale, int (*put)(void *self, const void *p, size_t n),
                  void *self, char why[JM_PNG_WHY])
{
    GError *e = NULL;
    double w = 0, h = 0;
    struct sink s = {put, self};
    RsvgHandle *handle = rsvg_handle_new_from_data((const guint8 *)svg, n, &e);
    if (!handle)
        return fail(why, e, "it is no SVG");
    int rc = !rsvg_handle_get_intrinsic_size_in_pixels(handle, &w, &h) || !(w >= 1) || !(h >= 1) ||
                     !(w * scale <= MOST) || !(h * scale <= MOST)
                 ? fail(why, NULL, "its size is not known, or beyond 16,384 pixels")
                 : draw(handle, w * scale, h * scale, &s, why);
    g_object_unref(handle);
    return rc;
}

__attribute__((visibility("default"))) const struct jm_png_ops *jm_png_module(void);

const struct jm_png_ops *jm_png_module(void)
{
    static const struct jm_png_ops ops = {.abi = JM_PNG_ABI, .version = version, .render = render};
    return &ops;
}
