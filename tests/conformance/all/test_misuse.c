/* SPDX-License-Identifier: MIT */

/*
 * Every primitive where a call is wrong, or comes where it may not: it is refused by
 * the status that is promised, says why, asks the server nothing, and changes nothing.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/stand.h"
#include "support/wait.h"

enum { NAME_MOST = 512, OPTIONS_MOST = 256 };

/* A refusal by its own words, not those of the status alone. */
static void assert_refused(lk_status actual, lk_status expected)
{
    assert_status(actual, expected);
    if (strcmp(lk_last_error(), lk_status_text(expected)) == 0)
        fail_msg("nothing but \"%s\"", lk_last_error());
}

static void ignore_acquire(lk_status status, lk_hold *hold, void *data)
{
    (void)status;
    (void)hold;
    (void)data;
    fail_msg("a callback was called");
}

static void ignore_info(lk_status status, lk_info *info, void *data)
{
    (void)info;
    ignore_acquire(status, NULL, data);
}

static void ignore_done(lk_status status, void *data)
{
    ignore_acquire(status, NULL, data);
}

/* ---- each call ------------------------------------------------------------------- */

/* What each call of a row returns to a handle, or to its caller; none blocks for long,
   and none calls back. */
typedef void check(lk_status status, lk_status expected);

static void
each_acquire(const kind *k, void *handle, lk_status expected, check *is)
{
    lk_hold *hold = NULL;

    is(k->acquire(handle, 0, NULL, &hold), expected);
    is(k->acquire(handle, LK_FOREVER, NULL, &hold), expected);
    is(k->acquire_async(handle, 0, NULL, ignore_acquire, NULL), expected);
    if (k->run != NULL)
        is(k->run(handle, 0, NULL, call_nothing, NULL), expected);
    assert_null(hold);
}

static void
each_question(const kind *k, void *handle, lk_status expected, check *is)
{
    lk_info *info = NULL;
    int64_t left_ms;

    if (k->ask != NULL) {
        is(k->ask(handle), expected);
        is(k->ask_async(handle, ignore_done, NULL), expected);
    }
    if (k->info != NULL) {
        is(k->info(handle, &info), expected);
        is(k->info_async(handle, ignore_info, NULL), expected);
    }
    if (k->revoke != NULL)
        is(k->revoke(handle, "a:1", &left_ms), expected);
    if (k->force != NULL) {
        is(k->force(handle, NULL), expected);
        is(k->force_async(handle, NULL, ignore_done, NULL), expected);
    }
    assert_null(info);
}

static void
each_call(const kind *k, void *handle, lk_status expected, check *is)
{
    if (k->acquire != NULL)
        each_acquire(k, handle, expected, is);
    if (k->visit != NULL)
        is(k->visit(handle, 0), expected);
    each_question(k, handle, expected, is);
}

static void same_status(lk_status actual, lk_status expected)
{
    assert_status(actual, expected);
}

/* ---- NULL ------------------------------------------------------------------------ */

static void a_handle_that_is_null_is_refused(stand *s)
{
    const kind *k = s->kind;
    lk_hold *hold = NULL;

    each_call(k, NULL, LK_EINVAL, assert_refused);
    if (k->import != NULL)
        assert_refused(k->import(NULL, "text", NULL, &hold), LK_EINVAL);
    if (k->release != NULL && k->visit == NULL)
        assert_refused(k->release(NULL, NULL), LK_EINVAL);
    k->free(NULL);
}

static void a_result_and_a_callback_need_a_place(stand *s)
{
    const kind *k = s->kind;
    party *p = party_near(s, NULL);
    uint64_t commands = party_stats(p).commands;

    if (k->make_with != NULL)
        assert_refused(k->make_with(NULL, &p->site, STAND_NAME, NULL),
                       LK_EINVAL);
    if (k->has_hold)
        assert_refused(k->acquire(p->handle, 0, NULL, NULL), LK_EINVAL);
    if (k->acquire != NULL)
        assert_einval(k->acquire_async(p->handle, 0, NULL, NULL, NULL),
                      "callback");
    if (k->run != NULL)
        assert_einval(k->run(p->handle, 0, NULL, NULL, NULL), "function");
    if (k->ask != NULL)
        assert_einval(k->ask_async(p->handle, NULL, NULL), "callback");
    if (k->info != NULL) {
        assert_refused(k->info(p->handle, NULL), LK_EINVAL);
        assert_einval(k->info_async(p->handle, NULL, NULL), "callback");
    }
    if (k->force != NULL)
        assert_einval(k->force_async(p->handle, NULL, NULL, NULL), "callback");
    assert_int_equal(party_stats(p).commands, commands);
}

/* ---- names ------------------------------------------------------------------------ */

/* Braces are part of a redlock's name: each of its servers has all slots. */
static void a_name_that_cannot_be_is_refused(stand *s)
{
    static const char *const names[] = {"",    "latchkey:{n}:q",
                                        "{",   "}",
                                        "a{b", "a}b",
                                        "{}",  "{}a{b}",
                                        "}{"};
    const size_t count =
        s->kind->servers > 1 ? 2 : sizeof(names) / sizeof(*names);
    char longest[NAME_MOST + 2];
    const kind *k = s->kind;
    party *p = party_near(s, NULL);
    void *handle = NULL;

    for (size_t i = 0; i < count; i++)
        assert_einval(k->make(&handle, &p->site, names[i]), "name");
    if (k->make_with != NULL)
        assert_einval(k->make_with(&handle, &p->site, NULL, NULL), "name");
    memset(longest, 'n', NAME_MOST + 1);
    longest[NAME_MOST + 1] = '\0';
    assert_einval(k->make(&handle, &p->site, longest), "bytes");
    assert_null(handle);
}

static void a_client_that_is_null_is_refused(stand *s)
{
    const kind_site nowhere = {.lease_ms = 30000, .answer_ms = 400};
    void *handle = NULL;

    assert_refused(s->kind->make(&handle, &nowhere, STAND_NAME), LK_EINVAL);
    assert_null(handle);
}

/* ---- options ---------------------------------------------------------------------- */

static bool has_options(const kind *k)
{
    return k->make_with != NULL;
}

/* A primitive's options, with room for what a later release may add. */
typedef union options {
    size_t size;
    uint64_t words[OPTIONS_MOST / sizeof(uint64_t)];
} options;

static lk_status make_with(party *p, const options *given, size_t size)
{
    const kind *k = p->stand->kind;
    void *handle = NULL;
    options used = *given;
    lk_status status;

    used.size = size;
    status = k->make_with(&handle, &p->site, STAND_NAME, &used);
    assert_int_equal(status == LK_OK, handle != NULL);
    k->free(handle);
    return status;
}

/* Fields that this release does not know have to say nothing. */
static void options_that_are_not_understood_are_refused(stand *s)
{
    const kind *k = s->kind;
    party *p = party_near(s, NULL);
    options none = {.words = {0}}, time = none, later = none;
    size_t size = k->options_size;

    assert_true(size + sizeof(uint64_t) <= sizeof(none));
    time.words[k->time_at / sizeof(uint64_t)] = UINT64_MAX;
    later.words[size / sizeof(uint64_t)] = 1;
    assert_einval(make_with(p, &none, 0), "size");
    assert_einval(make_with(p, &none, 1), "size");
    assert_refused(make_with(p, &time, size), LK_EINVAL);
    assert_says(make_with(p, &later, size + sizeof(uint64_t)), LK_ENOTSUP,
                "release");
    assert_status(make_with(p, &none, size + sizeof(uint64_t)), LK_OK);
    assert_status(make_with(p, &none, size), LK_OK);
}

/* What an acquire is told. */
typedef struct told {
    lk_acquire_options known;
    uint64_t unknown; /* of a later release */
} told;

static lk_status acquire(party *p, int64_t wait_ms, const told *how)
{
    lk_hold *hold = NULL;
    lk_status status =
        p->stand->kind->acquire(p->handle, wait_ms,
                                how != NULL ? &how->known : NULL, &hold);

    if (status == LK_OK)
        assert_status(p->stand->kind->release(p->handle, hold), LK_OK);
    else
        assert_null(hold);
    return status;
}

static void an_acquire_that_cannot_be_is_refused(stand *s)
{
    party *p = party_near(s, NULL), *other = party_near(s, NULL);
    told size = {.known = {.size = 0}}, lease = {{LK_ACQUIRE_OPTIONS_INIT}, 0};
    told owner = lease, cancel = lease, later = lease;
    uint64_t commands;

    party_shut(p);
    party_open(p);
    commands = party_stats(p).commands;
    assert_einval(acquire(p, -2, NULL), "wait_ms");
    assert_einval(acquire(p, INT64_MIN, NULL), "wait_ms");
    assert_einval(acquire(p, INT64_MAX, NULL), "wait_ms");
    assert_einval(acquire(p, 0, &size), "size");
    size.known.size = offsetof(lk_acquire_options, replicas) - 1;
    assert_einval(acquire(p, 0, &size), "size");
    lease.known.lease_ms = UINT64_MAX;
    assert_einval(acquire(p, 0, &lease), "lease");
    later.known.size = sizeof(later);
    later.unknown = 1;
    assert_says(acquire(p, 0, &later), LK_ENOTSUP, "release");
    assert_status(lk_owner_new(&owner.known.owner, other->site.clients[0]),
                  LK_OK);
    assert_refused(acquire(p, 0, &owner), LK_EINVAL);
    lk_owner_free(owner.known.owner);
    assert_status(lk_cancel_new(&cancel.known.cancel, other->site.clients[0]),
                  LK_OK);
    assert_refused(acquire(p, 0, &cancel), LK_EINVAL);
    lk_cancel_free(cancel.known.cancel);
    assert_int_equal(party_stats(p).commands, commands);
    assert_int_equal(party_stats(p).waiting, 0);

    later.unknown = 0;
    assert_status(acquire(p, STAND_MS, &later), LK_OK);
}

/* Nothing is held: whatever speaks of a hold is a mistake. */
static bool holds_nothing(const kind *k)
{
    return k->acquire != NULL && !k->has_hold;
}

static void an_owner_or_a_lease_without_a_hold_is_refused(stand *s)
{
    party *p = party_near(s, NULL);
    told lease = {{LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 1000}, 0};
    told owner = {{LK_ACQUIRE_OPTIONS_INIT}, 0};

    assert_einval(acquire(p, 0, &lease), "lease");
    assert_status(lk_owner_new(&owner.known.owner, p->site.clients[0]), LK_OK);
    assert_einval(acquire(p, 0, &owner), "owner");
    lk_owner_free(owner.known.owner);
}

static void a_change_of_a_hold_that_cannot_be_is_refused(stand *s)
{
    party *p = party_near(s, NULL);
    uint64_t commands;

    party_acquire(p);
    commands = party_stats(p).commands;
    assert_einval(lk_hold_extend(p->hold, 0), "lease");
    assert_einval(lk_hold_extend(p->hold, UINT64_MAX), "lease");
    assert_einval(lk_hold_extend_async(p->hold, 0, ignore_done, NULL), "lease");
    assert_einval(lk_hold_extend_async(p->hold, 1000, NULL, NULL), "callback");
    assert_einval(lk_hold_on_lost(p->hold, UINT64_MAX, NULL, NULL),
                  "notice_ms");
    assert_int_equal(party_stats(p).commands, commands);
    party_assert_in(p);
    party_release(p);
    stand_is_clean(s);
}

/* ---- what the name is of ----------------------------------------------------------- */

static bool has_key(const kind *k)
{
    return k->key != NULL;
}

/* Blocking calls, which are answered by the server. */
static void each_answer(party *p, lk_status expected)
{
    const kind *k = p->stand->kind;
    lk_info *info = NULL;
    lk_hold *hold = NULL;

    if (k->acquire != NULL) {
        assert_refused(k->acquire(p->handle, 0, NULL, &hold), expected);
        assert_refused(k->acquire(p->handle, LK_FOREVER, NULL, &hold),
                       expected);
        assert_null(hold);
        party_begin(p, LK_FOREVER, NULL);
        assert_status(party_ends(p), expected);
        assert_null(p->hold);
        assert_string_equal(p->call.words, lk_last_error());
    }
    if (k->visit != NULL)
        assert_refused(k->visit(p->handle, STAND_MS), expected);
    if (k->info != NULL)
        assert_status(k->info(p->handle, &info), expected);
    if (k->force != NULL)
        assert_status(k->force(p->handle, NULL), expected);
    assert_null(info);
}

static void a_key_of_another_type_is_not_touched(stand *s)
{
    party *p = party_near(s, NULL);

    stand_flush(s);
    (void)server_integer(s->servers[0], "RPUSH %s text", s->kind->key);
    each_answer(p, LK_ETYPE);
    assert_int_equal(server_integer(s->servers[0], "LLEN %s", s->kind->key), 1);
}

static bool has_plain_key(const kind *k)
{
    return k->key != NULL && strcmp(k->key, STAND_NAME) == 0;
}

/* Shut, and of other calls than the party's. */
static void not_touched_where(party *p, const kind *k)
{
    void *other = NULL;
    lk_hold *hold = NULL;

    stand_flush(p->stand);
    assert_status(k->make(&other, &p->site, STAND_NAME), LK_OK);
    assert_status(k->shut(other, STAND_MS, NULL, &hold), LK_OK);
    each_answer(p, LK_ETYPE);
    if (k->has_hold)
        assert_status(lk_hold_check(hold), LK_OK);
    assert_status(k->open(other, hold), LK_OK);
    k->free(other);
}

static bool is_read_write(const kind *k)
{
    return k->history == HISTORY_RWLOCK;
}

/* A number is no hash, and a hash of a lock is none of a read-write lock. */
static void what_another_kind_has_is_not_touched(stand *s)
{
    const kind *k = s->kind;
    bool is_number = k->mode == HISTORY_PERMITS || k->history == HISTORY_LATCH;
    party *p = party_near(s, NULL);

    if (!is_number)
        not_touched_where(p, kinds[KIND_LATCH]);
    if (is_number || is_read_write(k))
        not_touched_where(p, kinds[KIND_LOCK]);
    if (!is_read_write(k))
        not_touched_where(p, kinds[KIND_READ]);
}

static void another_layout_is_not_touched(stand *s)
{
    party *p = party_near(s, NULL);

    stand_flush(s);
    stand_command(s, "SET latchkey:{n}:r x");
    each_answer(p, LK_EMISMATCH);
    assert_int_equal(server_integer(s->servers[0], "EXISTS %s", s->kind->key),
                     0);
}

/* ---- where a call may not come ------------------------------------------------------ */

static void a_client_that_is_shut_down_gives_nothing(stand *s)
{
    const kind *k = s->kind;
    party *p = party_near(s, NULL);
    lk_hold *hold = NULL;

    if (k->has_hold)
        party_acquire(p);
    for (unsigned i = 0; i < k->servers; i++)
        assert_status(lk_client_shutdown(p->site.clients[i], STAND_MS), LK_OK);
    each_call(k, p->handle, LK_ECLOSED, same_status);
    if (k->import != NULL)
        assert_status(k->import(p->handle, "text", NULL, &hold), LK_EINVAL);
    if (!k->has_hold)
        return;
    assert_status(lk_hold_check(p->hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(p->hold), LK_LOSS_CLOSED);
    assert_int_equal(lk_hold_remaining_ms(p->hold), 0);
    hold = p->hold;
    p->hold = NULL;
    assert_status(lk_hold_release(hold),
                  k->servers > 1 ? LK_ELOST : LK_ECLOSED);
    stand_is_clean(s);
}

/* In a child cmocka's ways end nowhere: it dies by a signal of its own. */
static void in_child(lk_status actual, lk_status expected)
{
    if (actual != expected)
        _exit(1);
}

static _Noreturn void child(party *p)
{
    const kind *k = p->stand->kind;
    lk_hold *hold = p->hold;

    each_call(k, p->handle, LK_EFORKED, in_child);
    if (k->has_hold) {
        in_child(lk_hold_check(hold), LK_EFORKED);
        in_child(lk_hold_extend(hold, 1000), LK_EFORKED);
        in_child(lk_hold_on_lost(hold, 0, NULL, NULL), LK_EFORKED);
        in_child(lk_hold_fd(hold) == -1 && lk_hold_remaining_ms(hold) == 0,
                 true);
        in_child(lk_hold_release(hold), LK_EFORKED);
    }
    k->free(p->handle);
    (void)raise(SIGKILL); /* so that no tool looks for leaks */
    _exit(1);
}

static void a_child_has_nothing_of_its_parents(stand *s)
{
    party *p = party_near(s, NULL), *waiter = party_near(s, NULL);
    int status = -1;
    pid_t pid;

    if (s->kind->acquire != NULL) {
        party_shut(p);
        party_queue(waiter);
    }
    pid = fork();
    if (pid == 0)
        child(p);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    if (s->kind->acquire == NULL)
        return;
    party_assert_in(p);
    party_open(p);
    assert_status(party_ends(waiter), LK_OK);
    party_release(waiter);
    stand_is_clean(s);
}

/* A callback stands where the answer would come. */
static void block(call *c)
{
    party *p = c->data;
    const kind *k = p->stand->kind;
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    lk_status status = LK_ECALLBACK;

    if (k->acquire != NULL)
        status = k->acquire(p->handle, 0, NULL, &hold);
    if (status == LK_ECALLBACK && k->visit != NULL)
        status = k->visit(p->handle, 0);
    if (status == LK_ECALLBACK && k->run != NULL)
        status = k->run(p->handle, 0, NULL, call_nothing, NULL);
    if (status == LK_ECALLBACK && k->ask != NULL)
        status = k->ask(p->handle);
    if (status == LK_ECALLBACK && k->info != NULL)
        status = k->info(p->handle, &info);
    if (status == LK_ECALLBACK && k->force != NULL)
        status = k->force(p->handle, NULL);
    if (status == LK_ECALLBACK && k->has_hold)
        status = lk_hold_extend(p->hold, 1000);
    if (status == LK_ECALLBACK)
        status = lk_client_shutdown(p->site.clients[0], 100);
    c->status = status;
}

static void a_callback_may_not_block(stand *s)
{
    for (uint64_t dispatch = 0; dispatch < 2; dispatch++) {
        const lk_client_options how = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = dispatch};
        party *p = party_near(s, &how);
        call c = {.act = block, .data = p};

        if (s->kind->has_hold)
            party_acquire(p);
        assert_status(lk_client_wait_ready_async(p->site.clients[0], STAND_MS,
                                                 call_on_done, &c),
                      LK_OK);
        assert_status(call_wait(&c, p->site.clients[0]), LK_ECALLBACK);
        if (s->kind->has_hold)
            party_release(p);
    }
}

/* ---- texts ------------------------------------------------------------------------- */

static bool is_imported(const kind *k)
{
    return k->import != NULL;
}

/* And stays good for its own. */
static void a_text_of_something_else_is_refused(stand *s)
{
    const kind *k = s->kind;
    party *p = party_near(s, NULL);
    char text[LK_EXPORT_SIZE];
    void *other = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    party_acquire(p);
    assert_status(lk_hold_export(p->hold, text, sizeof(text)), LK_OK);
    p->hold = NULL;
    assert_status(k->make(&other, &p->site, "other"), LK_OK);
    assert_status(k->import(other, text, NULL, &hold), LK_EMISMATCH);
    assert_status(k->import(p->handle, "words", NULL, &hold), LK_EINVAL);
    assert_status(lk_lock_new(&lock, p->site.clients[0], STAND_NAME, NULL),
                  LK_OK);
    if (k->history != HISTORY_LOCK)
        assert_status(lk_lock_import(lock, text, NULL, &hold), LK_EMISMATCH);
    assert_null(hold);
    assert_status(k->import(p->handle, text, NULL, &p->hold), LK_OK);
    party_release(p);
    lk_lock_free(lock);
    k->free(other);
    stand_is_clean(s);
}

int test_misuse(void)
{
    const stand_test tests[] = {
        STAND_TEST(a_handle_that_is_null_is_refused, stand_is_any),
        STAND_TEST(a_result_and_a_callback_need_a_place, stand_is_any),
        STAND_TEST(a_name_that_cannot_be_is_refused, stand_is_any),
        STAND_TEST(a_client_that_is_null_is_refused, stand_is_any),
        STAND_TEST(options_that_are_not_understood_are_refused, has_options),
        STAND_TEST(an_acquire_that_cannot_be_is_refused, NULL),
        STAND_TEST(an_owner_or_a_lease_without_a_hold_is_refused,
                   holds_nothing),
        STAND_TEST(a_change_of_a_hold_that_cannot_be_is_refused, stand_is_held),
        STAND_TEST(a_key_of_another_type_is_not_touched, has_key),
        STAND_TEST(what_another_kind_has_is_not_touched, has_plain_key),
        STAND_TEST(another_layout_is_not_touched, has_plain_key),
        STAND_TEST(a_client_that_is_shut_down_gives_nothing, stand_is_any),
        STAND_TEST(a_child_has_nothing_of_its_parents, stand_is_any),
        STAND_TEST(a_callback_may_not_block, stand_is_any),
        STAND_TEST(a_text_of_something_else_is_refused, is_imported),
    };

    return stand_run("misuse", tests, sizeof(tests) / sizeof(tests[0]));
}
