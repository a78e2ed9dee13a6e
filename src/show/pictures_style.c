/* SPDX-License-Identifier: Apache-2.0 */
#include "show/pictures_canvas.h"

#include "base/banned.h"

/* Okabe and Ito's colours ("Color Universal Design", 2008), lightened for the dark scheme. They differ in
 * lightness too, and nothing is said by colour alone, so that the pictures can be read in grey. */
static const struct {
    const char *selector, *light, *dark;
} rules[] = {
    {"text",
     "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
     "font-size:13px;font-variant-numeric:tabular-nums",
     NULL},
    {".bg", "fill:#ffffff", "fill:#1c2024"},
    {".t1", "font-size:18px;font-weight:600;fill:#1b1f24", "fill:#e8eaed"},
    {".nt", "fill:#5c6670", "fill:#a3adb6"},
    {".tk", "fill:#5c6670", "fill:#a3adb6"},
    {".lb", "fill:#1b1f24", "fill:#e8eaed"},
    {".vl", "font-weight:600;fill:#1b1f24", "fill:#e8eaed"},
    {".in", "font-weight:600;fill:#ffffff", "fill:#14171a"},
    {".no", "fill:#b3261e", "fill:#ff8a80"},
    {".mk", "fill:none;stroke:#9a6200", "stroke:#f0b94d"},
    {".mt", "font-size:12px;font-weight:600;fill:#9a6200", "fill:#f0b94d"},
    {".gr", "stroke:#e6e9ec", "stroke:#2c3238"},
    {".ax", "stroke:#8b949e", "stroke:#7d8790"},
    {".cn", "stroke:#8b949e;stroke-dasharray:2 3", "stroke:#7d8790"},
    {".wo", "fill:none;stroke:#ffffff;stroke-width:4;stroke-opacity:.75", "stroke:#1c2024"},
    {".wh", "fill:none;stroke:#1b1f24;stroke-width:1.4", "stroke:#e8eaed"},
    {".slo", "fill:none;stroke:#b3261e;stroke-width:1.6;stroke-dasharray:6 4", "stroke:#ff8a80"},
    {".bad", "fill:#b3261e;fill-opacity:.06", "fill:#ff8a80;fill-opacity:.08"},
    {".fr", "fill:none;stroke:#0072b2;stroke-width:1.8;stroke-linejoin:round", "stroke:#56b4e9"},
    {".mean", "fill:none;stroke:#0072b2;stroke-width:2", "stroke:#56b4e9"},
    {".band", "fill:#0072b2;fill-opacity:.13", "fill:#56b4e9;fill-opacity:.2"},
    {".trend", "fill:none;stroke:#d55e00;stroke-width:1.6;stroke-dasharray:7 4", "stroke:#ff9a4d"},
    {".win", "fill:#0072b2;fill-opacity:.08", "fill:#56b4e9;fill-opacity:.12"},
    {".idle", "fill:#5c6670;fill-opacity:.09", "fill:#a3adb6;fill-opacity:.12"},
    {".edge", "stroke:#8b949e;stroke-dasharray:3 3", "stroke:#7d8790"},
    {".emp", "fill:#5c6670;fill-opacity:.035", "fill:#a3adb6;fill-opacity:.05"},
    {".hole", "fill:#5c6670;fill-opacity:.05;stroke:#8b949e;stroke-dasharray:3 3",
     "fill:#a3adb6;stroke:#7d8790"},
    {".f0", "fill:#0072b2", "fill:#56b4e9"},
    {".f1", "fill:#d55e00", "fill:#ff9a4d"},
    {".f2", "fill:#009e73", "fill:#3ecf9d"},
    {".f3", "fill:#cc79a7", "fill:#e6a5c8"},
    {".f4", "fill:#a67c00", "fill:#f0e442"},
    {".f5", "fill:#56a5d6", "fill:#8fd0ff"},
    {".f6", "fill:#6b5aa8", "fill:#b3a5f0"},
    {".f7", "fill:#5f6972", "fill:#c9ced3"},
    {".tot", "fill:#2b3a4a", "fill:#d5dde5"},
    {".o0", "fill:#ffffff;stroke:#0072b2;stroke-width:2", "fill:#1c2024;stroke:#56b4e9"},
    {".o1", "fill:#ffffff;stroke:#d55e00;stroke-width:2", "fill:#1c2024;stroke:#ff9a4d"},
    {".o7", "fill:#ffffff;stroke:#5f6972;stroke-width:2;stroke-dasharray:3 2", "fill:#1c2024;stroke:#c9ced3"},
    {".s0", "fill:none;stroke:#0072b2;stroke-width:1.4;stroke-linejoin:round", "stroke:#56b4e9"},
    {".s1", "fill:none;stroke:#d55e00;stroke-width:1.4;stroke-linejoin:round", "stroke:#ff9a4d"},
    {".s2", "fill:none;stroke:#009e73;stroke-width:1.4;stroke-linejoin:round", "stroke:#3ecf9d"},
    {".s3", "fill:none;stroke:#cc79a7;stroke-width:1.4;stroke-linejoin:round", "stroke:#e6a5c8"},
    {".s4", "fill:none;stroke:#a67c00;stroke-width:1.4;stroke-linejoin:round", "stroke:#f0e442"},
    {".s5", "fill:none;stroke:#56a5d6;stroke-width:1.4;stroke-linejoin:round", "stroke:#8fd0ff"},
    {".s6", "fill:none;stroke:#6b5aa8;stroke-width:1.4;stroke-linejoin:round", "stroke:#b3a5f0"},
    {".s7", "fill:none;stroke:#5f6972;stroke-width:1.4;stroke-linejoin:round", "stroke:#c9ced3"},
    {".wide", "stroke-width:2.6", NULL},
    {".dash", "stroke-dasharray:5 3", NULL},
    {".hb", "stroke:#0072b2;stroke-width:1", "stroke:#56b4e9"}, /* lines of a hatch */
    {".hw", "stroke:#d55e00;stroke-width:1.4", "stroke:#ff9a4d"},
    /* one hue from little to much: the map */
    {".m0", "fill:#e3eef7", "fill:#1d3346"},
    {".m1", "fill:#bcd8ec", "fill:#1f4a6b"},
    {".m2", "fill:#86b9dc", "fill:#236894"},
    {".m3", "fill:#4a94c6", "fill:#3a8fc4"},
    {".m4", "fill:#17699f", "fill:#6cb8e6"},
    {".m5", "fill:#073e66", "fill:#b4dff8"},
    {".lo", "fill:#12314a", "fill:#dbe9f4"},
    {".hi", "fill:#ffffff", "fill:#0c1d2a"},
};

void jm_pic_style(struct jm_str *s, const char *prefix, enum jm_theme theme)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        jm_str_addf(s, "%s%s{%s", prefix, rules[i].selector, rules[i].light);
        if (theme == JM_THEME_DARK && rules[i].dark)
            jm_str_addf(s, ";%s", rules[i].dark);
        jm_str_adds(s, "}");
    }
    if (theme != JM_THEME_AUTO)
        return;
    jm_str_adds(s, "@media screen and (prefers-color-scheme:dark){");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].dark)
            jm_str_addf(s, "%s%s{%s}", prefix, rules[i].selector, rules[i].dark);
    jm_str_adds(s, "}");
}
