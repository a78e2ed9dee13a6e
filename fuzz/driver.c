/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over its stored seeds without libFuzzer, as an ordinary test that speaks TAP: the empty
 * input, each seed whole, cut at up to 64 places, and 200 fixed mutations of it; with -q a quarter of these,
 * for targets of which a run takes milliseconds. Usage: x_replay [-q] DIR|FILE... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static unsigned cases, mutations = 200, cuts = 64;

/* Each input gets its own heap block of exactly its size, so that a sanitizer sees one byte too far. */
static void feed(const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    if (n)
        memcpy(copy, p, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void mutate(const uint8_t *p, size_t n)
{
    static const uint8_t odd[] = {0,   1,   '"', '\\', '{',  '[',  '\n', '\r',
                                  ':', '-', '9', 0x7f, 0x80, 0xc0, 0xff};
    uint64_t seed = 0x9e3779b97f4a7c15u ^ n;
    uint8_t *m = malloc(2 * n + 1);
    if (!m)
        abort();
    for (unsigned i = 0; n && i < mutations; i++) {
        size_t len = n;
        memcpy(m, p, n);
        for (unsigned k = 0, edits = 1 + next(&seed) % 4; k < edits && len; k++) {
            size_t at = next(&seed) % len;
            switch (next(&seed) % 4) {
            case 0: m[at] ^= (uint8_t)(1u << (next(&seed) % 8)); break;
            case 1: m[at] = odd[next(&seed) % sizeof odd]; break;
            case 2: /* drop a stretch */
            {
                size_t cut = 1 + next(&seed) % (len - at);
                memmove(m + at, m + at + cut, len - at - cut);
                len -= cut;
                break;
            }
            default: /* repeat a stretch */
            {
                size_t rep = 1 + next(&seed) % (len - at);
                if (len + rep > 2 * n)
                    break;
                memmove(m + at + rep, m + at, len - at);
                len += rep;
            }
            }
        }
        feed(m, len);
    }
    free(m);
}

static int run_file(const char *path, const char *name)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st) != 0) {
        if (f)
            fclose(f);
        printf("not ok %u - %s cannot be read\n", ++cases, name);
        return 1;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *p = malloc(size + 1);
    if (!p)
        abort();
    size_t n = fread(p, 1, size, f);
    fclose(f);
    feed(p, n);
    for (size_t step = n / cuts + 1, cut = step; cut < n; cut += step)
        feed(p, cut);
    if (n <= 256 * 1024)
        mutate(p, n);
    free(p);
    printf("ok %u - %s\n", ++cases, name);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    feed((const uint8_t *)"", 0);
    printf("ok %u - empty input\n", ++cases);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-q") == 0) {
            mutations /= 4;
            cuts /= 4;
            continue;
        }
        struct dirent **list = NULL;
        int n = scandir(argv[i], &list, NULL, alphasort);
        if (n < 0) {
            struct stat st;
            if (stat(argv[i], &st) == 0)
                bad |= run_file(argv[i], argv[i]);
            continue; /* a target without seeds has no folder */
        }
        for (int k = 0; k < n; k++) {
            if (list[k]->d_name[0] != '.') {
                size_t room = strlen(argv[i]) + strlen(list[k]->d_name) + 2;
                char *path = malloc(room);
                if (!path)
                    abort();
                snprintf(path, room, "%s/%s", argv[i], list[k]->d_name);
                bad |= run_file(path, list[k]->d_name);
                free(path);
            }
            free(list[k]);
        }
        free(list);
    }
    printf("1..%u\n", cases);
    return bad;
}
