/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CALLER_H
#define LK_CLI_CALLER_H

/* As many bytes of a reason as the library keeps, and the NUL. */
enum { CLI_CALLER_SIZE = 201 };

/*
 * Writes the reason of a hold that no process keeps: why, which may be NULL, and
 * for whom the tool took it, "by ann on web-3, pid 4121 (bash)". Where there is
 * no room for both, why is shortened.
 */
void cli_caller_reason(char text[CLI_CALLER_SIZE], const char *why);

#endif /* LK_CLI_CALLER_H */
