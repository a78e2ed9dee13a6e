/* SPDX-License-Identifier: Apache-2.0 */
/* Turns files into C arrays at build time: embed HEADER OUT.c NAME=FILE...
 * Each NAME becomes `const unsigned char NAME[]` and `const size_t NAME_len`. A zero byte that the length
 * does not count follows the bytes, so that a text can be used as a string; an empty file gives length 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int embed(FILE *out, const char *name, size_t name_len, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return -1;
    }
    size_t n = 0;
    int c;
    fprintf(out, "\nconst unsigned char %.*s[] = {", (int)name_len, name);
    while ((c = getc(in)) != EOF)
        fprintf(out, "%s%d,", n++ % 32 ? "" : "\n", c);
    fprintf(out, "\n0};\nconst size_t %.*s_len = %zu;\n", (int)name_len, name, n);
    int bad = ferror(in);
    if (fclose(in) != 0 || bad) {
        perror(path);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: embed HEADER OUT.c NAME=FILE...\n");
        return 2;
    }
    FILE *out = fopen(argv[2], "wb");
    if (!out) {
        perror(argv[2]);
        return 4;
    }
    fprintf(out, "/* made by tools/embed.c */\n#include \"%s\"\n", argv[1]);
    for (int i = 3; i < argc; i++) {
        const char *eq = strchr(argv[i], '=');
        if (!eq || embed(out, argv[i], (size_t)(eq - argv[i]), eq + 1) != 0) {
            fprintf(stderr, "embed: cannot embed %s\n", argv[i]);
            fclose(out);
            remove(argv[2]); /* a half-written file must not look finished to the build */
            return 4;
        }
    }
    int bad = ferror(out);
    if (fclose(out) != 0 || bad) {
        perror(argv[2]);
        remove(argv[2]);
        return 4;
    }
    return 0;
}
