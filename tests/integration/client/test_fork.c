/* SPDX-License-Identifier: MIT */

/* What a child of fork() may do with its parent's client: nothing. */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000 };

/* The parent's client, which is named, and what it made. */
struct family {
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold;
    lk_owner *owner;
    lk_cancel *cancel;
    const char *url;
};

static void family_make(locking *f, struct family *family, uint64_t dispatch)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .name = "forker",
                                       .watchdog_ms = wait_lease_ms(),
                                       .command_timeout_ms =
                                           wait_limit_ms(2000),
                                       .dispatch = dispatch};

    family->client = locking_open(f, &options);
    family->lock = locking_lock(f, family->client, "n");
    family->hold = locking_hold(family->lock);
    family->url = server_url(f->server);
    assert_status(lk_owner_new(&family->owner, family->client), LK_OK);
    assert_status(lk_cancel_new(&family->cancel, family->client), LK_OK);
}

static void family_end(struct family *family)
{
    lk_owner_free(family->owner);
    lk_cancel_free(family->cancel);
    assert_status(lk_hold_release(family->hold), LK_OK);
}

/* ---- children ---- */

/*
 * In a child cmocka's ways end nowhere: it tells by how it ends. One that
 * succeeds is killed, so that no tool looks for leaks where the threads that
 * know the memory are missing.
 */
static void child_expects(bool truth, int line)
{
    if (truth)
        return;
    (void)fprintf(stderr, "child: line %d\n", line);
    _exit(1);
}

#define EXPECT(truth) child_expects((truth), __LINE__)

typedef void (*child_function)(struct family *family);

static pid_t child_start(child_function run, struct family *family)
{
    pid_t pid = fork();

    if (pid == 0) {
        run(family);
        (void)raise(SIGKILL);
    }
    assert_true(pid > 0);
    return pid;
}

static void child_succeeds(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* Which connections of the client the server has, as "id=3 id=4 ". */
static char *connections(locking *f)
{
    char *list = server_string(f->server, "CLIENT LIST");
    char *ids = calloc(1, strlen(list) + 1);
    char *rest = NULL;

    assert_non_null(ids);
    for (char *line = strtok_r(list, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strstr(line, " name=forker ") != NULL)
            strncat(ids, line, strcspn(line, " ") + 1);
    }
    free(list);
    return ids;
}

/* The server lists them in any order. */
static void assert_same(const char *after, const char *before)
{
    char id[32];
    int size;

    assert_int_equal(strlen(after), strlen(before));
    for (; sscanf(before, " %31s%n", id, &size) == 1; before += size)
        assert_non_null(strstr(after, id));
}

static bool has_none(void *data)
{
    char *ids = connections(data);
    bool none = ids[0] == '\0';

    free(ids);
    return none;
}

static void wait_no_connections(locking *f)
{
    assert_true(wait_until(has_none, f, SOON_MS));
}

/* ---- every call ---- */

static void call_the_client(struct family *family)
{
    lk_client_stats stats = {.size = sizeof(stats)};
    lk_lock *lock = NULL;
    lk_owner *owner = NULL;
    lk_cancel *cancel = NULL;

    EXPECT(lk_client_wait_ready(family->client, 100) == LK_EFORKED);
    EXPECT(lk_client_stats_get(family->client, &stats) == LK_EFORKED);
    EXPECT(lk_client_dispatch(family->client) == LK_EFORKED);
    EXPECT(lk_client_shutdown(family->client, 100) == LK_EFORKED);
    EXPECT(lk_owner_new(&owner, family->client) == LK_EFORKED);
    EXPECT(lk_cancel_new(&cancel, family->client) == LK_EFORKED);
    EXPECT(lk_lock_new(&lock, family->client, "m", NULL) == LK_EFORKED);
    EXPECT(strlen(lk_client_id(family->client)) == 32);
}

static void call_the_lock(struct family *family)
{
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    bool locked;

    EXPECT(lk_lock_acquire(family->lock, 0, NULL, &hold) == LK_EFORKED);
    EXPECT(lk_lock_acquire(family->lock, LK_FOREVER, NULL, &hold) ==
           LK_EFORKED);
    EXPECT(lk_lock_force_release(family->lock) == LK_EFORKED);
    EXPECT(lk_lock_is_locked(family->lock, &locked) == LK_EFORKED);
    EXPECT(lk_lock_info(family->lock, &info) == LK_EFORKED);
}

static void call_the_hold(struct family *family)
{
    EXPECT(lk_hold_check(family->hold) == LK_EFORKED);
    EXPECT(lk_hold_remaining_ms(family->hold) == 0);
    EXPECT(lk_hold_loss(family->hold) == LK_LOSS_NONE);
    EXPECT(lk_hold_lost_for_ms(family->hold) == 0);
    EXPECT(lk_hold_extend(family->hold, 1000) == LK_EFORKED);
    EXPECT(lk_hold_on_lost(family->hold, 0, NULL, NULL) == LK_EFORKED);
    EXPECT(lk_hold_fd(family->hold) == -1);
    EXPECT(lk_hold_release(family->hold) == LK_EFORKED);
}

static void call_and_free_all(struct family *family)
{
    uint64_t begin = wait_now_ms();

    call_the_client(family);
    call_the_lock(family);
    call_the_hold(family);
    lk_cancel_fire(family->cancel);
    lk_cancel_free(family->cancel);
    lk_owner_free(family->owner);
    lk_lock_free(family->lock);
    lk_client_free(family->client);
    EXPECT(wait_now_ms() - begin < wait_allowed_ms(wait_scaled_ms(500)));
}

LOCKS_TEST(every_call_is_refused_in_a_child)
{
    struct family family;

    family_make(f, &family, 0);
    child_succeeds(child_start(call_and_free_all, &family));
    assert_status(lk_hold_check(family.hold), LK_OK);
    family_end(&family);
}

LOCKS_TEST(the_same_goes_for_a_client_with_dispatch)
{
    struct family family;
    struct pollfd p = {.events = POLLIN};

    family_make(f, &family, 1);
    child_succeeds(child_start(call_and_free_all, &family));
    p.fd = lk_client_fd(family.client);
    assert_int_equal(poll(&p, 1, 0), 0);
    family_end(&family);
}

/* ---- the parent ---- */

LOCKS_TEST(a_child_leaves_its_parents_connections_alone)
{
    struct family family;
    lk_hold *other = locking_hold(locking_lock(f, locking_open(f, NULL), "m"));
    taker *t;
    char *before, *after;

    family_make(f, &family, 0);
    /* Its inbox is open as well when it has waited, and a connection for
       renewals when it has renewed. */
    t = locking_take(f, locking_lock(f, family.client, "m"), LK_FOREVER, NULL);
    locking_wait_queued(f, "m", 1);
    locking_wait_connects(family.client, 3);
    before = connections(f);
    for (int i = 0; i < 5; i++)
        child_succeeds(child_start(call_and_free_all, &family));
    after = connections(f);
    assert_true(strlen(before) > 5);
    assert_same(after, before);
    free(before);
    free(after);
    assert_status(lk_hold_release(other), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(locking_stats(family.client).disconnects, 0);
    assert_int_equal(locking_stats(family.client).connects, 3);
    family_end(&family);
}

static int gate[2]; /* a child stays until the parent closes its end */

static void stay(struct family *family)
{
    char byte;

    (void)family;
    (void)close(gate[1]);
    EXPECT(read(gate[0], &byte, 1) == 0);
}

LOCKS_TEST(a_hold_stays_alive_beside_a_child)
{
    struct family family;
    pid_t child;
    uint64_t end;

    family_make(f, &family, 0);
    assert_int_equal(pipe(gate), 0);
    child = child_start(stay, &family);
    end = wait_now_ms() + 2 * (uint64_t)wait_lease_ms();
    while (wait_now_ms() < end) {
        assert_true(locking_pttl(f, "n") > 0);
        assert_status(lk_hold_check(family.hold), LK_OK);
        locking_pass_time(5);
    }
    (void)close(gate[0]);
    (void)close(gate[1]);
    child_succeeds(child);
    family_end(&family);
}

/* No copy of a socket in the child keeps it open. */
LOCKS_TEST(the_server_sees_the_parents_end_while_a_child_lives)
{
    struct family family;
    pid_t child;

    family_make(f, &family, 0);
    assert_int_equal(pipe(gate), 0);
    child = child_start(stay, &family);
    family_end(&family);
    locking_free(f, family.lock);
    locking_free_client(f, family.client);
    wait_no_connections(f);
    (void)close(gate[0]);
    (void)close(gate[1]);
    child_succeeds(child);
}

/* A process that holds, forks a child that stays, and is killed itself. */
static void hold_and_fork(struct family *family)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .name = "forker"};
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    EXPECT(lk_client_open(&client, family->url, &options) == LK_OK);
    EXPECT(lk_lock_new(&lock, client, "n", NULL) == LK_OK);
    EXPECT(lk_lock_acquire(lock, 0, NULL, &hold) == LK_OK);
    if (fork() == 0) {
        stay(family);
        (void)raise(SIGKILL);
    }
}

LOCKS_TEST(the_server_sees_a_killed_parents_end_while_a_child_lives)
{
    struct family family = {.url = server_url(f->server)};

    assert_int_equal(pipe(gate), 0);
    child_succeeds(child_start(hold_and_fork, &family));
    assert_true(locking_exists(f, "n"));
    wait_no_connections(f);
    (void)close(gate[0]);
    (void)close(gate[1]);
}

struct storm {
    lk_lock *lock;
    atomic_bool over;
    atomic_int failures;
};

static void *storm_run(void *data)
{
    struct storm *storm = data;

    while (!atomic_load(&storm->over)) {
        lk_hold *hold = NULL;

        if (lk_lock_acquire(storm->lock, LK_FOREVER, NULL, &hold) != LK_OK ||
            lk_hold_release(hold) != LK_OK)
            (void)atomic_fetch_add(&storm->failures, 1);
    }
    return NULL;
}

LOCKS_TEST(forks_amid_work_disturb_nobody)
{
    enum { THREADS = 4, FORKS = 30 };
    struct family family;
    struct storm storm = {.failures = 0};
    pthread_t threads[THREADS];
    bool succeeded = true;

    family_make(f, &family, 0);
    storm.lock = locking_lock(f, family.client, "busy");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, storm_run, &storm),
                         0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = child_start(call_and_free_all, &family);
        int status = -1;

        (void)waitpid(child, &status, 0);
        succeeded =
            succeeded && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    atomic_store(&storm.over, true);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    assert_true(succeeded);
    assert_int_equal(storm.failures, 0);
    assert_int_equal(locking_stats(family.client).disconnects, 0);
    family_end(&family);
}

/* ---- a client of its own ---- */

static void use_an_own_client(struct family *family)
{
    lk_client *client = NULL;
    lk_lock *held = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    EXPECT(lk_client_open(&client, family->url, NULL) == LK_OK);
    EXPECT(lk_lock_new(&held, client, "n", NULL) == LK_OK);
    EXPECT(lk_lock_acquire(held, 0, NULL, &hold) == LK_EBUSY);
    EXPECT(lk_lock_new(&lock, client, "m", NULL) == LK_OK);
    EXPECT(lk_lock_acquire(lock, 0, NULL, &hold) == LK_OK);
    EXPECT(lk_hold_check(hold) == LK_OK);
    EXPECT(lk_hold_check(family->hold) == LK_EFORKED);
    EXPECT(strcmp(lk_client_id(client), lk_client_id(family->client)) != 0);
    EXPECT(lk_hold_release(hold) == LK_OK);
    EXPECT(lk_client_shutdown(client, 1000) == LK_OK);
    lk_lock_free(held);
    lk_lock_free(lock);
    lk_client_free(client);
}

/* The thread sanitizer knows no end of the threads that are missing in a child,
   and ends it when one of its own takes the stack of one of these. */
LOCKS_TEST(a_child_may_open_a_client_of_its_own)
{
    struct family family;

#ifdef __SANITIZE_THREAD__
    skip();
#endif
    family_make(f, &family, 0);
    child_succeeds(child_start(use_an_own_client, &family));
    assert_status(lk_hold_check(family.hold), LK_OK);
    family_end(&family);
}

/* ---- children of which no handler hears ---- */

static void call_all(struct family *family)
{
    call_the_client(family);
    call_the_lock(family);
    EXPECT(lk_hold_check(family->hold) == LK_EFORKED);
}

static void other_child_is_told(locking *f, pid_t (*make)(void))
{
    struct family family;
    pid_t pid;

    family_make(f, &family, 0);
    pid = make();
    if (pid == 0) {
        call_all(&family);
        (void)raise(SIGKILL);
    }
    assert_true(pid > 0);
    child_succeeds(pid);
    assert_status(lk_hold_check(family.hold), LK_OK);
    family_end(&family);
}

LOCKS_TEST(a_child_of_underscore_fork_is_told)
{
    other_child_is_told(f, _Fork);
}

static pid_t clone_plainly(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

LOCKS_TEST(a_child_of_clone_is_told)
{
    other_child_is_told(f, clone_plainly);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
