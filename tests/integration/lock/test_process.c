/* SPDX-License-Identifier: MIT */

/* What the library does to the process: threads, descriptors, output. */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/resolver.h"
#include "support/wait.h"

enum { MOST = 1024, SOON_MS = 3000 };

/* In the place of the C library's, for this program and libuv in it: a bare
   system knows no name, not even localhost. */
LK_API int getaddrinfo(const char *name, const char *service,
                       const struct addrinfo *req, struct addrinfo **pai)
{
    return resolver_lookup(name, service, req, pai);
}

/* Numbers that are names in a folder of /proc/self. */
static void numbers_read(const char *folder, bool seen[MOST], int base)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        long number = strtol(entry->d_name, NULL, 10) - base;

        if (entry->d_name[0] != '.' && number >= 0 && number < MOST)
            seen[number] = true;
    }
    (void)closedir(dir);
}

/* The value of a line such as "flags:\t02" of a file below /proc/self. */
static uint64_t proc_value(const char *path, const char *word, int base)
{
    FILE *file = fopen(path, "re");
    char line[256];
    uint64_t value = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, word, strlen(word)) == 0)
            value = strtoull(line + strlen(word), NULL, base);
    }
    (void)fclose(file);
    return value;
}

/* A client in full work: both connections, a name looked up, descriptors. */
static lk_hold *work(locking *f, lk_client **ret_client)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    static const char *const addresses[] = {"127.0.0.1", NULL};
    char url[64];
    lk_client *client;
    lk_hold *hold;

    resolver_name("server.test", addresses);
    (void)snprintf(url, sizeof(url), "redis://server.test:%u",
                   server_port(f->server));
    client = locking_open_url(f, url, &options);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    hold = locking_hold(locking_lock(f, client, "n"));
    assert_true(lk_hold_fd(hold) >= 0);
    locking_take(f, (lk_lock *)f->handles[f->handle_count - 1], LK_FOREVER,
                 NULL);
    locking_wait_waiting(client, 1);
    locking_wait_connects(client, 2);
    *ret_client = client;
    return hold;
}

/* Of the others, some tools keep their own account. */
static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGUSR1,
                              SIGUSR2, SIGPIPE, SIGALRM,  SIGTERM,
                              SIGCHLD, SIGTSTP, SIGWINCH, SIGPROF};

/* A client whose look-up of a name hangs, until the gate is opened. */
static void look_up_for_ever(locking *f)
{
    static const char *const addresses[] = {"127.0.0.1", NULL};

    resolver_name("hanging.test", addresses);
    resolver_close_gate();
    (void)locking_open_url(f, "redis://hanging.test:1", NULL);
    assert_true(resolver_wait_hanging());
}

/* "latchkey...": the thread is of the library; a new one is not named yet. */
static bool is_ours(int thread)
{
    char path[64], name[32] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/comm", thread);
    file = fopen(path, "re");
    if (file == NULL)
        return false; /* it has ended */
    if (fgets(name, sizeof(name), file) == NULL)
        name[0] = '\0';
    (void)fclose(file);
    return strncmp(name, "latchkey", strlen("latchkey")) == 0;
}

/* Two loops, and the look-up. */
static bool are_three_named(void *data)
{
    bool threads[MOST] = {false};
    int pid = (int)getpid(), named = 0;

    (void)data;
    numbers_read("/proc/self/task", threads, pid);
    for (int i = 0; i < MOST; i++)
        named += threads[i] && is_ours(pid + i);
    return named >= 3;
}

LOCKS_TEST(its_threads_take_no_signal_of_the_programs)
{
    bool before[MOST] = {false};
    bool after[MOST] = {false};
    int pid = (int)getpid();
    lk_client *client;
    lk_hold *hold;
    int threads = 0;

    numbers_read("/proc/self/task", before, pid);
    hold = work(f, &client);
    look_up_for_ever(f);
    assert_true(wait_until(are_three_named, NULL, SOON_MS));
    numbers_read("/proc/self/task", after, pid);
    for (int i = 0; i < MOST; i++) {
        char path[64];
        uint64_t blocked;

        if (before[i] || !after[i] || !is_ours(pid + i)) /* the taker's */
            continue;
        (void)snprintf(path, sizeof(path), "/proc/self/task/%d/status",
                       pid + i);
        blocked = proc_value(path, "SigBlk:", 16);
        for (size_t k = 0; k < sizeof(signals) / sizeof(signals[0]); k++)
            assert_true((blocked >> (signals[k] - 1) & 1) == 1);
        threads++;
    }
    resolver_open_gate();
    assert_true(threads >= 3);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(f->takers.all[0]), LK_OK);
}

LOCKS_TEST(the_callers_signal_mask_stays_as_it_was)
{
    sigset_t before, mine, after;

    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &mine, &before), 0);
    locking_open(f, NULL);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
    for (int sig = 1; sig < 32; sig++)
        assert_int_equal(sigismember(&after, sig), sig == SIGUSR2);
}

/* As the program found them, before any client was opened. */
static struct sigaction actions_at_start[32];

LOCKS_TEST(no_signal_handler_is_installed)
{
    struct sigaction now;
    lk_client *client;
    lk_hold *hold = work(f, &client);

    for (int sig = 1; sig < 32; sig++) {
        if (sig == SIGKILL || sig == SIGSTOP)
            continue;
        assert_int_equal(sigaction(sig, NULL, &now), 0);
        assert_true(now.sa_handler == actions_at_start[sig].sa_handler);
    }
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(f->takers.all[0]), LK_OK);
}

LOCKS_TEST(all_its_descriptors_are_closed_by_exec)
{
    bool before[MOST] = {false};
    bool after[MOST] = {false};
    lk_client *client;
    lk_hold *hold;
    int fresh = 0;

    (void)locking_exists(f, "n"); /* the test's own connection stands */
    numbers_read("/proc/self/fd", before, 0);
    hold = work(f, &client);
    numbers_read("/proc/self/fd", after, 0);
    for (int fd = 0; fd < MOST; fd++) {
        char path[64];
        int flags = fcntl(fd, F_GETFD);

        if (before[fd] || !after[fd] || flags < 0)
            continue;
        (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        assert_true((proc_value(path, "flags:", 8) & O_CLOEXEC) != 0);
        fresh++;
    }
    /* Loop, its timer, two connections, the hold's, dispatch, at least. */
    assert_true(fresh >= 6);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(f->takers.all[0]), LK_OK);
}

LOCKS_TEST(a_client_leaves_no_descriptor_and_no_thread)
{
    bool before[MOST] = {false};
    bool after[MOST] = {false};

    /* What libuv and the C library keep for good is there after the first. */
    for (int round = 0; round < 2; round++) {
        lk_client *client;
        lk_hold *hold = work(f, &client);

        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(taker_release(f->takers.all[round]), LK_OK);
        locking_free(f, f->handles[round]);
        locking_free_client(f, client);
        numbers_read("/proc/self/fd", round == 0 ? before : after, 0);
    }
    assert_memory_equal(after, before, sizeof(before));
}

/* ---- output ---- */

/* Makes errors of all kinds. */
static void fail_in_many_ways(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "nobody",
                                       .password = "wrong"};
    lk_client *client = NULL;
    lk_hold *hold;

    client = locking_open_url(f, server_url(f->server), &options);
    assert_true(lk_client_wait_ready(client, 1000) != LK_OK);
    client = locking_open_url(f, "unix:/nowhere", NULL);
    assert_true(lk_client_wait_ready(client, 50) != LK_OK);
    assert_true(lk_client_open(&client, "nonsense", NULL) != LK_OK);
    client = locking_open(f, NULL);
    hold = locking_hold_for(locking_lock(f, client, "n"), 20);
    while (lk_hold_check(hold) == LK_OK)
        locking_pass_time(1);
    (void)lk_hold_release(hold);
    freeReplyObject(server_command(f->server, "CLIENT KILL TYPE normal"));
}

LOCKS_TEST(the_library_prints_nothing)
{
    FILE *output = tmpfile();
    int kept[2];
    long size;

    assert_non_null(output);
    (void)fflush(NULL);
    for (int fd = 1; fd <= 2; fd++) {
        kept[fd - 1] = dup(fd);
        (void)dup2(fileno(output), fd);
    }
    fail_in_many_ways(f);
    (void)fflush(NULL);
    for (int fd = 1; fd <= 2; fd++) {
        (void)dup2(kept[fd - 1], fd);
        (void)close(kept[fd - 1]);
    }
    size = lseek(fileno(output), 0, SEEK_END);
    (void)fclose(output);
    assert_int_equal(size, 0);
}

/* Within cmocka, which has handlers of its own while it runs. */
static int start(void **state)
{
    for (int sig = 1; sig < 32; sig++)
        (void)sigaction(sig, NULL, &actions_at_start[sig]);
    return locking_start_server(state);
}

CHECK_GROUP(start, locking_stop_server)
