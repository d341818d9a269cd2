/* SPDX-License-Identifier: MIT */

#include "cli/run/terminal.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

void run_terminal_find(run_terminal *terminal)
{
    pid_t session = getsid(0);

    *terminal = (run_terminal){.fd = -1, .own = getpgrp()};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && terminal->fd < 0; fd++) {
        /* The one that controls us, not any. */
        if (tcgetsid(fd) == session)
            terminal->fd = fd;
    }
    terminal->is_eager =
        terminal->fd == STDIN_FILENO && tcgetsid(STDOUT_FILENO) == session &&
        terminal->own == getpid() && run_terminal_is_own(terminal);
}

bool run_terminal_is_own(const run_terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == terminal->own;
}

/* tcsetpgrp() out of the background stops who calls it, unless SIGTTOU is
   blocked. */
static bool move(const run_terminal *terminal, pid_t group)
{
    sigset_t one;
    sigset_t before;
    bool is_done;

    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGTTOU);
    (void)pthread_sigmask(SIG_BLOCK, &one, &before);
    is_done = tcsetpgrp(terminal->fd, group) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_done;
}

void run_terminal_give(run_terminal *terminal, pid_t group)
{
    if (run_terminal_is_own(terminal) && move(terminal, group))
        terminal->is_given = true;
}

void run_terminal_take(run_terminal *terminal, pid_t group)
{
    if (terminal->is_given && tcgetpgrp(terminal->fd) == group)
        (void)move(terminal, terminal->own);
    terminal->is_given = false;
}
