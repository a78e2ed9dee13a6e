/* SPDX-License-Identifier: Apache-2.0 */
#include "simgpu_text.h"

#include <string.h>

__extension__ typedef __int128 wide;

const struct simgpu_unit simgpu_units_time[] = {{"ns", 1},
                                                {"us", 1000},
                                                {"ms", 1000000},
                                                {"s", 1000000000},
                                                {"min", 60000000000},
                                                {"h", 3600000000000},
                                                {"d", 86400000000000},
                                                {NULL, 0}};
const struct simgpu_unit simgpu_units_power[] = {
    {"W", 1000000}, {"kW", 1000000000}, {"mW", 1000}, {"uW", 1}, {NULL, 0}};
const struct simgpu_unit simgpu_units_energy[] = {{"J", 1000},        {"mJ", 1},       {"kJ", 1000000},
                                                  {"MJ", 1000000000}, {"Wh", 3600000}, {"kWh", 3600000000},
                                                  {NULL, 0}};
const struct simgpu_unit simgpu_units_bytes[] = {
    {"B", 1},     {"KiB", 1024},   {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024},
    {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000},   {NULL, 0}};
const struct simgpu_unit simgpu_units_gain[] = {{"", 1000000000}, {"%", 10000000}, {NULL, 0}};
const struct simgpu_unit simgpu_units_plain[] = {{"", 1}, {NULL, 0}};

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

bool simgpu_quantity(const char *text, size_t n, const struct simgpu_unit *units, int64_t *out)
{
    size_t i = 0;
    bool minus = i < n && text[i] == '-';
    i += minus;
    size_t first = i;
    while (i < n && digit(text[i]))
        i++;
    size_t whole = i, frac = i, frac_end = i;
    if (whole == first)
        return false;
    if (i < n && text[i] == '.') {
        frac = ++i;
        while (i < n && digit(text[i]))
            i++;
        frac_end = i;
        if (frac_end == frac)
            return false;
    }
    size_t num_end = i;
    while (i < n && text[i] == ' ')
        i++;
    const struct simgpu_unit *u = units;
    while (u->name && !simgpu_is(text + i, n - i, u->name))
        u++;
    bool zero = true;
    for (size_t k = first; k < num_end; k++)
        zero = zero && (text[k] == '0' || text[k] == '.');
    if (!u->name && !(zero && i == n))
        return false;
    wide v = 0;
    int64_t factor = u->name ? u->factor : 1;
    for (size_t k = first; k < whole; k++) {
        v = v * 10 + (text[k] - '0');
        if (v > INT64_MAX)
            return false;
    }
    v *= factor;
    int64_t scale = factor;
    for (size_t k = frac; k < frac_end && scale; k++) {
        /* Units are powers of ten except time (min, h) and bytes; there the last place may be cut off. */
        v += (wide)scale * (text[k] - '0') / 10;
        scale /= 10;
    }
    if (v > INT64_MAX)
        return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

bool simgpu_quantity_z(const char *text, const struct simgpu_unit *units, int64_t *out)
{
    return simgpu_quantity(text, strlen(text), units, out);
}

const char *simgpu_units_help(const struct simgpu_unit *units)
{
    if (units == simgpu_units_time)
        return "a time (20us, 100ms, 4s, 2min, 1h)";
    if (units == simgpu_units_power)
        return "a power (700W, 0.7kW, 250mW)";
    if (units == simgpu_units_energy)
        return "an energy (12J, 5mJ, 3kJ)";
    if (units == simgpu_units_bytes)
        return "a size (20GiB, 512MiB)";
    if (units == simgpu_units_gain)
        return "a factor (1.0, 0.95, 105%)";
    return "a whole number";
}

const char *simgpu_item(const char **text, char sep, size_t *n)
{
    const char *p = *text;
    if (!p)
        return NULL;
    const char *end = strchr(p, sep);
    *text = end ? end + 1 : NULL;
    if (!end)
        end = p + strlen(p);
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *n = (size_t)(end - p);
    return p;
}

bool simgpu_is(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* 1 to max hexadecimal digits and the character that must follow them. */
static const char *hex(const char *p, int max, char then, uint32_t *out)
{
    static const char digits[] = "0123456789abcdef";
    int n = 0;
    *out = 0;
    for (; *p && n < max; p++, n++) {
        const char *d = strchr(digits, *p >= 'A' && *p <= 'F' ? *p - 'A' + 'a' : *p);
        if (!d)
            break;
        *out = *out * 16 + (uint32_t)(d - digits);
    }
    return n > 0 && *p == then ? p : NULL;
}

bool simgpu_pci(const char *text, uint32_t *domain, uint32_t *bus, uint32_t *device)
{
    const char *p = hex(text, 8, ':', domain), *end;
    if (p)
        p = hex(p + 1, 2, ':', bus);
    if (!p)
        return false;
    end = hex(p + 1, 2, '.', device);
    return end ? strcmp(end, ".0") == 0 : hex(p + 1, 2, 0, device) != NULL;
}

bool simgpu_pair(const char *item, size_t n, const char **key, size_t *kn, const char **value, size_t *vn)
{
    const char *eq = memchr(item, '=', n);
    if (!eq)
        return false;
    *key = item;
    *kn = (size_t)(eq - item);
    *value = eq + 1;
    *vn = n - *kn - 1;
    return true;
}
