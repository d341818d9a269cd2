/* SPDX-License-Identifier: MIT */

#include "cli/run/signals.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* What a defect of the tool itself raises has to end it. SIGPIPE is ignored,
   and what is ignored stays so: nohup is to work. */
static bool is_left_alone(int number)
{
    static const int alone[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,
                                SIGFPE,  SIGILL,  SIGTRAP, SIGSYS,
                                SIGABRT, SIGPIPE, SIGTTIN, SIGTTOU};
    struct sigaction action;

    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
        if (alone[i] == number)
            return true;
    }
    return number != SIGCHLD && sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

bool run_signals_take(run_signals *signals)
{
    (void)sigemptyset(&signals->taken);
    for (int number = 1; number <= SIGRTMAX; number++) {
        /* Between the two are those that the C library keeps to itself. */
        if ((number < 32 || number >= SIGRTMIN) && !is_left_alone(number))
            (void)sigaddset(&signals->taken, number);
    }
    if (sigprocmask(SIG_BLOCK, &signals->taken, &signals->before) != 0)
        return false;
    signals->fd = signalfd(-1, &signals->taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

int run_signals_read(const run_signals *signals, bool *ret_is_kernel)
{
    struct signalfd_siginfo info;

    if (read(signals->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    *ret_is_kernel = info.ssi_code == SI_KERNEL;
    return (int)info.ssi_signo;
}

bool run_signal_ends(int number)
{
    return number == SIGHUP || number == SIGINT || number == SIGQUIT ||
           number == SIGTERM;
}

void run_signals_die(int number)
{
    const struct rlimit none = {0, 0};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t one;

    /* SIGQUIT is the command's to dump a core with, not the tool's. */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)sigaction(number, &plain, NULL);
    (void)raise(number);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}
