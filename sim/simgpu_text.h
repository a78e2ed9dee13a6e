/* SPDX-License-Identifier: Apache-2.0 */
/* Text of options into exact integers. */
#ifndef SIMGPU_TEXT_H
#define SIMGPU_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number with a unit: value x 10^exp. factor turns 1 of the unit into the base unit. */
struct simgpu_unit {
    const char *name;
    int64_t factor;
};
extern const struct simgpu_unit simgpu_units_time[];   /* ns */
extern const struct simgpu_unit simgpu_units_power[];  /* uW */
extern const struct simgpu_unit simgpu_units_energy[]; /* mJ */
extern const struct simgpu_unit simgpu_units_bytes[];
extern const struct simgpu_unit simgpu_units_gain[]; /* ppb; plain number */
extern const struct simgpu_unit simgpu_units_plain[];

/* Parses all of text[n] ("100ms", "0.7 kW"); a bare 0 needs no unit. False when it is not such a quantity or
 * does not fit. Digits below the base unit are cut off. */
bool simgpu_quantity(const char *text, size_t n, const struct simgpu_unit *units, int64_t *out);
bool simgpu_quantity_z(const char *text, const struct simgpu_unit *units, int64_t *out);

/* "100ms, 5s, 2min" for messages. */
const char *simgpu_units_help(const struct simgpu_unit *units);

/* The next item of a list: returns its start, trimmed, sets *n, moves *text behind the separator; NULL at the
 * end. */
const char *simgpu_item(const char **text, char sep, size_t *n);

bool simgpu_is(const char *text, size_t n, const char *word);

/* Parses a PCI address "0000:1b:00.0", its domain of 1 to 8 digits, the function left out or 0. */
bool simgpu_pci(const char *text, uint32_t *domain, uint32_t *bus, uint32_t *device);

/* Splits item[n] at the first '='; false without one. */
bool simgpu_pair(const char *item, size_t n, const char **key, size_t *kn, const char **value, size_t *vn);

#endif
