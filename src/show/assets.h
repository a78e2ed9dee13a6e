/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that the build puts into the program for the HTML report (web/meson.build, tools/embed.c).
 *
 * Every array ends with a zero byte that its _len does not count. Without npm, or without a registry to reach
 * at build time, the uPlot arrays are empty (_len == 0): the report then has only its drawn charts. uPlot is
 * MIT licensed; a report that carries it must carry jm_asset_uplot_license too. */
#ifndef JM_SHOW_ASSETS_H
#define JM_SHOW_ASSETS_H

#include <stddef.h>

extern const unsigned char jm_asset_uplot_js[]; /* defines the global uPlot; contains no "</script" */
extern const size_t jm_asset_uplot_js_len;
extern const unsigned char jm_asset_uplot_css[];
extern const size_t jm_asset_uplot_css_len;
extern const unsigned char jm_asset_uplot_license[];
extern const size_t jm_asset_uplot_license_len;

#endif
