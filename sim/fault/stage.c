/* SPDX-License-Identifier: MIT */
#include "fault/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/wait.h"

enum { FINISH_MS = 180000, GONE_MS = 30000, LEFT = 64, WATCH_NS = 10000000 };

/* ---- clocks ---- */

static int64_t *shift_open(const char *directory, const char *name)
{
    char path[512];
    int fd;
    void *page = MAP_FAILED;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && ftruncate(fd, sizeof(int64_t)) == 0)
        page = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
                    fd, 0);
    if (page == MAP_FAILED)
        perror(path);
    if (fd >= 0)
        (void)close(fd);
    return page == MAP_FAILED ? NULL : page;
}

static void shift_close(int64_t *page)
{
    if (page != NULL)
        (void)munmap(page, sizeof(*page));
}

/* What is started from now on has this clock; NULL: the machine's. */
static void use_clock(const stage *s, const char *name)
{
    char path[512];

    if (name == NULL) {
        (void)unsetenv("LD_PRELOAD");
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", s->directory, name);
    (void)setenv("LK_SHIFT", path, 1);
    (void)setenv("LD_PRELOAD", LK_SHIFT_LIBRARY, 1);
}

bool stage_restart(stage *s, server *which)
{
    bool runs;

    use_clock(s, which == s->server ? "server-clock" : NULL);
    runs = server_restart(which);
    use_clock(s, NULL);
    return runs;
}

/* ---- writing down ---- */

void stage_put(stage *s, const history_event *event)
{
    if (!history_log_write(s->log, event)) {
        (void)fprintf(stderr, "the history is full\n");
        abort();
    }
}

uint64_t stage_operation(stage *s)
{
    return (uint64_t)PLAY_HARNESS << 32 | ++s->operations;
}

/* ---- workers ---- */

static _Noreturn void
become(const stage *s, const stage_worker *worker, pid_t parent)
{
    char process[16], seed[24];
    const char *arguments[7 + PLAY_REDLOCK + 1] = {"fault",
                                                   "--worker",
                                                   process,
                                                   seed,
                                                   s->directory,
                                                   proxy_url(worker->road)};
    size_t n = 6;

    (void)snprintf(process, sizeof(process), "%" PRIu32, worker->process);
    (void)snprintf(seed, sizeof(seed), "%" PRIu64,
                   s->seed * 1000 + worker->process);
    for (int i = 0; i < PLAY_REDLOCK; i++)
        arguments[n++] = proxy_url(s->node_roads[i]);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        (void)execv("/proc/self/exe", (char *const *)(uintptr_t)arguments);
    _exit(127);
}

bool stage_hire(stage *s, unsigned i)
{
    stage_worker *worker = &s->workers[i];
    pid_t parent = getpid();

    worker->process = PLAY_HARNESS + ++s->processes;
    use_clock(s, "worker-clock");
    worker->pid = fork();
    if (worker->pid == 0)
        become(s, worker, parent);
    use_clock(s, NULL);
    if (worker->pid > 0)
        return true;
    perror("fork");
    worker->pid = 0;
    return false;
}

static void told_dead(stage *s, const stage_worker *worker)
{
    const history_event event = {.process = worker->process,
                                 .phase = HISTORY_EVENT,
                                 .call = HISTORY_DIED};

    stage_put(s, &event);
}

void stage_fire(stage *s, unsigned i)
{
    stage_worker *worker = &s->workers[i];

    if (worker->pid == 0)
        return;
    (void)kill(worker->pid, SIGKILL);
    (void)waitpid(worker->pid, NULL, 0);
    told_dead(s, worker);
    worker->pid = 0;
}

/* Those that have ended; whoever did so otherwise than by itself is a find. */
static bool have_all_ended(void *data)
{
    stage *s = data;
    bool all = true;

    for (unsigned i = 0; i < PLAY_WORKERS; i++) {
        stage_worker *worker = &s->workers[i];
        int status = 0;

        if (worker->pid == 0)
            continue;
        if (waitpid(worker->pid, &status, WNOHANG) != worker->pid) {
            all = false;
            continue;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            (void)fprintf(stderr, "worker %" PRIu32 " ended with %#x\n",
                          worker->process, (unsigned)status);
            s->crashes++;
        }
        told_dead(s, worker);
        worker->pid = 0;
    }
    return all;
}

void stage_finish(stage *s)
{
    atomic_store(&s->shared->ends, true);
    if (!wait_until(have_all_ended, s, FINISH_MS))
        (void)fprintf(stderr, "a worker does not come to its end\n");
    for (unsigned i = 0; i < PLAY_WORKERS; i++)
        stage_fire(s, i);
}

/* ---- who waits ---- */

/* A waiter's reason is its operation. */
static void tell_queued(stage *s, unsigned name, lk_info *info)
{
    for (size_t i = 0; i < info->listed_count; i++) {
        history_event event = play_event(name, HISTORY_EVENT, HISTORY_QUEUED);

        event.operation = strtoull(info->waiters[i]->reason, NULL, 10);
        if (event.operation != 0)
            stage_put(s, &event);
    }
    lk_info_free(info);
}

static void *watch(void *data)
{
    static const struct timespec pause = {.tv_nsec = WATCH_NS};
    stage *s = data;
    lk_info *info = NULL;

    while (atomic_load(&s->watches)) {
        if (lk_fairlock_info(s->fair, &info) == LK_OK)
            tell_queued(s, 2, info);
        if (lk_semaphore_info(s->semaphore, &info) == LK_OK)
            tell_queued(s, 4, info);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- the whole ---- */

/* What it has answered is in the file, which outlives its death by a signal: it
   writes before it answers. The disk has no part in that; and a file on one that
   builds keep busy would delay a start by seconds, as a server writes the list
   of its files through to it. */
static bool open_servers(stage *s)
{
    const char *const keeps[] = {"--dir",
                                 scratch_path(s->memory),
                                 "--appendonly",
                                 "yes",
                                 "--appendfsync",
                                 "no",
                                 "--enable-debug-command",
                                 "yes",
                                 NULL};

    use_clock(s, "server-clock");
    s->server = server_start(keeps);
    use_clock(s, NULL);
    if (s->server == NULL)
        return false;
    for (int i = 0; i < PLAY_REDLOCK; i++) {
        s->nodes[i] = server_start(NULL);
        if (s->nodes[i] == NULL)
            return false;
        s->node_roads[i] = proxy_start(server_socket(s->nodes[i]));
        if (s->node_roads[i] == NULL)
            return false;
    }
    return true;
}

static bool open_operator(stage *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = PLAY_COMMAND_MS};

    return lk_client_open(&s->client, server_url(s->server), &options) ==
               LK_OK &&
           lk_lock_new(&s->lock, s->client, play_names[0].name, NULL) ==
               LK_OK &&
           lk_fairlock_new(&s->fair, s->client, play_names[2].name, NULL) ==
               LK_OK &&
           lk_rwlock_new(&s->rwlock, s->client, play_names[3].name, NULL) ==
               LK_OK &&
           lk_semaphore_new(&s->semaphore, s->client, play_names[4].name,
                            NULL) == LK_OK;
}

static bool open_workers(stage *s)
{
    for (unsigned i = 0; i < PLAY_WORKERS; i++) {
        s->workers[i].road = proxy_start(server_socket(s->server));
        if (s->workers[i].road == NULL || !stage_hire(s, i))
            return false;
    }
    return true;
}

bool stage_open(stage *s, const char *directory, uint64_t seed, bool brisk)
{
    char path[512];

    *s = (stage){.directory = directory, .seed = seed};
    (void)snprintf(path, sizeof(path), "%s/shared", directory);
    s->shared = play_shared_map(path, true);
    (void)snprintf(path, sizeof(path), "%s/harness.history", directory);
    s->log = history_log_open(path, PLAY_HARNESS, PLAY_EVENTS);
    s->server_shift = shift_open(directory, "server-clock");
    s->worker_shift = shift_open(directory, "worker-clock");
    s->memory = scratch_new_in_memory();
    if (s->shared == NULL || s->log == NULL || s->server_shift == NULL ||
        s->worker_shift == NULL || s->memory == NULL)
        return false;
    s->shared->brisk = brisk;
    if (!open_servers(s) || !open_operator(s) || !open_workers(s))
        return false;
    atomic_store(&s->watches, true);
    return pthread_create(&s->watcher, NULL, watch, s) == 0;
}

/* The operator's client has gone before anybody looks at what is left. */
static void close_operator(stage *s)
{
    if (atomic_exchange(&s->watches, false))
        (void)pthread_join(s->watcher, NULL);
    lk_lock_free(s->lock);
    lk_fairlock_free(s->fair);
    lk_rwlock_free(s->rwlock);
    lk_semaphore_free(s->semaphore);
    lk_client_free(s->client);
    s->lock = NULL;
    s->fair = NULL;
    s->rwlock = NULL;
    s->semaphore = NULL;
    s->client = NULL;
}

void stage_close(stage *s)
{
    close_operator(s);
    for (unsigned i = 0; i < PLAY_WORKERS; i++) {
        stage_fire(s, i);
        proxy_stop(s->workers[i].road);
    }
    for (int i = 0; i < PLAY_REDLOCK; i++) {
        proxy_stop(s->node_roads[i]);
        server_stop(s->nodes[i]);
    }
    server_stop(s->server);
    scratch_free(s->memory);
    play_pulse_stop();
    history_log_close(s->log);
    play_shared_unmap(s->shared);
    shift_close(s->server_shift);
    shift_close(s->worker_shift);
}

/* ---- what is left ---- */

/* Locks are held by nobody when all leases are over. */
static bool is_nothing_held(void *data)
{
    stage *s = data;

    for (unsigned i = 0; i < PLAY_ALL_NAMES; i++) {
        server *at = play_names[i].kind == HISTORY_REDLOCK ? NULL : s->server;

        if (play_names[i].kind == HISTORY_SEMAPHORE ||
            play_names[i].kind == HISTORY_LATCH || at == NULL)
            continue;
        if (server_integer(at, "EXISTS %s", play_names[i].name) != 0)
            return false;
    }
    return server_integer(s->nodes[0], "DBSIZE") +
               server_integer(s->nodes[1], "DBSIZE") +
               server_integer(s->nodes[2], "DBSIZE") >=
           0;
}

/* A number of permits, and a latch that is armed, stay until they are deleted. So
   does the signal of a siglock that ends while PEXPIRE is denied: without it
   python-redis-lock might sleep for ever. */
static bool may_stay(const char *key)
{
    static const char signal[] = "lock-signal:";

    return strstr(key, "sem0") != NULL || strstr(key, "latch0") != NULL ||
           strncmp(key, signal, sizeof(signal) - 1) == 0;
}

static size_t left_at(server *at, const char **left, size_t n)
{
    redisReply *keys = server_command(at, "KEYS *");

    for (size_t i = 0; i < keys->elements && n < LEFT - 1; i++) {
        const char *key = keys->element[i]->str;

        if (!may_stay(key) && server_integer(at, "PTTL %s", key) == -1)
            left[n++] = strdup(key);
    }
    freeReplyObject(keys);
    return n;
}

const char *const *stage_left(stage *s)
{
    static const char *left[LEFT];
    size_t n = 0;

    close_operator(s);
    if (server_has_ended(s->server))
        left[n++] = "a server that has ended";
    else if (!wait_until(is_nothing_held, s, GONE_MS))
        left[n++] = "a name is still held";
    n = left_at(s->server, left, n);
    for (int i = 0; i < PLAY_REDLOCK; i++)
        n = left_at(s->nodes[i], left, n);
    left[n] = NULL;
    return left;
}
