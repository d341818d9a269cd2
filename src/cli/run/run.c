/* SPDX-License-Identifier: MIT */

/*
 * `latchkey lock NAME -- COMMAND`: a command under a hold. run.h tells the
 * order of things, run_guard.h who ends the command in time.
 */

#include "cli/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/foreign.h"
#include "cli/json.h"
#include "cli/kind.h"
#include "cli/output.h"
#include "cli/run/flock.h"
#include "cli/run/limits.h"
#include "cli/run/wait.h"
#include "cli/word.h"

enum { KILL_AFTER_MS = 5000 };

#define NO_STATUS_FD UINT64_MAX

/* ---- options ------------------------------------------------------------ */

static void check_lost(run *r)
{
    static const char *const words[] = {"term", "kill", "warn"};
    const char *said = r->options.on_lost;

    for (int i = 0; said != NULL && i < 3; i++) {
        if (strcmp(said, words[i]) == 0) {
            r->plan.policy = (run_policy)i;
            return;
        }
    }
    if (said == NULL) {
        r->plan.policy = RUN_TERM;
    } else if (strncmp(said, "run:", 4) == 0 && said[4] != '\0') {
        r->plan.policy = RUN_COMMAND;
        r->plan.command = said + 4;
    } else {
        cli_usage(r->c,
                  "--on-lost is '%s'; it has to be term, kill, warn or "
                  "run:LINE",
                  said);
    }
}

static void check_status_fd(run *r)
{
    uint64_t fd = r->options.status_fd;

    if (fd == NO_STATUS_FD)
        return;
    /* It is the tool's: the command does not inherit it, unless it is one of the
       streams that every command has. */
    if (fd > INT32_MAX ||
        (fd <= STDERR_FILENO ? fcntl((int)fd, F_GETFD) < 0
                             : fcntl((int)fd, F_SETFD, FD_CLOEXEC) != 0))
        cli_usage(r->c, "--status-fd %" PRIu64 " is not open", fd);
}

static _Noreturn void miss_command(const run *r)
{
    static const char shell[] = "\n  for a shell itself: lines=$(latchkey hold "
                                "NAME) && eval \"$lines\" || "
                                "exit";

    cli_usage(r->c, "which command? %s %s%s", r->c->command->name,
              r->c->command->usage,
              r->options.kind == CLI_LOCK || r->options.is_file ? shell : "");
}

static void check_count(const run *r)
{
    const run_options *o = &r->options;

    if (o->count < 1 || o->count > LK_SEMAPHORE_MAX_COUNT)
        cli_usage(r->c, "--count has to be 1 to %d", LK_SEMAPHORE_MAX_COUNT);
    if (o->said.permits != 0 && o->count > o->said.permits)
        cli_usage(r->c,
                  "--count %" PRIu64 " is more than all %" PRIu64 " permits",
                  o->count, o->said.permits);
}

static void check_options(run *r, const cli_args *args)
{
    run_options *o = &r->options;

    if (o->line == NULL && args->rest == NULL)
        miss_command(r);
    if (o->line != NULL && args->rest != NULL)
        cli_usage(r->c, "either -c LINE or a command");
    if (o->is_try && o->wait_ms != LK_FOREVER)
        cli_usage(r->c, "either -n or -w TIME");
    if (o->lease_ms != RUN_UNSAID_MS && !run_lease_is_good(o->lease_ms))
        cli_usage(r->c, "--lease has to be 1s to 24h; it is renewed while the "
                        "command runs");
    if (o->busy_code > 255)
        cli_usage(r->c, "-E has to be 0 to 255");
    o->kind = cli_subject_kind(r->c, &o->said, o->kind);
    check_count(r);
    if (o->is_try)
        o->wait_ms = 0;
    check_lost(r);
    check_status_fd(r);
}

/* 0, or has complained. */
static int settle_times(run *r)
{
    run_options *o = &r->options;
    int code = run_lease_settle(r->c, &o->lease_ms);

    if (code == 0)
        code = run_wait_settle(r->c, &o->wait_ms);
    if (code == 0)
        run_plan_times(&r->plan, o->lease_ms, o->kill_after_ms);
    return code;
}

/* ---- obtaining ---------------------------------------------------------- */

static int system_failed(const run *r, const char *what)
{
    return cli_fail(r->c, CLI_INTERNAL, "%s: %s", what, strerror(errno));
}

/* What runs in the end: behind each tool that is run by another and a "--". */
static const char *program_of(char **argv)
{
    const char *slash = strrchr(argv[0], '/');

    if (strcmp(slash != NULL ? slash + 1 : argv[0], "latchkey") != 0)
        return argv[0];
    for (char **at = argv; *at != NULL; at++) {
        if (strcmp(*at, "--") == 0 && at[1] != NULL)
            return program_of(at + 1);
    }
    return argv[0];
}

static int open_subject(run *r, char **argv)
{
    char program[64];
    const lk_client_options options = {
        LK_CLIENT_OPTIONS_INIT,   .dispatch = 1,
        .name = program,          .offline_ms = CLI_PATIENCE_MS,
        .under = run_env_under(), .watchdog_ms = (uint64_t)r->options.lease_ms};
    lk_status status;
    int code;

    cli_client_name(program, sizeof(program), program_of(argv));
    code = cli_client_open(r->c, &options, &r->client);
    if (code != 0)
        return code;
    if (r->name_count > 1)
        status = cli_subject_join(&r->subject, r->client, r->options.kind,
                                  r->name, r->names, r->name_count);
    else
        status = cli_subject_new(&r->subject, r->client, r->options.kind,
                                 r->name, r->options.said.permits);
    r->subject.count = r->options.count;
    return status == LK_OK ? 0 : cli_fail_status(r->c, status, r->name);
}

static int not_obtained(run *r, const run_wait *wait, lk_status status)
{
    int code = run_wait_fail(wait, status);

    if (code != CLI_BUSY)
        return code;
    r->outcome = RUN_NOT_OBTAINED;
    return cli_conflict_exit(status, r->options.busy_code);
}

/* What those who look at NAME are told. It may be held when COMMAND, which they
   see, has ended. */
static const char *reason_of(const run *r, char *to, size_t size)
{
    const char *why = r->options.why;
    char time[CLI_TIME_SIZE];

    /* A leader's is its value. */
    if (r->options.at_least_ms <= 0 || r->options.kind == CLI_LEADER)
        return why;
    (void)snprintf(to, size, "kept for %s at least%s%s",
                   cli_time_words(time, (uint64_t)r->options.at_least_ms),
                   why != NULL ? ": " : "", why != NULL ? why : "");
    return to;
}

static int obtain(run *r)
{
    char reason[256];
    const run_wait wait = {.c = r->c,
                           .client = r->client,
                           .subject = &r->subject,
                           .signals = &r->signals,
                           .wait_ms = r->options.wait_ms,
                           .reason = reason_of(r, reason, sizeof(reason))};
    int number;
    lk_status status = run_wait_acquire(&wait, &r->hold, &number);

    if (number != 0) {
        r->outcome = RUN_NOT_OBTAINED;
        r->terminal_signal = number;
        return CLI_SIGNAL + number;
    }
    if (status != LK_OK)
        return not_obtained(r, &wait, status);
    r->held_ns = cli_now_ns();
    return run_wait_lengthen(&wait, r->hold, r->options.lease_ms);
}

/* ---- running ------------------------------------------------------------ */

static int death_signal(const run *r)
{
    if (r->plan.policy == RUN_TERM)
        return SIGTERM;
    return r->plan.policy == RUN_KILL ? SIGKILL : 0;
}

static int start_child(run *r, char **argv, int gate)
{
    const run_start start = {
        .argv = argv,
        .env = &r->env,
        .mask = r->signals.before,
        .ignored_sigpipe = r->c->ignored_sigpipe,
        .is_group = !r->options.is_foreground,
        .death_signal = death_signal(r),
        .gate = gate,
        .guard = r->guard.socket,
        .out = -1,
    };
    bool is_told = run_tell_hold(r);
    char fences[CLI_FENCES_SIZE];

    r->seen_ns = cli_now_ns(); /* from here on it has only its own work to do */
    cli_subject_fences(&r->subject, r->hold, fences);
    run_env_fill(&r->env, fences, lk_client_id(r->client), r->told_ns);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!run_child_fork(&r->child, &start))
        return system_failed(r, "no process for the command");
    if (r->options.limit_ms > 0)
        r->limit_ns = cli_now_ns() + r->options.limit_ms * CLI_NS_PER_MS;
    if (!r->options.is_foreground && r->terminal.is_eager)
        run_terminal_give(&r->terminal, r->child.pid);
    /* A guardian that knows nothing lets nobody pass. Without it the gate
       closes, and the child tells. */
    if (!is_told ||
        !run_guard_child(&r->guard, r->child.pid, !r->options.is_foreground))
        run_guard_end(&r->guard);
    return 0;
}

/* Says that the command could not be run. What was meant is told where it may
   have been something else. */
static int not_run(run *r, const char *program, int reason)
{
    char name[128];

    if (reason != ENOENT)
        return cli_fail(r->c, CLI_CANNOT_RUN, "%s: %s", program,
                        strerror(reason));
    if (cli_foreign_is_for_shell(program))
        return cli_fail(r->c, CLI_NOT_FOUND,
                        "%s: %s\n  a line for a shell is run by -c", program,
                        strerror(reason));
    return cli_fail(r->c, CLI_NOT_FOUND,
                    "%s: %s\n  it stands where the command does, behind NAME, "
                    "which is '%s'%s%s",
                    program, strerror(reason),
                    cli_clean(name, sizeof(name), r->subject.name),
                    cli_word_is_number(r->subject.name)
                        ? "; how many at a time is `latchkey semaphore -p N`"
                        : "",
                    r->c->command->operands_max > 1
                        ? "; several names need -- before the command"
                        : "");
}

/* The exit code of a child that has ended. */
static int ended(run *r, const char *program)
{
    int reason = run_child_failure(&r->child);

    r->outcome = reason == 0 ? RUN_ENDED : RUN_NOT_RUN;
    if (reason == -1)
        return cli_fail(r->c, CLI_INTERNAL,
                        "the guardian has died; the command was not run");
    if (reason != 0)
        return not_run(r, program, reason);
    if (r->is_lost)
        return CLI_LOST;
    if (r->is_overdue)
        return CLI_OVERDUE;
    if (WIFSIGNALED(r->status))
        return CLI_SIGNAL + WTERMSIG(r->status);
    return WEXITSTATUS(r->status);
}

/* The hold's end. What the command did under it was done under it, whatever
   the release answers, unless it was lost before. For what is lost nobody
   waits: the client says it if it can. */
static int release(run *r, int code)
{
    char name[128];
    lk_status status;

    if (r->hold == NULL)
        return code;
    if (r->is_lost && lk_hold_release_async(r->hold, NULL, NULL) == LK_OK)
        return code;
    status = cli_subject_release(&r->subject, r->hold);
    (void)cli_clean(name, sizeof(name), r->subject.name);
    if (status == LK_OK || r->is_lost)
        return code;
    if (status == LK_ELOST) {
        r->is_lost = true;
        return cli_fail(r->c, CLI_LOST, "%s '%s' was lost: %s",
                        cli_subject_noun(r->subject.kind), name,
                        lk_last_error());
    }
    cli_note(r->c,
             "the release of '%s' is not confirmed: %s; "
             "it ends with its lease",
             name, cli_error_words());
    return code;
}

static int run_command(run *r, char **argv, int gate)
{
    char fences[CLI_FENCES_SIZE];
    int code;

    cli_subject_fences(&r->subject, r->hold, fences);
    code = run_ready_on(r->c, &r->options.ready, fences);
    if (code == 0)
        code = start_child(r, argv, gate);
    if (code != 0)
        return code;
    run_watch(r);
    run_terminal_take(&r->terminal, r->child.pid);
    code = ended(r, argv[0]);
    /* It guards a process group that is gone, and whose number may be given to
       another one. */
    run_guard_end(&r->guard);
    if (r->outcome == RUN_ENDED && !r->is_lost)
        run_keep_on(r);
    return code;
}

/* ---- status line -------------------------------------------------------- */

static const char *outcome_word(const run *r)
{
    if (r->is_lost)
        return "lost";
    switch (r->outcome) {
    case RUN_NOT_STARTED:
        return "error";
    case RUN_NOT_OBTAINED:
        return "not-obtained";
    case RUN_NOT_RUN:
        return "not-run";
    case RUN_ENDED:
        break;
    }
    if (r->is_overdue)
        return "time-limit";
    return WIFSIGNALED(r->status) ? "signaled" : "exited";
}

static void put_status(const run *r, int code)
{
    int64_t now = cli_now_ns();
    int64_t held = r->held_ns != 0 ? r->held_ns : now;
    const bool is_ended = r->outcome == RUN_ENDED;
    cli_json json = {.needs_comma = false};

    if (r->options.status_fd == NO_STATUS_FD)
        return;
    json.to = fdopen((int)r->options.status_fd, "w");
    if (json.to == NULL)
        return;
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "outcome", outcome_word(r));
    cli_json_number(&json, "exit", code);
    cli_json_text(&json, "kind", cli_subject_noun(r->options.kind));
    cli_json_text(&json, "name", r->name);
    cli_json_known(&json, "code", is_ended && WIFEXITED(r->status),
                   WEXITSTATUS(r->status));
    cli_json_known(&json, "signal", is_ended && WIFSIGNALED(r->status),
                   WTERMSIG(r->status));
    cli_json_number(&json, "waited_ms", (held - r->begun_ns) / CLI_NS_PER_MS);
    cli_json_number(&json, "held_ms", (now - held) / CLI_NS_PER_MS);
    cli_json_close(&json, '}');
    (void)fclose(json.to);
}

/* ---- the command -------------------------------------------------------- */

/* From the guardian to the release. */
static int guarded(run *r, char **argv)
{
    int gate[2];
    int code;

    if (pipe2(gate, O_CLOEXEC) != 0)
        return system_failed(r, "pipe");
    if (!run_guard_open(&r->guard) ||
        !run_guard_start(&r->guard, &r->plan, gate[1]))
        return system_failed(r, "no process for the guardian");
    (void)close(gate[1]);
    code = r->options.kind == CLI_LEADER
               ? run_ready_open(r->c, &r->options.ready, r->name)
               : 0;
    if (code == 0)
        code = open_subject(r, argv);
    if (code == 0)
        code = obtain(r);
    /* Zero alone says nothing: -E 0 makes it the code of the other case. */
    if (code == 0 && r->hold != NULL)
        code = run_command(r, argv, gate[0]);
    run_guard_end(&r->guard);
    run_ready_off(&r->options.ready);
    code = release(r, code);
    cli_subject_free(&r->subject);
    lk_client_free(r->client);
    return code;
}

/* ---- another number ----------------------------------------------------- */

static int resize(run *r, const char *name)
{
    cli_json json = {.to = stdout};
    uint64_t before;
    int64_t unused;
    bool is_new = false;
    lk_status status;
    int code = cli_client_open(r->c, NULL, &r->client);

    if (code != 0)
        return code;
    status = cli_subject_new(&r->subject, r->client, CLI_SEMAPHORE, name, 0);
    if (status == LK_OK)
        is_new = lk_semaphore_count(r->subject.semaphore, &before, &unused) ==
                 LK_EUNSET;
    if (status == LK_OK)
        status = lk_semaphore_resize(r->subject.semaphore, r->options.resize);
    if (status != LK_OK) {
        code = status == LK_ETYPE
                   ? cli_fail_kind(r->c, r->client, name, CLI_SEMAPHORE)
                   : cli_fail_call(r->c, status, name);
    } else if (r->c->json) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", name);
        cli_json_count(&json, "permits", r->options.resize);
        cli_json_close(&json, '}');
    }
    if (status == LK_OK && is_new)
        cli_note(r->c,
                 "semaphore '%s' was not there; it is made, with %" PRIu64
                 " permits",
                 name, r->options.resize);
    cli_subject_free(&r->subject);
    lk_client_free(r->client);
    return code;
}

/* ---- all of it ---------------------------------------------------------- */

/* What the names are called together. False: no memory. */
static bool join_names(run *r, const cli_args *args)
{
    size_t size;
    FILE *to;

    r->names = args->operands;
    r->name_count = (size_t)args->operand_count;
    if (r->options.is_file) {
        r->name = run_flock_name(args->operands[0]);
        return r->name != NULL;
    }
    to = open_memstream(&r->name, &size);
    if (to == NULL)
        return false;
    for (size_t i = 0; i < r->name_count; i++)
        (void)fprintf(to, "%s%s", i > 0 ? " " : "", r->names[i]);
    return fclose(to) == 0;
}

static int run_main(run *r, int argc, char **argv)
{
    const char *shell[] = {"/bin/sh", "-c", NULL, NULL};
    char **command;
    cli_args args;
    int code;

    cli_parse(r->c, argc, argv, &r->options, &args);
    if (r->options.resize != CLI_UNSAID) {
        if (r->options.line != NULL || args.rest != NULL)
            cli_usage(r->c, "--resize runs no command");
        return resize(r, args.operands[0]);
    }
    check_options(r, &args);
    shell[2] = r->options.line;
    command = r->options.line != NULL ? (char **)(intptr_t)shell : args.rest;
    r->begun_ns = cli_now_ns();
    run_terminal_find(&r->terminal);
    if (!join_names(r, &args))
        return cli_fail(r->c, errno == ENOMEM ? CLI_INTERNAL : CLI_USAGE,
                        "%s: %s", args.operands[0], strerror(errno));
    if (r->options.is_file)
        run_flock_tell(r->c, r->name);
    if (!run_env_make(&r->env, r->name) || !run_signals_take(&r->signals))
        return system_failed(r, "start");
    r->plan.env = &r->env;
    code = settle_times(r);
    if (code == 0)
        code = guarded(r, command);
    put_status(r, code);
    run_env_done(&r->env);
    free(r->name);
    /* A shell that runs a script has to see that ^C ended it. */
    if (r->terminal_signal != 0 && code == CLI_SIGNAL + r->terminal_signal)
        run_signals_die(r->terminal_signal);
    return code;
}

int run_under(cli *c, int argc, char **argv, cli_kind_of kind)
{
    run r = {.c = c,
             .options = {.kind = kind,
                         .said = {.permits = CLI_UNSAID},
                         .count = 1,
                         .wait_ms = LK_FOREVER,
                         .lease_ms = RUN_UNSAID_MS,
                         .kill_after_ms = KILL_AFTER_MS,
                         .status_fd = NO_STATUS_FD,
                         .is_file = c->command == &cli_command_flock,
                         .busy_code =
                             c->command == &cli_command_flock ? 1 : CLI_BUSY,
                         .resize = CLI_UNSAID}};

    return run_main(&r, argc, argv);
}
