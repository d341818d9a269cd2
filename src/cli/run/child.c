/* SPDX-License-Identifier: MIT */

#include "cli/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- in the child: system calls only ------------------------------------ */

static _Noreturn void give_up(int report, int reason)
{
    (void)!write(report, &reason, sizeof(reason));
    _exit(reason == ENOENT ? 127 : 126);
}

/* What the tool has changed for itself is as it was. */
static void restore(const run_start *start)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    if (!start->ignored_sigpipe)
        (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigprocmask(SIG_SETMASK, &start->mask, NULL);
}

static _Noreturn void child_main(const run_start *start, pid_t tool, int report)
{
    char go;
    ssize_t size;

    if (start->guard >= 0)
        (void)close(start->guard);
    if (start->is_group)
        (void)setpgid(0, 0);
    if (start->death_signal != 0)
        (void)prctl(PR_SET_PDEATHSIG, start->death_signal);
    /* It may have died before it was asked to tell of its death. */
    if (getppid() != tool)
        _exit(126);
    do
        size = read(start->gate, &go, 1);
    while (size < 0 && errno == EINTR);
    if (size != 1)
        give_up(report, -1);
    if (start->out >= 0 && dup2(start->out, STDOUT_FILENO) < 0)
        give_up(report, errno);
    restore(start);
    (void)execvpe(start->argv[0], start->argv, start->env->list);
    give_up(report, errno);
}

/* ---- in the tool -------------------------------------------------------- */

bool run_child_fork(run_child *child, const run_start *start)
{
    pid_t tool = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    child->pid = fork();
    if (child->pid == 0)
        child_main(start, tool, ends[1]);
    (void)close(ends[1]);
    (void)close(start->gate);
    if (start->out >= 0)
        (void)close(start->out);
    if (child->pid < 0) {
        (void)close(ends[0]);
        return false;
    }
    if (start->is_group)
        (void)setpgid(child->pid, child->pid);
    child->failure = ends[0];
    return true;
}

void run_child_let_in(int gate)
{
    const char go = 1;
    ssize_t size;

    do
        size = write(gate, &go, 1);
    while (size < 0 && errno == EINTR);
    (void)close(gate);
}

int run_child_failure(run_child *child)
{
    int reason = 0;
    ssize_t size = read(child->failure, &reason, sizeof(reason));

    (void)close(child->failure);
    child->failure = -1;
    return size == (ssize_t)sizeof(reason) ? reason : 0;
}
