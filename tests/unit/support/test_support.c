/* SPDX-License-Identifier: MIT */

/* The fixtures themselves: waiting, directories, servers. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/scratch.h"
#include "support/server.h"
#include "support/socket.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    SOON_MS = 5000,
    SHORTEST_MS = 2000 /* of what is a deadline, and no window */
};

static int start_server(void **state)
{
    *state = server_start(NULL);
    return *state != NULL ? 0 : -1;
}

static int stop_server(void **state)
{
    server_stop(*state);
    return 0;
}

static int empty_server(void **state)
{
    server_flush(*state);
    return 0;
}

/* ---- waiting ---- */

static bool is_third_time(void *data)
{
    return ++*(int *)data == 3;
}

static bool is_never(void *data)
{
    (void)data;
    return false;
}

static void a_wait_ends_when_its_condition_comes_true(NO_STATE)
{
    int asked = 0;

    assert_true(wait_until(is_third_time, &asked, SOON_MS));
    assert_int_equal(asked, 3);
}

static void a_wait_ends_at_its_deadline(NO_STATE)
{
    uint64_t start = wait_now_ms();
    unsigned least = wait_scaled_ms(20);

    assert_false(wait_until(is_never, NULL, 20));
    assert_true(wait_now_ms() - start >= least);
}

typedef struct standstill {
    int asked;
    unsigned ms;
} standstill;

/* As long as nothing ran, the first time. */
static bool is_third_time_after(void *data)
{
    standstill *s = data;

    if (s->asked == 0)
        (void)poll(NULL, 0, (int)s->ms);
    return ++s->asked == 3;
}

/* Of a machine, say, that was stopped as a whole. */
static void a_deadline_outlasts_a_standstill(NO_STATE)
{
    standstill longer = {.ms = wait_scaled_ms(SHORTEST_MS) + 100};

    assert_true(wait_until(is_third_time_after, &longer, SHORTEST_MS));
}

/* What may happen after it is not waited for. */
static void a_window_ends_with_a_standstill(NO_STATE)
{
    standstill longer = {.ms = wait_scaled_ms(20) + 100};

    assert_false(wait_until(is_third_time_after, &longer, 20));
}

static void deadlines_grow_on_a_slow_run(NO_STATE)
{
    const char *before = getenv("LK_TEST_SLOW");
    char kept[32] = "1";

    if (before != NULL)
        (void)snprintf(kept, sizeof(kept), "%s", before);
    assert_int_equal(setenv("LK_TEST_SLOW", "nonsense", 1), 0);
    assert_int_equal(wait_scaled_ms(100), 100);
    assert_int_equal(setenv("LK_TEST_SLOW", "2.5", 1), 0);
    assert_int_equal(wait_scaled_ms(100), 250);
    assert_int_equal(setenv("LK_TEST_SLOW", kept, 1), 0);
}

/* ---- directories ---- */

static void a_scratch_directory_is_private_and_removed(NO_STATE)
{
    scratch *s = scratch_new();
    char path[64];
    struct stat info;

    assert_non_null(s);
    (void)snprintf(path, sizeof(path), "%s", scratch_path(s));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    scratch_free(s);
    assert_int_equal(access(path, F_OK), -1);
}

/* What a program that will be killed tells of its server. */
typedef struct started {
    pid_t pid;
    char socket[108];
} started;

static int start_and_hang(worker_shared *shared, unsigned index, void *data)
{
    started told = {0};
    server *s = server_start(NULL);

    (void)shared;
    (void)index;
    if (s == NULL)
        return 1;
    told.pid = server_pid(s);
    (void)snprintf(told.socket, sizeof(told.socket), "%s", server_socket(s));
    (void)!write(*(int *)data, &told, sizeof(told));
    (void)pause();
    return 0;
}

/* A dead process that nobody waited for yet has no command line. */
static bool is_gone(void *data)
{
    const started *told = data;
    char path[64];
    FILE *file;
    int first;

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)told->pid);
    file = fopen(path, "re");
    first = file != NULL ? fgetc(file) : EOF;
    if (file != NULL)
        (void)fclose(file);
    return first == EOF && access(told->socket, F_OK) != 0;
}

static void a_killed_program_leaves_no_server_behind(NO_STATE)
{
    int ends[2];
    started told;
    workers *w;

    assert_int_equal(pipe(ends), 0);
    w = workers_start(1, start_and_hang, &ends[1]);
    assert_non_null(w);
    assert_int_equal(read(ends[0], &told, sizeof(told)), sizeof(told));
    assert_false(is_gone(&told));
    workers_kill(w, 0, SIGKILL);
    assert_true(wait_until(is_gone, &told, SOON_MS));
    workers_free(w);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- servers ---- */

static void assert_config(server *s, const char *name, const char *expected)
{
    redisReply *reply = server_command(s, "CONFIG GET %s", name);

    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[1]->str, expected);
    freeReplyObject(reply);
}

static void a_server_keeps_to_itself(void **state)
{
    server *s = *state;

    assert_config(s, "port", "0");
    assert_config(s, "save", "");
    assert_config(s, "appendonly", "no");
    assert_config(s, "maxmemory-policy", "noeviction");
    assert_int_equal(server_port(s), 0);
}

static void extra_arguments_win(NO_STATE)
{
    const char *const args[] = {"--maxmemory-policy", "allkeys-lru", NULL};
    server *s = server_start(args);

    assert_non_null(s);
    assert_config(s, "maxmemory-policy", "allkeys-lru");
    server_stop(s);
}

static void a_server_that_does_not_start_is_no_server(NO_STATE)
{
    const char *const args[] = {"--databases", "none", NULL};

    assert_null(server_start(args));
}

static void a_server_may_have_a_tcp_port(NO_STATE)
{
    server *s = server_start_tcp(NULL);
    redisContext *redis;

    assert_non_null(s);
    redis = redisConnect("127.0.0.1", server_port(s));
    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    redisFree(redis);
    server_stop(s);
}

/* As of any other program, which asks for nothing that is somebody's. */
static int bind_plainly(uint16_t port)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result;

    assert_true(fd >= 0);
    result = bind(fd, (const struct sockaddr *)&at, sizeof(at));
    (void)close(fd);
    return result;
}

static void a_server_that_is_gone_keeps_its_port(NO_STATE)
{
    server *s = server_start_tcp(NULL);

    assert_non_null(s);
    server_kill(s);
    assert_int_equal(bind_plainly(server_port(s)), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_true(server_restart(s));
    server_stop(s);
}

static void commands_answer_by_kind(void **state)
{
    server *s = *state;
    redisReply *reply = server_command(s, "INCR %s %d", "a", 1);
    char *string = server_string(s, "SET %b 12", "a", (size_t)1);

    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_string_equal(string, "OK");
    assert_int_equal(server_integer(s, "INCR a"), 13);
    assert_null(server_string(s, "GET b"));
    freeReplyObject(reply);
    free(string);
}

static void a_frozen_server_answers_when_it_is_thawed(void **state)
{
    server *s = *state;
    char reply[8] = "";
    int fd = socket_connect_unix(server_socket(s));

    assert_true(fd >= 0);
    server_freeze(s);
    server_freeze(s);
    assert_int_equal(send(fd, "PING\r\n", 6, 0), 6);
    assert_false(wait_until(is_never, NULL, 20));
    assert_int_equal(recv(fd, reply, sizeof(reply), 0), -1);
    server_thaw(s);
    assert_int_equal(poll(&(struct pollfd){fd, POLLIN, 0}, 1, SOON_MS), 1);
    assert_int_equal(recv(fd, reply, sizeof(reply), 0), 7);
    (void)close(fd);
}

static void a_restarted_server_is_empty_and_in_the_same_place(NO_STATE)
{
    server *s = server_start_tcp(NULL);
    uint16_t port = server_port(s);
    pid_t pid = server_pid(s);

    assert_int_equal(server_integer(s, "INCR a"), 1);
    server_kill(s);
    assert_int_equal(server_pid(s), 0);
    assert_int_equal(socket_connect_unix(server_socket(s)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_true(server_restart(s));
    assert_int_not_equal(server_pid(s), pid);
    assert_int_equal(server_port(s), port);
    assert_int_equal(server_integer(s, "INCR a"), 1);
    server_stop(s);
}

static void a_server_that_died_frozen_can_be_stopped(NO_STATE)
{
    server *s = server_start(NULL);

    server_freeze(s);
    (void)kill(server_pid(s), SIGKILL);
    server_thaw(s);
    assert_int_equal(server_pid(s), 0);
    server_stop(s);
}

int test_support(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_ends_when_its_condition_comes_true),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_deadline_outlasts_a_standstill),
        cmocka_unit_test(a_window_ends_with_a_standstill),
        cmocka_unit_test(deadlines_grow_on_a_slow_run),
        cmocka_unit_test(a_scratch_directory_is_private_and_removed),
        cmocka_unit_test(a_killed_program_leaves_no_server_behind),
        cmocka_unit_test(a_server_keeps_to_itself),
        cmocka_unit_test(extra_arguments_win),
        cmocka_unit_test(a_server_that_does_not_start_is_no_server),
        cmocka_unit_test(a_server_may_have_a_tcp_port),
        cmocka_unit_test(a_server_that_is_gone_keeps_its_port),
        cmocka_unit_test_setup(commands_answer_by_kind, empty_server),
        cmocka_unit_test_setup(a_frozen_server_answers_when_it_is_thawed,
                               empty_server),
        cmocka_unit_test(a_restarted_server_is_empty_and_in_the_same_place),
        cmocka_unit_test(a_server_that_died_frozen_can_be_stopped),
    };

    return cmocka_run_group_tests_name("support", tests, start_server,
                                       stop_server);
}
