/* SPDX-License-Identifier: MIT */

/*
 * `latchkey flight`: of all that run the same command at the same time one
 * runs it, and all print what it printed.
 *
 * A command that fails lands as an error whose words are its exit code, so
 * that all exit alike. A tool that is ended by a signal lands nothing: the
 * next one takes over when its claim has ended.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/run/child.h"

#define FAILED "the command exited with "
#define GROUP  "latchkey"

/* Others wait until the landing is told, or its claim has ended. */
enum { LAND_MS = 3000 };

typedef struct choices {
    bool is_try;
    int64_t wait_ms;
    int64_t ttl_ms;
    int64_t error_ttl_ms;
    uint64_t max_size;
    uint64_t busy_code;
    const char *line;
    const char *group;
} choices;

typedef struct trip {
    cli *c;
    choices chosen;
    char **argv;
    run_env env;
    int code; /* of the command, if this one ran it */
} trip;

/* ---- the command -------------------------------------------------------- */

/* Twice the room, and the text there; NULL: no memory, and it is freed. */
static char *grow(char *text, size_t *room)
{
    char *more = realloc(text, *room * 2);

    if (more == NULL)
        free(text);
    else
        *room *= 2;
    return more;
}

/* Reads all that comes, and keeps as much as shows that it is more than most.
   NULL: no memory, or errno tells. */
static char *read_all(int from, size_t most, size_t *ret_size)
{
    size_t room = 65536;
    char *text = malloc(room);

    *ret_size = 0;
    while (text != NULL) {
        ssize_t size = read(from, text + *ret_size, room - *ret_size);

        if (size == 0)
            return text;
        if (size < 0 && errno != EINTR)
            break;
        *ret_size += size > 0 ? (size_t)size : 0;
        if (*ret_size > most)
            *ret_size = most + 1;
        if (*ret_size == room)
            text = grow(text, &room);
    }
    free(text);
    return NULL;
}

/* Its exit code, once it has ended. */
static int child_code(const trip *t, run_child *child)
{
    int status = 0;
    int reason;

    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    reason = run_child_failure(child);
    if (reason != 0)
        return cli_fail(t->c, reason == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN,
                        "%s: %s", t->argv[0], strerror(reason));
    return WIFSIGNALED(status) ? CLI_SIGNAL + WTERMSIG(status)
                               : WEXITSTATUS(status);
}

/* Runs it in the tool's process group, so that a terminal's signals reach
   both. A flight may be flown twice: no guardian is needed. */
static bool start_child(const trip *t, int out, run_child *child)
{
    run_start start = {.argv = t->argv,
                       .env = &t->env,
                       .ignored_sigpipe = t->c->ignored_sigpipe,
                       .death_signal = SIGTERM,
                       .guard = -1,
                       .out = out};
    int gate[2];

    if (pipe2(gate, O_CLOEXEC) != 0)
        return false;
    run_child_let_in(gate[1]); /* nobody is waited for */
    start.gate = gate[0];
    (void)sigprocmask(SIG_SETMASK, NULL, &start.mask);
    return run_child_fork(child, &start);
}

static lk_status
land(trip *t, lk_flight_ticket *ticket, const char *text, size_t size)
{
    char words[64];
    lk_status status;

    if (t->code == 0) {
        status = lk_flight_ticket_set(ticket, text, size);
        if (status == LK_ERANGE)
            lk_flight_ticket_words(ticket, "it printed more than --max-size");
        return status;
    }
    (void)snprintf(words, sizeof(words), FAILED "%d", t->code);
    lk_flight_ticket_words(ticket, words);
    return LK_ESERVER;
}

static lk_status run_here(lk_flight_ticket *ticket, void *data)
{
    trip *t = data;
    run_child child = {.pid = 0};
    size_t size = 0;
    lk_status status = LK_ENOMEM;
    char *text;
    int out[2];

    if (pipe2(out, O_CLOEXEC) != 0)
        return LK_ENOMEM;
    if (!start_child(t, out[1], &child)) {
        (void)close(out[0]);
        return LK_ENOMEM;
    }
    text = read_all(out[0], LK_FLIGHT_SIZE_MAX, &size);
    (void)close(out[0]);
    t->code = child_code(t, &child);
    if (text != NULL)
        status = land(t, ticket, text, size);
    free(text);
    return status;
}

/* ---- the flight --------------------------------------------------------- */

/* The exit code of a command that failed, here or elsewhere; -1: it is not
   that. */
static int failed_code(void)
{
    const char *words = lk_last_error();
    uint64_t code = 0;

    if (strncmp(words, FAILED, strlen(FAILED)) != 0 ||
        !cli_count_read(words + strlen(FAILED), &code) || code > 255)
        return -1;
    return (int)code;
}

static int fly(trip *t, lk_client *client, lk_flight *flight, const char *key)
{
    lk_flight_value *value = NULL;
    lk_status status =
        lk_flight_do(flight, key, t->chosen.is_try ? 0 : t->chosen.wait_ms,
                     NULL, run_here, t, &value);
    int code = status == LK_OK ? CLI_OK : failed_code();

    if (status == LK_OK)
        (void)fwrite(value->bytes, 1, value->size, stdout);
    lk_flight_value_free(value);
    if (code >= 0)
        return code;
    status = cli_client_judge(client, status);
    code = cli_fail_status(t->c, status, key);
    if (status == LK_EDENIED && strcmp(t->chosen.group, GROUP) == 0)
        cli_note(t->c, "KEY is looked for as " GROUP ":KEY; where the rights "
                       "are to names that begin otherwise, say --group");
    /* The line was right; what was printed is too long. */
    if (status == LK_ERANGE)
        return CLI_LOST;
    return code == CLI_BUSY ? cli_conflict_exit(status, t->chosen.busy_code)
                            : code;
}

static int open_and_fly(trip *t, const char *key)
{
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT,
                                       .ttl_ms = (uint64_t)t->chosen.ttl_ms,
                                       .error_ttl_ms =
                                           (uint64_t)t->chosen.error_ttl_ms,
                                       .max_size = t->chosen.max_size};
    lk_client *client = NULL;
    lk_flight *flight = NULL;
    lk_status status;
    int code = cli_client_open(t->c, NULL, &client);

    if (code != 0)
        return code;
    status = lk_flight_new(&flight, client, t->chosen.group, &options);
    code = status == LK_OK ? fly(t, client, flight, key)
                           : cli_fail_status(t->c, status, key);
    lk_flight_free(flight);
    (void)lk_client_shutdown(client, LAND_MS);
    lk_client_free(client);
    return code;
}

static void check(const trip *t, const cli_args *args)
{
    if (t->chosen.line == NULL && args->rest == NULL)
        cli_usage(t->c, "which command? flight %s", t->c->command->usage);
    if (t->chosen.line != NULL && args->rest != NULL)
        cli_usage(t->c, "either -c LINE or a command");
    if (t->chosen.is_try && t->chosen.wait_ms != LK_FOREVER)
        cli_usage(t->c, "either -n or -w TIME");
    if (t->chosen.busy_code > 255)
        cli_usage(t->c, "-E has to be 0 to 255");
}

static int run(cli *c, int argc, char **argv)
{
    const char *shell[] = {"/bin/sh", "-c", NULL, NULL};
    trip t = {.c = c,
              .chosen = {.wait_ms = LK_FOREVER,
                         .busy_code = CLI_BUSY,
                         .group = GROUP}};
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &t.chosen, &args);
    check(&t, &args);
    shell[2] = t.chosen.line;
    t.argv = t.chosen.line != NULL ? (char **)(intptr_t)shell : args.rest;
    if (!run_env_make(&t.env, args.operands[0]))
        return cli_fail(c, CLI_INTERNAL, "out of memory");
    run_env_name_only(&t.env);
    code = open_and_fly(&t, args.operands[0]);
    run_env_done(&t.env);
    return code;
}

#define AT(member) offsetof(choices, member)

static const cli_option options[] = {
    {CLI_FLAG, 'n', "nonblock", AT(is_try), NULL,
     "do not wait for the one that runs it now", 0},
    {CLI_TIME, 'w', "wait", AT(wait_ms), "TIME", "wait for TIME at most", 0},
    {CLI_TIME, 't', "ttl", AT(ttl_ms), "TIME",
     "what it printed can be had for so long; 1s", 0},
    {CLI_TIME, 0, "error-ttl", AT(error_ttl_ms), "TIME",
     "the same if it failed; 100ms", 0},
    {CLI_COUNT, 0, "max-size", AT(max_size), "BYTES",
     "it may print so much; 1048576", 0},
    {CLI_TEXT, 'c', "command", AT(line), "LINE", "run this line with /bin/sh",
     0},
    {CLI_COUNT, 'E', "conflict-exit-code", AT(busy_code), "CODE",
     "exit code if the wait ends first; 75", 0},
    {CLI_TEXT, 0, "group", AT(group), "NAME",
     "keys are told apart within it; " GROUP, 0},
    {.kind = CLI_END},
};

const cli_command cli_command_flight = {
    .name = "flight",
    .group = CLI_RUN,
    .summary = "run a command once for all who ask at the same time",
    .examples =
        "  latchkey flight prices -- curl -fsS https://api.example/prices\n"
        "  latchkey flight -t 1m prices -- ./prices    others get it for a "
        "minute",
    .usage = "[OPTION]... KEY [--] COMMAND [ARGUMENT]...",
    .about = "One of all that ask for KEY at the same time runs COMMAND, and\n"
             "all print what it printed, or exit as it did. It may be run\n"
             "twice, if the one that runs it stands still or dies, and must do "
             "no harm\n"
             "then: it is not a lock. To the server its name is NAME:KEY, of "
             "--group\n"
             "NAME, and latchkey:KEY without: rights to names that begin "
             "otherwise\n"
             "need --group.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .takes_rest = true,
    .run = run,
};
