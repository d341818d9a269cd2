/* SPDX-License-Identifier: MIT */

#include "cli/run_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"

enum { OURS = 4 };

/* Whether an inherited variable would stand beside one of ours. */
static bool is_ours(const char *variable)
{
    static const char *const names[OURS] = {"LATCHKEY_NAME=", "LATCHKEY_FENCE=",
                                            "LATCHKEY_OWNER=",
                                            "LATCHKEY_DEADLINE="};

    for (int i = 0; i < OURS; i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

bool run_env_make(run_env *env, const char *name)
{
    const char *key = "LATCHKEY_NAME=";
    size_t count = 0;
    size_t size = strlen(key) + strlen(name) + 1;

    memset(env, 0, sizeof(*env));
    while (environ[count] != NULL)
        count++;
    env->list = calloc(count + OURS + 1, sizeof(*env->list));
    env->name = malloc(size);
    if (env->list == NULL || env->name == NULL) {
        run_env_done(env);
        return false;
    }
    (void)snprintf(env->name, size, "%s%s", key, name);
    count = 0;
    for (char **at = environ; *at != NULL; at++) {
        if (!is_ours(*at))
            env->list[count++] = *at;
    }
    env->list[count++] = env->name;
    env->list[count++] = env->fence;
    env->list[count++] = env->owner;
    env->list[count++] = env->deadline;
    return true;
}

void run_env_fill(run_env *env, uint64_t fence, const char *owner,
                  int64_t deadline_ns)
{
    (void)snprintf(env->fence, sizeof(env->fence), "LATCHKEY_FENCE=%" PRIu64,
                   fence);
    (void)snprintf(env->owner, sizeof(env->owner), "LATCHKEY_OWNER=%s", owner);
    (void)snprintf(env->deadline, sizeof(env->deadline),
                   "LATCHKEY_DEADLINE=%" PRId64, deadline_ns / CLI_NS_PER_MS);
}

void run_env_name_only(run_env *env)
{
    char **at = env->list;

    while (*at != env->name)
        at++;
    at[1] = NULL;
}

void run_env_done(run_env *env)
{
    free(env->list);
    free(env->name);
    memset(env, 0, sizeof(*env));
}
