/* SPDX-License-Identifier: MIT */
#include "support/check.h"
#include "support/login.h"
#include "support/memory.h"
#include "support/scarce.h"
#include "support/wait.h"

/* ---- calls ----------------------------------------------------------------------- */

static lk_status do_make(scarce *st)
{
    void *other = NULL;
    lk_status status = st->kind->make(&other, &st->party->site, "other");

    st->kind->free(other);
    return status;
}

/* Nobody else has what it believes to have. */
static lk_status do_acquire(scarce *st)
{
    lk_hold *hold = NULL, *none = NULL;
    lk_status status = scarce_take(st, &hold);

    if (status != LK_OK)
        return status;
    (void)memory_lasts();
    if (st->kind->has_hold) {
        assert_status(lk_hold_check(hold), LK_OK);
        assert_status(st->kind->shut(st->rival->handle, 0, NULL, &none),
                      LK_EBUSY);
    }
    return scarce_give_back(st, hold);
}

static lk_status do_acquire_with_words(scarce *st)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms =
                                            st->kind->has_hold
                                                ? st->party->site.lease_ms
                                                : 0,
                                        .reason = "test"};
    lk_hold *hold = NULL;
    lk_status status =
        st->kind->acquire(st->party->handle, STAND_MS, &options, &hold);

    return status == LK_OK ? scarce_give_back(st, hold) : status;
}

static lk_status do_acquire_async(scarce *st)
{
    call c = {0};

    return scarce_took_async(st,
                             st->kind->acquire_async(st->party->handle,
                                                     STAND_MS, NULL,
                                                     call_on_acquire, &c),
                             &c);
}

/* Behind another client, which then leaves. */
static lk_status do_wait(scarce *st)
{
    call c = {0};
    lk_status status;

    scarce_shut(st);
    status = st->kind->acquire_async(st->party->handle, STAND_MS, NULL,
                                     call_on_acquire, &c);
    scarce_open(st);
    return scarce_took_async(st, status, &c);
}

static bool either_has_ended(void *data)
{
    call *c = data;

    return atomic_load(&c[0].ends) + atomic_load(&c[1].ends) > 0;
}

/* Two of this client: the second one may be handed what the first one has. */
static lk_status do_pass(scarce *st)
{
    call c[2] = {{0}};
    lk_status begun[2], status;
    int first;

    for (int i = 0; i < 2; i++)
        begun[i] = st->kind->acquire_async(st->party->handle, STAND_MS, NULL,
                                           call_on_acquire, &c[i]);
    if (begun[0] == LK_OK && begun[1] == LK_OK)
        assert_true(wait_until(either_has_ended, c, STAND_MS));
    first = atomic_load(&c[0].ends) > 0 ? 0 : 1;
    status = scarce_took_async(st, begun[first], &c[first]);
    return scarce_first_of(status, scarce_took_async(st, begun[1 - first],
                                                     &c[1 - first]));
}

/* A wait that is canceled ends so, or for want of memory. */
static lk_status do_cancel(scarce *st)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call c = {0};
    lk_status status;

    scarce_shut(st);
    status = lk_cancel_new(&options.cancel, st->party->site.clients[0]);
    if (status == LK_OK)
        status = st->kind->acquire_async(st->party->handle, STAND_MS, &options,
                                         call_on_acquire, &c);
    if (status == LK_OK) {
        lk_cancel_fire(options.cancel);
        status = call_wait(&c, NULL);
    }
    lk_cancel_free(options.cancel);
    return status == LK_ECANCELED ? LK_OK : status;
}

/* Where there is no memory to ask one server of several, the others may be too few. */
static lk_status extended(scarce *st, lk_status status)
{
    return status == LK_EINDOUBT && st->kind->servers > 1 ? LK_ENOMEM : status;
}

static lk_status do_extend(scarce *st)
{
    lk_hold *hold = NULL;
    lk_status status = scarce_take(st, &hold);

    if (status != LK_OK)
        return status;
    status = extended(st, lk_hold_extend(hold, st->party->site.lease_ms));
    return scarce_first_of(status, scarce_give_back(st, hold));
}

static lk_status do_extend_async(scarce *st)
{
    lk_hold *hold = NULL;
    call c = {0};
    lk_status status = scarce_take(st, &hold);

    if (status != LK_OK)
        return status;
    status =
        lk_hold_extend_async(hold, st->party->site.lease_ms, call_on_done, &c);
    status = extended(st, scarce_ended(status, &c));
    return scarce_first_of(status, scarce_give_back(st, hold));
}

static lk_status do_run(scarce *st)
{
    return scarce_told(
        st->kind->run(st->party->handle, STAND_MS, NULL, call_nothing, NULL));
}

/* Where there is none. */
static lk_status do_wait_for_replicas(scarce *st)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                        .replica_ms = 20};
    lk_hold *hold = NULL;
    lk_status status =
        st->kind->acquire(st->party->handle, STAND_MS, &options, &hold);

    return status == LK_EREPLICAS ? LK_OK : status;
}

static lk_status do_enter_again(scarce *st)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = NULL, *again = NULL;
    lk_status status = lk_owner_new(&options.owner, st->party->site.clients[0]);

    if (status == LK_OK)
        status =
            st->kind->acquire(st->party->handle, STAND_MS, &options, &hold);
    if (status == LK_OK) {
        status = st->kind->acquire(st->party->handle, 0, &options, &again);
        if (status == LK_OK)
            status = scarce_give_back(st, again);
        status = scarce_first_of(status, scarce_give_back(st, hold));
    }
    lk_owner_free(options.owner);
    return status;
}

/* ---- operators' calls ------------------------------------------------------------ */

/* It is told whole or not at all. */
static lk_status do_info(scarce *st)
{
    lk_info *info = NULL;
    lk_status status;

    scarce_shut(st);
    status = st->kind->info(st->party->handle, &info);
    assert_int_equal(status == LK_OK, info != NULL);
    if (info != NULL && st->kind->has_hold)
        assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    return status;
}

static lk_status do_ask(scarce *st)
{
    return st->kind->ask(st->party->handle);
}

static lk_status do_ask_async(scarce *st)
{
    call c = {0};

    return scarce_ended(st->kind->ask_async(st->party->handle, call_on_done,
                                            &c),
                        &c);
}

static lk_status do_info_async(scarce *st)
{
    call c = {0};
    lk_status status =
        scarce_ended(st->kind->info_async(st->party->handle, call_on_info, &c),
                     &c);

    lk_info_free(c.info);
    return status;
}

/* Nobody holds it. */
static lk_status not_held(lk_status status)
{
    return status == LK_ENOTHELD ? LK_OK : status;
}

static lk_status do_force(scarce *st)
{
    return not_held(st->kind->force(st->party->handle, NULL));
}

static lk_status do_force_async(scarce *st)
{
    call c = {0};

    return not_held(scarce_ended(st->kind->force_async(st->party->handle, NULL,
                                                       call_on_done, &c),
                                 &c));
}

/* ---- the end of a hold ------------------------------------------------------------ */

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    (void)remaining_ms;
    (void)data;
}

/* What was not exported is still held, and a text that was not imported is good for
   another import. What is told of a loss goes with the handle. */
static lk_status do_transfer(scarce *st)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    lk_status status = scarce_take(st, &hold), imported;

    if (status != LK_OK)
        return status;
    status = lk_hold_on_lost(hold, 0, on_lost, NULL);
    if (lk_hold_export(hold, text, sizeof(text)) != LK_OK) {
        assert_status(lk_hold_release(hold), LK_OK);
        return LK_ENOMEM;
    }
    imported = st->kind->import(st->rival->handle, text, NULL, &hold);
    status = scarce_first_of(status, imported);
    if (imported == LK_ENOMEM)
        imported = st->kind->import(st->rival->handle, text, NULL, &hold);
    assert_status(imported, LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

/* Of what is made of several one goes, and the others with it. */
static void lose(scarce *st)
{
    if (st->kind->is_joint && st->kind->key != NULL)
        (void)server_integer(st->stand->servers[0], "DEL %s", st->kind->key);
    else
        stand_flush(st->stand);
}

/* Whatever could not be had for it, a loss is told, and others come in at once. */
static lk_status do_lose(scarce *st)
{
    lk_hold *hold = NULL;
    lk_status status = scarce_take(st, &hold);

    (void)memory_lasts();
    if (status != LK_OK)
        return status;
    lose(st);
    assert_status(lk_hold_extend(hold, st->party->site.lease_ms), LK_ELOST);
    assert_status(lk_hold_check(hold), LK_ELOST);
    scarce_shut(st);
    assert_status(st->kind->release(st->party->handle, hold), LK_ELOST);
    return LK_OK;
}

/* ---- all of it ------------------------------------------------------------------- */

static lk_status do_visit(scarce *st)
{
    return st->kind->visit(st->party->handle, STAND_MS);
}

static const scarce_life usual = {.wait_ms = STAND_MS, .shutdown_ms = STAND_MS};

static lk_status do_live(scarce *st)
{
    return scarce_live(st, &usual);
}

/* With a connection, an inbox and a place of its own. */
static lk_status do_live_behind(scarce *st)
{
    scarce_shut(st);
    return scarce_live(st, &usual);
}

/* ---- which kinds they are for ---------------------------------------------------- */

static bool is_acquired(const kind *k)
{
    return k->acquire != NULL;
}

static bool has_visit(const kind *k)
{
    return k->visit != NULL;
}

/* A program's rights alone have no WAIT. */
static bool waits_for_replicas(const kind *k)
{
    return k->has_hold && k->servers == 1 && login_text()[0] == '\0';
}

static bool has_run(const kind *k)
{
    return k->run != NULL;
}

static bool reenters(const kind *k)
{
    return k->reenters;
}

static bool has_ask(const kind *k)
{
    return k->ask != NULL;
}

static bool has_info(const kind *k)
{
    return k->info != NULL;
}

static bool has_force(const kind *k)
{
    return k->force != NULL;
}

static bool has_import(const kind *k)
{
    return k->import != NULL;
}

const scarce_call scarce_calls[] = {
    {"make", do_make, NULL},
    {"visit", do_visit, has_visit},
    {"acquire", do_acquire, is_acquired},
    {"acquire with words", do_acquire_with_words, is_acquired},
    {"acquire async", do_acquire_async, is_acquired},
    {"wait", do_wait, is_acquired},
    {"pass", do_pass, is_acquired},
    {"cancel", do_cancel, is_acquired},
    {"extend", do_extend, stand_is_held},
    {"extend async", do_extend_async, stand_is_held},
    {"run", do_run, has_run},
    {"enter again", do_enter_again, reenters},
    {"ask", do_ask, has_ask},
    {"ask async", do_ask_async, has_ask},
    {"info", do_info, has_info},
    {"info async", do_info_async, has_info},
    {"force", do_force, has_force},
    {"force async", do_force_async, has_force},
    {"transfer", do_transfer, has_import},
    {"lose", do_lose, stand_is_held},
    {"replicas", do_wait_for_replicas, waits_for_replicas},
    {"live", do_live, NULL},
    {"live behind", do_live_behind, is_acquired},
};

const size_t scarce_count = sizeof(scarce_calls) / sizeof(scarce_calls[0]);
