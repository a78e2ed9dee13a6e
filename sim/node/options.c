/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(m) offsetof(struct plant_conf, m)

/* clang-format off: a table */
static const struct {
    const char *name, *unit;
    size_t at;
    const char *help;
} keys[] = {
    {"minutes", "min", AT(minutes), "length of the window"},
    {"lead", "s", AT(lead_s), "what is simulated before and after it"},
    {"seed", "", AT(seed), "of everything that is random"},
    {"course", "", AT(course), "another course of arrivals and loads on the same machine"},
    {"gpus", "", AT(gpus), "boards; four an engine where there are as many"},
    {"load", "", AT(load), "share of what the engines can serve; 0: idle"},
    {"isl", "", AT(isl), "mean tokens of a prompt"},
    {"osl", "", AT(osl), "mean tokens of an answer"},
    {"sockets", "", AT(sockets), "processors"},
    {"cpu-idle", "W", AT(cpu_idle_w), "of a socket without any load"},
    {"cpu-busy", "W", AT(cpu_busy_w), "what a busy engine adds to a socket"},
    {"cpu-own", "W", AT(cpu_own_w), "standard deviation of a socket's own load"},
    {"dram", "W", AT(dram_w), "memory"},
    {"nic", "W", AT(nic_w), "network"},
    {"storage", "W", AT(storage_w), "drives"},
    {"switch", "W", AT(switch_w), "NVSwitches"},
    {"board", "W", AT(board_w), "board and regulators"},
    {"fans", "W", AT(fans_w), "fans at full speed; power goes with the cube of it"},
    {"fans-least", "", AT(fans_least), "their least speed, of the full one"},
    {"fans-lag", "s", AT(fans_lag_s), "time constant with which they follow the heat"},
    {"psus", "", AT(psus), "power supplies that share the load"},
    {"psu-rated", "W", AT(psu_rated_w), "rated output of each"},
    {"psu-share", "", AT(psu_share), "of the load, on the first of several"},
};
/* clang-format on */

void node_conf_init(struct node_conf *c)
{
    memset(c, 0, sizeof *c);
    plant_defaults(&c->plant);
    for (int i = 0; i < INST_KINDS; i++)
        c->inst[i] = inst_kinds[i].conf;
    snprintf(c->host, sizeof c->host, "sim-node");
    snprintf(c->driver, sizeof c->driver, "580.95.05");
    c->truth_step_s = 1;
    c->clock_bound_s = 0.001;
}

static int number(const char *text, const char *unit, double *out)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || errno || !isfinite(v))
        return -1;
    while (*end == ' ')
        end++;
    if (*end && (!*unit || strcmp(end, unit) != 0))
        return -1;
    *out = v;
    return 0;
}

/* "bmc.power:lag=1.5,gain=0.98"; "bmc" is every instrument whose name begins so. */
static int instrument(struct node_conf *c, const char *value, char *why, size_t n)
{
    char copy[256], *save = copy;
    if (strlen(value) >= sizeof copy || !strchr(value, ':')) {
        snprintf(why, n, "--instrument takes NAME:key=value,..., not \"%.60s\".", value);
        return -1;
    }
    memcpy(copy, value, strlen(value) + 1);
    char *name = strsep(&save, ":");
    size_t len = strlen(name);
    int found = 0;
    for (char *item; (item = strsep(&save, ","));) {
        char *v = item, *k = strsep(&v, "=");
        found = 0;
        for (int i = 0; i < INST_KINDS; i++) {
            const char *full = inst_kinds[i].name;
            if (!len || strncmp(full, name, len) != 0 || (full[len] && full[len] != '.'))
                continue;
            found++;
            if (inst_set(&c->inst[i], full, k, v ? v : "1", why, n))
                return -1;
        }
    }
    if (!found)
        snprintf(why, n, "there is no instrument \"%.60s\"; --help lists them.", name);
    return found ? 0 : -1;
}

static int grade(struct node_conf *c, const char *value, char *why, size_t n)
{
    for (int i = 0; plant_grades[i].name; i++)
        if (strcmp(plant_grades[i].name, value) == 0) {
            c->plant.psu_grade = i;
            return 0;
        }
    snprintf(why, n, "--psu takes titanium, platinum, gold or silver, not \"%.40s\".", value);
    return -1;
}

static int between(struct node_conf *c, const char *value, char *why, size_t n)
{
    char copy[64];
    const char *comma = strchr(value, ',');
    size_t k = comma ? (size_t)(comma - value) : 0;
    if (!comma || k >= sizeof copy)
        goto wrong;
    memcpy(copy, value, k);
    copy[k] = 0;
    if (number(copy, "s", &c->between[0]) || number(comma + 1, "s", &c->between[1]) ||
        c->between[1] < c->between[0])
        goto wrong;
    c->ask_between = true;
    return 0;
wrong:
    snprintf(why, n, "--between takes two times in s, FROM,TO, not \"%.40s\".", value);
    return -1;
}

static int text(char *out, size_t room, const char *key, const char *value, char *why, size_t n)
{
    if (!*value || strlen(value) >= room) {
        snprintf(why, n, "--%s takes a name of at most %zu bytes.", key, room - 1);
        return -1;
    }
    memcpy(out, value, strlen(value) + 1);
    return 0;
}

static int word(char *out, size_t room, const char *key, const char *value, char *why, size_t n)
{
    for (const char *p = value; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *p)) {
            snprintf(why, n, "--%s takes a %s, not \"%.40s\".", key,
                     strcmp(key, "host") == 0 ? "host name" : "version", value);
            return -1;
        }
    return text(out, room, key, value, why, n);
}

int node_conf_say(struct node_conf *c, const char *key, const char *value, char *why, size_t n)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double v;
        if (strcmp(key, keys[i].name) != 0)
            continue;
        if (number(value, keys[i].unit, &v)) {
            snprintf(why, n, "--%s takes a number%s%s, not \"%.40s\" (%s).", key, *keys[i].unit ? " of " : "",
                     keys[i].unit, value, keys[i].help);
            return -1;
        }
        memcpy((char *)&c->plant + keys[i].at, &v, sizeof v);
        return 0;
    }
    if (strcmp(key, "instrument") == 0)
        return instrument(c, value, why, n);
    if (strcmp(key, "psu") == 0)
        return grade(c, value, why, n);
    if (strcmp(key, "host") == 0)
        return word(c->host, sizeof c->host, key, value, why, n);
    if (strcmp(key, "driver") == 0)
        return word(c->driver, sizeof c->driver, key, value, why, n);
    if (strcmp(key, "readings") == 0)
        return text(c->readings, sizeof c->readings, key, value, why, n);
    if (strcmp(key, "truth") == 0)
        return text(c->truth, sizeof c->truth, key, value, why, n);
    if (strcmp(key, "between") == 0)
        return between(c, value, why, n);
    if (strcmp(key, "clock-error") == 0 || strcmp(key, "clock-bound") == 0) {
        double *v = key[6] == 'e' ? &c->clock_error_s : &c->clock_bound_s;
        if (number(value, "s", v) == 0 && fabs(*v) < 1e6)
            return 0;
        snprintf(why, n, "--%s takes a time in s, not \"%.40s\".", key, value);
        return -1;
    }
    if (strcmp(key, "truth-step") == 0) {
        if (number(value, "s", &c->truth_step_s) == 0 && c->truth_step_s >= 0.01)
            return 0;
        snprintf(why, n, "--truth-step takes 0.01 s or more.");
        return -1;
    }
    if (strcmp(key, "config") == 0)
        return node_conf_file(c, value, why, n);
    snprintf(why, n, "\"--%.60s\" is no option of a node in virtual time; --minutes 1 --help lists them.",
             key);
    return -1;
}

int node_conf_file(struct node_conf *c, const char *path, char *why, size_t n)
{
    char line[600];
    FILE *f = fopen(path, "re");
    if (!f) {
        snprintf(why, n, "%s cannot be read: %s.", path, strerror(errno));
        return -1;
    }
    int rc = 0;
    for (int no = 1; !rc && fgets(line, sizeof line, f); no++) {
        line[strcspn(line, "#\r\n")] = 0;
        char *key = line + strspn(line, " \t"), *v = key + strcspn(key, " \t");
        size_t end = strlen(line);
        while (end && (line[end - 1] == ' ' || line[end - 1] == '\t'))
            line[--end] = 0;
        if (!*key)
            continue;
        if (*v)
            *v++ = 0;
        v += strspn(v, " \t");
        char sentence[400] = "";
        if (strcmp(key, "config") == 0)
            snprintf(sentence, sizeof sentence, "a file names no other file.");
        rc = *sentence ? -1 : node_conf_say(c, key, v, sentence, sizeof sentence);
        if (rc)
            snprintf(why, n, "%s:%d: %s", path, no, sentence);
    }
    fclose(f);
    return rc;
}

void node_conf_help(void)
{
    struct plant_conf d;
    plant_defaults(&d);
    puts("usage: joulemark-sim node --minutes N [OPTION]...\n\n"
         "Simulates a whole node and every instrument on it in virtual time, without waiting:\n"
         "GPUs and the engines on them, processors, memory, network, drives, fans, power\n"
         "supplies; counters and gauges of the GPUs, RAPL, a BMC, a PDU, a power analyzer. What\n"
         "was read goes to --readings as lines of JSON; joulemark sim node --minutes N -o FILE\n"
         "makes a run file of it. What every part truly drew is known exactly: --truth,\n"
         "--between.\n\n"
         "  --readings FILE        lines of JSON; - is standard output (the default)\n"
         "  --truth FILE           energy of every part over the window and up to each step of\n"
         "                         --truth-step (1 s), and what each instrument really is\n"
         "  --between FROM,TO      only tell the energy of every part between these times, in s\n"
         "                         from the begin of the window\n"
         "  --host NAME            of the node (sim-node)\n"
         "  --driver VERSION       of the GPUs (580.95.05)\n"
         "  --clock-error S        how far the clock of the node is ahead of UTC (0)\n"
         "  --clock-bound S        how far it says that it may be off (0.001); below 0: it does not say\n"
         "  --psu GRADE            titanium, platinum, gold or silver: the 80 PLUS table\n"
         "  --instrument NAME:KEY=VALUE,...\n"
         "                         of one instrument, or of all whose name begins so\n"
         "  --config FILE          the same options, one a line, without the --");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        double v;
        char left[64];
        memcpy(&v, (char *)&d + keys[i].at, sizeof v);
        snprintf(left, sizeof left, "--%s %s", keys[i].name, *keys[i].unit ? keys[i].unit : "N");
        printf("  %-22s %s (%g)\n", left, keys[i].help, v);
    }
    puts("\ninstruments:");
    for (int i = 0; i < INST_KINDS; i++)
        printf("  %-15s %s\n", inst_kinds[i].name, inst_kinds[i].help);
    puts("\nkeys of an instrument:");
    const char *key, *help;
    for (int i = 0; (help = inst_key_help(i, &key)); i++)
        printf("  %-15s %s\n", key, help);
}
