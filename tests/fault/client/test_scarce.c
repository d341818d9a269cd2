/* SPDX-License-Identifier: MIT */

/*
 * What the system may refuse: descriptors, threads, room to watch, random
 * numbers. A client answers, whatever is short. Each case is a process of its
 * own, since libuv prepares itself once in each.
 */

#include <latchkey/latchkey.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/descriptors.h"
#include "support/one_server.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

/* ---- in the place of the C library's ---------------------------------------- */

static atomic_int adds_left = INT32_MAX; /* of descriptors to an epoll */
static atomic_bool no_threads;

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && atomic_fetch_sub(&adds_left, 1) <= 0) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

int pthread_create(pthread_t *newthread, const pthread_attr_t *attr,
                   void *(*start_routine)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");

    memcpy(&real, &symbol, sizeof(real));
    return atomic_load(&no_threads) ? EAGAIN
                                    : real(newthread, attr, start_routine, arg);
}

/* It may ask the network, and run whatever is configured for that. */
int getpwuid_r(uid_t uid, struct passwd *resultbuf, char *buffer, size_t buflen,
               struct passwd **result)
{
    (void)uid;
    (void)resultbuf;
    (void)memset(buffer, 0, buflen);
    (void)result;
    abort();
}

/* ---- processes -------------------------------------------------------------- */

/* What became of a client in a process that was short of something. */
typedef enum outcome {
    READY,     /* it served */
    NOT_READY, /* it was opened, and could not connect */
    REFUSED,   /* it was not opened, for LK_ENOMEM */
    WRONG
} outcome;

/* Opens a client in this process, which is short of something. */
static outcome try_client(const char *url, int64_t wait_ms)
{
    lk_client *client = NULL;
    lk_status status = lk_client_open(&client, url, NULL);
    outcome o = WRONG;

    if (status == LK_ENOMEM && lk_last_error()[0] != '\0')
        return REFUSED;
    if (status != LK_OK)
        return WRONG;
    status = lk_client_wait_ready(client, wait_ms);
    if (status == LK_OK)
        o = READY;
    else if (lk_status_is_retriable(status))
        o = NOT_READY;
    lk_client_free(client);
    return o;
}

/* What a process of its own came to. Fails the test if it died. */
static outcome in_child(outcome (*run)(int number), int number)
{
    pid_t child = fork();
    int state;

    assert_true(child >= 0);
    if (child == 0)
        _exit((int)run(number));
    assert_int_equal(waitpid(child, &state, 0), child);
    if (!WIFEXITED(state) || WEXITSTATUS(state) >= WRONG)
        fail_msg("with %d: %s %d", number,
                 WIFEXITED(state) ? "exit status" : "signal",
                 WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
    return (outcome)WEXITSTATUS(state);
}

static void set_limit(int resource, rlim_t limit)
{
    struct rlimit both;

    /* The soft one: Valgrind lets nobody change the other. */
    if (getrlimit((__rlimit_resource_t)resource, &both) != 0)
        _exit(WRONG);
    both.rlim_cur = limit;
    if (setrlimit((__rlimit_resource_t)resource, &both) != 0)
        _exit(WRONG);
}

/* ---- descriptors ------------------------------------------------------------- */

enum { DESCRIPTORS_ENOUGH = 24 };

static outcome with_free_descriptors(int number)
{
    int fd, last = -1;

    set_limit(RLIMIT_NOFILE, 256);
    while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        last = fd;
    for (int i = 0; i < number; i++)
        (void)close(last--);
    return try_client(server_url(redis),
                      number < DESCRIPTORS_ENOUGH ? 200 : SOON_MS);
}

CHECK_TEST(few_descriptors_are_an_answer)
{
    outcome o = REFUSED;

    for (int i = 0; i <= DESCRIPTORS_ENOUGH; i++)
        o = in_child(with_free_descriptors, i);
    assert_int_equal(o, READY);
}

/* ---- threads ---------------------------------------------------------------- */

enum { THREADS_ENOUGH = 8 };

static outcome with_threads(int number)
{
    char url[80];

    (void)snprintf(url, sizeof(url), "redis://localhost:%u",
                   (unsigned)server_port(redis));
    /* A user that has no other process. */
    if (setgroups(0, NULL) != 0 || setuid((uid_t)(100000 + getpid())) != 0)
        return WRONG;
    set_limit(RLIMIT_NPROC, (rlim_t)number);
    return try_client(url, number < THREADS_ENOUGH ? 200 : SOON_MS);
}

CHECK_TEST(few_threads_are_an_answer)
{
    int counts[WRONG] = {0};

    if (getuid() != 0)
        skip(); /* only root can be another user */
    for (int i = 1; i <= THREADS_ENOUGH; i++)
        counts[in_child(with_threads, i)]++;
    assert_true(counts[REFUSED] > 0);   /* the loop's */
    assert_true(counts[NOT_READY] > 0); /* that which looks the name up */
    assert_int_equal(in_child(with_threads, THREADS_ENOUGH), READY);
}

static void free_in_loop(lk_status status, void *data)
{
    (void)status;
    atomic_store(&no_threads, true);
    lk_client_free(data);
}

static outcome with_no_thread_at_the_end(int number)
{
    int before = descriptors_count();
    lk_client *client = NULL;

    (void)number;
    if (lk_client_open(&client, server_url(redis), NULL) != LK_OK ||
        lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)) !=
            LK_OK ||
        lk_client_wait_ready_async(client, SOON_MS, free_in_loop, client) !=
            LK_OK)
        return WRONG;
    /* The loop's, the sockets, the timer; two of libuv's stay. */
    return descriptors_fall_to(before + 2) ? READY : WRONG;
}

CHECK_TEST(a_client_that_a_callback_frees_needs_no_thread)
{
    assert_int_equal(in_child(with_no_thread_at_the_end, 0), READY);
}

/* ---- the kernel -------------------------------------------------------------- */

static outcome with_room_to_watch(int number)
{
    atomic_store(&adds_left, number);
    return try_client(server_url(redis), 200);
}

CHECK_TEST(no_room_to_watch_is_an_answer)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(in_child(with_room_to_watch, i), REFUSED);
}

static outcome without_getrandom(int number)
{
    struct sock_filter filter[] =
        {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {.len = 4, .filter = filter};

    (void)number;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return WRONG;
    return try_client(server_url(redis), SOON_MS);
}

CHECK_TEST(a_filter_may_refuse_getrandom)
{
    assert_int_equal(in_child(without_getrandom, 0), READY);
}

/* ---- the server ------------------------------------------------------------- */

static long refused_by_server(void)
{
    static const char begin[] = "rejected_connections:";
    char *info = server_string(redis, "INFO stats");
    const char *at = strstr(info, begin);
    long count = at != NULL ? strtol(at + sizeof(begin) - 1, NULL, 10) : 0;

    free(info);
    return count;
}

/* Whoever asks a second time has heard why it was refused. */
CHECK_TEST(a_full_server_is_named_as_such)
{
    long before = refused_by_server();
    lk_client *client = NULL;
    lk_status status;

    free(server_string(redis, "CONFIG SET maxclients 1"));
    assert_status(lk_client_open(&client, server_url(redis), NULL), LK_OK);
    assert_soon(refused_by_server() >= before + 2, SOON_MS);
    status = lk_client_wait_ready(client, wait_scaled_ms(300));
    free(server_string(redis, "CONFIG SET maxclients 1000"));
    assert_status(status, LK_ETIMEDOUT);
    assert_non_null(strstr(lk_last_error(), "limit of clients"));
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    lk_client_free(client);
}

/* ---- who we are ------------------------------------------------------------- */

CHECK_TEST(the_name_service_is_not_asked)
{
    const struct passwd *entry = getpwuid(geteuid());
    lk_client *client = NULL;
    char *record, wanted[80];

    if (entry != NULL)
        (void)snprintf(wanted, sizeof(wanted), "\n%s\n", entry->pw_name);
    else
        (void)snprintf(wanted, sizeof(wanted), "\n%u\n", (unsigned)geteuid());
    assert_status(lk_client_open(&client, server_url(redis), NULL), LK_OK);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    record =
        server_string(redis, "GET latchkey:client::%s", lk_client_id(client));
    assert_non_null(record);
    assert_non_null(strstr(record, wanted));
    free(record);
    lk_client_free(client);
}

CHECK_GROUP(one_server_start, one_server_stop)
