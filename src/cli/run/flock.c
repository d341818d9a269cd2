/* SPDX-License-Identifier: MIT */

/*
 * `latchkey flock FILE COMMAND`, and the tool called as `flock`: command lines and
 * exit codes of flock(1), for a lock that all hosts share. See flock.h.
 */

#include "cli/run/flock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/run.h"

char *run_flock_name(const char *path)
{
    char whole[PATH_MAX], folder[PATH_MAX], last[PATH_MAX];
    char *name = NULL;

    (void)snprintf(folder, sizeof(folder), "%s", path);
    (void)snprintf(last, sizeof(last), "%s", path);
    if (realpath(path, whole) != NULL)
        return asprintf(&name, "flock:%s", whole) > 0 ? name : NULL;
    /* flock(1) would make it. */
    if (errno != ENOENT || realpath(dirname(folder), whole) == NULL)
        return NULL;
    return asprintf(&name, "flock:%s/%s", strcmp(whole, "/") == 0 ? "" : whole,
                    basename(last)) > 0
               ? name
               : NULL;
}

/* The user's folder for what is kept between runs, as the environment says it or else
   below the home of the user database; made if need be, and freed by free(). NULL: there
   is none. */
static char *state_folder(void)
{
    static const char *const parts[] = {"/.local", "/.local/state"};
    const char *base = getenv("XDG_STATE_HOME");
    const struct passwd *user = getpwuid(getuid());
    char *path = NULL;

    if (base != NULL && base[0] == '/') {
        (void)mkdir(base, 0700);
        return strdup(base);
    }
    for (size_t i = 0; user != NULL && i < 2; i++) {
        free(path);
        if (asprintf(&path, "%s%s", user->pw_dir, parts[i]) < 0)
            return NULL;
        (void)mkdir(path, 0700);
    }
    return path;
}

/* Makes latchkey-flock there. False: it was there, or cannot be kept. */
static bool is_first(void)
{
    char *folder = state_folder();
    char *mark = NULL;
    bool is_made;

    if (folder == NULL)
        return false;
    if (asprintf(&mark, "%s/latchkey-flock", folder) < 0)
        mark = NULL;
    is_made = mark != NULL && mkdir(mark, 0700) == 0;
    free(mark);
    free(folder);
    return is_made;
}

void run_flock_tell(const cli *c, const char *name)
{
    if (is_first())
        cli_note(c,
                 "this is latchkey: the lock is '%s' at the Redis server, for "
                 "all hosts that use it; said once",
                 name);
}

#define AT(member) offsetof(run_options, member)

static const cli_option options[] = {
    {CLI_FLAG, 's', "shared", AT(said.read), NULL, "beside other -s", 0},
    {CLI_FLAG, 'x', "exclusive", AT(said.write), NULL, "alone", 0},
    {CLI_FLAG, 'e', NULL, AT(said.write), NULL, NULL, 0},
    {CLI_FLAG, 'n', "nonblock", AT(is_try), NULL, "do not wait", 0},
    {CLI_FLAG, 0, "nb", AT(is_try), NULL, NULL, 0},
    {CLI_FLAG, 0, "nonblocking", AT(is_try), NULL, NULL, 0},
    {CLI_TIME, 'w', "wait", AT(wait_ms), "TIME", "wait for TIME at most", 0},
    {CLI_TIME, 0, "timeout", AT(wait_ms), "TIME", NULL, 0},
    {CLI_COUNT, 'E', "conflict-exit-code", AT(busy_code), "CODE",
     "exit code if it is not obtained; 1", 0},
    {CLI_TEXT, 'c', "command", AT(line), "LINE", "run this line with /bin/sh",
     0},
    {CLI_FLAG, 0, "close", AT(is_ignored), NULL, NULL, 0},
    {CLI_FLAG, 'o', NULL, AT(is_ignored), NULL, NULL, 0},
    {CLI_FLAG, 0, "no-fork", AT(is_ignored), NULL, NULL, 0},
    {CLI_FLAG, 'F', NULL, AT(is_ignored), NULL, NULL, 0},
    {CLI_FLAG, 0, "fcntl", AT(is_ignored), NULL, NULL, 0},
    {CLI_REFUSED, 'u', "unlock", 0, NULL,
     "-u: a shell gives back what it holds by `latchkey release`", 0},
    {.kind = CLI_END},
};

static int run_file(cli *c, int argc, char **argv)
{
    return run_under(c, argc, argv, CLI_WRITE);
}

const cli_command cli_command_flock = {
    .name = "flock",
    .group = CLI_RUN,
    .summary = "run a command as flock(1) does, for all hosts",
    .examples =
        "  latchkey flock -n /run/lock/job /usr/local/bin/job\n"
        "  ln -s /usr/local/bin/latchkey ~/bin/flock      flock is latchkey",
    .usage = "[OPTION]... FILE [--] COMMAND [ARGUMENT]...",
    .about =
        "Understands the command lines of flock(1), and exits as it does: 1\n"
        "if it is not obtained. The name is flock:PATH, the FILE's path\n"
        "without links; FILE need not be there, and is not opened. The lock\n"
        "is a read-write lock, and has a lease as that of `latchkey write`.\n"
        "-o and -F do nothing. A number in the place of FILE, an "
        "open\n"
        "descriptor, is refused: `latchkey hold` is for that.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .takes_rest = true,
    .run = run_file,
};
