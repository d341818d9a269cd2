/* SPDX-License-Identifier: MIT */

/* Where the private server lives: one place for one user, whatever the
   environment is like, in which nobody else can put another server. */

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/local/local.h"
#include "support/check.h"
#include "support/paths.h"
#include "support/server.h"
#include "support/tool.h"
#include "support/wait.h"

enum { SOON_MS = 10000, NOBODY = 65534 };

static char folder[64];
static char place[128]; /* a part of it for the server */

static int start(NO_STATE)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/lk-place-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(place, sizeof(place), "%s/a", folder);
    return 0;
}

static int end(NO_STATE)
{
    tool_free_all();
    return tool_code(&(tool_how){.program = "rm"}, "-r", folder, NULL);
}

/* ---- one for one user --------------------------------------------------- */

static const char program[] = "LATCHKEY_SERVER_PROGRAM=" REDIS_SERVER;

/* As root, `su` and `sudo -i` say no more than this. */
static const char *su_like[] = {"USER=root", "LOGNAME=root", "SHELL=/bin/sh",
                                "HOME=/",    program,        NULL};
static const char *desktop[] = {"HOME=/tmp", program, "XDG_STATE_HOME=/tmp",
                                NULL};
static const char *runtime[] = {NULL, program, NULL};
static const char *bare[] = {"TERM=dumb", program, NULL};

/* Starts `latchkey lock NAME -c LINE` without any environment, as cron and an
   ssh without PAM nearly do. */
static tool *start_bare(const char *name, const char *line)
{
    const tool_how how = {.program = "env"};

    return tool_start(&how, "-i", program, LK_TOOL, "-qulocal:", "lock", "-n",
                      name, "-c", line, NULL);
}

/* It is refused to everybody else while one holds it. */
static void check_excluded(const char *name)
{
    const char *const *const environments[] = {su_like, desktop, runtime, bare};
    tool *t = start_bare(name, "true");

    assert_int_equal(tool_wait(t, SOON_MS), 75);
    for (size_t i = 0; i < 4; i++) {
        const tool_how how = {.env = environments[i]};

        assert_tool(&how, 75, "", NULL, "-ulocal:", "lock", "-n", name, "true",
                    NULL);
    }
}

/* One that the list of users names, and that nobody else can change. */
static bool has_home(void)
{
    const struct passwd *user = getpwuid(getuid());
    struct stat home;

    return user != NULL && access(user->pw_dir, W_OK) == 0 &&
           stat(user->pw_dir, &home) == 0 && (home.st_mode & 022) == 0;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, start, end)

/* This is about the real home of whoever runs the test, and about a server that
   may be there already. */

TEST(one_user_has_one_whatever_the_environment)
{
    const char *const *const environments[] = {su_like, desktop, runtime};
    const tool_how plain = {.env = bare};
    char variable[128];
    char name[64];
    tool *holder;
    bool was_there;

    (void)snprintf(variable, sizeof(variable), "XDG_RUNTIME_DIR=%s", folder);
    (void)snprintf(name, sizeof(name), "latchkey-test-%d", (int)getpid());
    runtime[0] = variable;
    if (!has_home())
        skip();
    assert_int_equal(tool_code(&plain, "-ulocal:", "config", "url", NULL), 0);
    was_there = tool_code(&plain, "server", NULL) == 0;
    for (size_t i = 0; i < 3; i++) {
        const tool_how how = {.env = environments[i]};

        holder = tool_start(&how, "-ulocal:", "lock", name, "-c",
                            "echo here=1; exec sleep 100", NULL);
        (void)tool_wait_number(holder, "here", SOON_MS);
        check_excluded(name);
        (void)kill(tool_pid(holder), SIGTERM);
        (void)tool_wait(holder, SOON_MS);
        tool_free(holder);
    }
    holder = start_bare(name, "echo here=1; exec sleep 100");
    (void)tool_wait_number(holder, "here", SOON_MS);
    check_excluded(name);
    if (!was_there)
        assert_int_equal(tool_code(&plain, "server", "stop", NULL), 0);
}

/* Several machines may share a home, and each has a server of its own. */
TEST(it_is_named_after_the_running_kernel)
{
    char boot[64] = "";
    char wanted[256];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const char *env[] = {wanted, NULL};
    const tool_how how = {.env = env};
    char shown[256];

    assert_non_null(file);
    assert_non_null(fgets(boot, sizeof(boot), file));
    (void)fclose(file);
    (void)snprintf(wanted, sizeof(wanted), "LATCHKEY_SERVER_DIRECTORY=%s",
                   place);
    (void)snprintf(shown, sizeof(shown), "unix://%s/%.8s%.4s/redis.sock\n",
                   place, boot, boot + 9);
    assert_tool(&how, 0, shown, "", "config", "url", "-ulocal:", NULL);
}

TEST(a_place_that_cannot_be_is_refused_with_words)
{
    const char *relative[] = {"LATCHKEY_SERVER_DIRECTORY=here", NULL};
    const char *device[] = {"LATCHKEY_SERVER_DIRECTORY=/dev/null/x", NULL};
    char variable[256];
    const char *distant[] = {variable, NULL};
    tool_how how = {.env = relative};

    assert_tool(&how, 78, "", "LATCHKEY_SERVER_DIRECTORY: it has to begin with",
                "server", NULL);
    how.env = device;
    assert_tool(&how, 78, "", "/dev/null/x: Not a directory", "server", NULL);
    (void)snprintf(variable, sizeof(variable),
                   "LATCHKEY_SERVER_DIRECTORY=%s/%0100d", folder, 0);
    how.env = distant;
    assert_tool(&how, 78, "", "too long for a socket in it", "server", NULL);
}

/* ---- nobody else -------------------------------------------------------- */

/* Runs it as another user, who has no rights here. */
static void as_nobody(void (*act)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        (void)umask(0);
        if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)
            act();
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void make_place(void)
{
    (void)mkdir(place, 0755);
}

static void try_in(const char *path, int code, const char *words)
{
    char directory[256];
    char base[256];
    const char *env[] = {directory, base, program, NULL};
    const tool_how how = {.env = env};

    (void)snprintf(directory, sizeof(directory), "LATCHKEY_SERVER_DIRECTORY=%s",
                   path);
    (void)snprintf(base, sizeof(base), "XDG_RUNTIME_DIR=%s", path);
    assert_tool(&how, code, NULL, words, "-ulocal:", "lock", "n", "true", NULL);
    if (code == 0)
        assert_tool(&how, 0, NULL, NULL, "server", "stop", NULL);
}

/* A user who may write to a directory may put another one in the place of what is in
   it, whoever owns that. */
TEST(a_way_that_others_can_change_is_refused)
{
    static const char words[] = "others may write to it";
    char below[160];

    assert_int_equal(mkdir(place, 0700), 0);
    (void)snprintf(below, sizeof(below), "%s/b", place);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(chmod(place, 0777), 0);
    try_in(below, 78, words);
    assert_int_equal(chmod(place, 01777), 0); /* as /tmp is */
    try_in(below, 0, NULL);
    if (geteuid() != 0)
        return;
    assert_int_equal(chmod(place, 0775), 0);
    assert_int_equal(chown(place, 0, NOBODY), 0);
    try_in(below, 78, words);
    assert_int_equal(chmod(place, 0755), 0);
    assert_int_equal(chown(place, NOBODY, NOBODY), 0);
    try_in(below, 78, words);
}

TEST(a_place_that_somebody_else_took_first_is_refused)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(folder, 01777), 0);
    as_nobody(make_place);
    try_in(place, 78, "belongs to somebody else");
}

static char target[160];

static void make_link(void)
{
    (void)!symlink(target, place);
}

/* The maker of a link may lead it elsewhere tomorrow: then two have two servers. */
TEST(a_link_of_somebody_else_is_not_followed)
{
    char in_it[160];

    (void)snprintf(target, sizeof(target), "%s/t", folder);
    (void)snprintf(in_it, sizeof(in_it), "%s/b", place);
    assert_int_equal(chmod(folder, 01777), 0);
    assert_int_equal(mkdir(target, 0700), 0);
    make_link();
    try_in(place, 0, NULL);
    try_in(in_it, 0, NULL);
    if (geteuid() != 0)
        return;
    assert_int_equal(unlink(place), 0);
    as_nobody(make_link);
    try_in(place, 78, "belongs to somebody else");
    try_in(in_it, 78, "belongs to somebody else");
}

/* A link of the user's own in a directory where others can replace it. */
TEST(a_link_that_others_can_replace_is_not_followed)
{
    char link[160];

    (void)snprintf(target, sizeof(target), "%s/t", folder);
    (void)snprintf(link, sizeof(link), "%s/l", place);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_int_equal(symlink("../t", link), 0);
    try_in(link, 0, NULL);
    assert_int_equal(chmod(place, 0777), 0);
    try_in(link, 78, "others may write to it");
}

/* Takes the directory, and leads to a server that is the victim's, for now. */
static char victims[128];

static void take_directory(void)
{
    char path[160];

    make_place();
    (void)snprintf(path, sizeof(path), "%s/redis.sock", place);
    (void)!symlink(victims, path);
}

static cli_local local_in(const char *directory)
{
    cli_local local = {.socket = ""};

    assert_true(snprintf(local.directory, sizeof(local.directory), "%s",
                         directory) < (int)sizeof(local.directory));
    assert_true(snprintf(local.socket, sizeof(local.socket), "%s/redis.sock",
                         local.directory) < (int)sizeof(local.socket));
    return local;
}

TEST(one_who_takes_it_between_look_and_use_gains_nothing)
{
    const cli c = {.command = NULL};
    const cli_local local = local_in(place);
    server *redis;
    bool is_new;

    if (geteuid() != 0)
        skip();
    redis = server_start(NULL);
    assert_non_null(redis);
    (void)snprintf(victims, sizeof(victims), "%s", server_socket(redis));
    assert_int_equal(chmod(folder, 01777), 0);
    as_nobody(take_directory);
    assert_int_equal(access(local.socket, R_OK), 0);
    assert_int_equal(cli_local_pid(&local), -1);
    assert_int_equal(cli_local_start(&c, &local, &is_new), CLI_CONFIG);
    server_stop(redis);
}

/* Listens in the folder until it is killed. */
static _Noreturn void listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(1);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    if (fd < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, 5) != 0)
        _exit(1);
    for (;;)
        (void)pause();
}

static bool is_listening(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there =
        connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;

    (void)close(fd);
    return is_there;
}

TEST(a_server_of_somebody_else_is_refused)
{
    const cli c = {.command = NULL};
    const cli_local local = local_in(place);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool is_new;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(folder, 01777), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    pid = fork();
    if (pid == 0)
        listen_there();
    assert_soon(is_listening(&address), SOON_MS);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_int_equal(symlink(address.sun_path, local.socket), 0);
    assert_int_equal(cli_local_pid(&local), -1);
    assert_int_equal(cli_local_start(&c, &local, &is_new), CLI_CONFIG);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}
