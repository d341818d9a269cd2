/* SPDX-License-Identifier: MIT */

/*
 * The command line of every command, up to where a client would be opened.
 * Arguments are the input's lines. Whatever ends the tool ends this run.
 */

#include <latchkey/client.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/local/local.h"
#include "cli/output.h"
#include "input.h"

enum { ARGUMENTS = 24 };

/* ---- in the place of what ends, or begins, something --------------------------- */

/* As --wrap calls them. */
_Noreturn void real_exit(int code) __asm__("__real_exit");
_Noreturn void no_exit(int code) __asm__("__wrap_exit");
pid_t no_fork(void) __asm__("__wrap_fork");
int no_client(cli *c, const lk_client_options *more,
              lk_client **ret_client) __asm__("__wrap_cli_client_open");
int no_finish(int code) __asm__("__wrap_cli_finish");
int no_timer(int which, const struct itimerval *new_value,
             struct itimerval *old_value) __asm__("__wrap_setitimer");
int no_stop(const cli *c,
            const cli_local *local) __asm__("__wrap_cli_local_stop");
lk_status
no_open(lk_client **ret_client, const char *url,
        const lk_client_options *options) __asm__("__wrap_lk_client_open");

static jmp_buf end;
static bool runs;

void no_exit(int code)
{
    if (!runs)
        real_exit(code);
    longjmp(end, 1);
}

pid_t no_fork(void)
{
    errno = EAGAIN;
    return -1;
}

int no_client(cli *c, const lk_client_options *more, lk_client **ret_client)
{
    (void)more;
    *ret_client = NULL;
    return cli_fail(c, CLI_UNAVAILABLE, "there is no server");
}

/* A completion that takes long ends its process by an alarm. */
int no_timer(int which, const struct itimerval *new_value,
             struct itimerval *old_value)
{
    (void)which;
    (void)new_value;
    (void)old_value;
    return 0;
}

int no_finish(int code)
{
    return code;
}

int no_stop(const cli *c, const cli_local *local)
{
    (void)local;
    return cli_fail(c, CLI_UNAVAILABLE, "there is no server");
}

lk_status no_open(lk_client **ret_client, const char *url,
                  const lk_client_options *options)
{
    (void)url;
    (void)options;
    *ret_client = NULL;
    return LK_EURL;
}

/* ---- one run ------------------------------------------------------------------ */

/* Not those that read any file, or play a whole show. */
static bool is_for_here(const cli_command *command)
{
    return command != NULL && strcmp(command->name, "demo") != 0 &&
           strcmp(command->name, "__manual") != 0;
}

/* As the tool's own main. */
static void run(cli *c, int argc, char **argv)
{
    int at = cli_parse_globals(c, argc, argv);

    if (at >= argc)
        return;
    c->command = cli_command_find(argv[at]);
    if (!is_for_here(c->command))
        return;
    (void)c->command->run(c, argc - at, argv + at);
}

static int split(char *text, char *argv[ARGUMENTS + 1])
{
    static char tool[] = "latchkey";
    int argc = 0;

    argv[argc++] = tool;
    while (argc < ARGUMENTS && text != NULL)
        argv[argc++] = strsep(&text, "\n");
    argv[argc] = NULL;
    return argc;
}

/* Below what is no directory not even root makes one. */
static void prepare(void)
{
    if (setenv("LATCHKEY_SERVER_DIRECTORY", "/dev/null/none", 1) != 0 ||
        setenv("LATCHKEY_URL", "redis://127.0.0.1:1", 1) != 0 ||
        setenv("HOME", "/dev/null/none", 1) != 0 ||
        unsetenv("XDG_CONFIG_HOME") != 0 || unsetenv("LATCHKEY_CONFIG") != 0)
        input_fail("no environment");
}

/* The first descriptor that a run gets. */
static int first_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        input_fail("no descriptor");
    (void)close(fd);
    return fd;
}

/* A tool that cannot go on leaves its descriptors to its end; thousands of such
   ends would take all that there are. */
static void close_from(int first)
{
    (void)close_range((unsigned)first, ~0U, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static cli c; /* static: longjmp() leaves it as it is */
    static char *text;
    static int first;
    char *argv[ARGUMENTS + 1];

    prepare();
    first = first_descriptor();
    c = (cli){.command = NULL};
    text = malloc(size + 1);
    if (text == NULL)
        input_fail("no memory");
    memcpy(text, bytes, size);
    text[size] = '\0';
    runs = true;
    if (setjmp(end) == 0)
        run(&c, split(text, argv), argv);
    runs = false;
    close_from(first);
    free(c.resolved_url);
    free(c.resolved_from);
    free(text);
    return 0;
}
