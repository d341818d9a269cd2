/* SPDX-License-Identifier: MIT */

/*
 * Allocations and system calls of the tool fail, one by one and all from one
 * on: it ends with a code of its table and with words, and what it was to run
 * has run if it says so. A slice of them; with LK_LONG each.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"
#include "shims/fail.h"
#include "support/check.h"
#include "support/paths.h"
#include "support/server.h"
#include "support/tool.h"

enum { AT_A_TIME = 12, STEP = 24, SHARE = 4, END_MS = 60000, ARGUMENTS = 10 };

/* What it is told, and what it says when all is well. */
typedef struct order {
    const char *arguments[ARGUMENTS];
    const char *says;
} order;

static const order orders[] = {
    {{"lock", "-w1", "a", "echo", "ran"}, "ran\n"},
    {{"lock", "--fair", "-w1", "f", "echo", "ran"}, "ran\n"},
    {{"lock", "-n", "held", "echo", "ran"}, ""}, /* 75 */
    {{"read", "-w1", "rw", "echo", "ran"}, "ran\n"},
    {{"write", "-w1", "rw2", "echo", "ran"}, "ran\n"},
    {{"semaphore", "-p2", "-w1", "s", "echo", "ran"}, "ran\n"},
    {{"leader", "-w1", "l", "echo", "ran"}, "ran\n"},
    {{"flight", "-w1", "k", "echo", "ran"}, "ran\n"},
    {{"latch", "arrive", "la", "2", "-t1s"}, ""},
    {{"latch", "wait", "open", "-w1"}, ""},
    {{"barrier", "-n1", "b", "-w1", "-t1s"}, ""},
    {{"acquire", "q", "-l1s", "-w2"}, "latchkey2 "},
    {{"ls"}, "held"},
    {{"ls", "--json"}, "\"held\""},
    {{"who", "held"}, "held"},
    {{"why", "held"}, "held"},
    {{"top", "-n1"}, "NAME"},
    {{"watch", "-n1", "-f0.5", "held"}, ""}, /* holds, or away */
    {{"metrics"}, "latchkey_up"},
    {{"doctor"}, ""},
    {{"config", "url"}, "unix:"},
    {{"config"}, "url"},
    {{"help", "lock"}, "usage"},
    {{"__complete", "latchkey", "who", "he"}, ""},
};

enum { ORDERS = sizeof(orders) / sizeof(orders[0]) };

static server *redis;
static char url[200];

/* ---- one run --------------------------------------------------------------------- */

typedef struct trial {
    const order *order;
    tool *tool; /* NULL: none */
    fail_point point;
    int error;
    unsigned n;
    bool forever;
    atomic_uint *count; /* of calls, in memory that is shared */
    int file;           /* the same */
    char fail[80], to[60];
    const char *variables[4];
} trial;

static void trial_new(trial *t)
{
    t->file = memfd_create("count", 0);
    assert_true(t->file >= 0);
    assert_int_equal(ftruncate(t->file, sizeof(*t->count)), 0);
    t->count = mmap(NULL, sizeof(*t->count), PROT_READ | PROT_WRITE, MAP_SHARED,
                    t->file, 0);
    assert_true(t->count != MAP_FAILED);
}

static void trial_start(trial *t)
{
    const tool_how how = {.url = url, .env = t->variables};

    atomic_store(t->count, 0);
    (void)snprintf(t->fail, sizeof(t->fail), "LK_FAIL=latchkey %s %u %d %d",
                   fail_word(t->point), t->n, t->forever ? 1 : 0, t->error);
    (void)snprintf(t->to, sizeof(t->to), "LK_FAIL_COUNT=/proc/%d/fd/%d",
                   (int)getpid(), t->file);
    t->variables[0] = "LD_PRELOAD=" LK_FAIL;
    t->variables[1] = t->fail;
    t->variables[2] = t->to;
    t->tool = tool_start_list(&how, t->order->arguments);
}

/* A command that is ended has its signal. */
static bool is_code(int code)
{
    static const int codes[] = {0,
                                1,
                                69,
                                70,
                                74,
                                75,
                                78,
                                126,
                                127,
                                CLI_SIGNAL + SIGTERM,
                                CLI_SIGNAL + SIGKILL};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (code == codes[i])
            return true;
    }
    return false;
}

/* NULL: all is well. */
static const char *judge(const trial *t, int code)
{
    bool may_be_silent = t->order->says[0] == '\0' ||
                         strcmp(t->order->arguments[0], "__complete") == 0;

    if (code == FAIL_ENDED_BY_LIBUV)
        return NULL;
    if (!is_code(code))
        return "an exit code that is none";
    if (code != 0 && tool_err(t->tool)[0] == '\0' && !may_be_silent)
        return "no words";
    if (code == 0 && strstr(tool_out(t->tool), t->order->says) == NULL)
        return "a success that is none";
    return NULL;
}

/* Whether the n-th call was made. */
static bool trial_end(trial *t, unsigned *ret_wrong)
{
    int code = tool_wait(t->tool, END_MS);
    const char *what = judge(t, code);

    if (what != NULL) {
        ++*ret_wrong;
        (void)fprintf(stderr,
                      "%s %s, %s %u%s, error %d: %s: %d\n out: %.200s\n err: "
                      "%.300s\n",
                      t->order->arguments[0],
                      t->order->arguments[1] != NULL ? t->order->arguments[1]
                                                     : "",
                      fail_word(t->point), t->n, t->forever ? " and on" : "",
                      t->error, what, code, tool_out(t->tool),
                      tool_err(t->tool));
    }
    tool_free(t->tool);
    t->tool = NULL;
    return atomic_load(t->count) >= t->n;
}

/* ---- all of them ------------------------------------------------------------------- */

/* One order, n after n. */
typedef struct series {
    unsigned next, wrong;
    bool is_over;
} series;

typedef struct round {
    fail_point point;
    int error;
    bool forever;
    unsigned step, share, runs, wrong;
    series series[ORDERS];
    trial trials[AT_A_TIME];
    unsigned of[AT_A_TIME]; /* whose trial it is */
} round;

static void trial_over(round *r, unsigned at)
{
    series *s = &r->series[r->of[at]];
    unsigned before = r->wrong;

    s->is_over |= !trial_end(&r->trials[at], &r->wrong);
    s->wrong += r->wrong - before;
    s->is_over |= s->wrong >= 3;
    r->runs++;
}

static void trial_begin(round *r, unsigned at, unsigned which)
{
    trial *t = &r->trials[at];

    if (t->tool != NULL)
        trial_over(r, at);
    if (r->series[which].is_over)
        return;
    r->of[at] = which;
    t->order = &orders[which];
    t->point = r->point;
    t->error = r->error;
    t->forever = r->forever;
    t->n = r->series[which].next;
    r->series[which].next += r->step;
    trial_start(t);
}

static bool is_round_over(const round *r)
{
    for (unsigned i = 0; i < ORDERS; i++) {
        if (!r->series[i].is_over)
            return false;
    }
    return true;
}

static void round_run(round *r)
{
    unsigned at = 0;

    for (unsigned i = 0; i < ORDERS; i++)
        r->series[i] =
            (series){.next = 1 + i % r->step,
                     .is_over = (i + (unsigned)r->point) % r->share != 0};
    while (!is_round_over(r)) {
        for (unsigned i = 0; i < ORDERS; i++) {
            if (!r->series[i].is_over)
                trial_begin(r, at++ % AT_A_TIME, i);
        }
    }
    for (unsigned i = 0; i < AT_A_TIME; i++) {
        if (r->trials[i].tool != NULL)
            trial_over(r, i);
    }
}

static round all;

static void fail_each(fail_point point, int error, bool forever)
{
    all.point = point;
    all.error = error;
    all.forever = forever;
    all.step = getenv("LK_LONG") != NULL ? 1 : STEP;
    all.share = getenv("LK_LONG") != NULL ? 1 : SHARE;
    all.runs = all.wrong = 0;
    round_run(&all);
    print_message("%s, error %d%s: %u runs, %u wrong\n", fail_word(point),
                  error, forever ? ", for ever" : "", all.runs, all.wrong);
}

/* Fails the sends of a run under a lock, n after n. */
static void fail_sends(int error, bool forever)
{
    trial *t = &all.trials[0];
    unsigned wrong = 0;
    int code;

    *t = (trial){.order = &orders[0],
                 .point = FAIL_SEND,
                 .error = error,
                 .forever = forever,
                 .count = t->count,
                 .file = t->file};
    do {
        t->n++;
        (void)server_integer(redis, "DEL a"); /* of one that could not end it */
        trial_start(t);
        code = tool_wait(t->tool, END_MS);
        if (code == CLI_LOST)
            print_message("send %u: %s", t->n, tool_err(t->tool));
        assert_int_not_equal(code, CLI_LOST);
    } while (trial_end(t, &wrong));
    assert_int_equal(wrong, 0);
    assert_int_equal(code, 0); /* none failed */
}

/* Whatever it is that it cannot be told: nothing is run that nobody guards, and
   nothing stands for ever. */
CHECK_TEST(a_guardian_that_cannot_be_told)
{
    fail_sends(ENOBUFS, false);
    fail_sends(ENOBUFS, true);
    fail_sends(EPIPE, false);
    fail_sends(EPIPE, true);
}

CHECK_TEST(memory)
{
    fail_each(FAIL_MEMORY, ENOMEM, false);
    assert_int_equal(all.wrong, 0);
    fail_each(FAIL_MEMORY, ENOMEM, true);
    assert_int_equal(all.wrong, 0);
}

CHECK_TEST(system_calls)
{
    static const struct {
        fail_point point;
        int error;
        bool may_last;
    } calls[] = {
        {FAIL_SOCKET, EMFILE, true},    {FAIL_CONNECT, ECONNREFUSED, true},
        {FAIL_RECV, ECONNRESET, true},  {FAIL_SEND, EPIPE, true},
        {FAIL_READ, EINTR, false},      {FAIL_WRITE, EINTR, false},
        {FAIL_EPOLL_CTL, ENOSPC, true}, {FAIL_EPOLL_WAIT, EINTR, false},
        {FAIL_EVENTFD, EMFILE, true},   {FAIL_TIMER, EMFILE, true},
        {FAIL_RANDOM, ENOSYS, true},    {FAIL_OPEN, EMFILE, true},
        {FAIL_FCNTL, EMFILE, true},     {FAIL_THREAD, EAGAIN, true},
        {FAIL_FORK, EAGAIN, true},
    };
    unsigned wrong = 0;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        fail_each(calls[i].point, calls[i].error, false);
        wrong += all.wrong;
        if (calls[i].may_last)
            fail_each(calls[i].point, calls[i].error, true);
        wrong += calls[i].may_last ? all.wrong : 0;
    }
    assert_int_equal(wrong, 0);
}

/* ---- what is there ---------------------------------------------------------------- */

static int start(NO_STATE)
{
    const tool_how how = {.url = url};

    redis = server_start(NULL);
    if (redis == NULL)
        return -1;
    (void)snprintf(url, sizeof(url),
                   "%s?watchdog_ms=5000&connect_timeout_ms=300"
                   "&command_timeout_ms=300&offline_ms=300",
                   server_url(redis));
    for (size_t i = 0; i < AT_A_TIME; i++)
        trial_new(&all.trials[i]);
    return tool_code(&how, "acquire", "held", "-l1h", NULL) == 0 &&
                   tool_code(&how, "latch", "set", "open", "1", NULL) == 0 &&
                   tool_code(&how, "latch", "down", "open", NULL) == 0
               ? 0
               : -1;
}

static int stop(NO_STATE)
{
    tool_free_all();
    server_stop(redis);
    return 0;
}

CHECK_GROUP(start, stop)
