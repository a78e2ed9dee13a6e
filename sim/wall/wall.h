/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulated analyzer or PTDaemon has at its inlet: true power over time, whose integral between any
 * two times is known exactly. Time is Unix time in ns, power W, energy J. */
#ifndef SIM_WALL_H
#define SIM_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simwall;

/* spec: const:400W, load:idle=120W,load=600W,before=20s,length=600s, trapezoid:..., sine:..., csv:PATH,
 * state:PATH,base=..,gain=.., or any waveform of joulemark-sim gpu (docs/sim.md). It begins at start_ns (Unix
 * time), and before that stands at its first value. 0, or a negative errno with one sentence in why. */
int simwall_open(struct simwall **out, const char *spec, uint64_t seed, int64_t start_ns, char *why,
                 size_t n);
void simwall_close(struct simwall *w);

/* Exact to double rounding; NaN where it cannot be known (t1 < t0; a state file's ring has moved on). */
double simwall_energy_j(const struct simwall *w, int64_t t0_ns, int64_t t1_ns);
double simwall_power_w(const struct simwall *w, int64_t t_ns);
const char *simwall_spec(const struct simwall *w);
int64_t simwall_start(const struct simwall *w);
/* Is it a state file, whose past arrives a little late? */
bool simwall_is_state(const struct simwall *w);

struct simwall_help {
    const char *form, *text;
};
const struct simwall_help *simwall_help(int i); /* NULL past the last */

/* A clock that may run faster: Unix time ns, from CLOCK_REALTIME at its start and CLOCK_MONOTONIC after. */
struct simclock {
    int64_t real0, mono0;
    double speed;
};
void simclock_init(struct simclock *c, double speed);
int64_t simclock_now(const struct simclock *c);
/* Milliseconds of real time until the clock shows t: 0 when it is past, at most max. */
int simclock_wait_ms(const struct simclock *c, int64_t t_ns, int max);

#endif
