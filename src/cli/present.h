/* SPDX-License-Identifier: Apache-2.0 */
/* From a run file to something that is read: compute, audit, render. The options are the same for show,
 * report and every command that ends with a summary. */
#ifndef JM_CLI_PRESENT_H
#define JM_CLI_PRESENT_H

#include "cli/cli.h"
#include "model/embodied.h"
#include "model/pue.h"
#include "model/words.h"

struct jm_contract;

struct jm_present {
    int profile;                         /* enum jm_profile, -1: chosen from the run */
    int64_t slo_ttft, slo_tpot, slo_e2e; /* ns, 0: the run's own, else none */
    const struct jm_contract *contract;  /* its objectives, before those; NULL: none */
    double level, idle_w;                /* 0: not given */
    struct jm_pue pue;
    const char *calibration; /* file; NULL: none */
    struct jm_opt_list passports;
    bool allow_machine, allow_driver;
    struct jm_opt_list carbon, price, factors;
    const char *zoneinfo;
    const char *diurnal; /* file of a load curve; NULL: none */
    struct jm_wue wue;
    struct jm_embodied embodied;
    bool all, ascii, no_script, reconcile, phases;
    const char *explain; /* show: a metric, NULL otherwise */
};

void jm_present_init(struct jm_present *p);
/* Parser of --pue; at: struct jm_pue. */
int jm_present_pue(void *at, const char *text, struct jm_err *err);
/* Parser of --wue; at: struct jm_wue. */
int jm_present_wue(void *at, const char *text, struct jm_err *err);
/* Parser of --embodied; at: struct jm_embodied. */
int jm_present_embodied(void *at, const char *text, struct jm_err *err);

/* Rows for the member `m` (a struct jm_present) of struct s. */
#define JM_OPTS_SLO(s, m)                                                                                    \
    {"slo-ttft",                                                                                             \
     0,                                                                                                      \
     JM_OPT_DURATION,                                                                                        \
     offsetof(struct s, m.slo_ttft),                                                                         \
     1e3,                                                                                                    \
     3600e9,                                                                                                 \
     .help = "Contract: longest time to the first token, from the scheduled time."},                         \
        {"slo-tpot",                                                                                         \
         0,                                                                                                  \
         JM_OPT_DURATION,                                                                                    \
         offsetof(struct s, m.slo_tpot),                                                                     \
         1e3,                                                                                                \
         3600e9,                                                                                             \
         .help = "Contract: longest mean time per output token after the first (tpot.excl_first)."},         \
    {                                                                                                        \
        "slo-e2e", 0, JM_OPT_DURATION, offsetof(struct s, m.slo_e2e), 1e3, 36000e9,                          \
            .help = "Contract: longest time to the end of a request."                                        \
    }
#define JM_OPTS_CALIBRATION(s, m)                                                                            \
    {"calibration",                                                                                          \
     0,                                                                                                      \
     JM_OPT_STR,                                                                                             \
     offsetof(struct s, m.calibration),                                                                      \
     .arg = "FILE",                                                                                          \
     .help = "Carry the energy of the GPUs to node and wall by a relation that \"joulemark calibrate\" "     \
             "made of this machine; named calibrated, with its own interval, and never in a measurement's "  \
             "place."},                                                                                      \
        {"passport",                                                                                         \
         0,                                                                                                  \
         JM_OPT_LIST,                                                                                        \
         offsetof(struct s, m.passports),                                                                    \
         .arg = "FILE",                                                                                      \
         .help = "Correct the energies of an instrument by its passport (joulemark characterize), instead "  \
                 "of by "                                                                                    \
                 "one that the run keeps. What it showed stands beside it. Refused for another device or "   \
                 "driver. "                                                                                  \
                 "Repeatable."},                                                                             \
        {"allow-machine", 0, JM_OPT_FLAG, offsetof(struct s, m.allow_machine),                               \
         .help = "With --calibration: of another machine all the same; it stands in the evidence."},         \
    {                                                                                                        \
        "allow-driver", 0, JM_OPT_FLAG, offsetof(struct s, m.allow_driver),                                  \
            .help = "With --calibration or --passport: of another driver all the same; it stands in the "    \
                    "evidence."                                                                              \
    }
#define JM_OPTS_FACTORS(s, m)                                                                                \
    {"carbon",                                                                                               \
     0,                                                                                                      \
     JM_OPT_LIST,                                                                                            \
     offsetof(struct s, m.carbon),                                                                           \
     .arg = "ZONES",                                                                                         \
     .group = "Money, carbon and water",                                                                     \
     .help = "Countries of the shipped yearly table (FR,DE,ES; life-cycle factors), or factors of your own " \
             "with unit and year: FR=40g/kWh@2024:generation. Behind another colon residual or "             \
             "contract=ID makes one market-based. Repeatable."},                                             \
        {"price",                                                                                            \
         0,                                                                                                  \
         JM_OPT_LIST,                                                                                        \
         offsetof(struct s, m.price),                                                                        \
         .arg = "PRICES",                                                                                    \
         .help = "Price of electricity by zone: FR=0.058,DE=91EUR/MWh. A bare number is of a kilowatt-hour " \
                 "in the country's currency. Repeatable; one a zone."},                                      \
        {"factors",                                                                                          \
         0,                                                                                                  \
         JM_OPT_LIST,                                                                                        \
         offsetof(struct s, m.factors),                                                                      \
         .arg = "FILE",                                                                                      \
         .help = "Factors by time: a stored answer of Electricity Maps, the UK Carbon Intensity API, "       \
                 "WattTime or ENTSO-E, a CSV, or a time-of-use tariff in YAML (docs/factors.md). "           \
                 "Repeatable."},                                                                             \
        {"zoneinfo",                                                                                         \
         0,                                                                                                  \
         JM_OPT_STR,                                                                                         \
         offsetof(struct s, m.zoneinfo),                                                                     \
         .arg = "DIR",                                                                                       \
         .help = "Time zones for tariffs.",                                                                  \
         .deflt = "/usr/share/zoneinfo"},                                                                    \
        {"wue",                                                                                              \
         0,                                                                                                  \
         JM_OPT_PARSE,                                                                                       \
         offsetof(struct s, m.wue),                                                                          \
         .parse = jm_present_wue,                                                                            \
         .arg = "L/KWH",                                                                                     \
         .help = "Water that the site uses a kilowatt-hour of IT energy (ISO/IEC 30134-9). After a comma "   \
                 "period=2025 "                                                                              \
                 "and source=TEXT where they are known."},                                                   \
    {                                                                                                        \
        "embodied", 0, JM_OPT_PARSE, offsetof(struct s, m.embodied),                                         \
            .parse = jm_present_embodied, .arg = "MASS",                                                     \
            .help = "Embodied emissions of the machine and its life, 1312kg,life=4y (share=0.5 and "         \
                    "source=TEXT may follow): gives the Software Carbon Intensity (ISO/IEC 21031)."          \
    }
#define JM_OPTS_PRESENT(s, m)                                                                                \
    {"profile",                                                                                              \
     'p',                                                                                                    \
     JM_OPT_ENUM,                                                                                            \
     offsetof(struct s, m.profile),                                                                          \
     .arg = "NAME",                                                                                          \
     .choices = "screening|claim|publication|mlperf",                                                        \
     .help = "Validity for this purpose: screening (5 s), claim (60 s, 3 trials), publication (600 s) or "   \
             "mlperf.",                                                                                      \
     .deflt = "the strictest whose window length fits; mlperf for its sessions"},                            \
        {"level",                                                                                            \
         0,                                                                                                  \
         JM_OPT_NUM,                                                                                         \
         offsetof(struct s, m.level),                                                                        \
         0.5,                                                                                                \
         0.9999,                                                                                             \
         .help = "Level of the intervals.",                                                                  \
         .deflt = "0.95"},                                                                                   \
        {"pue",                                                                                              \
         0,                                                                                                  \
         JM_OPT_PARSE,                                                                                       \
         offsetof(struct s, m.pue),                                                                          \
         .parse = jm_present_pue,                                                                            \
         .arg = "VALUE",                                                                                     \
         .help = "PUE of the site, 1 to 10: adds the facility boundary, labelled with it. After a comma "    \
                 "period=2025, category=1, 2 or 3 (IT energy at the UPS, the PDU or the equipment; "         \
                 "ISO/IEC 30134-2) and source=TEXT where they are known."},                                  \
        {"idle-power",                                                                                       \
         0,                                                                                                  \
         JM_OPT_POWER,                                                                                       \
         offsetof(struct s, m.idle_w),                                                                       \
         0.001,                                                                                              \
         1e7,                                                                                                \
         .help = "Loaded idle power for the net figures where the run has no idle window."},                 \
        {"all", 'a', JM_OPT_FLAG, offsetof(struct s, m.all),                                                 \
         .help = "Show every result, not only the headline."},                                               \
    {                                                                                                        \
        "ascii", 0, JM_OPT_FLAG, offsetof(struct s, m.ascii), .help = "Draw with ASCII only."                \
    }

struct jm_passport_file;
/* A passport's file and its text. Release both in any case. */
int jm_cli_passport(const char *path, struct jm_passport_file *out, struct jm_str *text, struct jm_err *err);

struct jm_recorder;
/* Keeps the factors, PUE, WUE and embodied emissions that were given with the run, so that whoever computes
 * it again needs nothing else. rec NULL: only looks whether they can be read. JM_EUSAGE and what reading a
 * file gives. */
int jm_present_keep(const struct jm_present *p, struct jm_recorder *rec, struct jm_err *err);

struct jm_run;
struct jm_report;
/* Computed and audited. */
int jm_present_report(const struct jm_run *run, const struct jm_present *p, struct jm_report **report,
                      struct jm_err *err);
/* Renders the run file at path. *validity: of the run against its profile. */
int jm_present_file(struct jm_cli *cli, const char *path, const struct jm_present *p, const char *format,
                    struct jm_str *out, enum jm_validity *validity, struct jm_err *err);
/* JM_EXIT_INVALID for an invalid run, else 0. */
int jm_present_exit(enum jm_validity v);

#endif
