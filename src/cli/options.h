/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_OPTIONS_H
#define LK_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The command line. Each command has one table of its options; the parser, the
 * help and the man page all follow it.
 *
 * Options and operands may be mixed: `-w 2 NAME`, `NAME -w 2`. `--` ends the
 * options. A command that runs another one keeps everything behind its last
 * operand, or behind `--`, as it is: that is the rest. Operands that are
 * missing before `--` come first behind it: `lock -- -x true`. Where a command
 * takes more operands than it needs, these stand before `--`: `lock a b -- true`.
 */

typedef enum cli_kind {
    CLI_END = 0, /* ends a table */
    CLI_FLAG,    /* bool: becomes true */
    CLI_SET,     /* int: becomes .set */
    CLI_TEXT,    /* const char *: borrowed from argv */
    CLI_COUNT,   /* uint64_t: decimal digits */
    CLI_TIME,    /* int64_t: milliseconds out of 2.5s, 500ms, 1m30s, 1h, 2 */
    CLI_WORD,    /* int: which of the words in .value, "auto|always|never" */
    CLI_REFUSED  /* of another tool: .help says what to write instead */
} cli_kind;

typedef struct cli_option {
    cli_kind kind;
    char letter;       /* 0: none */
    const char *name;  /* without dashes */
    size_t at;         /* offset in the command's values */
    const char *value; /* what the value is called: "TIME" */
    const char *help;  /* one line; NULL: another spelling, in no list */
    int set;           /* of CLI_SET */
} cli_option;

/* Whether a value stands behind it. */
bool cli_option_takes_value(const cli_option *option);

/* Whether help, man page and completion tell of it. */
bool cli_option_is_shown(const cli_option *option);

/* What is not an option. Points into argv. */
typedef struct cli_args {
    char **operands;
    int operand_count;
    char **rest; /* ended by NULL; NULL: there is none */
} cli_args;

struct cli;

/*
 * Reads argv into values, which hold the defaults, and into args. What is
 * wrong is said, and ends the tool; so does --help.
 */
void cli_parse(struct cli *c, int argc, char **argv, void *values,
               cli_args *args);

/*
 * The same for what stands before the command: reads struct cli's own options.
 * Returns the index of the first operand, argc if there is none.
 */
int cli_parse_globals(struct cli *c, int argc, char **argv);

/*
 * Reads a time: a decimal number, then ms, s, m, h or d; without one seconds.
 * Several such parts stand from the largest unit to the smallest: 1m30s. Also as
 * cli_time_words() shows it from ten seconds to a day: 0:42, 1:02:03. False: it
 * is not one, or longer than a hundred years.
 */
bool cli_time_read(const char *text, int64_t *ret_ms);

/* Reads decimal digits. False: something else, or more than 64 bits hold. */
bool cli_count_read(const char *text, uint64_t *ret_count);

#endif /* LK_CLI_OPTIONS_H */
