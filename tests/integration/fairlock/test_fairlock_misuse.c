/* SPDX-License-Identifier: MIT */

/* The fair lock's calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/fairlocking.h"

/* A status and a word of what lk_last_error() says about it. */
static void assert_words(lk_status actual, lk_status expected, const char *word)
{
    assert_status(actual, expected);
    if (strstr(lk_last_error(), word) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", lk_last_error(), word);
}

static lk_status nothing(lk_hold *hold, void *data)
{
    (void)hold;
    (void)data;
    return LK_OK;
}

FAIR_TEST(a_fair_lock_that_is_null_is_refused)
{
    (void)f;
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    bool locked;
    call c = {0};

    assert_words(lk_fairlock_acquire(NULL, 0, NULL, &hold), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_acquire_async(NULL, 0, NULL, call_on_acquire, &c),
                 LK_EINVAL, "NULL");
    assert_words(lk_fairlock_run(NULL, 0, NULL, nothing, NULL), LK_EINVAL,
                 "NULL");
    assert_words(lk_fairlock_import(NULL, "", NULL, &hold), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_force_release(NULL), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_force_release_async(NULL, call_on_done, &c),
                 LK_EINVAL, "NULL");
    assert_words(lk_fairlock_is_locked(NULL, &locked), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_is_locked_async(NULL, call_on_locked, &c),
                 LK_EINVAL, "NULL");
    assert_words(lk_fairlock_info(NULL, &info), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_info_async(NULL, call_on_info, &c), LK_EINVAL,
                 "NULL");
    lk_fairlock_free(NULL);
    assert_int_equal(c.ends, 0);
}

FAIR_TEST(a_result_needs_a_place)
{
    lk_fairlock *lock = fair_lock_of_new_client(f);
    lk_client *client = f->base->clients[0];

    assert_words(lk_fairlock_new(NULL, client, "n", NULL), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_acquire(lock, 0, NULL, NULL), LK_EINVAL, "result");
    assert_words(lk_fairlock_acquire_async(lock, 0, NULL, NULL, NULL),
                 LK_EINVAL, "callback");
    assert_words(lk_fairlock_run(lock, 0, NULL, NULL, NULL), LK_EINVAL,
                 "function");
    assert_words(lk_fairlock_is_locked(lock, NULL), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_is_locked_async(lock, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_words(lk_fairlock_info(lock, NULL), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_info_async(lock, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_words(lk_fairlock_force_release_async(lock, NULL, NULL), LK_EINVAL,
                 "callback");
}

FAIR_TEST(options_that_are_wrong_are_refused)
{
    lk_client *client = locking_open(f->base, NULL);
    const lk_fairlock_options no_size = {.lease_ms = 5};
    const lk_fairlock_options too_long = {LK_FAIRLOCK_OPTIONS_INIT,
                                          .lease_ms = UINT64_MAX};
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = UINT64_MAX};
    lk_fairlock *none = NULL;
    lk_fairlock *lock = fair_lock(f, client);
    lk_hold *hold = NULL;

    assert_words(lk_fairlock_new(&none, client, "n", &no_size), LK_EINVAL,
                 "size");
    assert_words(lk_fairlock_new(&none, client, "n", &too_long), LK_EINVAL,
                 "lease");
    assert_words(lk_fairlock_new(&none, client, "", NULL), LK_EINVAL, "name");
    assert_words(lk_fairlock_new(&none, client, "a{b", NULL), LK_EINVAL, "'}'");
    assert_words(lk_fairlock_new(&none, NULL, "n", NULL), LK_EINVAL, "NULL");
    assert_words(lk_fairlock_acquire(lock, -2, NULL, &hold), LK_EINVAL,
                 "wait_ms");
    assert_words(lk_fairlock_acquire(lock, 0, &lease, &hold), LK_EINVAL,
                 "lease");
    assert_null(none);
    assert_null(hold);
}

/* A newer caller's options: known fields are zero beyond this release's. */
FAIR_TEST(options_of_a_later_release_are_taken_if_they_say_nothing)
{
    struct {
        lk_fairlock_options known;
        uint64_t later;
    } options = {.known = {.size = sizeof(options)}};
    lk_client *client = locking_open(f->base, NULL);
    lk_fairlock *lock = NULL;

    assert_status(lk_fairlock_new(&lock, client, "n", &options.known), LK_OK);
    lk_fairlock_free(lock);
    options.later = 1;
    assert_status(lk_fairlock_new(&lock, client, "n", &options.known),
                  LK_ENOTSUP);
}

FAIR_TEST(a_key_that_is_no_lock_is_refused)
{
    lk_fairlock *lock = fair_lock_of_new_client(f);
    lk_hold *none = NULL;

    freeReplyObject(server_command(f->base->server, "SET n text"));
    assert_words(lk_fairlock_acquire(lock, 1000, NULL, &none), LK_ETYPE,
                 "the key is not a lock");
    freeReplyObject(server_command(f->base->server, "DEL n"));
    freeReplyObject(server_command(f->base->server, "HSET n mode read"));
    assert_words(lk_fairlock_acquire(lock, 1000, NULL, &none), LK_ETYPE,
                 "the key is not a lock");
}

FAIR_TEST(an_export_of_another_kind_is_refused)
{
    lk_client *client = locking_open(f->base, NULL);
    lk_lock *plain = locking_lock(f->base, client, "n");
    lk_hold *hold = locking_hold(plain);
    char text[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_fairlock_import(fair_lock(f, client), text, NULL, &hold),
                  LK_EMISMATCH);
    assert_status(lk_fairlock_import(fair_lock_named(f, client, "m"), text,
                                     NULL, &hold),
                  LK_EMISMATCH);
    assert_status(lk_fairlock_import(fair_lock(f, client), "words", NULL,
                                     &hold),
                  LK_EINVAL);
    assert_status(lk_lock_import(plain, text, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

FAIR_TEST(a_client_that_is_shut_down_gives_nothing)
{
    lk_fairlock *lock = fair_lock_of_new_client(f);
    lk_hold *none = NULL;
    lk_info *info = NULL;
    bool locked;

    assert_status(lk_client_shutdown(f->base->clients[0], 1000), LK_OK);
    assert_status(lk_fairlock_acquire(lock, 0, NULL, &none), LK_ECLOSED);
    assert_status(lk_fairlock_info(lock, &info), LK_ECLOSED);
    assert_status(lk_fairlock_is_locked(lock, &locked), LK_ECLOSED);
    assert_status(lk_fairlock_force_release(lock), LK_ECLOSED);
}

/* In a child cmocka's ways end nowhere: it tells by how it ends. */
static void child_run(lk_fairlock *lock)
{
    lk_hold *none = NULL;
    call c = {0};
    bool good = lk_fairlock_acquire(lock, 0, NULL, &none) == LK_EFORKED &&
                lk_fairlock_acquire_async(lock, 0, NULL, call_on_acquire, &c) ==
                    LK_EFORKED &&
                lk_fairlock_force_release(lock) == LK_EFORKED;

    lk_fairlock_free(lock);
    if (!good)
        _exit(1);
    (void)raise(SIGKILL); /* so that no tool looks for leaks */
}

FAIR_TEST(a_child_has_nothing_of_its_parents)
{
    lk_fairlock *lock = fair_lock_of_new_client(f);
    lk_hold *hold = fair_hold(lock);
    taker *t = fair_queue_up(f, lock, 1);
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        child_run(lock);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
