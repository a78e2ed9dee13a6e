/* SPDX-License-Identifier: Apache-2.0 */
/* Files that every bundle carries, put into the program at build time (tools/embed.c). */
#ifndef JM_CLI_BUNDLE_ASSETS_H
#define JM_CLI_BUNDLE_ASSETS_H

#include <stddef.h>

extern const unsigned char jm_asset_recompute[], jm_asset_decode_run[], jm_asset_unzstd[],
    jm_asset_run_file[];
extern const size_t jm_asset_recompute_len, jm_asset_decode_run_len, jm_asset_unzstd_len,
    jm_asset_run_file_len;

#endif
