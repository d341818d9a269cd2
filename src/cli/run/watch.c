/* SPDX-License-Identifier: MIT */

/*
 * While the command runs: its signals, its stops, its end, the hold's deadline
 * and the guardian's health, in one loop.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/output.h"
#include "cli/run/group.h"
#include "cli/run/loss.h"
#include "cli/run/run.h"

enum {
    REFRESH_MOST_MS = 2000,
    REFRESH_LEAST_MS = 50,
    DRAIN_MS = 10, /* between two looks at what is left of the group */
    DEAD_MS = 100  /* the same for the dead, whom nobody has to reap */
};

static void send_signal(const run *r, int number)
{
    if (!r->options.is_foreground)
        (void)kill(-r->child.pid, number);
    else if (!r->has_ended)
        (void)kill(r->child.pid, number);
}

/* ---- the hold ----------------------------------------------------------- */

bool run_tell_hold(run *r)
{
    /* The clock first: time that passes between the two is then lost to us,
       not to the next holder. */
    int64_t now = cli_now_ns();
    int64_t left = (int64_t)lk_hold_remaining_ms(r->hold) * CLI_NS_PER_MS;
    char fences[CLI_FENCES_SIZE];

    if (now + left <= r->told_ns)
        return true;
    cli_subject_fences(&r->subject, r->hold, fences);
    if (!run_guard_hold(&r->guard, now + left, fences, lk_client_id(r->client)))
        return false;
    r->told_ns = now + left;
    r->still_ns = 0;
    return true;
}

/* ---- the guardian ------------------------------------------------------- */

/* It knows everything before it begins: the tool may be killed right then. */
static bool start_another(run *r)
{
    r->told_ns = 0;
    if (!run_guard_open(&r->guard))
        return false;
    (void)run_tell_hold(r);
    (void)run_guard_child(&r->guard, r->child.pid, !r->options.is_foreground);
    if (r->is_lost)
        (void)run_guard_lost(&r->guard);
    return run_guard_start(&r->guard, &r->plan, -1);
}

static void restart_guardian(run *r)
{
    run_guard_end(&r->guard);
    if (start_another(r)) {
        r->is_unguarded = false;
        return;
    }
    if (!r->is_unguarded)
        (void)cli_fail(r->c, 0,
                       "no other guardian can be started; the "
                       "command %s",
                       r->plan.policy == RUN_WARN ? "goes on" : "is ended");
    r->is_unguarded = true;
    /* Nobody would end it in time if the tool died as well. */
    if (r->plan.policy != RUN_WARN)
        send_signal(r, SIGKILL);
}

/* ---- its loss ----------------------------------------------------------- */

/* Notes how long the tool stood still: stopped, not scheduled, or asleep with
   the machine. expected_ns: so long it was to wait. */
static void note_still(run *r, int64_t expected_ns)
{
    int64_t now = cli_now_ns();
    int64_t still = now - r->seen_ns - expected_ns;

    if (still > r->still_ns)
        r->still_ns = still;
    r->seen_ns = now;
}

/* Why it is lost. A tool that stood still while a renewal was due is the reason,
   whatever the server is like. Returns what to do about it. */
static const char *put_reason(run *r, char *text, size_t size)
{
    static const char longer[] = "\n  a longer --lease outlasts that";
    static const char doctor[] = "\n  latchkey doctor names the right";
    const int64_t lease_ms = r->plan.lease_ns / CLI_NS_PER_MS;
    char time[CLI_TIME_SIZE];
    lk_loss loss;

    note_still(r, 0);
    loss = run_loss_cause(r->client, r->hold, lease_ms);
    if (r->still_ns < r->plan.lease_ns / 4 || loss == LK_LOSS_REVOKED ||
        loss == LK_LOSS_CLOSED || loss == LK_LOSS_DENIED) {
        (void)snprintf(text, size, "%s", cli_loss_words(loss));
        if (loss == LK_LOSS_DENIED)
            return doctor;
        return loss == LK_LOSS_UNREACHABLE || loss == LK_LOSS_STOPPED ? longer
                                                                      : "";
    }
    (void)snprintf(text, size,
                   "the tool itself stood still for %s and did not renew it",
                   cli_time_words(time,
                                  (uint64_t)(r->still_ns / CLI_NS_PER_MS)));
    return longer;
}

static void on_lost(run *r)
{
    const char *advice;
    char reason[128];
    char name[128];

    if (r->is_lost)
        return;
    r->is_lost = true;
    /* Before the command is told: what it does then is no leader's. A guardian that
       is late already does not wait for that, nor for what comes next. */
    run_ready_off(&r->options.ready);
    if (!run_guard_lost(&r->guard))
        restart_guardian(r);
    advice = put_reason(r, reason, sizeof(reason));
    (void)cli_fail(r->c, 0, "%s '%s' is lost: %s; the command %s%s",
                   cli_subject_noun(r->subject.kind),
                   cli_clean(name, sizeof(name), r->subject.name), reason,
                   r->plan.policy == RUN_WARN ? "goes on" : "is ended", advice);
}

static void check_hold(run *r)
{
    if (lk_hold_check(r->hold) == LK_OK)
        (void)run_tell_hold(r);
    else
        on_lost(r);
}

static void on_guardian(run *r)
{
    switch (run_guard_read(&r->guard)) {
    case RUN_NOTHING:
        break;
    case RUN_ACTED:
        on_lost(r);
        break;
    case RUN_GONE:
        restart_guardian(r);
        break;
    }
}

/* ---- stops -------------------------------------------------------------- */

/* The tool stops as well, so that the shell sees it. Nothing is renewed then:
   the guardian goes on, and ends the command if that takes too long. */
static void stop_with_it(run *r)
{
    char left[CLI_TIME_SIZE];

    r->wants_terminal = r->terminal.is_given;
    run_terminal_take(&r->terminal, r->child.pid);
    if (r->terminal.fd >= 0 && r->plan.policy != RUN_WARN)
        cli_note(r->c,
                 "stopped; unless it goes on within %s, the command is ended",
                 cli_time_words(left, lk_hold_remaining_ms(r->hold)));
    (void)kill(getpid(), SIGSTOP);
}

static void on_stopped(run *r, int number)
{
    if ((number == SIGTTIN || number == SIGTTOU) && !r->options.is_foreground &&
        run_terminal_is_own(&r->terminal)) {
        run_terminal_give(&r->terminal, r->child.pid);
        send_signal(r, SIGCONT);
    } else if (number != SIGSTOP) {
        stop_with_it(r);
    }
    /* SIGSTOP: somebody wants the command to stand still, and the hold kept. */
}

static void on_continued(run *r)
{
    if (r->wants_terminal)
        run_terminal_give(&r->terminal, r->child.pid);
    r->wants_terminal = false;
    send_signal(r, SIGCONT);
}

/* ---- signals ------------------------------------------------------------ */

static void on_ended(run *r, int status)
{
    r->has_ended = true;
    r->status = status;
    r->drain_ns = cli_now_ns() + r->plan.kill_after_ns;
    if (r->options.is_foreground || r->plan.policy == RUN_WARN) {
        r->is_over = true;
        return;
    }
    send_signal(r, SIGTERM);
    send_signal(r, SIGCONT);
}

/* Ends of the child, of the guardian, and of orphans of the command: the tool
   reaps these so that the group is empty when nobody is left. A guardian that
   was stopped is as good as dead. */
static void reap(run *r)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid == r->guard.pid)
            restart_guardian(r);
        else if (pid == r->child.pid && WIFSTOPPED(status))
            on_stopped(r, WSTOPSIG(status));
        else if (pid == r->child.pid)
            on_ended(r, status);
    }
}

static void on_signal(run *r, int number, bool is_kernel)
{
    if (number == SIGCHLD) {
        reap(r);
    } else if (number == SIGCONT) {
        on_continued(r);
    } else {
        if (is_kernel && (number == SIGINT || number == SIGQUIT))
            r->terminal_signal = number;
        r->is_told_to_end = r->is_told_to_end || run_signal_ends(number);
        /* In one group the terminal has told the command already. */
        if (!is_kernel || !r->options.is_foreground)
            send_signal(r, number);
    }
}

static void on_signals(run *r)
{
    bool is_kernel = false;
    int number;

    while ((number = run_signals_read(&r->signals, &is_kernel)) != 0)
        on_signal(r, number, is_kernel);
}

/* ---- the loop ----------------------------------------------------------- */

static void drain_hard(run *r)
{
    int64_t now = cli_now_ns();

    send_signal(r, SIGKILL);
    if (now < r->looked_ns + DEAD_MS * CLI_NS_PER_MS)
        return;
    r->looked_ns = now;
    r->is_over = run_group_is_dead(r->child.pid);
}

static void drain(run *r)
{
    if (!r->has_ended || r->is_over)
        return;
    if (kill(-r->child.pid, 0) != 0 && errno == ESRCH)
        r->is_over = true;
    else if (cli_now_ns() >= r->drain_ns)
        drain_hard(r);
}

/* ---- the command's own time --------------------------------------------- */

/* SIGTERM when it is over, and SIGKILL as long after that as when a hold is
   lost. */
static void check_limit(run *r)
{
    int64_t now = cli_now_ns();
    char time[CLI_TIME_SIZE];

    if (r->limit_ns == 0 || r->has_ended || now < r->limit_ns)
        return;
    if (r->is_overdue) {
        send_signal(r, SIGKILL);
        return;
    }
    r->is_overdue = true;
    r->limit_ns = now + r->plan.kill_after_ns;
    cli_note(r->c, "the command has run for %s and is ended",
             cli_time_words(time, (uint64_t)r->options.limit_ms));
    send_signal(r, SIGTERM);
    send_signal(r, SIGCONT);
}

static int64_t until_limit_ms(const run *r)
{
    int64_t left;

    if (r->limit_ns == 0)
        return REFRESH_MOST_MS;
    left = (r->limit_ns - cli_now_ns()) / CLI_NS_PER_MS + 1;
    return left > DRAIN_MS ? left : DRAIN_MS;
}

static int pause_ms(const run *r)
{
    int64_t ms = r->plan.lease_ns / CLI_NS_PER_MS / 20;

    if (r->has_ended)
        return DRAIN_MS;
    if (until_limit_ms(r) < ms)
        return (int)until_limit_ms(r);
    if (ms > REFRESH_MOST_MS)
        return REFRESH_MOST_MS;
    return ms < REFRESH_LEAST_MS ? REFRESH_LEAST_MS : (int)ms;
}

void run_watch(run *r)
{
    int lost_fd = lk_hold_fd(r->hold);

    note_still(r, 0); /* since the command was begun */
    /* What happened to the guardian during the wait was not looked at. */
    reap(r);
    while (!r->is_over) {
        struct pollfd fds[3] = {{.fd = r->signals.fd, .events = POLLIN},
                                {.fd = r->guard.socket, .events = POLLIN},
                                {.fd = r->is_lost ? -1 : lost_fd,
                                 .events = POLLIN}};

        int pause = pause_ms(r);

        (void)poll(fds, 3, pause);
        note_still(r, pause * CLI_NS_PER_MS);
        if (fds[0].revents != 0)
            on_signals(r);
        /* Whatever poll() said: the tool may have stood still since, and the
           guardian speaks before it acts. */
        on_guardian(r);
        check_hold(r);
        check_limit(r);
        drain(r);
    }
}

/* ---- after it ----------------------------------------------------------- */

/* Whether a signal says that the tool is to end, or has said it before. */
static bool is_told_to_end(run *r)
{
    bool is_kernel;
    int number;

    while (!r->is_told_to_end &&
           (number = run_signals_read(&r->signals, &is_kernel)) != 0) {
        r->is_told_to_end = run_signal_ends(number);
        if (number == SIGTSTP)
            (void)raise(SIGSTOP);
    }
    return r->is_told_to_end;
}

/* The command was done before: that is no loss of its. */
static void on_cut_short(run *r)
{
    char name[128];

    (void)cli_fail(r->c, 0, "'%s' is lost before --at-least was over: %s",
                   cli_clean(name, sizeof(name), r->subject.name),
                   cli_loss_words(lk_hold_loss(r->hold)));
    if (lk_hold_release_async(r->hold, NULL, NULL) == LK_OK)
        r->hold = NULL;
}

/* So long that others stay out for the time. A lease that is longer stays so. */
static lk_status lengthen(run *r, int64_t left_ns)
{
    const uint64_t left_ms = (uint64_t)(left_ns / CLI_NS_PER_MS) + 1;

    return lk_hold_remaining_ms(r->hold) < left_ms
               ? lk_hold_extend(r->hold, left_ms)
               : LK_OK;
}

/* The tool ends now. What is left of the time is left to the lease, which nobody
   renews. Where the server does not answer it is the lease as it is. */
static void leave_to_lease(run *r, int64_t left_ns)
{
    char text[LK_EXPORT_SIZE], time[CLI_TIME_SIZE], name[128];
    lk_status status = lengthen(r, left_ns);
    uint64_t lease_ms = lk_hold_remaining_ms(r->hold);
    lk_status left = lk_hold_export(r->hold, text, sizeof(text));

    if (status == LK_ELOST || left == LK_ELOST) {
        on_cut_short(r);
        return;
    }
    (void)cli_clean(name, sizeof(name), r->subject.name);
    if (status != LK_OK || left != LK_OK)
        cli_note(r->c, "'%s' may be free before --at-least is over: %s", name,
                 cli_error_words());
    else
        cli_note(r->c, "'%s' stays taken for %s, as --at-least says", name,
                 cli_time_words(time, lease_ms));
    explicit_bzero(text, sizeof(text));
    if (left == LK_OK)
        r->hold = NULL;
}

void run_keep_on(run *r)
{
    int64_t until = r->held_ns + r->options.at_least_ms * CLI_NS_PER_MS;
    int64_t left;

    while ((left = until - cli_now_ns()) > 0) {
        struct pollfd fds[2] = {{.fd = r->signals.fd, .events = POLLIN},
                                {.fd = lk_hold_fd(r->hold), .events = POLLIN}};
        int64_t ms = left / CLI_NS_PER_MS + 1;

        if (lk_hold_check(r->hold) != LK_OK) {
            on_cut_short(r);
            return;
        }
        if (is_told_to_end(r)) {
            leave_to_lease(r, left);
            return;
        }
        (void)poll(fds, 2, ms < REFRESH_MOST_MS ? (int)ms : REFRESH_MOST_MS);
    }
}
