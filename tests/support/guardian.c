/* SPDX-License-Identifier: MIT */
#include "support/guardian.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"

/* The guardian whose parent is pid; 0: none. */
static pid_t find(pid_t pid)
{
    char command[128];
    char text[64] = "";
    FILE *from;

    (void)snprintf(command, sizeof(command), "pgrep -P %d '^lk-guardian'",
                   (int)pid);
    from = popen(command, "re"); /* NOLINT(cert-env33-c): of the test's own */
    assert_non_null(from);
    (void)!fgets(text, sizeof(text), from);
    (void)pclose(from);
    return (pid_t)strtol(text, NULL, 10);
}

pid_t guardian_of(const tool *t)
{
    pid_t guardian = find(tool_pid(t));

    assert_true(guardian > 0);
    return guardian;
}

typedef struct change {
    const tool *tool;
    pid_t first;
} change;

static bool is_replaced(void *data)
{
    const change *c = data;
    pid_t now = find(tool_pid(c->tool));

    return now != 0 && now != c->first;
}

void guardian_wait_replaced(const tool *t, pid_t first)
{
    change c = {t, first};

    assert_true(wait_until(is_replaced, &c, 10000));
}

bool guardian_is_kept(void)
{
    return server_integer(redis, "EXISTS n") == 1;
}
