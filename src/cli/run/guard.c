/* SPDX-License-Identifier: MIT */

/*
 * The guardian. Everything below the line "the guardian's process" may run
 * after a fork() of a process with threads: system calls, no memory.
 */

#include "cli/run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/run/child.h"

enum {
    TICK_MS = 20,       /* between two looks at a group that should end */
    SLOW_MS = 500,      /* the same when SIGKILL has not helped at once */
    PATIENCE_MS = 2000, /* for the dead of a tool that is gone to be reaped */
    OWNER_SIZE = 64
};

typedef enum message_type {
    MESSAGE_HOLD = 1,
    MESSAGE_CHILD,
    MESSAGE_LOST,
    MESSAGE_ACTED /* the only one from the guardian to the tool */
} message_type;

typedef struct message {
    message_type type;
    pid_t pid;
    bool is_group;
    int64_t at_ns;
    char fence[CLI_FENCES_SIZE];
    char owner[OWNER_SIZE];
} message;

void run_plan_times(run_plan *plan, int64_t lease_ms, int64_t kill_after_ms)
{
    const int64_t most = 1000 * CLI_NS_PER_MS;

    plan->lease_ns = lease_ms * CLI_NS_PER_MS;
    plan->kill_after_ns = kill_after_ms * CLI_NS_PER_MS;
    plan->margin_ns = plan->lease_ns / 10;
    if (plan->margin_ns > most)
        plan->margin_ns = most;
    plan->notice_ns = plan->margin_ns;
    if (plan->policy != RUN_KILL) /* SIGKILL gives no time to end in */
        plan->notice_ns += plan->kill_after_ns;
    /* A lease is renewed when a third of it is gone. Half of it has to be
       enough for the server to answer. */
    if (plan->notice_ns > plan->lease_ns / 2)
        plan->notice_ns = plan->lease_ns / 2;
}

/* ---- the guardian's process --------------------------------------------- */

typedef struct watch {
    const run_plan *plan;
    int socket;
    int gate;
    int timer;
    pid_t child; /* 0: not known yet, or nobody is left */
    bool is_group;
    bool is_alone; /* the tool is gone */
    bool is_lost;
    int64_t deadline_ns;
    int64_t acted_ns;  /* 0: not yet */
    int64_t killed_ns; /* 0: not yet */
} watch;

static void send_signal(const watch *w, int number)
{
    (void)kill(w->is_group ? -w->child : w->child, number);
}

static bool is_gone(const watch *w)
{
    return kill(w->is_group ? -w->child : w->child, 0) != 0 && errno == ESRCH;
}

/* The command of RUN_COMMAND. It outlives the guardian if it wants to. */
static void start_command(const watch *w)
{
    const char *const argv[] = {"sh", "-c", w->plan->command, NULL};
    sigset_t none;
    int null;

    if (fork() != 0)
        return;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        (void)dup2(null, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    (void)execve("/bin/sh", (char **)(intptr_t)argv, w->plan->env->list);
    _exit(127);
}

static void act(watch *w, int64_t now)
{
    const message acted = {.type = MESSAGE_ACTED};

    w->acted_ns = now;
    (void)send(w->socket, &acted, sizeof(acted), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (w->plan->policy == RUN_COMMAND) {
        start_command(w);
    } else if (w->plan->policy == RUN_TERM) {
        /* What is stopped gets to know of it. */
        send_signal(w, SIGTERM);
        send_signal(w, SIGCONT);
    }
}

/* When it has to kill, as things stand. */
static int64_t kill_time(const watch *w)
{
    int64_t at = w->deadline_ns - w->plan->margin_ns;

    if (w->acted_ns != 0 && w->plan->policy == RUN_KILL)
        return w->acted_ns;
    if (w->acted_ns != 0 && w->acted_ns + w->plan->kill_after_ns < at)
        return w->acted_ns + w->plan->kill_after_ns;
    return at;
}

static void set_timer(const watch *w, int64_t at_ns)
{
    const int64_t second = INT64_C(1000000000);
    struct itimerspec when = {.it_value = {.tv_sec = 0}};

    if (at_ns < 1)
        at_ns = 1; /* zero would stop it */
    when.it_value.tv_sec = at_ns / second;
    when.it_value.tv_nsec = at_ns % second;
    (void)timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Nobody is left, or nobody who could be helped. */
static void check_end(watch *w, int64_t now)
{
    if (w->child != 0 && is_gone(w))
        w->child = 0;
    if (!w->is_alone)
        return;
    if (w->child == 0 || w->plan->policy == RUN_WARN ||
        (w->killed_ns != 0 && now - w->killed_ns > PATIENCE_MS * CLI_NS_PER_MS))
        _exit(0);
}

/* Does what is due now, and sets the timer for what will be. */
static void settle(watch *w)
{
    int64_t now = cli_now_ns();
    int64_t act_ns = w->deadline_ns - w->plan->notice_ns;
    int64_t next;

    check_end(w, now);
    if (w->child == 0 || w->plan->policy == RUN_WARN)
        return;
    if (w->acted_ns == 0 && (w->is_lost || now >= act_ns))
        act(w, now);
    next = w->acted_ns == 0 ? act_ns : kill_time(w);
    if (w->acted_ns != 0 && now >= next) {
        send_signal(w, SIGKILL);
        if (w->killed_ns == 0)
            w->killed_ns = now;
        next = now + (now - w->killed_ns > SLOW_MS * CLI_NS_PER_MS ? SLOW_MS
                                                                   : TICK_MS) *
                         CLI_NS_PER_MS;
    } else if (w->acted_ns != 0 && next > now + TICK_MS * CLI_NS_PER_MS) {
        next = now + TICK_MS * CLI_NS_PER_MS;
    }
    set_timer(w, next);
}

static bool is_late(const watch *w)
{
    return w->plan->policy != RUN_WARN &&
           cli_now_ns() >= w->deadline_ns - w->plan->margin_ns;
}

static void on_child(watch *w, const message *got)
{
    bool too_late = is_late(w);

    w->child = got->pid;
    w->is_group = got->is_group;
    /* The tool may have stood still since it was held: what stands at the gate
       does not pass it then, not even for a moment. */
    if (too_late)
        send_signal(w, SIGKILL);
    if (w->gate >= 0 && !too_late)
        run_child_let_in(w->gate);
    else if (w->gate >= 0)
        (void)close(w->gate);
    w->gate = -1;
}

static void on_message(watch *w, message *got)
{
    switch (got->type) {
    case MESSAGE_HOLD:
        got->owner[OWNER_SIZE - 1] = '\0';
        got->fence[CLI_FENCES_SIZE - 1] = '\0';
        run_env_fill(w->plan->env, got->fence, got->owner, got->at_ns);
        if (got->at_ns > w->deadline_ns)
            w->deadline_ns = got->at_ns;
        break;
    case MESSAGE_CHILD:
        on_child(w, got);
        break;
    case MESSAGE_LOST:
        w->is_lost = true;
        break;
    case MESSAGE_ACTED:
        break;
    }
}

/* Reads what the tool says. Its end of the socket closes when it dies. */
static void listen_to_tool(watch *w)
{
    message got;
    ssize_t size;

    do {
        size = recv(w->socket, &got, sizeof(got), MSG_DONTWAIT);
        if (size == (ssize_t)sizeof(got))
            on_message(w, &got);
    } while (size > 0);
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        w->is_alone = true;
        w->is_lost = true;
    }
}

/* Keeps standard error, for the command and for what that says, and its own
   descriptors; a pipe that somebody reads to its end is not held open. */
static void close_others(watch *w)
{
    enum { SOCKET = 3, GATE, FIRST_OTHER };
    int socket = fcntl(w->socket, F_DUPFD_CLOEXEC, 10);
    int gate = w->gate >= 0 ? fcntl(w->gate, F_DUPFD_CLOEXEC, 10) : -1;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (socket < 0 || null < 0)
        _exit(1);
    /* The first, since it may have the number of one of the others. */
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    if (dup3(socket, SOCKET, O_CLOEXEC) < 0)
        _exit(1);
    w->socket = SOCKET;
    if (gate >= 0) {
        if (dup3(gate, GATE, O_CLOEXEC) < 0)
            _exit(1);
        w->gate = GATE;
    } else {
        (void)close(GATE);
    }
    (void)close_range(FIRST_OTHER, ~0U, 0);
}

/* Whoever kills all that is called latchkey, by its name or its command line, is
   not to kill the guardian with the tool. The name is this process' own copy. */
static void change_name(void)
{
    static const char name[] = "latchkey", other[] = "guardian";

    (void)prctl(PR_SET_NAME, "lk-guardian");
    if (strcmp(program_invocation_short_name, name) == 0)
        memcpy(program_invocation_short_name, other, sizeof(other));
}

static _Noreturn void guard_main(watch *w)
{
    struct pollfd fds[2];

    (void)setpgid(0, 0);
    change_name();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    close_others(w);
    (void)signal(SIGCHLD, SIG_IGN); /* nobody waits for the command */
    w->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (w->timer < 0)
        _exit(1);
    for (;;) {
        uint64_t rings;

        fds[0] = (struct pollfd){.fd = w->is_alone ? -1 : w->socket,
                                 .events = POLLIN};
        fds[1] = (struct pollfd){.fd = w->timer, .events = POLLIN};
        (void)poll(fds, 2, -1);
        (void)!read(w->timer, &rings, sizeof(rings));
        if (!w->is_alone)
            listen_to_tool(w);
        settle(w);
    }
}

/* ---- the tool's side ---------------------------------------------------- */

/* All signals are blocked for the moment of the fork, and stay so there. */
static pid_t fork_blocked(void)
{
    sigset_t all;
    sigset_t before;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid != 0)
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

bool run_guard_open(run_guard *guard)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    guard->socket = ends[0];
    guard->other = ends[1];
    return true;
}

bool run_guard_start(run_guard *guard, const run_plan *plan, int gate)
{
    pid_t pid = fork_blocked();

    if (pid == 0) {
        watch w = {.plan = plan, .socket = guard->other, .gate = gate};

        guard_main(&w);
    }
    (void)close(guard->other);
    if (pid < 0) {
        (void)close(guard->socket);
        guard->socket = -1;
        return false;
    }
    (void)setpgid(pid, pid); /* whoever of the two comes first */
    guard->pid = pid;
    return true;
}

static bool tell(const run_guard *guard, const message *said)
{
    return send(guard->socket, said, sizeof(*said),
                MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*said);
}

/* A guardian that is stopped does not hold the tool up: it is replaced once the
   tool gets to know of that. */
static bool tell_unless_full(const run_guard *guard, const message *said)
{
    return tell(guard, said) || errno == EAGAIN;
}

bool run_guard_hold(const run_guard *guard, int64_t deadline_ns,
                    const char *fence, const char *owner)
{
    message said = {.type = MESSAGE_HOLD, .at_ns = deadline_ns};

    (void)snprintf(said.fence, sizeof(said.fence), "%s", fence);
    memcpy(said.owner, owner, strnlen(owner, OWNER_SIZE - 1));
    return tell_unless_full(guard, &said);
}

bool run_guard_child(const run_guard *guard, pid_t pid, bool is_group)
{
    const message said = {.type = MESSAGE_CHILD,
                          .pid = pid,
                          .is_group = is_group};

    return tell(guard, &said);
}

bool run_guard_lost(const run_guard *guard)
{
    const message said = {.type = MESSAGE_LOST};

    return tell_unless_full(guard, &said);
}

run_news run_guard_read(const run_guard *guard)
{
    message got;
    ssize_t size = recv(guard->socket, &got, sizeof(got), MSG_DONTWAIT);

    if (size == (ssize_t)sizeof(got))
        return RUN_ACTED;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return RUN_NOTHING;
    return RUN_GONE;
}

void run_guard_end(run_guard *guard)
{
    if (guard->pid == 0)
        return;
    (void)kill(guard->pid, SIGKILL);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    (void)close(guard->socket);
    guard->socket = -1; /* its number may soon be the server's */
    guard->pid = 0;
}
