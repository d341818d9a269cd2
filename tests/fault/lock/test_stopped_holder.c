/* SPDX-License-Identifier: MIT */

/*
 * A process that is stopped for longer than its lease is told why it lost what it
 * held: it stood still. One whose server does not answer is told that.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

/* Chosen before a process is forked, which has the same then. */
static uint64_t the_lease_ms(void)
{
    return wait_lease_ms();
}

/* What the process tells of itself. */
typedef struct report {
    lk_loss loss;
    lk_status status;
    char words[200];
} report;

/* Holds, says so, and tells of its loss when it is told to look. */
static int hold_and_look(int in, int out)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           the_lease_ms() * 3 / 10,
                                       .watchdog_ms = the_lease_ms()};
    report told = {.loss = LK_LOSS_NONE};
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    char byte = 'h';

    if (lk_client_open(&client, server_url(redis), &options) != LK_OK ||
        lk_lock_new(&lock, client, "n", NULL) != LK_OK ||
        lk_lock_acquire(lock, (int64_t)wait_limit_ms(SOON_MS), NULL, &hold) !=
            LK_OK ||
        write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
        return 1;
    told.loss = lk_hold_loss(hold);
    told.status = lk_hold_release(hold);
    (void)snprintf(told.words, sizeof(told.words), "%s", lk_last_error());
    lk_lock_free(lock);
    lk_client_free(client);
    return write(out, &told, sizeof(told)) == sizeof(told) ? 0 : 2;
}

typedef struct holder {
    pid_t pid;
    int to, from;
} holder;

static holder holder_start(void)
{
    int to[2], from[2];
    holder h;
    char byte;

    (void)the_lease_ms();
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    h.pid = fork();
    assert_true(h.pid >= 0);
    if (h.pid == 0)
        _exit(hold_and_look(to[0], from[1]));
    (void)close(to[0]);
    (void)close(from[1]);
    h.to = to[1];
    h.from = from[0];
    assert_int_equal(read(h.from, &byte, 1), 1);
    return h;
}

static report holder_report(const holder *h)
{
    report told;
    int status;

    assert_int_equal(write(h->to, "l", 1), 1);
    assert_int_equal(read(h->from, &told, sizeof(told)), sizeof(told));
    assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
    assert_int_equal(status, 0);
    (void)close(h->to);
    (void)close(h->from);
    return told;
}

static bool is_past(void *data)
{
    return wait_now_ms() >= *(uint64_t *)data;
}

static void assert_stood_still(const report *told)
{
    assert_int_equal(told->loss, LK_LOSS_STOPPED);
    assert_status(told->status, LK_ELOST);
    assert_non_null(strstr(told->words, "this process stood still"));
}

/* Until well past the end of its lease, as the server has it. */
FLUSHED_TEST(a_process_that_was_stopped_says_so)
{
    holder h = holder_start();
    uint64_t until;
    report told;

    assert_int_equal(kill(h.pid, SIGSTOP), 0);
    assert_soon(server_integer(redis, "EXISTS n") == 0, SOON_MS);
    until = wait_now_ms() + the_lease_ms();
    assert_true(wait_until(is_past, &until, SOON_MS));
    assert_int_equal(kill(h.pid, SIGCONT), 0);
    told = holder_report(&h);
    assert_stood_still(&told);
}

/* Stopped when it had asked for a longer lease already. False: that came too late. */
static bool is_stopped_within_its_lease(void)
{
    uint64_t begin = wait_now_ms(), asked = begin + the_lease_ms() / 2, until;
    holder h = holder_start();
    report told;
    bool is_in_time;

    server_freeze(redis);
    assert_true(wait_until(is_past, &asked, SOON_MS));
    assert_int_equal(kill(h.pid, SIGSTOP), 0);
    is_in_time = wait_now_ms() < begin + the_lease_ms();
    until = wait_now_ms() + 2 * the_lease_ms();
    assert_true(wait_until(is_past, &until, SOON_MS));
    assert_int_equal(kill(h.pid, SIGCONT), 0);
    told = holder_report(&h);
    server_thaw(redis);
    if (is_in_time)
        assert_stood_still(&told);
    return is_in_time;
}

FLUSHED_TEST(one_that_was_stopped_while_it_asked_says_so)
{
    while (!is_stopped_within_its_lease())
        (void)one_server_flush(NULL);
}

FLUSHED_TEST(one_whose_server_was_stopped_says_that)
{
    holder h = holder_start();
    uint64_t until = wait_now_ms() + 2 * the_lease_ms();
    report told;

    server_freeze(redis);
    assert_true(wait_until(is_past, &until, SOON_MS));
    told = holder_report(&h);
    server_thaw(redis);
    assert_unreachable(told.loss);
    assert_status(told.status, LK_ELOST);
    if (told.loss == LK_LOSS_UNREACHABLE)
        assert_non_null(strstr(told.words, "the server did not answer"));
}

CHECK_GROUP(one_server_start, one_server_stop)
