/* SPDX-License-Identifier: Apache-2.0 */
/* The table of slices, as cells that each renderer frames in its way. */
#ifndef JM_SHOW_SLICES_H
#define JM_SHOW_SLICES_H

#include "model/report.h"
#include "show/fmt.h"

enum jm_slice_column {
    JM_SC_NAME,
    JM_SC_OK,
    JM_SC_BAD, /* failed, and aborted by the server */
    JM_SC_CANCELLED,
    JM_SC_RATE, /* output tokens a second */
    JM_SC_TTFT_P50,
    JM_SC_TTFT_P99,
    JM_SC_TPOT_P99,
    JM_SC_CONTRACT, /* attainment */
    JM_SC_ENERGY,   /* J/token, where the slice had the window for itself */
    JM_SC_COUNT
};

struct jm_slice_cells {
    char cell[JM_SC_COUNT][JM_FMT];
};

extern const char *const jm_slice_titles[JM_SC_COUNT];
/* Is there anything in the column? */
bool jm_slice_column_used(const struct jm_report *r, enum jm_slice_column c);
void jm_slice_cells(const struct jm_report *r, size_t slice, struct jm_slice_cells *out);
/* The sentence below the table; NULL: none. */
const char *jm_slice_note(const struct jm_report *r);

#endif
