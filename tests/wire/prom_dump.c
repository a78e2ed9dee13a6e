/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input, a metrics text → a line a sample: name, value, labels as hexadecimal, sorted by the reader.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "wire/prom.h"

static void hex(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%02x", (unsigned char)p[i]);
}

int main(void)
{
    struct jm_prom p;
    struct jm_prom_sample s;
    struct jm_err err;
    char buf[777], value[4096];
    ssize_t n;
    int rc = 0;
    bool last = false;
    jm_prom_init(&p, NULL);
    while (!last && rc == 0) {
        n = read(0, buf, sizeof buf);
        last = n <= 0;
        struct jm_span in = {buf, last ? 0 : (size_t)n};
        while ((rc = jm_prom_next(&p, &in, last, &s, &err)) == 1) {
            printf("%.*s\t%.*s\t%d\t%.17g\t", (int)s.name.n, s.name.p, (int)s.family.n, s.family.p,
                   (int)s.type, s.value);
            for (size_t i = 0; i < s.n_labels; i++) {
                size_t k = jm_prom_unescape(s.label[i].value, value, sizeof value);
                printf("%s%.*s=", i ? "," : "", (int)s.label[i].name.n, s.label[i].name.p);
                hex(value, k);
            }
            printf("\t%d\n", s.exemplar);
        }
    }
    printf("bad %llu\n", (unsigned long long)p.bad_lines);
    jm_prom_release(&p);
    return rc == 0 ? 0 : 1;
}
