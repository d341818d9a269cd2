/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_FLOCK_H
#define LK_CLI_RUN_FLOCK_H

struct cli;

/*
 * The name that a file's path is: "flock:" and the path without links, the same on
 * every host that has the file there. Returns it, freed by free(), or NULL: no
 * memory, or there is no folder for the file.
 */
char *run_flock_name(const char *path);

/* Says, once for each user of a host, that this is no flock(1). */
void run_flock_tell(const struct cli *c, const char *name);

#endif /* LK_CLI_RUN_FLOCK_H */
