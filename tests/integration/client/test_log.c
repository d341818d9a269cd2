/* SPDX-License-Identifier: MIT */

/* What the log callback is told, and what it is never told. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000, MOST = 65536 };

/* All lines so far. Written by the client's threads. */
static struct {
    pthread_mutex_t mutex;
    char text[MOST];
    size_t used;
    int counts[LK_LOG_DEBUG + 1];
} book = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void note(lk_log_level level, const char *text, void *data)
{
    size_t size = strlen(text);

    (void)pthread_mutex_lock(&book.mutex);
    if (data == &book && book.used + size + 2 < MOST) {
        memcpy(book.text + book.used, text, size);
        book.used += size;
        book.text[book.used++] = '\n';
        book.counts[level]++;
    }
    (void)pthread_mutex_unlock(&book.mutex);
}

static int setup(void **state)
{
    memset(book.text, 0, sizeof(book.text));
    memset(book.counts, 0, sizeof(book.counts));
    book.used = 0;
    return locking_setup(state);
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, setup, locking_teardown)

static bool has_noted(const char *text)
{
    bool has;

    (void)pthread_mutex_lock(&book.mutex);
    has = strstr(book.text, text) != NULL;
    (void)pthread_mutex_unlock(&book.mutex);
    return has;
}

static bool is_noted(void *data)
{
    return has_noted(data);
}

static void wait_noted(char *text)
{
    if (!wait_until(is_noted, text, SOON_MS))
        fail_msg("the log has no \"%s\"", text);
}

static int count_of(lk_log_level level)
{
    int count;

    (void)pthread_mutex_lock(&book.mutex);
    count = book.counts[level];
    (void)pthread_mutex_unlock(&book.mutex);
    return count;
}

static lk_client_options logging(uint64_t level)
{
    return (lk_client_options){LK_CLIENT_OPTIONS_INIT, .log = note,
                               .log_data = &book, .log_level = level};
}

/* ---- what is told ---- */

TEST(a_lost_hold_is_an_error)
{
    const lk_client_options options = logging(LK_LOG_ERROR);
    lk_client *client = locking_open(f, &options);
    lk_hold *hold =
        locking_hold_for(locking_lock(f, client, "orders"), wait_scaled_ms(50));

    wait_noted((char[]){"orders"});
    assert_true(has_noted("is lost"));
    assert_true(has_noted(lk_client_id(client)));
    assert_int_equal(count_of(LK_LOG_ERROR), 1);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

TEST(connections_are_told_as_information)
{
    const lk_client_options options = logging(LK_LOG_INFO);

    locking_open(f, &options);
    wait_noted((char[]){"connection is ready"});
    assert_true(count_of(LK_LOG_INFO) >= 1);
    assert_int_equal(count_of(LK_LOG_ERROR), 0);
}

TEST(a_connection_that_is_lost_is_a_warning)
{
    const lk_client_options options = logging(LK_LOG_WARN);
    lk_client *client = locking_open(f, &options);

    freeReplyObject(server_command(f->server, "CLIENT KILL TYPE normal"));
    wait_noted((char[]){"connection:"});
    assert_int_equal(count_of(LK_LOG_WARN), 1);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
}

TEST(by_default_only_what_matters_is_told)
{
    const lk_client_options options = logging(0);
    lk_client *client = locking_open(f, &options);

    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_int_equal(count_of(LK_LOG_INFO), 0);
    assert_int_equal(count_of(LK_LOG_DEBUG), 0);
    assert_int_equal(book.used, 0);
}

TEST(a_line_has_no_newline)
{
    const lk_client_options options = logging(LK_LOG_DEBUG);
    lk_client *client = locking_open(f, &options);
    lk_hold *hold =
        locking_hold_for(locking_lock(f, client, "two\nlines\x1b[31m"),
                         wait_scaled_ms(50));
    int lines = 0;
    int calls = 0;

    wait_noted((char[]){"is lost"});
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    for (size_t i = 0; i < book.used; i++)
        lines += book.text[i] == '\n';
    for (int level = LK_LOG_ERROR; level <= LK_LOG_DEBUG; level++)
        calls += book.counts[level];
    assert_int_equal(lines, calls);
    assert_false(has_noted("\x1b"));
}

/* ---- what is never told ---- */

TEST(a_password_is_in_no_line_and_no_words)
{
    lk_client_options options = logging(LK_LOG_DEBUG);
    lk_client *client;
    lk_hold *none = NULL;

    options.user = "nobody";
    options.password = "hush-hush";
    client = locking_open_url(f, server_url(f->server), &options);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_EAUTH);
    assert_null(strstr(lk_last_error(), "hush"));
    assert_status(lk_lock_acquire(locking_lock(f, client, "n"), 500, NULL,
                                  &none),
                  LK_EAUTH);
    assert_null(strstr(lk_last_error(), "hush"));
    assert_true(book.used > 0);
    assert_false(has_noted("hush"));
}

/* It repeats what it does not know: a sentinel, a node of a cluster, and one that
   is alone. */
TEST(a_server_without_the_command_is_not_quoted)
{
    static const char *const begins[] = {"redis://app:hush-hush",
                                         "redis+sentinel://:hush-hush",
                                         "redis+cluster://app:hush-hush"};
    static const char *const ends[] = {"", "/m/0?sentinel_password=hush-hush",
                                       ""};
    char refuses[] = "refuses AUTH";
    const char *without[] = {"--rename-command", "AUTH", "gone", NULL};
    const lk_client_options options = logging(LK_LOG_DEBUG);
    server *redis = server_start_tcp(without);
    char url[128];

    assert_non_null(redis);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        lk_client *client;

        (void)snprintf(url, sizeof(url), "%s@127.0.0.1:%u%s", begins[i],
                       server_port(redis), ends[i]);
        client = locking_open_url(f, url, &options);
        assert_soon(lk_client_wait_ready(client, 0) != LK_OK &&
                        strstr(lk_last_error(), "AUTH") != NULL,
                    SOON_MS);
        assert_null(strstr(lk_last_error(), "hush"));
        wait_noted(refuses);
        assert_false(has_noted("hush"));
    }
    server_stop(redis);
}

TEST(a_password_that_is_right_is_told_neither)
{
    lk_client_options options = logging(LK_LOG_DEBUG);
    lk_client *client;

    freeReplyObject(server_command(
        f->server,
        "ACL SETUSER quiet on >hush-hush allkeys allchannels +@all"));
    options.user = "quiet";
    options.password = "hush-hush";
    client = locking_open(f, &options);
    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_true(book.used > 0);
    assert_false(has_noted("hush"));
}

CHECK_GROUP(locking_start_server, locking_stop_server)
