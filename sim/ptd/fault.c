/* SPDX-License-Identifier: Apache-2.0 */
#include "ptd/ptd.h"
#include "simgpu_text.h"

#include <errno.h>
#include <string.h>

enum arg { NOTHING, NUMBER, SECONDS, TEXT };

static const struct {
    const char *name;
    int kind;
    enum arg arg;
    const char *help;
} kinds[] = {
    {"refuse", F_REFUSE, TEXT, "refuse=V|A|GO         answers SR of a number (or Go) with an error"},
    {"lose", F_LOSE, NUMBER, "lose=N@T              N samples are missed at T: one -2 row"},
    {"over", F_OVER, NUMBER, "over=CREST@T+L        the current's peak is over range: -(3+x)"},
    {"nan", F_NAN, NOTHING, "nan@T+L               readings are nan: -1"},
    {"inf", F_INF, NOTHING, "inf@T+L               readings are inf: -1"},
    {"die", F_DIE, NOTHING, "die@T                 the process ends, status 1"},
    {"close", F_CLOSE, NOTHING, "close@T               it closes the connection"},
    {"silent", F_SILENT, NOTHING, "silent@T              it answers no more"},
    {"slow", F_SLOW, SECONDS, "slow=3s@T+L           answers come so late"},
    {"garbage", F_GARBAGE, NOTHING, "garbage@T+L           answers are no text"},
    {"version", F_VERSION, TEXT, "version=1.8.0         what Identify says"},
    {"hello", F_HELLO, TEXT, "hello=TEXT            what Hello gets"},
    {"jump", F_JUMP, SECONDS, "jump=-1h@T            the clock of its stamps jumps"},
    {"dup", F_DUP, NOTHING, "dup@T+L               samples repeat the stamp before"},
    {"short", F_SHORT, NUMBER, "short=N               RL sends N lines fewer than announced"},
    {"cut", F_CUT, NUMBER, "cut=BYTES             RL ends there, connection closed"},
    {"late", F_LATE, SECONDS, "late=20s              its port opens that late"},
    {"nostart", F_NOSTART, NOTHING, "nostart               ends at once, status 1"},
};

const char *simptd_fault_help(int i)
{
    return i >= 0 && (size_t)i < sizeof kinds / sizeof *kinds ? kinds[i].help : NULL;
}

static int wrong(char *why, size_t n, const char *text, const char *what)
{
    snprintf(why, n, "--fault %.100s: %s.", text, what);
    return -EINVAL;
}

/* KIND[=VALUE][@[ranging:|testing:|start:]TIME[+LENGTH]] */
int simptd_fault_parse(struct simptd_options *o, const char *text, char *why, size_t n)
{
    if (o->faults == SIMPTD_FAULTS)
        return wrong(why, n, text, "there are too many faults");
    struct simptd_fault f = {.length_ns = INT64_MAX / 4};
    const char *at = strchr(text, '@'), *end = at ? at : text + strlen(text);
    const char *eq = memchr(text, '=', (size_t)(end - text));
    size_t name = (size_t)((eq ? eq : end) - text), i = 0;
    while (i < sizeof kinds / sizeof *kinds && !simgpu_is(text, name, kinds[i].name))
        i++;
    if (i == sizeof kinds / sizeof *kinds)
        return wrong(why, n, text, "there is no such fault; --help lists them");
    f.kind = kinds[i].kind;
    if ((kinds[i].arg != NOTHING) != (eq != NULL))
        return wrong(why, n, text, eq ? "it takes no value" : "it needs a value");
    if (eq) {
        size_t len = (size_t)(end - eq - 1);
        int64_t v = 0;
        if (len >= sizeof f.text)
            return wrong(why, n, text, "its value is too long");
        memcpy(f.text, eq + 1, len);
        if (kinds[i].arg == NUMBER && (!simgpu_quantity(f.text, len, simgpu_units_gain, &v) || v < 0))
            return wrong(why, n, text, "its value is no number");
        if (kinds[i].arg == SECONDS && !simgpu_quantity(f.text, len, simgpu_units_time, &v))
            return wrong(why, n, text, "its value is no time (3s, 20ms)");
        f.number = (double)v / 1e9;
    }
    if (f.kind == F_REFUSE && strcmp(f.text, "V") != 0 && strcmp(f.text, "A") != 0 &&
        strcmp(f.text, "GO") != 0)
        return wrong(why, n, text, "it refuses V, A or GO");
    if (at) {
        static const struct {
            const char *word;
            enum simptd_phase phase;
        } words[] = {{"ranging:", PHASE_RANGING}, {"testing:", PHASE_TESTING}, {"start:", PHASE_START}};
        at++;
        for (size_t k = 0; k < 3; k++)
            if (strncmp(at, words[k].word, strlen(words[k].word)) == 0) {
                f.phase = words[k].phase;
                at += strlen(words[k].word);
                break;
            }
        size_t len = strcspn(at, "+");
        if (!simgpu_quantity(at, len, simgpu_units_time, &f.at_ns) || f.at_ns < 0 ||
            (at[len] &&
             (!simgpu_quantity_z(at + len + 1, simgpu_units_time, &f.length_ns) || f.length_ns < 0)))
            return wrong(why, n, text, "a time is written @10s, @testing:10s+3s or @start:10s");
    }
    o->fault[o->faults++] = f;
    return 0;
}

struct simptd_fault *simptd_fault(struct simptd *p, int kind, int64_t now)
{
    for (int i = 0; i < p->o->faults; i++) {
        struct simptd_fault *f = &p->o->fault[i];
        if (f->kind != kind || f->done)
            continue;
        int64_t from = p->go_ns + f->at_ns;
        bool on;
        if (f->phase == PHASE_START) {
            from = p->start_ns + f->at_ns;
            on = now >= from;
        } else if (f->phase == PHASE_ANY &&
                   f->at_ns == 0) { /* from the beginning, without a measurement too */
            from = p->start_ns;
            on = true;
        } else {
            on = p->go_ns > 0 && (f->phase == PHASE_ANY || f->phase == p->phase) && now >= from;
        }
        if (on && now - from < f->length_ns)
            return f;
    }
    return NULL;
}
