/* SPDX-License-Identifier: MIT */

/*
 * latchkey: the primitives of the library for shells and operators. It uses
 * the public API alone.
 */

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/password.h"
#include "cli/word.h"

const cli_command *const cli_commands[] = {
#define X(name) &cli_command_##name,
    CLI_COMMAND_MAP(X)
#undef X
        NULL,
};

const cli_option cli_global_options[] = {
    {CLI_TEXT, 'u', "url", offsetof(cli, url), "URL",
     "the server: redis://host:port/db, unix:/path", 0},
    {CLI_TEXT, 0, "profile", offsetof(cli, profile), "PROFILE",
     "settings of [profile PROFILE] in the configuration", 0},
    {CLI_SET, 0, "json", offsetof(cli, json), NULL,
     "write JSON where there is something to write", 1},
    {CLI_WORD, 'o', "output", offsetof(cli, json), "text|json",
     "the same; not for those that run a command", 0},
    {CLI_WORD, 0, "log-format", offsetof(cli, logs_json), "text|json",
     "json: each message is a line of JSON", 0},
    {CLI_FLAG, 'q', "quiet", offsetof(cli, quiet), NULL,
     "only errors, and that nothing is configured", 0},
    {CLI_FLAG, 'v', "verbose", offsetof(cli, verbose), NULL,
     "tell about connections", 0},
    {CLI_WORD, 0, "color", offsetof(cli, color), "auto|always|never",
     "colours; auto: on terminals", 0},
    {.kind = CLI_END},
};

const cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    }
    return NULL;
}

/* Words of other tools and libraries, and of before, with the command that is
   meant. */
static const struct {
    const char *word, *command;
} elsewhere[] = {{"run", "lock"},
                 {"sem", "semaphore"},
                 {"elect", "leader"},
                 {"list", "ls"},
                 {"stat", "metrics"},
                 {"url", "config url"},
                 {"version", "--version"},
                 {"unlock", "release"},
                 {"trylock", "lock"},
                 {"getlock", "lock"},
                 {"getfairlock", "lock"},
                 {"getreadwritelock", "read"},
                 {"tryacquire", "semaphore"},
                 {"acquirepermit", "semaphore"},
                 {"trysetpermits", "semaphore"},
                 {"getholdcount", "who"},
                 {"remaintimetolive", "who"},
                 {"lslocks", "ls"},
                 {"islocked", "who"},
                 {"status", "who"},
                 {"info", "who"},
                 {"show", "who"},
                 {"ttl", "who"},
                 {"rwlock", "read"},
                 {"readlock", "read"},
                 {"writelock", "write"},
                 {"forceunlock", "break"},
                 {"force-unlock", "break"},
                 {"countdown", "latch"},
                 {"extend", "renew"},
                 {"refresh", "renew"},
                 {"rw", "read"},
                 {"once", "flight"},
                 {"election", "leader"},
                 {"mutex", "lock"},
                 {"fair", "lock"},
                 {"fairlock", "lock"},
                 {"spinlock", "lock"},
                 {"try", "lock"},
                 {"exec", "lock"},
                 {"shared", "read"},
                 {"countdownlatch", "latch"},
                 {"holders", "who"},
                 {"kill", "break"},
                 {"steal", "break"},
                 {"delete", "forget"},
                 {"rm", "forget"},
                 {"health", "doctor"},
                 {"ui", "serve"},
                 {"web", "serve"},
                 {"dashboard", "serve"},
                 {"monitor", "watch"},
                 {"get", "ls"},
                 {"describe", "who"},
                 {"events", "watch"},
                 {"explain", "help"},
                 {"session", "ls"},
                 {"sessions", "ls"}};

/* Which command is meant, or NULL. */
static const char *called_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        if (strcasecmp(elsewhere[i].word, name) == 0)
            return elsewhere[i].command;
    }
    return NULL;
}

static _Noreturn void unknown_command(const cli *c, const char *name)
{
    const char *near = called_elsewhere(name);
    size_t least = near != NULL ? 0 : cli_nearness(name);

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        size_t distance = cli_distance(name, cli_commands[i]->name);

        if (distance < least) {
            least = distance;
            near = cli_commands[i]->name;
        }
    }
    if (near != NULL)
        cli_usage(c, "there is no command '%s'; did you mean '%s'?", name,
                  near);
    cli_usage(c,
              "there is no command '%s'\n"
              "  to run a command under a name: latchkey lock NAME -- COMMAND",
              name);
}

/*
 * A standard stream that is closed would be the number of the next descriptor,
 * and what is written there would go to the server. It stays closed for
 * commands that are run, and what is written to it fails.
 */
static void hold_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
}

/* A reader that goes away is an error of the write, not the end of the tool,
   which may hold something. Commands that are run get back what was. */
static void ignore_sigpipe(cli *c)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;

    if (sigaction(SIGPIPE, &ignore, &before) == 0)
        c->ignored_sigpipe = before.sa_handler == SIG_IGN;
}

/* Ignored by whoever started the tool, it would take the ends of commands with
   it: how they ended could not be known. */
static void heed_children(void)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};

    (void)sigaction(SIGCHLD, &plain, NULL);
}

/* By the command that is named first, or by the tool's own name. */
static int dispatch(cli *c, int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    int at;

    if (strcmp(slash != NULL ? slash + 1 : argv[0], "flock") == 0) {
        c->command = &cli_command_flock;
        return c->command->run(c, argc, argv);
    }
    at = cli_parse_globals(c, argc, argv);
    if (at >= argc)
        return cli_help_short();
    c->command = cli_command_find(argv[at]);
    if (c->command == NULL)
        unknown_command(c, argv[at]);
    return c->command->run(c, argc - at, argv + at);
}

/* Frees what holds a password, or may. NULL is allowed. */
static void wipe(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

int main(int argc, char **argv)
{
    cli c = {.command = NULL};
    int code;

    hold_streams();
    ignore_sigpipe(&c);
    heed_children();
    code = cli_password_take(&c) ? cli_finish(dispatch(&c, argc, argv))
                                 : cli_fail(&c, CLI_INTERNAL, "out of memory");
    wipe(c.resolved_url);
    free(c.resolved_from);
    for (size_t i = 0; i < CLI_PASSWORDS; i++) {
        wipe(c.passwords[i]);
        free(c.passwords_from[i]);
    }
    return code;
}
