/* SPDX-License-Identifier: MIT */

/*
 * Every system call fails that a client makes, with what the kernel may say to
 * it: one, and all of its sort from one on, in everything that programs do. A
 * slice of them; with LK_LONG each.
 */

#include <errno.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/shortage.h"

enum { ERRORS_MAX = 4, STEP = 24, SHARE = 7 };

/* How far a sort of call may fail for ever. */
typedef enum lasting { PASSES, LASTS } lasting;

static const struct {
    fail_point point;
    lasting lasting;
    int errors[ERRORS_MAX];
} calls[] = {
    {FAIL_SOCKET, LASTS, {EMFILE, ENOBUFS}},
    {FAIL_CONNECT, LASTS, {ECONNREFUSED, EAGAIN, EACCES}},
    {FAIL_CONNECT, PASSES, {EINTR}},
    {FAIL_RECV, LASTS, {ECONNRESET, ENOMEM}},
    {FAIL_RECV, PASSES, {EINTR, EAGAIN}},
    {FAIL_SEND, LASTS, {EPIPE, ENOBUFS}},
    {FAIL_SEND, PASSES, {EINTR, EAGAIN}},
    {FAIL_READ, PASSES, {EINTR, EAGAIN}},
    {FAIL_WRITE, PASSES, {EINTR}},
    {FAIL_EPOLL_CTL, LASTS, {ENOSPC, ENOMEM}},
    {FAIL_EPOLL_WAIT, PASSES, {EINTR}},
    {FAIL_EVENTFD, LASTS, {EMFILE, ENOMEM}},
    {FAIL_TIMER, LASTS, {EMFILE, ENOMEM}},
    {FAIL_RANDOM, LASTS, {ENOSYS, EPERM}},
    {FAIL_RANDOM, PASSES, {EINTR}},
    {FAIL_OPEN, LASTS, {EMFILE, EACCES}},
    {FAIL_FCNTL, LASTS, {EMFILE}},
    {FAIL_THREAD, LASTS, {EAGAIN}},
};

static void fail_each(bool forever)
{
    const bool is_long = getenv("LK_LONG") != NULL;
    unsigned wrong = 0, runs = 0;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        shortage_plan plan = {.point = calls[i].point,
                              .errors = calls[i].errors,
                              .forever = forever,
                              .step = is_long ? 1 : STEP,
                              .share = is_long ? 1 : SHARE};

        while (plan.error_count < ERRORS_MAX &&
               plan.errors[plan.error_count] != 0)
            plan.error_count++;
        if (!forever || calls[i].lasting == LASTS)
            wrong += shortage_run(server_url(redis), &plan, &runs);
    }
    print_message("%u runs\n", runs);
    assert_true(runs > shortage_scene_count);
    assert_int_equal(wrong, 0);
}

CHECK_TEST(one_call_fails)
{
    fail_each(false);
}

CHECK_TEST(all_calls_of_a_sort_fail_from_one_on)
{
    fail_each(true);
}

CHECK_GROUP(one_server_start, one_server_stop)
