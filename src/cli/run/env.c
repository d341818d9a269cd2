/* SPDX-License-Identifier: MIT */

#include "cli/run/env.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"

enum { OURS = 5, CLIENT_ID_SIZE = 32 };

static const char under_key[] = "LATCHKEY_UNDER";

/* Whether an inherited variable would stand beside one of ours. */
static bool is_ours(const char *variable)
{
    static const char *const names[OURS] = {"LATCHKEY_NAME=", "LATCHKEY_FENCE=",
                                            "LATCHKEY_OWNER=",
                                            "LATCHKEY_DEADLINE=",
                                            "LATCHKEY_UNDER="};

    for (int i = 0; i < OURS; i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

/* Room for what is there, if it is, and one more. */
static char *make_under(size_t *ret_size)
{
    const char *before = getenv(under_key);
    size_t size = sizeof(under_key) + 1 + CLIENT_ID_SIZE + 1;
    char *text;

    if (before != NULL)
        size += strlen(before) + 1;
    text = malloc(size);
    if (text != NULL)
        *ret_size = (size_t)snprintf(text, size, "%s=%s%s", under_key,
                                     before != NULL ? before : "",
                                     before != NULL ? " " : "");
    return text;
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
    env->under = make_under(&env->under_size);
    if (env->list == NULL || env->name == NULL || env->under == NULL) {
        run_env_done(env);
        return false;
    }
    (void)snprintf(env->name, size, "%s%s", key, name);
    count = 0;
    for (char **at = environ; *at != NULL; at++) {
        if (!is_ours(*at))
            env->list[count++] = *at;
    }
    env->list[count++] = env->under;
    env->list[count++] = env->name;
    env->list[count++] = env->fence;
    env->list[count++] = env->owner;
    env->list[count++] = env->deadline;
    return true;
}

void run_env_fill(run_env *env, const char *fence, const char *owner,
                  int64_t deadline_ns)
{
    (void)snprintf(env->fence, sizeof(env->fence), "LATCHKEY_FENCE=%s", fence);
    (void)snprintf(env->owner, sizeof(env->owner), "LATCHKEY_OWNER=%s", owner);
    (void)snprintf(env->deadline, sizeof(env->deadline),
                   "LATCHKEY_DEADLINE=%" PRId64, deadline_ns / CLI_NS_PER_MS);
    (void)snprintf(env->under + env->under_size, CLIENT_ID_SIZE + 1, "%s",
                   owner);
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
    free(env->under);
    memset(env, 0, sizeof(*env));
}

const char *run_env_under(void)
{
    return getenv(under_key);
}

/* An owner begins with the id of its client. */
bool run_env_is_under(const char *owner)
{
    const char *at = getenv(under_key);

    while (at != NULL && *at != '\0') {
        size_t size = strcspn(at, " ");

        if (size == CLIENT_ID_SIZE && strncmp(at, owner, size) == 0)
            return true;
        at += size + (at[size] == ' ');
    }
    return false;
}
