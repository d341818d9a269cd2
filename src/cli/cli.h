/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CLI_H
#define LK_CLI_CLI_H

#include <latchkey/latchkey.h>

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "cli/password.h"

/*
 * What every command of the tool has in common: the table of commands, what
 * was said before and beside the command, how it ends, and how it complains.
 *
 * A command is one cli_command in a file of its own, and one line in
 * commands.h. It parses with cli_parse(), talks to the server through
 * cli_client_open(), writes to standard output, and returns an exit code.
 */

/* How the tool ends by itself. docs/cli.md and --help have the same table. */
typedef enum cli_exit {
    CLI_OK = 0,
    CLI_USAGE = 64,       /* the command line is not understood */
    CLI_UNAVAILABLE = 69, /* the server cannot be reached, or cannot serve */
    CLI_INTERNAL = 70,    /* memory, a system call, a defect */
    CLI_LOST = 74,     /* lost while it ran; or output could not be written */
    CLI_BUSY = 75,     /* not obtained; not there */
    CLI_DENIED = 77,   /* login or access rights */
    CLI_CONFIG = 78,   /* URL, config file, or settings that contradict */
    CLI_OVERDUE = 124, /* the command's time limit has ended it */
    CLI_CANNOT_RUN = 126, /* the command was found and cannot be run */
    CLI_NOT_FOUND = 127,  /* there is no such command */
    CLI_SIGNAL = 128      /* plus the number of the signal that ended it */
} cli_exit;

typedef struct cli cli;

/* What a command is for, in the order of the help. */
typedef enum cli_group {
    CLI_HIDDEN, /* for shells and the build; not in the help */
    CLI_RUN,
    CLI_SCRIPT,
    CLI_SEE,
    CLI_OPERATE,
    CLI_SETUP,
    CLI_GROUPS
} cli_group;

typedef struct cli_command {
    const char *name;
    cli_group group;
    const char *summary;  /* one line for the list of commands */
    const char *examples; /* two lines, the usual one first; NULL: hidden */
    const char *usage;    /* what follows the name, "[OPTION]... NAME" */
    const char *about;    /* paragraphs for `help NAME`; NULL: none */
    const cli_option *options; /* NULL: none of its own */
    int operands_min;
    int operands_max; /* more are the rest, if it takes one, or an error */
    bool takes_rest;  /* a command line after its operands or a -- */
    int (*run)(cli *c, int argc, char **argv); /* argv[0]: as it was called */
} cli_command;

/* The words of --color, by their index. */
enum { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* One run of the tool. */
struct cli {
    const cli_command *command; /* NULL: none yet */
    const char *url;            /* --url; NULL: look elsewhere */
    const char *profile;        /* --profile; NULL: look elsewhere */
    int json;                   /* an index of --output; not 0: write JSON */
    int logs_json; /* the same of --log-format, on standard error */
    bool quiet;
    bool verbose;
    int color;            /* CLI_COLOR_AUTO and so on */
    bool ignored_sigpipe; /* it was ignored when the tool began */
    char *resolved_url;   /* owned; of cli_url() */
    bool is_local;        /* it is the private server's */
    char *resolved_from;  /* owned: where it came from */
    /* Each owned: what their variables said, NULL: not set; and who says the
       one that is used, NULL: the URL, or there is none. */
    char *passwords[CLI_PASSWORDS], *passwords_from[CLI_PASSWORDS];
};

/* The commands, in the order of the help; ended by NULL. */
extern const cli_command *const cli_commands[];

/* Returns the command of that name, or NULL. */
const cli_command *cli_command_find(const char *name);

/* Options that every command takes, in struct cli. Ended by kind 0. */
extern const cli_option cli_global_options[];

/* Nothing but the tool's name: the commands. A script that meant more learns of
   it by the exit code, which is returned. */
int cli_help_short(void);

/* `--help`, `help`, and `help NAME`. Return an exit code. */
int cli_help_all(void);
int cli_help_command(const cli_command *command);

/* `--version`. Returns an exit code. */
int cli_version(const cli *c);

/*
 * Says "latchkey NAME: ..." on standard error and returns code, so that a
 * complaint is one line.
 */
int cli_fail(const cli *c, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a command line that is wrong, with a hint; ends the tool. */
_Noreturn void cli_usage(const cli *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says something in one line on standard error, unless --quiet. */
void cli_note(const cli *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Which exit code a status of the library is. */
int cli_status_exit(lk_status status);

/* The exit code of a wait that got nothing, where a user may choose one for
   what others have: any other reason stays CLI_BUSY. */
int cli_conflict_exit(lk_status status, uint64_t chosen);

/* lk_last_error() for people: without codes that only the library needs. */
const char *cli_error_words(void);

/*
 * Complains about what a library call answered, with lk_last_error() and with
 * what to do about it. what: "acquiring 'deploy'". Returns the exit code.
 */
int cli_fail_status(const cli *c, lk_status said, const char *what);

/* The same of a call that waits for nothing but the server: time that ran out is
   a server that cannot be reached. */
int cli_fail_call(const cli *c, lk_status status, const char *what);

/* Complains about a URL that the library does not take, and says who said it. */
int cli_fail_url(const cli *c, lk_status status, const char *from);

#endif /* LK_CLI_CLI_H */
