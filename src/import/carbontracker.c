/* SPDX-License-Identifier: Apache-2.0 */
/* CarbonTracker's pair of logs: *_carbontracker.log (power and duration of each epoch) and
 * *_carbontracker_output.log (actual and predicted consumption, which its standard output shows too). The one
 * is found beside the other. Lines begin with "2022-11-14 15:43:37 - ", before version 1.1.5 with "2020-10-07
 * 11:11:11,123 - MainThread - INFO - ". Energies are kWh and hold a PUE of about 1.6; powers do not. From
 * version 1.2.6 on the power of several devices is their mean and not their sum (component.py), so that the
 * energy of n GPUs is too small by n. A CPU that RAPL does not show counts with half its TDP. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "import/devlog.h"
#include "import/peer.h"
#include "import/table.h"

#include "base/banned.h"

#define PARTS  8
#define EPOCHS 2000 /* that are kept one by one */

struct part {
    char name[16], devices[200];
    int n_devices;
    double joules, seconds;          /* over the epochs with a power */
    int64_t missing, listed, scalar; /* epochs without one; with a list of several; with one number */
    double last;                     /* W of the open epoch */
};

struct block { /* "Actual consumption for 3 epoch(s):" */
    int64_t n, epochs;
    double seconds, kwh, grams;
};

struct ct {
    struct jm_build *b; /* NULL: only looked at */
    struct part part[PARTS];
    int n_part;
    int64_t epochs, first, last; /* first: start of the first epoch */
    double seconds, epoch_s;
    struct block actual, pred;
    double intensity, pue;
    char location[120], version[32];
    bool interrupted, modelled_intensity;
};

static bool after(struct jm_span s, const char *words, struct jm_span *rest)
{
    ptrdiff_t at = jm_span_find(s, jm_span_of(words));
    if (at < 0)
        return false;
    *rest = jm_span_trim(jm_span_sub(s, (size_t)at + strlen(words), s.n));
    return true;
}

/* "[1 day, ]0:01:23[.45]" in seconds. */
static bool clock_of(struct jm_span s, double *seconds)
{
    struct jm_span field;
    double days = 0, v[3];
    ptrdiff_t day = jm_span_find(s, JM_SPAN("day"));
    if (day > 0) {
        ptrdiff_t comma = jm_span_chr(s, ',');
        if (comma < day || jm_num_double(jm_span_trim(jm_span_sub(s, 0, (size_t)day)), &days))
            return false;
        s = jm_span_trim(jm_span_sub(s, (size_t)comma + 1, s.n));
    }
    for (int i = 0; i < 3; i++)
        if (!jm_span_field(&s, ':', &field) || jm_num_double(jm_span_trim(field), &v[i]))
            return false;
    *seconds = days * 86400 + v[0] * 3600 + v[1] * 60 + v[2];
    return *seconds >= 0 && *seconds < 1e9;
}

static struct part *part_of(struct ct *c, struct jm_span name)
{
    char low[16];
    snprintf(low, sizeof low, "%.*s", name.n < 15 ? (int)name.n : 15, name.p);
    for (char *p = low; *p; p++)
        *p += *p >= 'A' && *p <= 'Z' ? 32 : 0;
    jm_text_plain(low, strlen(low), false);
    for (int i = 0; i < c->n_part; i++)
        if (strcmp(c->part[i].name, low) == 0)
            return &c->part[i];
    if (c->n_part == PARTS || !low[0])
        return NULL;
    struct part *p = &c->part[c->n_part++];
    *p = (struct part){.last = NAN};
    snprintf(p->name, sizeof p->name, "%s", low);
    return p;
}

/* " GPU with device(s) A, B. CPU with device(s) cpu:0." */
static void components(struct ct *c, struct jm_span s)
{
    struct jm_span rest;
    while (s.n) {
        ptrdiff_t sp = jm_span_find(s, JM_SPAN(" with device(s) "));
        if (sp < 0)
            return;
        struct part *p = part_of(c, jm_span_trim(jm_span_sub(s, 0, (size_t)sp)));
        rest = jm_span_sub(s, (size_t)sp + 16, s.n);
        ptrdiff_t next = jm_span_find(rest, JM_SPAN(" with device(s) ")), end = (ptrdiff_t)rest.n;
        for (ptrdiff_t i = (next < 0 ? (ptrdiff_t)rest.n : next) - 1; i >= 0; i--)
            if (rest.p[i] == '.' && (i + 1 == (ptrdiff_t)rest.n || rest.p[i + 1] == ' ')) {
                end = i;
                break;
            }
        struct jm_span list = jm_span_sub(rest, 0, (size_t)end), one;
        if (p) {
            snprintf(p->devices, sizeof p->devices, "%.*s", list.n < 199 ? (int)list.n : 199, list.p);
            jm_text_plain(p->devices, strlen(p->devices), false);
            p->n_devices = 0;
            while (jm_span_field(&list, ',', &one))
                p->n_devices += jm_span_trim(one).n > 0;
        }
        s = jm_span_sub(rest, (size_t)end + 1, rest.n);
    }
}

/* "[136.9 140.2]", "136.9", "None" */
static void power(struct ct *c, struct jm_span s)
{
    ptrdiff_t colon = jm_span_chr(s, ':');
    struct jm_span word;
    double sum = 0, v;
    int n = 0;
    if (colon <= 0)
        return;
    struct part *p = part_of(c, jm_span_trim(jm_span_sub(s, 0, (size_t)colon)));
    s = jm_span_trim(jm_span_sub(s, (size_t)colon + 1, s.n));
    bool list = s.n > 1 && s.p[0] == '[';
    if (list)
        s = jm_span_sub(s, 1, s.n - (s.p[s.n - 1] == ']' ? 2 : 1));
    while (p && jm_span_field(&s, ' ', &word)) {
        word = jm_span_trim(word);
        if (word.n && word.p[word.n - 1] == ',')
            word.n--;
        if (word.n && jm_num_double(word, &v) == 0 && v >= 0) {
            sum += v;
            n++;
        }
    }
    if (!p)
        return;
    if (!n) {
        p->missing++;
        return;
    }
    *(list && n > 1 ? &p->listed : &p->scalar) += 1;
    p->last = sum;
    p->joules += sum * c->epoch_s;
    p->seconds += c->epoch_s;
    if (c->b && c->epochs <= EPOCHS) {
        char key[64];
        snprintf(key, sizeof key, "epoch %lld, %s", (long long)c->epochs, p->name);
        jm_build_claim(c->b, key, "", "mean", sum, "W", n > 1 ? "sum over the devices of the line" : "");
    }
}

static void standard_line(struct ct *c, struct jm_span line)
{
    struct jm_span s, stamp;
    int64_t t;
    bool zone;
    double d;
    ptrdiff_t dash = jm_span_find(line, JM_SPAN(" - "));
    if (dash <= 0)
        return;
    stamp = jm_span_sub(line, 0, (size_t)dash);
    ptrdiff_t comma = jm_span_chr(stamp, ',');
    bool timed = jm_devlog_time(jm_span_sub(stamp, 0, comma > 0 ? (size_t)comma : stamp.n), &t, &zone);
    if (after(line, "The following components were found:", &s)) {
        components(c, s);
    } else if (after(line, "Duration:", &s) && clock_of(s, &d)) {
        c->epochs++;
        c->epoch_s = d;
        c->seconds += d;
        if (timed) {
            if (c->first < 0)
                c->first = t > (int64_t)(d * 1e9) ? t - (int64_t)(d * 1e9) : 0;
            c->last = t;
        }
    } else if (after(line, "Average power usage (W) for ", &s)) {
        power(c, s);
    } else if (after(line, "PUE coefficient of ", &s)) {
        ptrdiff_t e = jm_span_chr(s, ' ');
        struct jm_span n = jm_span_sub(s, 0, e < 0 ? s.n : (size_t)e);
        if (n.n && n.p[n.n - 1] == '.')
            n.n--;
        if (jm_num_double(n, &d) == 0 && d >= 1 && d < 10)
            c->pue = d;
    } else if (after(line, "carbon intensity during training was ", &s)) {
        ptrdiff_t e = jm_span_chr(s, ' '), at = jm_span_find(s, JM_SPAN("location: "));
        if (e > 0 && jm_num_double(jm_span_sub(s, 0, (size_t)e), &d) == 0)
            c->intensity = d;
        if (at > 0)
            snprintf(c->location, sizeof c->location, "%.*s",
                     (int)(s.n - (size_t)at - 10 < 119 ? s.n - (size_t)at - 10 : 119), s.p + at + 10);
        jm_text_plain(c->location, strlen(c->location), false);
    } else if (after(line, "arbontracker version ", &s)) {
        snprintf(c->version, sizeof c->version, "%.*s", s.n < 31 ? (int)s.n : 31, s.p);
        jm_text_plain(c->version, strlen(c->version), false);
    } else if (jm_span_find(line, JM_SPAN("Training was interrupted")) >= 0) {
        c->interrupted = true;
    }
}

static void standard_log(struct ct *c, const struct jm_ifile *f)
{
    struct jm_span rest = f->text, line;
    size_t mark = 0;
    while (!c->b->rc && jm_span_line(&rest, &line)) {
        standard_line(c, line);
        jm_ifile_used(f, line.p + line.n, &mark);
    }
}

static void output_log(struct ct *c, const struct jm_ifile *f)
{
    struct jm_span rest = f->text, line, s;
    struct block *open = NULL;
    size_t mark = 0;
    double d;
    while (jm_span_line(&rest, &line)) {
        jm_ifile_used(f, line.p + line.n, &mark);
        if (after(line, "The following components were found:", &s))
            components(c, s);
        bool actual = after(line, "Actual consumption", &s),
             pred = !actual && after(line, "Predicted consumption", &s);
        if (actual || pred) {
            struct jm_span n;
            int64_t was = (open = actual ? &c->actual : &c->pred)->n;
            *open = (struct block){.n = was + 1, .epochs = -1, .seconds = NAN, .kwh = NAN, .grams = NAN};
            if (after(s, "for ", &n)) {
                ptrdiff_t e = jm_span_chr(n, ' ');
                if (e < 0 || jm_num_i64(jm_span_sub(n, 0, (size_t)e), &open->epochs))
                    open->epochs = -1;
            }
        } else if (open && after(line, "Time:", &s)) {
            if (clock_of(s, &d))
                open->seconds = d;
        } else if (open && after(line, "Energy:", &s) && s.n > 4) {
            ptrdiff_t e = jm_span_chr(s, ' ');
            if (e > 0 && jm_span_is(jm_span_trim(jm_span_sub(s, (size_t)e, s.n)), "kWh") &&
                jm_num_double(jm_span_sub(s, 0, (size_t)e), &d) == 0)
                open->kwh = d;
        } else if (open && after(line, "CO2eq:", &s)) {
            ptrdiff_t e = jm_span_chr(s, ' ');
            if (e > 0 && jm_num_double(jm_span_sub(s, 0, (size_t)e), &d) == 0)
                open->grams = d;
        }
    }
}

static void block_claims(struct ct *c, const struct block *k, const char *what, bool actual)
{
    char key[40];
    if (!k->n)
        return;
    snprintf(key, sizeof key, "%s epochs", what);
    if (k->epochs >= 0)
        jm_build_claim(c->b, key, "", "", (double)k->epochs, "", "");
    snprintf(key, sizeof key, "%s time", what);
    if (isfinite(k->seconds))
        jm_build_claim(c->b, key, actual ? "duration" : "", "sum", k->seconds, "s",
                       actual ? "sum of the epochs" : "");
    snprintf(key, sizeof key, "%s energy", what);
    if (isfinite(k->kwh))
        jm_build_energy_claim(c->b, key, actual ? "energy" : "", "sum", k->kwh, "kWh",
                              actual ? "estimate: mean power of each epoch x its time, x PUE"
                                     : "estimate: the epochs so far, scaled up to all of them",
                              actual ? "design" : "");
    snprintf(key, sizeof key, "%s CO2eq", what);
    if (isfinite(k->grams))
        jm_build_claim(c->b, key, "", "sum", k->grams, "gCO2e", "estimate: energy x carbon intensity");
}

static void facts(struct ct *c)
{
    struct jm_build *b = c->b;
    double joules = 0;
    bool complete = c->epochs > 0;
    if (c->version[0])
        jm_build_env(b, "import.version", "%s", c->version);
    for (int i = 0; i < c->n_part; i++) {
        struct part *p = &c->part[i];
        char key[48];
        bool gpu = strcmp(p->name, "gpu") == 0;
        joules += p->joules;
        complete &= p->missing == 0 && p->seconds > 0;
        snprintf(key, sizeof key, "host.%s", p->name);
        if (p->devices[0])
            jm_build_env(b, key, "%s", p->devices);
        if (gpu && p->n_devices)
            jm_build_env(b, "import.gpus", "%d", p->n_devices);
        if (p->seconds > 0) {
            bool mean = p->n_devices > 1 && !p->listed, whole = !mean && !p->missing;
            snprintf(key, sizeof key, "%s: power x duration", p->name);
            jm_build_energy_claim(b, key, gpu && whole ? "energy" : "", "sum", p->joules, "J",
                                  p->missing
                                      ? "the log's mean power x duration of the epochs that have one"
                                      : "the log's mean power x duration, added over its epochs, without PUE",
                                  gpu && whole ? "gpu" : "");
            if (mean)
                jm_build_env(b, "import.energy.gpu_mean",
                             "%d devices (%s) and one power: CarbonTracker takes the mean over devices "
                             "(component.py), "
                             "so their energy is %d times as large",
                             p->n_devices, p->name, p->n_devices);
        }
        if (p->missing)
            jm_build_env(b, "import.below_resolution",
                         "%lld epochs without a power of %s: too short for one look; they "
                         "count as 0 W",
                         (long long)p->missing, p->name);
        if (strcmp(p->name, "cpu") == 0 && strcmp(p->devices, "CPU") == 0)
            jm_build_env(b, "import.modelled",
                         "cpu (CPU): powermetrics of a Mac, whose powers Apple itself calls estimates");
        else if (strcmp(p->name, "cpu") == 0 && p->devices[0] && !strstr(p->devices, "cpu:") &&
                 !strstr(p->devices, "package"))
            jm_build_env(b, "import.modelled",
                         "cpu (%.100s): no RAPL package but a name, which CarbonTracker counts with half "
                         "its TDP",
                         p->devices);
    }
    if (c->n_part == 1 && strcmp(c->part[0].name, "cpu") == 0)
        jm_build_env(b, "import.without.gpu", "no GPU among the components");
    else if (c->n_part == 1 && strcmp(c->part[0].name, "gpu") == 0)
        jm_build_env(b, "import.without.host", "GPUs are the only components that were found");
    else if (!c->n_part)
        jm_build_missing(b, "components",
                         "whether GPU and CPU are in the energy stands in the beginning of "
                         "the log, which is not there");
    if (isfinite(c->pue))
        jm_build_env(b, "import.pue", "%.4g, in actual and predicted energy; not in the powers", c->pue);
    else if (isfinite(c->actual.kwh) && !complete)
        jm_build_env(b, "import.pue",
                     "in actual and predicted energy; the log does not name it (CarbonTracker takes 1.58, "
                     "earlier 1.55 to 1.67)");
    if (complete && isfinite(c->actual.kwh) && joules > 0 && c->actual.epochs == c->epochs) {
        double ratio = c->actual.kwh * 3.6e6 / joules;
        jm_build_claim(b, "actual energy / (power x duration)", "", "", ratio, "", "the PUE that was used");
        if (isnan(c->pue) && ratio > 1.02 && ratio < 2.2)
            jm_build_env(b, "import.pue", "%.4g, in actual and predicted energy; not in the powers", ratio);
        if (ratio > 2.2 && ratio < 2.8)
            jm_build_env(b, "import.pue.twice",
                         "actual energy is %.4g times power x duration: about 1.58 squared", ratio);
        else if (ratio < 0.98 || ratio >= 2.8)
            jm_build_env(b, "import.parts", "actual energy %.6g kWh, power x duration of all epochs %.6g kWh",
                         c->actual.kwh, joules / 3.6e6);
    }
    if (isfinite(c->actual.kwh) && c->actual.kwh == 0 && c->actual.seconds > 0)
        jm_build_env(b, "import.zero", "0 kWh in %.6g s", c->actual.seconds);
    if (c->actual.n > 1 || c->pred.n > 1)
        jm_build_env(b, "import.rows.cumulative",
                     "%lld actual and %lld predicted consumptions in one log; the last of each counts",
                     (long long)c->actual.n, (long long)c->pred.n);
    if (c->pred.n)
        jm_build_env(b, "import.predicted", "%s for %lld epochs, %lld measured%s",
                     c->actual.n ? "a prediction stands beside the actual consumption"
                                 : "there is a prediction only",
                     (long long)c->pred.epochs, (long long)(c->actual.n ? c->actual.epochs : c->epochs),
                     c->interrupted ? "; the training was interrupted" : "");
    if (isfinite(c->intensity)) {
        jm_build_claim(b, "carbon intensity", "", "mean", c->intensity, "gCO2e/kWh", "");
        if (c->location[0])
            jm_build_env(b, "file.location", "%s", c->location);
    }
    if (isfinite(c->actual.grams) && c->actual.kwh > 0)
        jm_build_env(b, "import.carbon.unknown", "%.6g", c->actual.grams / c->actual.kwh);
    jm_build_times(
        b, c->first >= 0
               ? "stamps of the log, local time without a zone, taken as UTC; an epoch ends at its line"
               : "the log has no times");
    jm_build_env(b, "import.clock", "wall");
    jm_build_missing(b, "requests", "CarbonTracker knows of no requests and no tokens: no ratio is formed");
    jm_build_missing(b, "readings",
                     "the log holds a mean power an epoch; its readings (1 to 10 s apart) are not in it");
}

static bool is_output(struct jm_span text)
{
    struct jm_span head = jm_span_sub(text, 0, 1u << 20);
    return jm_span_find(head, JM_SPAN("Average power usage (W)")) < 0 &&
           jm_span_find(head, JM_SPAN("Duration:")) < 0;
}

/* a_carbontracker.log beside a_carbontracker_output.log, and the other way round. */
static bool sibling(const char *path, char *other, size_t room)
{
    static const char end[] = "_output.log";
    size_t n = strlen(path);
    if (n > 4 + sizeof end - 1 && strcmp(path + n - (sizeof end - 1), end) == 0)
        snprintf(other, room, "%.*s.log", (int)(n - (sizeof end - 1)), path);
    else if (n > 4 && strcmp(path + n - 4, ".log") == 0)
        snprintf(other, room, "%.*s%s", (int)(n - 4), path, end);
    else
        return false;
    return strcmp(path, other) != 0;
}

static int import(const char *path, const char *out, const struct jm_import_opts *o, struct jm_err *err)
{
    struct jm_ifile f, g;
    struct jm_build b;
    char other[JM_PEER_PATH];
    struct ct *c = calloc(1, sizeof *c);
    int rc = c ? jm_ifile_open(path, &f, err) : jm_err_set(err, JM_ENOMEM, "out of memory for %s", path);
    if (rc) {
        free(c);
        return rc;
    }
    *c = (struct ct){
        .b = &b, .first = -1, .last = -1, .intensity = NAN, .pue = NAN, .actual = {.kwh = NAN, .grams = NAN}};
    bool two = sibling(path, other, sizeof other) && jm_ifile_open(other, &g, NULL) == 0;
    const struct jm_ifile *std = !is_output(f.text) ? &f : two ? &g : NULL;
    /* the window comes first, so the epochs are gone through twice */
    struct ct look = *c;
    look.b = NULL;
    if (std) {
        struct jm_span rest = std->text, line;
        while (jm_span_line(&rest, &line))
            if (jm_span_find(line, JM_SPAN("Duration:")) >= 0)
                standard_line(&look, line);
    }
    rc = jm_build_begin(&b, "carbontracker", &f, o, out, look.last >= 0 ? look.last : f.mtime_ns, err);
    if (!rc && two)
        jm_build_raw(&b, &g, jm_ifile_name(&g));
    if (!rc) {
        output_log(c, &f);
        if (!c->actual.n && !c->pred.n && two)
            output_log(c, &g);
        double s = look.seconds > 0 ? look.seconds : isfinite(c->actual.seconds) ? c->actual.seconds : 0;
        int64_t ns = look.first >= 0 && look.last > look.first ? look.last - look.first : (int64_t)(s * 1e9);
        int64_t t0 = look.first >= 0 ? look.first : f.mtime_ns > ns ? f.mtime_ns - ns : 0;
        if (!look.epochs && !c->actual.n && !c->pred.n)
            jm_build_fail(&b, "%s holds no epoch and no consumption of CarbonTracker", path);
        jm_build_window(&b, 0, "epochs", t0, ns);
        if (std)
            standard_log(c, std);
        block_claims(c, &c->actual, "actual", true);
        block_claims(c, &c->pred, "predicted", false);
        if (!c->actual.n && c->seconds > 0)
            jm_build_claim(&b, "duration of the epochs", "duration", "sum", c->seconds, "s", "");
        if (!std)
            jm_build_missing(&b, "powers", "*_carbontracker.log is not beside it");
        facts(c);
    }
    rc = jm_build_end(&b);
    if (two)
        jm_ifile_close(&g);
    jm_ifile_close(&f);
    free(c);
    return rc;
}

static int sniff(const struct jm_probe *p)
{
    if (!p->f || p->dir || p->json || p->sqlite)
        return 0;
    struct jm_span head = jm_span_sub(p->f->text, 0, 1u << 18);
    if (jm_span_find(head, JM_SPAN("Average power usage (W) for ")) >= 0 ||
        jm_span_find(head, JM_SPAN("carbontracker version ")) >= 0)
        return 90;
    return jm_span_find(head, JM_SPAN("consumption for ")) >= 0 &&
                   jm_span_find(head, JM_SPAN(" epoch(s):")) >= 0
               ? 85
           : jm_span_find(head, JM_SPAN("CarbonTracker:")) >= 0 ? 80
                                                                : 0;
}

const struct jm_importer jm_import_carbontracker = {
    .name = "carbontracker",
    .summary = "CarbonTracker logs (*_carbontracker.log with *_carbontracker_output.log beside it, or its "
               "standard output)",
    .reads = "Power of every component in every epoch, times, actual and predicted consumption as claims; "
             "power x duration is "
             "added up again, and the PUE follows from both.",
    .lacks =
        "Readings; the zone of its times; tokens. The energy of several GPUs where the log has their mean.",
    .sniff = sniff,
    .import = import,
};
