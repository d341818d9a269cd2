/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_PROBE_H
#define SIM_PLAY_PROBE_H

#include "play/run.h"

/*
 * Those who come last, when everybody else has gone and every lease has ended:
 * one client to a database, in which each name that was used is acquired once
 * more, whole. It has to be had.
 */

/* Adds them to the run. */
void sim_probe_begin(sim_run *run);

#endif /* SIM_PLAY_PROBE_H */
