/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TOOL_H
#define LK_TESTS_SUPPORT_TOOL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The command-line tool as a user runs it: a process with arguments, an
 * environment of its own, and a terminal if wanted. What it writes is kept and
 * can be looked at while it runs.
 *
 * The environment holds PATH, a HOME without a config file, and what the test
 * adds; nothing of the environment of the test. A failure of anything here
 * fails the test. Deadlines are scaled.
 */

typedef struct tool tool;

/* How it is run. Zero in any field means its default. */
typedef struct tool_how {
    const char *url;        /* LATCHKEY_URL; NULL: unset */
    const char *const *env; /* more "NAME=value", ended by NULL */
    const char *program;    /* another one than the tool, looked for in PATH */
    bool has_terminal;      /* a pseudo-terminal is all three of its streams,
                               and controls it */
    unsigned short columns; /* of the terminal; 0: 120 */
    int in, out;            /* its streams; 0: /dev/null, and what is kept */
} tool_how;

/* Arguments behind the program's name, ended by NULL. how may be NULL. */
tool *tool_start(const tool_how *how, ...) __attribute__((sentinel));
tool *tool_start_list(const tool_how *how, const char *const *arguments);

pid_t tool_pid(const tool *t);

/* All that was written so far. With a terminal it is all in tool_out(). The
   text lives until the next call of the same function. */
const char *tool_out(tool *t);
const char *tool_err(tool *t);

/* Wait until text was written; the test fails if it never is. */
void tool_wait_out(tool *t, const char *text, unsigned deadline_ms);
void tool_wait_err(tool *t, const char *text, unsigned deadline_ms);

/* Waits until a line "<word>=<number>" was written, and returns the number. */
long tool_wait_number(tool *t, const char *word, unsigned deadline_ms);

/* Whether a process is there and not a zombie. */
bool tool_runs(pid_t pid);

/* Waits until it is not; the test fails if it stays. */
void tool_wait_gone(pid_t pid, unsigned deadline_ms);

/* Types on its terminal. */
void tool_type(tool *t, const char *text);

/* Waits for its end. Returns its exit code, or 128 plus its signal. */
int tool_wait(tool *t, unsigned deadline_ms);

/* Kills it if it still runs, and forgets it. NULL is allowed. */
void tool_free(tool *t);

/* The same for all that are there: for the end of a test that failed. */
void tool_free_all(void);

/* Starts it, waits for its end, 10 s at most, and returns the exit code. */
int tool_code(const tool_how *how, ...) __attribute__((sentinel));

/*
 * The same, and compares what it wrote. A NULL says that it does not matter;
 * texts that end in a newline are all, others have to be in there.
 */
void assert_tool(const tool_how *how, int code, const char *out,
                 const char *err, ...) __attribute__((sentinel));

/* A lease that a tool keeps on this machine, however busy it is: a run of it is
   measured. See wait_lease_over_ms(). how has a server. */
unsigned tool_lease_ms(const tool_how *how);

/*
 * A limit for the command line: the option, and as many seconds as wait_scaled_ms()
 * says. One that ends before the answer has come ends in doubt, and not in time.
 */
typedef struct tool_limit {
    char text[32];
} tool_limit;

tool_limit tool_limit_of(const char *option, unsigned ms);

#endif /* LK_TESTS_SUPPORT_TOOL_H */
