/* SPDX-License-Identifier: MIT */

/*
 * A redis-server on a unix socket in a fresh directory: no port, nobody else's
 * data. Its parent is a keeper, a process that does nothing but wait for the
 * command's end, however that comes about, kill the server and remove the
 * directory. What the server writes goes to a file without a name, for the
 * case that it does not start.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/demo/demo.h"
#include "cli/output.h"

typedef struct home {
    char directory[96];
    char socket[108];
    int log;
} home;

static void home_remove(const home *h)
{
    (void)unlink(h->socket);
    (void)rmdir(h->directory);
}

/* The path of a socket may have 107 bytes. */
static bool home_make(const cli *c, home *h)
{
    const char *parent = getenv("TMPDIR");

    if (parent == NULL || parent[0] != '/' || strlen(parent) > 64)
        parent = "/tmp";
    (void)snprintf(h->directory, sizeof(h->directory),
                   "%s/latchkey-demo-XXXXXX", parent);
    if (mkdtemp(h->directory) == NULL) {
        (void)cli_fail(c, 0, "%s: %s", h->directory, strerror(errno));
        return false;
    }
    (void)snprintf(h->socket, sizeof(h->socket), "%s/socket", h->directory);
    h->log = open(h->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return true;
}

/* ---- the keeper --------------------------------------------------------- */

static void become_server(const home *h, const cli_program *program,
                          atomic_int *error, const sigset_t *signals)
{
    const char *arguments[] =
        {NULL,         "--port",           "0",   "--unixsocket",
         h->socket,    "--unixsocketperm", "700", "--save",
         "",           "--appendonly",     "no",  "--maxmemory-policy",
         "noeviction", "--daemonize",      "no",  "--dir",
         h->directory, "--logfile",        "",    NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigprocmask(SIG_UNBLOCK, signals, NULL);
    (void)dup2(null, 0);
    (void)dup2(h->log >= 0 ? h->log : null, 1);
    (void)dup2(h->log >= 0 ? h->log : null, 2);
    cli_program_exec(program, arguments);
    atomic_store(error, errno);
    _exit(EXIT_FAILURE);
}

/*
 * SIGTERM is how the command ends the keeper, and what the kernel sends it
 * when the command has died.
 */
static _Noreturn void
keep(const home *h, const cli_program *program, atomic_int *error, pid_t parent)
{
    sigset_t ends;
    pid_t server;
    int number;

    (void)setsid();
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent) {
        server = fork();
        if (server == 0)
            become_server(h, program, error, &ends);
        if (server > 0)
            (void)sigwait(&ends, &number);
        if (server > 0 && kill(server, SIGKILL) == 0)
            (void)waitpid(server, NULL, 0);
    }
    home_remove(h);
    _exit(EXIT_SUCCESS);
}

/* ---- the command's side ------------------------------------------------- */

static bool answers(const home *h)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there;

    memcpy(address.sun_path, h->socket, sizeof(h->socket));
    is_there = fd >= 0 && connect(fd, (const struct sockaddr *)&address,
                                  sizeof(address)) == 0;
    if (fd >= 0)
        (void)close(fd);
    return is_there;
}

static void explain(const cli *c, const home *h, const char *program, int error)
{
    char text[1024] = "";
    char *rest = text;
    char *line;

    if (error == ENOENT) {
        (void)cli_fail(c, 0,
                       "there is no %s here, and the demo starts one of its "
                       "own\n  install it (Debian: apt-get install "
                       "redis-tools),\n  or name the program in "
                       "LATCHKEY_SERVER_PROGRAM",
                       program);
        return;
    }
    if (error == 0 && h->log >= 0 &&
        pread(h->log, text, sizeof(text) - 1, 0) < 0)
        text[0] = '\0';
    (void)cli_fail(c, 0, "%s did not start: %s", program,
                   error != 0 ? strerror(error) : "it said");
    while (rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
        (void)fputs("  ", stderr);
        cli_put_clean(stderr, line);
        (void)fputc('\n', stderr);
    }
}

/* Whether the server answers before its keeper or the patience ends. */
static bool wait_for(const home *h, pid_t *keeper)
{
    const uint64_t until = demo_now() + DEMO_PATIENCE_MS * UINT64_C(1000000);

    while (demo_interrupted() == 0 && demo_now() < until) {
        if (answers(h))
            return true;
        if (waitpid(*keeper, NULL, WNOHANG) == *keeper) {
            *keeper = 0;
            return false;
        }
        cli_pass_ms(2);
    }
    return false;
}

pid_t demo_server_start(const cli *c, demo_board *board,
                        const cli_program *program)
{
    const pid_t parent = getpid();
    pid_t keeper;
    home h = {.log = -1};
    bool is_there;

    if (!home_make(c, &h))
        return 0;
    (void)snprintf(board->url, sizeof(board->url), "unix:%s", h.socket);
    keeper = fork();
    if (keeper == 0)
        keep(&h, program, &board->server_error, parent);
    is_there = keeper > 0 && wait_for(&h, &keeper);
    if (!is_there) {
        if (demo_interrupted() == 0)
            explain(c, &h, program->name, atomic_load(&board->server_error));
        demo_server_end(keeper);
        keeper = 0;
    }
    if (h.log >= 0)
        (void)close(h.log);
    return keeper;
}

void demo_server_end(pid_t keeper)
{
    if (keeper <= 0)
        return;
    (void)kill(keeper, SIGTERM);
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        continue;
}
