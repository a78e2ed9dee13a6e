/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "import/peer.h"

#include "base/banned.h"

static bool says(struct jm_span s, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= s.n; i++)
        if (strncasecmp(s.p + i, word, n) == 0)
            return true;
    return false;
}

enum jm_end jm_peer_end(int64_t code, struct jm_span type, struct jm_span message)
{
    static const struct {
        const char *word;
        enum jm_end end;
    } words[] = {
        {"cancel", JM_END_ABORTED},
        {"abort", JM_END_ABORTED},
        {"timeout", JM_END_TIMEOUT},
        {"timed out", JM_END_TIMEOUT},
        {"ssl", JM_END_TLS},
        {"certificate", JM_END_TLS},
        {"refused", JM_END_REFUSED},
        {"cannot connect", JM_END_REFUSED},
        {"unreachable", JM_END_REFUSED},
        {"connectorerror", JM_END_REFUSED},
        {"connecterror", JM_END_REFUSED},
        {"connectionerror", JM_END_REFUSED},
        {"disconnect", JM_END_CUT},
        {"reset", JM_END_CUT},
        {"payload", JM_END_CUT},
        {"incomplete", JM_END_CUT},
        {"protocol", JM_END_PROTOCOL},
        {"json", JM_END_PROTOCOL},
        {"parse", JM_END_PROTOCOL},
        {"decode", JM_END_PROTOCOL},
        {"empty", JM_END_EMPTY},
        {"nocontent", JM_END_EMPTY},
        {"no content", JM_END_EMPTY},
        {"no tokens", JM_END_EMPTY},
    };
    if (code == 499) /* the client closed the request itself */
        return JM_END_ABORTED;
    if (code == 401 || code == 403)
        return JM_END_AUTH;
    if (code == 404)
        return JM_END_NOT_FOUND;
    if (code == 408)
        return JM_END_TIMEOUT;
    if (code == 429)
        return JM_END_RATE_LIMIT;
    if (code >= 400 && code < 500)
        return JM_END_HTTP_CLIENT;
    if (code >= 500 && code < 600)
        return JM_END_HTTP_SERVER;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (says(type, words[i].word))
            return words[i].end;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (says(message, words[i].word))
            return words[i].end;
    return JM_END_ERROR_EVENT;
}

static bool exponent_of(const char *unit, int *e)
{
    static const struct {
        const char *name;
        int e;
    } units[] = {{"ms", -3}, {"milliseconds", -3}, {"s", 0},   {"sec", 0},         {"seconds", 0},
                 {"us", -6}, {"microseconds", -6}, {"ns", -9}, {"nanoseconds", -9}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *e = units[i].e;
            return true;
        }
    return false;
}

bool jm_peer_ns(const struct jm_ifile *f, const struct jm_jtoken *v, const char *unit, int64_t *ns)
{
    static const char *const names[] = {"value", "unit"};
    struct jm_jtoken m[2];
    char own[24];
    int e;
    if (v->type == JM_J_OBJECT) {
        if (jm_jfind(f, v, names, 2, m, NULL))
            return false;
        if (jm_jtext(&m[1], own, sizeof own))
            unit = own;
        v = &m[0];
    }
    return exponent_of(unit, &e) && jm_jtime(v, e, ns);
}

bool jm_peer_count(const struct jm_ifile *f, const struct jm_jtoken *v, int64_t *n)
{
    struct jm_jtoken m;
    int64_t x;
    if (v->type == JM_J_OBJECT) {
        if (!jm_jmember(f, v, "value", &m))
            return false;
        v = &m;
    }
    if (!jm_jint(v, &x) || x < 0)
        return false;
    *n = x;
    return true;
}

bool jm_peer_exists(const char *dir, const char *name)
{
    char path[JM_PEER_PATH];
    struct stat st;
    return (size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path && stat(path, &st) == 0 &&
           S_ISREG(st.st_mode);
}

bool jm_peer_open(const char *dir, const char *name, char *path, struct jm_ifile *f)
{
    return jm_peer_exists(dir, name) && snprintf(path, JM_PEER_PATH, "%s/%s", dir, name) > 0 &&
           jm_ifile_open(path, f, NULL) == 0;
}
