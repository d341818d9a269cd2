/* SPDX-License-Identifier: MIT */
#include "support/guardian.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"

/* A process whose parent is pid and whose name begins so; 0: none. */
static pid_t find_child(pid_t pid, const char *name)
{
    char command[128];
    char text[64] = "";
    FILE *from;

    (void)snprintf(command, sizeof(command), "pgrep -P %d '^%s'", (int)pid,
                   name);
    from = popen(command, "re"); /* NOLINT(cert-env33-c): of the test's own */
    assert_non_null(from);
    (void)!fgets(text, sizeof(text), from);
    (void)pclose(from);
    return (pid_t)strtol(text, NULL, 10);
}

static pid_t find(pid_t pid)
{
    return find_child(pid, "lk-guardian");
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

static bool has_no_child(void *data)
{
    const tool *t = data;

    return find_child(tool_pid(t), "") == 0;
}

void guardian_wait_ended(tool *t)
{
    assert_true(wait_until(has_no_child, t, 10000));
}

bool guardian_is_kept(void)
{
    return server_integer(redis, "EXISTS n") == 1;
}
