/* SPDX-License-Identifier: MIT */

/*
 * Six processes want one lock, on a redis-server of their own. After some
 * seconds the one that holds it is killed, and the others go on when its
 * lease has ended. Exit code 0: no two held the lock at once, every fence was
 * larger than the one before, and the lock passed on.
 *
 *   cc demo*.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out
 */

#include "demo.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static board *shared;
static char directory[80], socket_path[100], log_path[100];
static pid_t server;
static volatile sig_atomic_t interrupted;

uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void sleep_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void on_signal(int signal)
{
    interrupted = signal;
}

static void set_handlers(void (*handler)(int))
{
    signal(SIGINT, handler);
    signal(SIGTERM, handler);
    signal(SIGHUP, handler);
    signal(SIGPIPE, handler);
}

/* A child that ends with its parent and gets no Ctrl-C from the terminal. */
static pid_t fork_child(void)
{
    const pid_t parent = getpid();
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EXIT_FAILURE);
        setpgid(0, 0);
        set_handlers(SIG_DFL);
    }
    return pid;
}

/* ---- workers ---- */

static bool start_workers(void)
{
    for (int number = 1; number <= WORKERS; number++) {
        const pid_t pid = fork_child();

        if (pid < 0)
            return false;
        if (pid == 0)
            _exit(worker_run(shared, number));
        shared->workers[number - 1].pid = pid;
    }
    return true;
}

/* Ends it in the middle of whatever it does. The dead hold nothing. */
static void kill_worker(int number)
{
    worker *victim = &shared->workers[number - 1];

    kill(victim->pid, SIGKILL);
    waitpid(victim->pid, NULL, 0);
    victim->pid = 0;
    atomic_store(&victim->state, DEAD);
    atomic_store(&victim->valid_until, 0);
}

static bool a_worker_failed(void)
{
    for (int i = 0; i < WORKERS; i++)
        if (atomic_load(&shared->workers[i].state) == FAILED)
            return true;
    return false;
}

static void end_workers(void)
{
    const uint64_t until = now_ms() + PATIENCE_MS;

    atomic_store(&shared->stop, true);
    for (int number = 1; number <= WORKERS; number++) {
        worker *self = &shared->workers[number - 1];

        while (self->pid > 0 && now_ms() < until) {
            if (waitpid(self->pid, NULL, WNOHANG) == self->pid)
                self->pid = 0;
            else
                sleep_ms(5);
        }
        if (self->pid > 0)
            kill_worker(number);
    }
}

/* ---- server ---- */

static bool server_answers(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers;

    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    answers = fd >= 0 && connect(fd, (const struct sockaddr *)&address,
                                 sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return answers;
}

static void become_server(void)
{
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
           socket_path, "--unixsocketperm", "700", "--save", "", "--appendonly",
           "no", "--dir", directory, "--logfile", log_path, (char *)NULL);
    perror("redis-server");
    _exit(EXIT_FAILURE);
}

static void show_log(void)
{
    FILE *file = fopen(log_path, "r");
    char line[256];

    fprintf(stderr, "redis-server did not start\n");
    while (file && fgets(line, sizeof line, file))
        fputs(line, stderr);
    if (file)
        fclose(file);
}

/* On a unix socket in a new directory: no port, nobody else's data. */
static bool start_server(void)
{
    const uint64_t until = now_ms() + PATIENCE_MS;
    const char *parent = getenv("TMPDIR");

    if (!parent || strlen(parent) > sizeof directory - 32)
        parent = "/tmp";
    snprintf(directory, sizeof directory, "%s/latchkey-demo-XXXXXX", parent);
    if (!mkdtemp(directory)) {
        perror(directory);
        directory[0] = '\0';
        return false;
    }
    snprintf(socket_path, sizeof socket_path, "%s/socket", directory);
    snprintf(log_path, sizeof log_path, "%s/log", directory);
    snprintf(shared->url, sizeof shared->url, "unix:%s", socket_path);
    server = fork_child();
    if (server == 0)
        become_server();
    while (server > 0 && !interrupted && now_ms() < until) {
        if (server_answers())
            return true;
        if (waitpid(server, NULL, WNOHANG) == server)
            server = 0;
        sleep_ms(5);
    }
    if (!interrupted)
        show_log();
    return false;
}

static void end_server(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    if (directory[0]) {
        unlink(socket_path);
        unlink(log_path);
        rmdir(directory);
    }
}

/* ---- the course of it ---- */

/* Asks the next holder to stay inside, and kills it there. */
static void kill_the_holder(uint64_t started_at)
{
    const int holder = atomic_load(&shared->staying);

    if (atomic_load(&shared->killed_at))
        return;
    if (holder) {
        kill_worker(holder);
        atomic_store(&shared->killed_at, now_ms());
    } else if (now_ms() - started_at >= KILL_AFTER_MS) {
        atomic_store(&shared->stay, true);
    }
}

static void watch(screen *view)
{
    while (!interrupted && !a_worker_failed() &&
           now_ms() - view->started_at < RUN_MS) {
        screen_show(view, shared);
        kill_the_holder(view->started_at);
        sleep_ms(FRAME_MS);
    }
    screen_show(view, shared);
}

static bool all_went_well(void)
{
    return atomic_load(&shared->passed_at) && !a_worker_failed() &&
           !atomic_load(&shared->overlaps) && !atomic_load(&shared->old_fences);
}

int main(void)
{
    bool success = false;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    set_handlers(on_signal);
    if (start_server()) {
        screen view;

        screen_start(&view);
        if (start_workers()) {
            watch(&view);
            success = all_went_well();
        }
        end_workers();
        if (!interrupted)
            screen_end(&view, shared);
    }
    end_server();
    if (interrupted)
        return 128 + interrupted;
    return success ? EXIT_SUCCESS : EXIT_FAILURE;
}
