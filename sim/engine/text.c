/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include "sched.h"

#include <string.h>

static const char *const words[] = {
    "the",     "power", "of",     "a",       "model",  "is",     "drawn", "from",   "its",     "memory",
    "and",     "every", "token",  "costs",   "energy", "when",   "batch", "grows",  "less",    "for",
    "each",    "one",   "so",     "we",      "read",   "meters", "at",    "both",   "ends",    "wait",
    "until",   "they",  "move",   "then",    "divide", "joule",  "by",    "answer", "with",    "care",
    "because", "idle",  "boards", "still",   "burn",   "while",  "clock", "falls",  "slowly",  "under",
    "limit",   "that",  "holds",  "rack",    "heat",   "warm",   "air",   "flows",  "through", "cold",
    "aisle",   "again", "noise",  "settles",
};
static const char *const wide[] = {
    "größer", "énergie", "мощь", "电力", "効率",  "전력", "ισχύς", "żółw",
    "कार",    "naïve",   "⚡",    "🔋",    "année", "東京", "été",   "õhk",
};
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static bool letter(unsigned char c)
{
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool blank(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static size_t letters(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && i < SIM_WORD_MAX - 1 && letter((unsigned char)p[i]))
        i++;
    /* not inside a character */
    if (i == SIM_WORD_MAX - 1)
        while (i > 1 && i < n && ((unsigned char)p[i] & 0xc0) == 0x80)
            i--;
    return i;
}

size_t sim_text_token(const char *p, size_t n)
{
    size_t lead = 0;
    if (blank((unsigned char)p[0])) {
        while (lead < n && blank((unsigned char)p[lead]))
            lead++;
        if (lead > 1 && p[lead - 1] == ' ' && lead < n)
            return lead - 1; /* the last blank belongs to the word behind */
        if (lead > 1 || p[0] != ' ' || n == 1)
            return lead;
    }
    size_t w = letters(p + lead, n - lead);
    if (w)
        return lead + w;
    while (w < 3 && lead + w < n && p[lead + w] >= '0' && p[lead + w] <= '9')
        w++;
    return lead + (w ? w : 1);
}

uint64_t sim_text_count(const char *p, size_t n)
{
    uint64_t tokens = 0;
    while (n > 0) {
        size_t k = sim_text_token(p, n);
        p += k;
        n -= k;
        tokens++;
    }
    return tokens;
}

uint32_t sim_text_id(const char *token, size_t n, uint32_t vocab)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++)
        h = sim_mix(h, (unsigned char)token[i]);
    return vocab > 256 ? 256 + (uint32_t)(h % (vocab - 256)) : (uint32_t)(h % (vocab ? vocab : 1));
}

size_t sim_text_word(uint64_t key, uint32_t i, bool utf8, char out[SIM_WORD_MAX])
{
    uint64_t h = sim_mix(key, i);
    const char *w = utf8 && h >> 40 & 1 ? wide[h % COUNT(wide)] : words[h % COUNT(words)];
    size_t n = strlen(w), lead = i > 0;
    out[0] = ' ';
    memcpy(out + lead, w, n);
    return lead + n;
}
