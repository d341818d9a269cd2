/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_ENV_H
#define LK_CLI_RUN_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/subject.h"

/*
 * The environment of a command that is run: the tool's own, and what it has to
 * know of the hold. It is made before anything is held, and what becomes known
 * later is filled in without memory, as a process after fork() has to.
 */
enum { RUN_FENCE_SIZE = CLI_FENCES_SIZE + 16 };

typedef struct run_env {
    char **list;                /* for execve(); owned, with name and under */
    char *name;                 /* LATCHKEY_NAME=... */
    char fence[RUN_FENCE_SIZE]; /* LATCHKEY_FENCE=<number>, or several */
    char owner[96];             /* LATCHKEY_OWNER=<client's id> */
    char *under;       /* LATCHKEY_UNDER=<all of them, the inmost last> */
    size_t under_size; /* without the last one */
    char deadline[64]; /* LATCHKEY_DEADLINE=<ms of CLOCK_BOOTTIME> */
} run_env;

/* False: out of memory. Do not copy the struct afterwards. */
bool run_env_make(run_env *env, const char *name);

/* deadline_ns: as it is now; renewals move it on. */
void run_env_fill(run_env *env, const char *fence, const char *owner,
                  int64_t deadline_ns);

/* Leaves out what is known of a hold: nothing is held. */
void run_env_name_only(run_env *env);

void run_env_done(run_env *env);

/* The ids of the tools that this process runs under, for
   lk_client_options.under; NULL: it runs under none. */
const char *run_env_under(void);

/* Whether an owner is that of a tool which this process runs under. */
bool run_env_is_under(const char *owner);

#endif /* LK_CLI_RUN_ENV_H */
