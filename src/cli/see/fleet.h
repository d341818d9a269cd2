/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_FLEET_H
#define LK_CLI_SEE_FLEET_H

#include "cli/see/see.h"

/*
 * Which other hosts use this server: a host that has lost its URL locks alone, and
 * nothing else tells. Known are hosts that hold a lock now, and those on which
 * `doctor --fleet` was run in the last week: it leaves a note, one for each host.
 */

/* The name of which those notes are events. */
#define SEE_FLEET_NAME "latchkey-fleet"

enum { SEE_FLEET_SIZE = 1024 };

/* Fills in a check; its text is written into text. Notes this host. */
lk_status see_fleet_check(const cli *c, lk_client *client, lk_check *check,
                          char text[SEE_FLEET_SIZE]);

#endif /* LK_CLI_SEE_FLEET_H */
