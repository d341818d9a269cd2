/* SPDX-License-Identifier: MIT */

/*
 * `eval "$(latchkey hold NAME)"`: a name held for a shell by a keeper, which
 * renews it while the shell lives and gives it back when it ends.
 *
 *   tool      forks the keeper and waits for its word
 *   keeper    waits for the hold, writes what the shell evaluates
 *   keeper    leaves the session, gives its word; the tool ends
 *   keeper    watches the shell, the hold and signals
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/caller.h"
#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/connect.h"
#include "cli/eval.h"
#include "cli/output.h"
#include "cli/run/env.h"
#include "cli/run/keeper.h"
#include "cli/run/limits.h"
#include "cli/run/loss.h"
#include "cli/run/signals.h"
#include "cli/run/wait.h"
#include "cli/subject.h"

#define LOSSES "term|kill|warn"

typedef enum loss { LOSS_TERM, LOSS_KILL, LOSS_WARN } loss;

typedef struct choices {
    cli_kind_flags said;
    bool is_try;
    int64_t wait_ms;
    int64_t lease_ms;
    const char *why;
    uint64_t busy_code;
    uint64_t pid; /* 0: the shell that calls */
    int on_lost;
} choices;

typedef struct keeping {
    cli *c;
    choices chosen;
    cli_kind_of kind;
    const char *name;
    int report; /* to the tool that has forked it */
    pid_t shell_pid;
    int shell; /* a descriptor of its process */
    run_signals signals;
    lk_client *client;
    cli_subject subject;
    lk_hold *hold;
    cli_askers askers;
} keeping;

/* ---- obtaining ---------------------------------------------------------- */

static int open_subject(keeping *k)
{
    char program[CLI_PROGRAM_SIZE];
    char name[CLI_PROGRAM_SIZE];
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1,
                                 .name = name, .offline_ms = CLI_PATIENCE_MS,
                                 .under = run_env_under()};
    lk_status status;
    int code = run_lease_settle(k->c, &k->chosen.lease_ms);

    if (code == 0 && !k->chosen.is_try)
        code = run_wait_settle(k->c, &k->chosen.wait_ms);
    cli_caller_program(program, k->shell_pid);
    cli_client_name(name, sizeof(name), program);
    if (code != 0)
        return code;
    options.watchdog_ms = (uint64_t)k->chosen.lease_ms;
    code = cli_client_open(k->c, &options, &k->client);
    if (code != 0)
        return code;
    status = cli_subject_new(&k->subject, k->client, k->kind, k->name,
                             k->chosen.said.permits);
    return status == LK_OK ? 0 : cli_fail_status(k->c, status, k->name);
}

/* The shell is what people look for, and not its keeper: the program and the
   reason that they see are of the shell. */
static int obtain(keeping *k)
{
    char reason[CLI_CALLER_SIZE];
    run_wait wait = {.c = k->c,
                     .subject = &k->subject,
                     .signals = &k->signals,
                     .reason = reason};
    lk_status status;
    int number = 0;
    int code = open_subject(k);

    cli_caller_reason(reason, k->chosen.why, k->shell_pid);
    if (code != 0)
        return code;
    wait.client = k->client;
    wait.wait_ms = k->chosen.is_try ? 0 : k->chosen.wait_ms;
    status = run_wait_acquire(&wait, &k->hold, &number);
    if (number != 0)
        return CLI_SIGNAL + number;
    if (status == LK_OK)
        return run_wait_lengthen(&wait, k->hold, k->chosen.lease_ms);
    code = run_wait_fail(&wait, status);
    return code == CLI_BUSY ? cli_conflict_exit(status, k->chosen.busy_code)
                            : code;
}

static bool put_hold(const keeping *k)
{
    char digits[24];
    char keepers[CLI_KEEPERS_SIZE];

    (void)snprintf(digits, sizeof(digits), "%" PRIu64, lk_hold_fence(k->hold));
    cli_keeper_names(keepers, getenv("LATCHKEY_KEEPER"), k->shell_pid);
    cli_eval_disown();
    cli_eval_export("LATCHKEY_KEEPER", keepers);
    cli_eval_export("LATCHKEY_NAME", k->name);
    cli_eval_export("LATCHKEY_FENCE", digits);
    if (isatty(STDOUT_FILENO) != 0)
        cli_note(k->c,
                 "these lines are for eval, as `latchkey help hold` shows "
                 "it; the name is held until this shell ends");
    return cli_flush();
}

/* ---- keeping ------------------------------------------------------------ */

/* What the shell reads to its end is not held open: $( ) waits for that. */
static void leave(void)
{
    struct stat out;
    struct stat err;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    (void)!chdir("/");
    if (null < 0)
        return;
    if (fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
        S_ISFIFO(out.st_mode) && out.st_ino == err.st_ino &&
        out.st_dev == err.st_dev)
        (void)dup2(null, STDERR_FILENO);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
}

/* The shell is told first: what time it has is not spent on finding the words. */
static void on_lost(const keeping *k, bool is_stopped)
{
    static const int numbers[] = {SIGTERM, SIGKILL, 0};
    static const char *const ways[] = {"gets SIGTERM", "is killed", "goes on"};
    const int number = numbers[k->chosen.on_lost];
    const char *cause = "its keeper was told to end";
    char name[128];

    if (number != 0) {
        (void)pidfd_send_signal(k->shell, number, NULL, 0);
        (void)pidfd_send_signal(k->shell, SIGCONT, NULL, 0);
    }
    if (!is_stopped)
        cause = cli_loss_words(
            run_loss_cause(k->client, k->hold, k->chosen.lease_ms));
    (void)cli_fail(k->c, 0, "%s '%s' is lost: %s; the shell %s",
                   cli_subject_noun(k->kind),
                   cli_clean(name, sizeof(name), k->name), cause,
                   ways[k->chosen.on_lost]);
}

/* The shell has been told, and works under the name until it has ended or gives it
   back; others stay out for that long, but no longer than for the lease that runs.
   What is left of the lease of one that was revoked is not known here: no more than
   a whole one. */
static void outlast(keeping *k)
{
    struct pollfd fds[2] = {{.fd = k->shell, .events = POLLIN},
                            {.fd = k->signals.fd, .events = POLLIN}};
    int64_t left = (int64_t)lk_hold_remaining_ms(k->hold);
    int64_t end;

    if (left == 0 && lk_hold_loss(k->hold) != LK_LOSS_REVOKED)
        return;
    if (left == 0)
        left = k->chosen.lease_ms;
    end = cli_now_ns() + left * CLI_NS_PER_MS;
    for (; left > 0 && !k->askers.is_asked;
         left = (end - cli_now_ns()) / CLI_NS_PER_MS) {
        (void)poll(fds, 2, left < INT32_MAX ? (int)left : INT32_MAX);
        if (fds[0].revents != 0)
            return;
        (void)cli_keeper_is_told(k->signals.fd, &k->askers);
    }
}

/* Until the shell has ended, or a signal says so. It is lost when a quarter of
   the lease is left: the shell has to end before somebody else can hold. */
static int keep(keeping *k)
{
    struct pollfd fds[3] = {{.fd = k->shell, .events = POLLIN},
                            {.fd = k->signals.fd, .events = POLLIN},
                            {.fd = lk_hold_fd(k->hold), .events = POLLIN}};
    const int64_t margin = k->chosen.lease_ms / 4;

    for (;;) {
        int64_t left = (int64_t)lk_hold_remaining_ms(k->hold) - margin;

        if (lk_hold_check(k->hold) != LK_OK || left <= 0) {
            on_lost(k, false);
            outlast(k);
            return CLI_LOST;
        }
        (void)poll(fds, 3, left < INT32_MAX ? (int)left : INT32_MAX);
        if (fds[0].revents != 0)
            return CLI_OK;
        if (!cli_keeper_is_told(k->signals.fd, &k->askers))
            continue;
        if (!k->askers.is_asked) {
            on_lost(k, true);
            outlast(k);
        }
        return CLI_OK;
    }
}

static void give_back(keeping *k)
{
    const lk_loss cause = lk_hold_loss(k->hold);
    lk_status status = LK_OK;

    if (k->hold != NULL && lk_hold_check(k->hold) == LK_OK)
        status = cli_subject_release(&k->subject, k->hold);
    else if (k->hold != NULL) /* nobody waits for what is lost */
        status = lk_hold_release_async(k->hold, NULL, NULL);
    if (status != LK_OK && k->c->verbose)
        (void)cli_fail_status(k->c, status, k->name);
    cli_subject_free(&k->subject);
    lk_client_free(k->client);
    (void)cli_keeper_is_told(k->signals.fd, &k->askers);
    cli_keeper_answer(&k->askers, status, cause);
}

static void report(const keeping *k, int code)
{
    (void)!write(k->report, &code, sizeof(code));
    (void)close(k->report);
}

static int keeper(keeping *k)
{
    int code = obtain(k);

    if (code == 0 && k->hold != NULL && put_hold(k)) {
        (void)prctl(PR_SET_PDEATHSIG, 0);
        leave();
        report(k, CLI_OK);
        code = keep(k);
    } else {
        if (code == 0 && k->hold != NULL)
            code = cli_fail(k->c, CLI_LOST,
                            "the lines cannot be written; given back");
        cli_eval_failure(code);
        (void)cli_flush();
        report(k, code);
    }
    give_back(k);
    return code;
}

/* ---- the two processes -------------------------------------------------- */

/* Nothing that the shell has open stays open for as long as the keeper. False:
   errno tells. */
static bool keeper_begin(keeping *k, pid_t tool)
{
    enum { REPORT = 3 };

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (k->report != REPORT && dup3(k->report, REPORT, O_CLOEXEC) < 0)
        return false;
    k->report = REPORT;
    (void)close_range(REPORT + 1, ~0U, 0);
    k->shell = pidfd_open(k->shell_pid, 0);
    return k->shell >= 0 && getppid() == tool && run_signals_take(&k->signals);
}

/* Its word; without one it has died. */
static int hear(const cli *c, int from)
{
    int code = 0;
    ssize_t size;

    do
        size = read(from, &code, sizeof(code));
    while (size < 0 && errno == EINTR);
    (void)close(from);
    if (size == (ssize_t)sizeof(code))
        return code;
    cli_eval_failure(CLI_INTERNAL);
    return cli_fail(c, CLI_INTERNAL, "the keeper has died");
}

/* errno tells why. */
static int no_keeper(const cli *c)
{
    int code = cli_fail(c, CLI_INTERNAL, "no process for the keeper: %s",
                        strerror(errno));

    cli_eval_failure(code);
    return code;
}

static int keeper_main(keeping *k, pid_t tool)
{
    int code;

    if (keeper_begin(k, tool))
        return keeper(k);
    code = no_keeper(k->c);
    (void)cli_flush();
    report(k, code);
    return code;
}

static int split(keeping *k)
{
    const pid_t tool = getpid();
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return no_keeper(k->c);
    pid = fork();
    if (pid == 0) {
        k->report = ends[1];
        return keeper_main(k, tool);
    }
    (void)close(ends[1]);
    if (pid < 0)
        return no_keeper(k->c);
    return hear(k->c, ends[0]);
}

/* ---- the command -------------------------------------------------------- */

static void check(const cli *c, const choices *o)
{
    if (o->is_try && o->wait_ms != LK_FOREVER)
        cli_usage(c, "either -n or -w TIME");
    if (o->lease_ms != RUN_UNSAID_MS && !run_lease_is_good(o->lease_ms))
        cli_usage(c, "--lease has to be 1s to 24h; it is renewed while the "
                     "shell lives");
    if (o->busy_code > 255)
        cli_usage(c, "-E has to be 0 to 255");
}

static int run(cli *c, int argc, char **argv)
{
    keeping k = {.c = c,
                 .chosen = {.said = {.permits = CLI_UNSAID},
                            .wait_ms = LK_FOREVER,
                            .lease_ms = RUN_UNSAID_MS,
                            .busy_code = CLI_BUSY}};
    cli_args args;

    cli_eval_owe();
    cli_parse(c, argc, argv, &k.chosen, &args);
    check(c, &k.chosen);
    k.shell_pid = cli_caller_shell(c, k.chosen.pid);
    cli_eval_for(k.shell_pid);
    k.kind = cli_subject_kind(c, &k.chosen.said, CLI_LOCK);
    k.name = args.operands[0];
    cli_eval_begun();
    return split(&k);
}

#define AT(member) offsetof(choices, member)

static const cli_option options[] = {
    {CLI_TIME, 'l', "lease", AT(lease_ms), "TIME",
     "others get it so long after a crash; 30s", 0},
    {CLI_COUNT, 0, "pid", AT(pid), "PID",
     "while this process lives; the shell that calls", 0},
    {CLI_WORD, 0, "on-lost", AT(on_lost), LOSSES,
     "the signal for the shell when it is lost; term", 0},
    CLI_KIND_OPTIONS(AT),
    {CLI_COUNT, 'p', "permits", AT(said.permits), "N",
     "a permit of a semaphore that has N", 0},
    {CLI_REFUSED, 0, "sem", 0, NULL, "--sem N is -p N, --permits N", 0},
    CLI_WAIT_OPTIONS(AT),
    {.kind = CLI_END},
};

const cli_command cli_command_hold = {
    .name = "hold",
    .group = CLI_SCRIPT,
    .summary = "take a lock for a shell: renewed, and ended with the shell",
    .examples =
        "  lines=$(latchkey hold deploy) && eval \"$lines\" || exit\n"
        "  latchkey release        or nothing: the end of the shell will do",
    .usage = "[OPTION]... NAME",
    .about =
        "A process is left behind, the keeper. It renews NAME while the shell\n"
        "lives, and gives it back when the shell ends, however it ends. A\n"
        "shell that is stopped keeps NAME. If NAME is lost the keeper\n"
        "sends the shell SIGTERM, or does what --on-lost says. The commands\n"
        "that the shell has started are sent nothing. The keeper of a hold\n"
        "that is revoked, and one that a signal ends, gives NAME back when\n"
        "the shell has ended, or its lease. An interactive bash ignores\n"
        "SIGTERM: --on-lost=kill ends it.\n"
        "If NAME is not obtained the first line exits with the reason.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
