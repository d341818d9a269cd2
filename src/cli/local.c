/* SPDX-License-Identifier: MIT */

#include "cli/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/* ---- where it lives ----------------------------------------------------- */

/* Whether only we can do anything there. ret_is_there: false and true: it can
   still be made. */
static bool is_ours(const char *path, bool *ret_is_there)
{
    struct stat s;

    *ret_is_there = lstat(path, &s) == 0;
    if (!*ret_is_there)
        return errno == ENOENT;
    return S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & 077) == 0;
}

static int refuse(const cli *c, const char *path)
{
    return cli_fail(c, CLI_CONFIG,
                    "%s is not a directory of yours alone: the private server "
                    "cannot live there\n"
                    "  give it mode 700, or set LATCHKEY_URL to a server",
                    path);
}

int cli_local_find(const cli *c, cli_local *ret_local)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    const size_t most = sizeof(ret_local->directory);
    bool is_there;
    int size;

    if (base != NULL && base[0] == '/')
        size = snprintf(ret_local->directory, most, "%s/latchkey", base);
    else
        size = snprintf(ret_local->directory, most, "/tmp/latchkey-%u",
                        (unsigned)geteuid());
    if (size < 0 || (size_t)size >= most)
        return cli_fail(c, CLI_CONFIG,
                        "XDG_RUNTIME_DIR is too long for a socket in it");
    (void)snprintf(ret_local->socket, sizeof(ret_local->socket),
                   "%s/redis.sock", ret_local->directory);
    if (base != NULL && base[0] == '/' &&
        (!is_ours(base, &is_there) || !is_there))
        return refuse(c, base);
    return is_ours(ret_local->directory, &is_there)
               ? 0
               : refuse(c, ret_local->directory);
}

char *cli_local_url(const cli_local *local)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char *url = malloc(sizeof("unix:") + (size_t)3 * CLI_LOCAL_PATH);
    char *to = url;

    if (url == NULL)
        return NULL;
    to += sprintf(to, "unix:");
    for (const char *at = local->socket; *at != '\0'; at++)
        to += sprintf(to, strchr(plain, *at) != NULL ? "%c" : "%%%02X",
                      (unsigned char)*at);
    return url;
}

/* ---- who is there ------------------------------------------------------- */

pid_t cli_local_pid(const cli_local *local)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return 0;
    memcpy(address.sun_path, local->socket, sizeof(local->socket));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        peer.pid = 0;
    else if (peer.uid != geteuid())
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

/* What the server reads from its standard input. */
static void put_config(int to, const cli_local *local)
{
    char text[1024];
    int size = snprintf(text, sizeof(text),
                        "port 0\n"
                        "unixsocket \"%s\"\n"
                        "unixsocketperm 700\n"
                        "dir \"%s\"\n"
                        "logfile log\n"
                        "loglevel warning\n"
                        "save \"\"\n"
                        "appendonly no\n"
                        "maxmemory-policy noeviction\n"
                        "daemonize no\n",
                        local->socket, local->directory);

    (void)!write(to, text, (size_t)size); /* less than a pipe holds */
}

/* In the server's process: nothing of the tool is left to it. */
static _Noreturn void become_server(const char *program, int config, int report)
{
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
    (void)execlp(program, program, "-", (char *)NULL);
    error = errno;
    (void)!write(STDIO, &error, sizeof(error));
    _exit(1);
}

/* Forks twice: the server is nobody's child and in a session of its own. 0, or
   the errno for which there is no server. */
static int launch(const cli_local *local, const char *program)
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
                    "  install it (Debian: apt-get install redis-server), or "
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
    error = launch(local, program.text);
    if (error == ENOENT && strcmp(program.from, "default") == 0 &&
        launch(local, "valkey-server") == 0)
        error = 0;
    code = error == 0 ? wait_for_server(c, local)
                      : no_program(c, program.text, error);
    cli_value_done(&program);
    return code;
}

int cli_local_start(const cli *c, const cli_local *local, bool *ret_started)
{
    pid_t pid = cli_local_pid(local);
    bool is_there;
    int code = 0;
    int lock;

    *ret_started = false;
    if (pid > 0)
        return 0;
    if (mkdir(local->directory, 0700) != 0 && errno != EEXIST)
        return cli_fail(c, CLI_CONFIG, "%s: %s", local->directory,
                        strerror(errno));
    if (pid < 0 || !is_ours(local->directory, &is_there))
        return refuse(c, local->directory);
    lock = lock_directory(c, local);
    if (lock < 0)
        return CLI_UNAVAILABLE;
    /* Somebody may have started it meanwhile. */
    if (cli_local_pid(local) == 0) {
        code = start_locked(c, local);
        *ret_started = code == 0;
    }
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
