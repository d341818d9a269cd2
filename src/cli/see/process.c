/* SPDX-License-Identifier: MIT */

/* What this host can see of the process of a holder. */

#include <errno.h>
#include <signal.h>

#include "cli/proc.h"
#include "cli/see/see.h"

see_life see_life_of(const lk_party *party)
{
    char text[CLI_PROC_SIZE];
    const char *state;

    if (!party->near || party->pid <= 1 || party->pid > INT32_MAX)
        return SEE_UNSEEN;
    if (kill((pid_t)party->pid, 0) != 0 && errno == ESRCH)
        return SEE_GONE;
    state = cli_proc_field((pid_t)party->pid, CLI_PROC_STATE, text);
    if (state == NULL)
        return SEE_UNSEEN;
    if (*state == 'Z' || *state == 'X')
        return SEE_GONE;
    return *state == 'T' || *state == 't' ? SEE_STOPPED : SEE_ALIVE;
}
