/* SPDX-License-Identifier: MIT */

#include "cli/local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/config.h"

enum {
    PATIENCE_MS = 10000, /* for a start, by us or by somebody else */
    TICK_MS = 2,
    STDIO = 3
};

/* ---- who is there ------------------------------------------------------- */

/* The directory keeps others out; that the server is the user's own or root's
   is seen again where it listens. */
pid_t cli_local_pid(const cli_local *local)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);
    char culprit[CLI_LOCAL_PATH];
    cli_place place = cli_local_look(local, culprit);
    int fd;

    if (place != CLI_PLACE_OURS)
        return place == CLI_PLACE_MISSING ? 0 : -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    memcpy(address.sun_path, local->socket, sizeof(local->socket));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        peer.pid = 0;
    else if (peer.uid != geteuid() && peer.uid != 0)
        peer.pid = -1;
    (void)close(fd);
    return peer.pid;
}

static void tick(void)
{
    (void)poll(NULL, 0, TICK_MS);
}

/* The descriptor of the locked file; -1: has complained. */
static int lock_directory(const cli *c, const cli_local *local)
{
    int64_t until = cli_now_ns() + PATIENCE_MS * CLI_NS_PER_MS;
    char path[CLI_LOCAL_PATH + 8];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/lock", local->directory);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        (void)cli_fail(c, 0, "%s: %s", path, strerror(errno));
        return -1;
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EINTR && (errno != EWOULDBLOCK || cli_now_ns() > until)) {
            (void)cli_fail(c, 0,
                           "%s: somebody else has been starting or "
                           "stopping the private server for too long",
                           path);
            (void)close(fd);
            return -1;
        }
        tick();
    }
    return fd;
}

/* ---- start -------------------------------------------------------------- */

/* A path as a word of the server's configuration. */
static const char *quote(char text[4 * CLI_LOCAL_PATH + 3], const char *path)
{
    char *to = text;

    to += sprintf(to, "\"");
    for (; *path != '\0'; path++) {
        bool is_plain =
            *path > ' ' && *path < 0x7f && strchr("\"\\", *path) == NULL;

        to += sprintf(to, is_plain ? "%c" : "\\x%02x", (unsigned char)*path);
    }
    (void)sprintf(to, "\"");
    return text;
}

/* What the server reads from its standard input. */
static void put_config(int to, const cli_local *local)
{
    char socket[4 * CLI_LOCAL_PATH + 3];
    char directory[4 * CLI_LOCAL_PATH + 3];
    char text[2048];
    int size = snprintf(text, sizeof(text),
                        "port 0\n"
                        "unixsocket %s\n"
                        "unixsocketperm 700\n"
                        "dir %s\n"
                        "logfile log\n"
                        "loglevel warning\n"
                        "save \"\"\n"
                        "appendonly no\n"
                        "maxmemory-policy noeviction\n"
                        "daemonize no\n",
                        quote(socket, local->socket),
                        quote(directory, local->directory));

    (void)!write(to, text, (size_t)size); /* less than a pipe holds */
}

/* In the server's process: nothing of the tool is left to it. */
static _Noreturn void
become_server(const cli_program *program, int config, int report)
{
    const char *arguments[] = {NULL, "-", NULL};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int error;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)sigaction(SIGPIPE, &plain, NULL);
    if (dup2(config, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup3(report, STDIO, O_CLOEXEC) < 0)
        _exit(1);
    (void)close_range(STDIO + 1, ~0U, 0);
    cli_program_exec(program, arguments);
    error = errno;
    (void)!write(STDIO, &error, sizeof(error));
    _exit(1);
}

/* Forks twice: the server is nobody's child and in a session of its own. 0, or
   the errno for which there is no server. */
static int launch(const cli_local *local, const cli_program *program)
{
    int config[2];
    int report[2];
    int error = 0;
    pid_t between;

    if (pipe2(config, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(report, O_CLOEXEC) != 0) {
        error = errno;
        (void)close(config[0]);
        (void)close(config[1]);
        return error;
    }
    put_config(config[1], local);
    between = fork();
    if (between == 0) {
        (void)setsid();
        if (fork() == 0)
            become_server(program, config[0], report[1]);
        _exit(0);
    }
    error = between < 0 ? errno : 0;
    (void)close(config[0]);
    (void)close(config[1]);
    (void)close(report[1]);
    if (between > 0) {
        (void)waitpid(between, NULL, 0);
        (void)!read(report[0], &error, sizeof(error));
    }
    (void)close(report[0]);
    return error;
}

static int wait_for_server(const cli *c, const cli_local *local)
{
    int64_t until = cli_now_ns() + PATIENCE_MS * CLI_NS_PER_MS;

    while (cli_local_pid(local) <= 0) {
        if (cli_now_ns() > until)
            return cli_fail(c, CLI_UNAVAILABLE,
                            "the private server does not start: %s/log says "
                            "why",
                            local->directory);
        tick();
    }
    return 0;
}

static int no_program(const cli *c, const char *program, int error)
{
    return cli_fail(c, CLI_UNAVAILABLE,
                    "no private server: %s: %s\n"
                    "  install it (Debian: apt-get install redis-tools), or "
                    "set LATCHKEY_URL to a server",
                    program, strerror(error));
}

/* With the directory locked. */
static int start_locked(const cli *c, const cli_local *local)
{
    cli_value program;
    int code = cli_setting_find(c, "server-program", NULL, &program);
    int error;

    if (code != 0)
        return code;
    error = launch(local, &(cli_program){program.text,
                                         strcmp(program.from, "default") == 0});
    code = error == 0 ? wait_for_server(c, local)
                      : no_program(c, program.text, error);
    cli_value_done(&program);
    return code;
}

int cli_local_start(const cli *c, const cli_local *local, bool *ret_started)
{
    pid_t pid;
    int code = cli_local_make(c, local);
    int lock;

    *ret_started = false;
    if (code != 0)
        return code;
    pid = cli_local_pid(local);
    if (pid > 0)
        return 0;
    lock = lock_directory(c, local);
    if (lock < 0)
        return CLI_UNAVAILABLE;
    /* Somebody may have started it meanwhile. */
    pid = cli_local_pid(local);
    if (pid == 0)
        code = start_locked(c, local);
    else if (pid < 0)
        code = cli_fail(c, CLI_CONFIG,
                        "%s is another user's: it is not the private server",
                        local->socket);
    *ret_started = pid == 0 && code == 0;
    (void)close(lock);
    return code;
}

/* ---- stop --------------------------------------------------------------- */

/* Ends a process and waits until it is gone. False: it stays. */
static bool end_process(pid_t pid, const cli_local *local)
{
    int64_t until = cli_now_ns() + PATIENCE_MS * CLI_NS_PER_MS;
    struct pollfd gone = {.fd = (int)syscall(SYS_pidfd_open, pid, 0),
                          .events = POLLIN};
    bool is_gone = false;

    (void)kill(pid, SIGTERM);
    if (gone.fd >= 0) {
        is_gone = poll(&gone, 1, PATIENCE_MS) == 1;
        (void)close(gone.fd);
    }
    /* Of a kernel without such descriptors it is enough that nobody listens. */
    while (!is_gone && cli_now_ns() < until) {
        is_gone = cli_local_pid(local) != pid;
        tick();
    }
    return is_gone;
}

int cli_local_stop(const cli *c, const cli_local *local)
{
    pid_t pid = cli_local_pid(local);
    bool is_gone = true;
    int lock;

    if (pid <= 0)
        return cli_fail(c, CLI_BUSY, "no private server runs here");
    lock = lock_directory(c, local);
    if (lock < 0)
        return CLI_UNAVAILABLE;
    pid = cli_local_pid(local);
    if (pid > 0)
        is_gone = end_process(pid, local);
    (void)close(lock);
    if (!is_gone)
        return cli_fail(c, CLI_UNAVAILABLE, "process %d does not end",
                        (int)pid);
    return 0;
}
