/* SPDX-License-Identifier: MIT */

/* The commands that run another one under a hold: their options and words. */

#include <stddef.h>

#include "cli/run/run.h"

#define AT(member) offsetof(run_options, member)

/* flock's other words for the same, and what it has and makes no sense here. */
#define FLOCK_OPTIONS                                                          \
    {CLI_FLAG, 0, "nb", AT(is_try), NULL, NULL, 0},                            \
        {CLI_FLAG, 0, "nonblocking", AT(is_try), NULL, NULL, 0},               \
        {CLI_TIME, 0, "timeout", AT(wait_ms), "TIME", NULL, 0},                \
        {CLI_REFUSED,                                                          \
         'o',                                                                  \
         "close",                                                              \
         0,                                                                    \
         NULL,                                                                 \
         "leave out -o: COMMAND gets no descriptor of the lock",               \
         0},                                                                   \
        {CLI_REFUSED,                                                          \
         'F',                                                                  \
         "no-fork",                                                            \
         0,                                                                    \
         NULL,                                                                 \
         "leave out -F: the tool has to live while COMMAND does, to renew "    \
         "the lease; signals and the exit code pass through",                  \
         0},                                                                   \
    {                                                                          \
        CLI_REFUSED, 0, "unlock", 0, NULL,                                     \
            "leave out --unlock: NAME is given back when COMMAND ends; a "     \
            "shell that holds NAME by `acquire` writes `latchkey release`",    \
            0                                                                  \
    }

/* Those of every kind. */
#define COMMON_OPTIONS                                                          \
    CLI_WAIT_OPTIONS(AT),                                                       \
        {CLI_TIME, 'l',                                                         \
         "lease",  AT(lease_ms),                                                \
         "TIME",   "others get it so long after a crash; 30s",                  \
         0},                                                                    \
        {CLI_TEXT, 'c',    "command",                                           \
         AT(line), "LINE", "run this line with /bin/sh",                        \
         0},                                                                    \
        {CLI_TEXT,  0,                                                          \
         "on-lost", AT(on_lost),                                                \
         "WHAT",    "term, kill, warn or run:LINE when it is lost; term",       \
         0},                                                                    \
        {CLI_TIME,                                                              \
         'k',                                                                   \
         "kill-after",                                                          \
         AT(kill_after_ms),                                                     \
         "TIME",                                                                \
         "SIGKILL so long after SIGTERM, at most; 5s",                          \
         0},                                                                    \
        {CLI_TIME,                                                              \
         0,                                                                     \
         "time-limit",                                                          \
         AT(limit_ms),                                                          \
         "TIME",                                                                \
         "end the command after that; exit code 124",                           \
         0},                                                                    \
        {CLI_TIME,   0,                                                         \
         "at-least", AT(at_least_ms),                                           \
         "TIME",     "keep it so long at least, a signal or not",               \
         0},                                                                    \
        {CLI_COUNT,                                                             \
         0,                                                                     \
         "status-fd",                                                           \
         AT(status_fd),                                                         \
         "N",                                                                   \
         "write how it ended there, one line of JSON",                          \
         0},                                                                    \
        {CLI_REFUSED, 0, "flock-compat", 0, NULL, "--flock-compat is -E 1", 0}, \
        {CLI_FLAG,                                                              \
         'f',                                                                   \
         "foreground",                                                          \
         AT(is_foreground),                                                     \
         NULL,                                                                  \
         "leave the command in the tool's process group",                       \
         0},                                                                    \
        FLOCK_OPTIONS

static const char usage[] = "[OPTION]... NAME [--] COMMAND [ARGUMENT]...";
static const char names_usage[] =
    "[OPTION]... NAME... -- COMMAND [ARGUMENT]...";

/* ---- lock --------------------------------------------------------------- */

static const cli_option lock_options[] = {
    CLI_KIND_OPTIONS(AT),
    {CLI_FLAG, 0, "spin", AT(said.spin), NULL,
     "wait by trying again, without a queue", 0},
    {CLI_REFUSED, 0, "sem", 0, NULL,
     "--sem N is `latchkey semaphore -p N NAME` now", 0},
    COMMON_OPTIONS,
    {.kind = CLI_END},
};

static int run_lock(cli *c, int argc, char **argv)
{
    return run_under(c, argc, argv, CLI_LOCK);
}

const cli_command cli_command_lock = {
    .name = "lock",
    .group = CLI_RUN,
    .summary = "run a command while no other host runs one under the same name",
    .examples =
        "  latchkey lock nightly -- /usr/local/bin/job\n"
        "  latchkey lock -n nightly -- job           75 if somebody holds it",
    .usage = names_usage,
    .about =
        "Waits until nobody else holds NAME, runs COMMAND, and exits as it\n"
        "did. The lease is renewed while it runs. If it cannot be renewed, or\n"
        "somebody revokes the lock, COMMAND and its process group are ended\n"
        "before anybody else can have it. If its key is deleted, they are "
        "ended\n"
        "after a third of the lease and --kill-after at most. COMMAND finds\n"
        "LATCHKEY_NAME, LATCHKEY_FENCE, LATCHKEY_OWNER and LATCHKEY_DEADLINE\n"
        "in its environment.\n"
        "\n"
        "Several names are held together, or none is. With one name, -- may\n"
        "be left out. They are waited for in the order of their names, so "
        "that\n"
        "no two commands wait for each other. LATCHKEY_FENCE has their "
        "fences.\n"
        "\n"
        "  latchkey lock deploy migrate -- make       two names at once\n"
        "  latchkey lock -w 30s -c 'a | b' deploy    a line of a shell\n"
        "  latchkey lock -nq -E 0 --at-least 50s nightly -- job\n"
        "                                            cron: once on all hosts",
    .options = lock_options,
    .operands_min = 1,
    .operands_max = CLI_NAMES_MAX,
    .takes_rest = true,
    .run = run_lock,
};

/* ---- read, write -------------------------------------------------------- */

static const cli_option rwlock_options[] = {
    COMMON_OPTIONS,
    {.kind = CLI_END},
};

static int run_read(cli *c, int argc, char **argv)
{
    return run_under(c, argc, argv, CLI_READ);
}

const cli_command cli_command_read = {
    .name = "read",
    .group = CLI_RUN,
    .summary = "run a command beside other readers, while nobody writes",
    .examples = "  latchkey read catalog -- tar -cf catalog.tar catalog/\n"
                "  latchkey read -w 30s -c 'wc -l <prices' prices",
    .usage = names_usage,
    .options = rwlock_options,
    .operands_min = 1,
    .operands_max = CLI_NAMES_MAX,
    .takes_rest = true,
    .run = run_read,
};

static int run_write(cli *c, int argc, char **argv)
{
    return run_under(c, argc, argv, CLI_WRITE);
}

const cli_command cli_command_write = {
    .name = "write",
    .group = CLI_RUN,
    .summary = "run a command alone, while nobody reads or writes",
    .examples = "  latchkey write catalog -- ./import-catalog\n"
                "  latchkey write -n prices -- ./fetch-prices   75 if somebody "
                "holds it",
    .usage = names_usage,
    .options = rwlock_options,
    .operands_min = 1,
    .operands_max = CLI_NAMES_MAX,
    .takes_rest = true,
    .run = run_write,
};

/* ---- semaphore ---------------------------------------------------------- */

static const cli_option semaphore_options[] = {
    {CLI_COUNT, 'p', "permits", AT(said.permits), "N",
     "how many there are; the first one says it", 0},
    {CLI_COUNT, 0, "count", AT(count), "N", "take so many of them; 1", 0},
    {CLI_COUNT, 0, "resize", AT(resize), "N",
     "run nothing: let there be so many from now on", 0},
    COMMON_OPTIONS,
    {.kind = CLI_END},
};

static int run_semaphore(cli *c, int argc, char **argv)
{
    return run_under(c, argc, argv, CLI_SEMAPHORE);
}

const cli_command cli_command_semaphore = {
    .name = "semaphore",
    .group = CLI_RUN,
    .summary = "run a command, at most N at a time over all hosts",
    .examples = "  latchkey semaphore -p 4 encoders -- ffmpeg -i in out\n"
                "  latchkey semaphore --resize 8 encoders",
    .usage = usage,
    .about = "As `lock`, with N at a time. All say the same N, or only the\n"
             "first one says it. --resize takes nothing from those who hold a "
             "permit.",
    .options = semaphore_options,
    .operands_min = 1,
    .operands_max = 1,
    .takes_rest = true,
    .run = run_semaphore,
};

/* ---- leader ------------------------------------------------------------- */

static const cli_option leader_options[] = {
    {CLI_TEXT, 0, "value", AT(why), "TEXT",
     "what everybody is told of the leader, as by --why", 0},
    {CLI_TEXT, 0, "ready-file", AT(ready.file), "FILE",
     "is there while it leads; has the term", 0},
    {CLI_TEXT, 0, "health", AT(ready.health), "[ADDR:]PORT",
     "answers GET / with 200 while it leads, 503 before", 0},
    COMMON_OPTIONS,
    {.kind = CLI_END},
};

static int run_leader(cli *c, int argc, char **argv)
{
    return run_under(c, argc, argv, CLI_LEADER);
}

const cli_command cli_command_leader = {
    .name = "leader",
    .group = CLI_RUN,
    .summary = "run a command on one host; if that one is gone, on another",
    .examples = "  latchkey leader billing -- /usr/local/bin/billing\n"
                "  latchkey leader --value \"$HOSTNAME\" billing -- billing",
    .usage = usage,
    .about =
        "Waits until it is the leader of NAME, runs COMMAND, and resigns when\n"
        "COMMAND ends. LATCHKEY_FENCE is the term. A leader that loses the\n"
        "lead has its COMMAND ended before the next one can begin: run it\n"
        "again to stand again. systemd is told READY=1 when it leads, where "
        "it\n"
        "asks for that (Type=notify).",
    .options = leader_options,
    .operands_min = 1,
    .operands_max = 1,
    .takes_rest = true,
    .run = run_leader,
};
