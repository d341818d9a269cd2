/* SPDX-License-Identifier: MIT */

#include "cli/run/keeper.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/proc.h"
#include "cli/run/signals.h"
#include "cli/subject.h"

enum { END_MS = 15000 };

/* When a process was started, in ticks since the machine was; 0: it is gone. */
static uint64_t started(pid_t pid)
{
    char text[CLI_PROC_SIZE];
    const char *at = cli_proc_field(pid, CLI_PROC_STARTED, text);

    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* Whether the process of a descriptor has ended, reaped or not. */
static bool has_ended(int fd, int wait_ms)
{
    struct pollfd ended = {.fd = fd, .events = POLLIN};

    return poll(&ended, 1, wait_ms) == 1;
}

/* A descriptor of the keeper; -1: it is gone. */
static int find(const char *text)
{
    char *rest = NULL;
    pid_t pid = (pid_t)strtol(text, &rest, 10);
    uint64_t since = *rest == ':' ? strtoull(rest + 1, NULL, 10) : 0;
    int fd;

    if (pid <= 1 || since == 0)
        return -1;
    /* First the descriptor: what it is of does not change any more. */
    fd = pidfd_open(pid, 0);
    if (fd >= 0 && (started(pid) != since || has_ended(fd, 0))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* The shell's pid of an entry; 0: it has none. */
static pid_t shell_of(const char *text)
{
    size_t size = strcspn(text, " ");
    const char *at = memrchr(text, ':', size);

    return at != NULL ? (pid_t)strtol(at + 1, NULL, 10) : 0;
}

/* Each with a blank behind it. Returns the size. */
static size_t
put_own(char text[CLI_KEEPERS_SIZE], const char *before, pid_t shell)
{
    enum { OWN = 64 };
    size_t used = 0;
    int fd;

    while (before != NULL && *before != '\0') {
        size_t size = strcspn(before, " ");

        fd = shell_of(before) == shell ? find(before) : -1;
        if (fd >= 0 && used + size + OWN < CLI_KEEPERS_SIZE) {
            memcpy(text + used, before, size);
            used += size;
            text[used++] = ' ';
        }
        if (fd >= 0)
            (void)close(fd);
        before += size + strspn(before + size, " ");
    }
    text[used] = '\0';
    return used;
}

void cli_keeper_own(char text[CLI_KEEPERS_SIZE], const char *before,
                    pid_t shell)
{
    size_t used = put_own(text, before, shell);

    if (used > 0)
        text[used - 1] = '\0';
}

void cli_keeper_names(char text[CLI_KEEPERS_SIZE], const char *before,
                      pid_t shell)
{
    size_t used = put_own(text, before, shell);

    (void)snprintf(text + used, CLI_KEEPERS_SIZE - used, "%ld:%" PRIu64 ":%ld",
                   (long)getpid(), started(getpid()), (long)shell);
}

/* The last one, which is cut off; -1: it has ended. */
static int find_last(char names[CLI_KEEPERS_SIZE])
{
    char *last = strrchr(names, ' ');
    int fd = find(last != NULL ? last + 1 : names);

    if (last == NULL)
        last = names;
    *last = '\0';
    return fd;
}

/* ---- question and answer ------------------------------------------------- */

/*
 * A signal takes a number along: that which says that an answer is awaited, or what
 * has come of the release. It is one of those of which each arrives: SIGTERM of two
 * who ask at one time would come once.
 */
enum { ASKS = 0x6c6b61, ANSWER = 0x6c << 16, ANSWER_MASK = 0xff << 16 };

static bool send_number(int fd, int value)
{
    siginfo_t info = {.si_signo = SIGRTMIN, .si_code = SI_QUEUE};

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    return pidfd_send_signal(fd, SIGRTMIN, &info, 0) == 0;
}

static void asker_add(cli_askers *askers, pid_t pid)
{
    int fd = -1;

    if (askers->count < sizeof(askers->fds) / sizeof(askers->fds[0]))
        fd = pidfd_open(pid, 0);
    if (fd >= 0)
        askers->fds[askers->count++] = fd;
}

bool cli_keeper_is_told(int signals, cli_askers *askers)
{
    struct signalfd_siginfo info;
    bool is_told = false;

    while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        bool asks = (int)info.ssi_signo == SIGRTMIN &&
                    info.ssi_code == SI_QUEUE && info.ssi_int == ASKS &&
                    info.ssi_pid != 0;

        is_told = is_told || asks || run_signal_ends((int)info.ssi_signo);
        askers->is_asked = askers->is_asked || asks;
        if (asks)
            asker_add(askers, (pid_t)info.ssi_pid);
    }
    return is_told;
}

void cli_keeper_answer(const cli_askers *askers, lk_status status, lk_loss loss)
{
    for (size_t i = 0; i < askers->count; i++) {
        (void)send_number(askers->fds[i],
                          ANSWER | (int)loss << 8 | -(int)status);
        (void)close(askers->fds[i]);
    }
}

static int not_confirmed(const cli *c, lk_status status)
{
    return cli_fail(
        c, cli_status_exit(status),
        "the server has not confirmed that it is given back: %s\n"
        "  the name is free when its lease has ended, at the latest",
        lk_status_text(status));
}

/* What has come of it: the exit code. */
static int judge(const cli *c, int value)
{
    const lk_loss loss = (lk_loss)(value >> 8 & 0xff);
    const lk_status status = (lk_status) - (value & 0xff);

    if (loss != LK_LOSS_NONE || status == LK_ELOST)
        return cli_fail(c, CLI_LOST, "it was lost before it was given back: %s",
                        cli_loss_words(loss));
    return status == LK_OK ? CLI_OK : not_confirmed(c, status);
}

/* An answer comes before the end of the keeper, if it comes. */
static int hear(const cli *c, const sigset_t *answers)
{
    const struct timespec now = {0, 0};
    siginfo_t info;

    while (sigtimedwait(answers, &info, &now) > 0) {
        if (info.si_code == SI_QUEUE &&
            (info.si_value.sival_int & ANSWER_MASK) == ANSWER)
            return judge(c, info.si_value.sival_int);
    }
    return cli_fail(
        c, CLI_UNAVAILABLE,
        "the keeper has ended and does not say whether it has given "
        "it back\n"
        "  the name is free when its lease has ended, at the latest");
}

int cli_keeper_end(const cli *c, const char *text, char rest[CLI_KEEPERS_SIZE])
{
    sigset_t answers;
    bool is_told;
    int fd;

    (void)sigemptyset(&answers);
    (void)sigaddset(&answers, SIGRTMIN);
    (void)sigprocmask(SIG_BLOCK, &answers, NULL);
    (void)snprintf(rest, CLI_KEEPERS_SIZE, "%s", text);
    fd = find_last(rest);
    if (fd < 0)
        return cli_fail(c, CLI_LOST,
                        "it is not held any more: its keeper has ended");
    is_told = send_number(fd, ASKS) && has_ended(fd, END_MS);
    (void)close(fd);
    if (is_told)
        return hear(c, &answers);
    return cli_fail(c, CLI_UNAVAILABLE,
                    "the keeper does not end; the name is free when its lease "
                    "has ended");
}
