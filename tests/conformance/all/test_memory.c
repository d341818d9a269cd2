/* SPDX-License-Identifier: MIT */

/*
 * Every primitive out of memory: each call with the n-th allocation failing, for
 * each n until there is none left to fail. A call does what it should, or says that
 * there is no memory; whoever believes in a hold has it; and nothing is left behind.
 * What leaks or crashes is seen by the builds with sanitizers and by Valgrind.
 */

#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/stand.h"
#include "support/wait.h"

enum { ENDS_MS = 1800, STEP = 3, LEASE_MS = 30000 };

typedef struct stage stage;

/* Returns LK_OK or LK_ENOMEM, and leaves the name free. */
typedef lk_status act(stage *st);

/* What the calls are made on, and somebody else who wants the name. */
struct stage {
    stand *stand;
    const kind *kind;
    party *party, *rival;
    bool is_shut; /* by the rival */
    act *act;     /* what is tried */
};

/* What the rival does needs no luck. */
static void shut(stage *st)
{
    memory_pause(true);
    party_shut(st->rival);
    st->is_shut = true;
    memory_pause(false);
}

static void open_again(stage *st)
{
    memory_pause(true);
    if (st->is_shut)
        party_open(st->rival);
    st->is_shut = false;
    memory_pause(false);
}

/* ---- steps ----------------------------------------------------------------------- */

static lk_status take(stage *st, lk_hold **ret_hold)
{
    return st->kind->acquire(st->party->handle, STAND_MS, NULL, ret_hold);
}

/* What could not be told for want of memory is done all the same. */
static lk_status told(lk_status status)
{
    return status == LK_EPENDING ? LK_ENOMEM : status;
}

/* A hold ends whatever a release returns. Of a permit that nobody holds a release that
   has no memory has not begun. */
static lk_status returned(const kind *k, void *handle, lk_hold *hold)
{
    lk_status status = k->release(handle, hold);

    if (status == LK_ENOMEM && !k->has_hold) {
        (void)memory_lasts();
        assert_status(k->release(handle, NULL), LK_OK);
    }
    return told(status);
}

static lk_status give_back(stage *st, lk_hold *hold)
{
    return returned(st->kind, st->party->handle, hold);
}

static lk_status first_of(lk_status status, lk_status then)
{
    return status == LK_OK ? then : status;
}

/* The end of a call that has begun. */
static lk_status ended(lk_status begun, call *c)
{
    return begun == LK_OK ? call_wait(c, NULL) : begun;
}

/* A release that has no memory has not begun. */
static lk_status give_back_async(stage *st, lk_hold *hold)
{
    call c = {0};
    lk_status status;

    if (st->kind->release_async == NULL)
        return give_back(st, hold);
    status = st->kind->release_async(st->party->handle, hold, call_on_done, &c);
    if (status == LK_ENOMEM)
        return first_of(give_back(st, hold), LK_ENOMEM);
    return told(ended(status, &c));
}

static lk_status took_async(stage *st, lk_status begun, call *c)
{
    lk_status status = ended(begun, c);

    return status == LK_OK ? give_back_async(st, c->hold) : status;
}

/* ---- calls ----------------------------------------------------------------------- */

static lk_status do_make(stage *st)
{
    void *other = NULL;
    lk_status status = st->kind->make(&other, &st->party->site, "other");

    st->kind->free(other);
    return status;
}

/* Nobody else has what it believes to have. */
static lk_status do_acquire(stage *st)
{
    lk_hold *hold = NULL, *none = NULL;
    lk_status status = take(st, &hold);

    if (status != LK_OK)
        return status;
    (void)memory_lasts();
    if (st->kind->has_hold) {
        assert_status(lk_hold_check(hold), LK_OK);
        assert_status(st->kind->shut(st->rival->handle, 0, NULL, &none),
                      LK_EBUSY);
    }
    return give_back(st, hold);
}

static lk_status do_acquire_with_words(stage *st)
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

    return status == LK_OK ? give_back(st, hold) : status;
}

static lk_status do_acquire_async(stage *st)
{
    call c = {0};

    return took_async(st,
                      st->kind->acquire_async(st->party->handle, STAND_MS, NULL,
                                              call_on_acquire, &c),
                      &c);
}

/* Behind another client, which then leaves. */
static lk_status do_wait(stage *st)
{
    call c = {0};
    lk_status status;

    shut(st);
    status = st->kind->acquire_async(st->party->handle, STAND_MS, NULL,
                                     call_on_acquire, &c);
    open_again(st);
    return took_async(st, status, &c);
}

static bool either_has_ended(void *data)
{
    call *c = data;

    return atomic_load(&c[0].ends) + atomic_load(&c[1].ends) > 0;
}

/* Two of this client: the second one may be handed what the first one has. */
static lk_status do_pass(stage *st)
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
    status = took_async(st, begun[first], &c[first]);
    return first_of(status, took_async(st, begun[1 - first], &c[1 - first]));
}

/* A wait that is canceled ends so, or for want of memory. */
static lk_status do_cancel(stage *st)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call c = {0};
    lk_status status;

    shut(st);
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
static lk_status extended(stage *st, lk_status status)
{
    return status == LK_EINDOUBT && st->kind->servers > 1 ? LK_ENOMEM : status;
}

static lk_status do_extend(stage *st)
{
    lk_hold *hold = NULL;
    lk_status status = take(st, &hold);

    if (status != LK_OK)
        return status;
    status = extended(st, lk_hold_extend(hold, st->party->site.lease_ms));
    return first_of(status, give_back(st, hold));
}

static lk_status do_extend_async(stage *st)
{
    lk_hold *hold = NULL;
    call c = {0};
    lk_status status = take(st, &hold);

    if (status != LK_OK)
        return status;
    status =
        lk_hold_extend_async(hold, st->party->site.lease_ms, call_on_done, &c);
    status = extended(st, ended(status, &c));
    return first_of(status, give_back(st, hold));
}

static lk_status do_run(stage *st)
{
    return told(
        st->kind->run(st->party->handle, STAND_MS, NULL, call_nothing, NULL));
}

/* Where there is none. */
static lk_status do_wait_for_replicas(stage *st)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                        .replica_ms = 20};
    lk_hold *hold = NULL;
    lk_status status =
        st->kind->acquire(st->party->handle, STAND_MS, &options, &hold);

    return status == LK_EREPLICAS ? LK_OK : status;
}

static lk_status do_enter_again(stage *st)
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
            status = give_back(st, again);
        status = first_of(status, give_back(st, hold));
    }
    lk_owner_free(options.owner);
    return status;
}

/* ---- operators' calls ------------------------------------------------------------ */

/* It is told whole or not at all. */
static lk_status do_info(stage *st)
{
    lk_info *info = NULL;
    lk_status status;

    shut(st);
    status = st->kind->info(st->party->handle, &info);
    assert_int_equal(status == LK_OK, info != NULL);
    if (info != NULL && st->kind->has_hold)
        assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    return status;
}

static lk_status do_ask(stage *st)
{
    return st->kind->ask(st->party->handle);
}

static lk_status do_ask_async(stage *st)
{
    call c = {0};

    return ended(st->kind->ask_async(st->party->handle, call_on_done, &c), &c);
}

static lk_status do_info_async(stage *st)
{
    call c = {0};
    lk_status status =
        ended(st->kind->info_async(st->party->handle, call_on_info, &c), &c);

    lk_info_free(c.info);
    return status;
}

/* Nobody holds it. */
static lk_status not_held(lk_status status)
{
    return status == LK_ENOTHELD ? LK_OK : status;
}

static lk_status do_force(stage *st)
{
    return not_held(st->kind->force(st->party->handle, NULL));
}

static lk_status do_force_async(stage *st)
{
    call c = {0};

    return not_held(
        ended(st->kind->force_async(st->party->handle, NULL, call_on_done, &c),
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
static lk_status do_transfer(stage *st)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    lk_status status = take(st, &hold), imported;

    if (status != LK_OK)
        return status;
    status = lk_hold_on_lost(hold, 0, on_lost, NULL);
    if (lk_hold_export(hold, text, sizeof(text)) != LK_OK) {
        assert_status(lk_hold_release(hold), LK_OK);
        return LK_ENOMEM;
    }
    imported = st->kind->import(st->rival->handle, text, NULL, &hold);
    status = first_of(status, imported);
    if (imported == LK_ENOMEM)
        imported = st->kind->import(st->rival->handle, text, NULL, &hold);
    assert_status(imported, LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

/* Of what is made of several one goes, and the others with it. */
static void lose(stage *st)
{
    if (st->kind->is_joint && st->kind->key != NULL)
        (void)server_integer(st->stand->servers[0], "DEL %s", st->kind->key);
    else
        stand_flush(st->stand);
}

/* Whatever could not be had for it, a loss is told, and others come in at once. */
static lk_status do_lose(stage *st)
{
    lk_hold *hold = NULL;
    lk_status status = take(st, &hold);

    (void)memory_lasts();
    if (status != LK_OK)
        return status;
    lose(st);
    assert_status(lk_hold_extend(hold, st->party->site.lease_ms), LK_ELOST);
    assert_status(lk_hold_check(hold), LK_ELOST);
    shut(st);
    assert_status(st->kind->release(st->party->handle, hold), LK_ELOST);
    return LK_OK;
}

/* ---- all of it ------------------------------------------------------------------- */

static lk_status do_visit(stage *st)
{
    return st->kind->visit(st->party->handle, STAND_MS);
}

/* How a life goes: NULL options are a client's own. */
typedef struct life {
    const lk_client_options *options;
    int64_t wait_ms, shutdown_ms;
} life;

static const life usual = {.wait_ms = STAND_MS, .shutdown_ms = STAND_MS};

static lk_status open_all(stage *st, kind_site *site, const life *l)
{
    lk_status status = LK_OK;

    for (unsigned i = 0; i < st->kind->servers && status == LK_OK; i++)
        status = lk_client_open(&site->clients[i],
                                server_url(st->stand->servers[i]), l->options);
    return status;
}

static lk_status
behind(stage *st, void *handle, const life *l, lk_hold **ret_hold)
{
    call c = {0};
    lk_status status =
        st->kind->acquire_async(handle, l->wait_ms, NULL, call_on_acquire, &c);

    open_again(st);
    status = ended(status, &c);
    *ret_hold = c.hold;
    return status;
}

static lk_status use(stage *st, void *handle, const life *l)
{
    const kind *k = st->kind;
    lk_hold *hold = NULL;
    lk_status status;

    if (st->is_shut)
        status = behind(st, handle, l, &hold);
    else if (k->visit != NULL)
        return k->visit(handle, l->wait_ms);
    else
        status = k->acquire(handle, l->wait_ms, NULL, &hold);
    return status == LK_OK ? returned(k, handle, hold) : status;
}

/* From the first call on a client to the last one. */
static lk_status live(stage *st, const life *l)
{
    kind_site site = {.lease_ms = st->party->site.lease_ms,
                      .answer_ms = st->party->site.answer_ms};
    void *handle = NULL;
    lk_status status = open_all(st, &site, l);

    if (status == LK_OK)
        status = st->kind->make(&handle, &site, STAND_NAME);
    if (status == LK_OK)
        status = use(st, handle, l);
    st->kind->free(handle);
    for (unsigned i = 0; i < st->kind->servers && site.clients[i] != NULL;
         i++) {
        (void)lk_client_shutdown(site.clients[i], l->shutdown_ms);
        lk_client_free(site.clients[i]);
    }
    return status;
}

static lk_status do_live(stage *st)
{
    return live(st, &usual);
}

/* With a connection, an inbox and a place of its own. */
static lk_status do_live_behind(stage *st)
{
    shut(st);
    return live(st, &usual);
}

/* ---- the n-th one ---------------------------------------------------------------- */

static bool is_acquired(const kind *k)
{
    return k->acquire != NULL;
}

static bool has_visit(const kind *k)
{
    return k->visit != NULL;
}

static bool is_alone_with_hold(const kind *k)
{
    return k->has_hold && k->servers == 1;
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

static const struct {
    const char *word;
    act *act;
    bool (*is_for)(const kind *k);
} acts[] = {
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
    {"replicas", do_wait_for_replicas, is_alone_with_hold},
    {"live", do_live, NULL},
    {"live behind", do_live_behind, is_acquired},
};

/* What could not be given back for want of memory ends with its lease, and is waited
   for. */
static stage stage_of(stand *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = LEASE_MS};
    stage st = {.stand = s, .kind = s->kind, .party = party_near(s, &options)};

    st.rival = party_near(s, &options);
    return st;
}

static lk_status play(void *data)
{
    stage *st = data;

    return st->act(st);
}

/* Nobody is in, at the server as well. A flight that could not land for want of memory
   leaves its claim to the lease. */
static void assert_free(void *data, lk_status status)
{
    stage *st = data;

    (void)status;
    open_again(st);
    if (st->kind->shut != NULL) {
        party_shut(st->rival);
        party_open(st->rival);
    } else
        stand_flush(st->stand);
}

static bool is_for(size_t i, const kind *k)
{
    return acts[i].is_for == NULL || acts[i].is_for(k);
}

enum { ACTS = sizeof(acts) / sizeof(acts[0]) };

static void an_allocation_that_fails_is_told_or_made_up_for(stand *s)
{
    stage st = stage_of(s);

    for (size_t i = 0; i < ACTS; i++) {
        st.act = acts[i].act;
        if (is_for(i, s->kind))
            memory_fails_each(acts[i].word, play, assert_free, &st);
    }
    if (s->kind->shut != NULL)
        stand_is_clean(s);
}

/* The words of the failure before are not those of this one. */
static void without_memory_a_call_says_so(stand *s)
{
    stage st = stage_of(s);

    for (size_t i = 0; i < ACTS; i++) {
        if (!is_for(i, s->kind))
            continue;
        assert_einval(lk_hold_check(NULL), "NULL");
        memory_fails_from(1);
        assert_status(acts[i].act(&st), LK_ENOMEM);
        (void)memory_lasts();
        assert_non_null(strstr(lk_last_error(), "memory"));
        assert_free(&st, LK_ENOMEM);
    }
}

static bool is_told_of_a_shortage(lk_status status)
{
    return status == LK_ENOMEM || status == LK_EOFFLINE ||
           status == LK_EINDOUBT || status == LK_EBUSY || status == LK_OK;
}

/* From some point on there is none, whatever a client does. */
static void without_memory_every_call_ends_in_time(stand *s)
{
    static const lk_client_options hasty = {LK_CLIENT_OPTIONS_INIT,
                                            .connect_timeout_ms = 1000,
                                            .command_timeout_ms = 300,
                                            .offline_ms = 100};
    const life brief = {.options = &hasty, .shutdown_ms = 1000};
    stage st = stage_of(s);
    int n = 1 - STEP;

    do {
        uint64_t begin = wait_now_ms();
        lk_status status;

        memory_fails_from(n += STEP);
        status = live(&st, &brief);
        (void)memory_lasts();
        assert_in_range(wait_now_ms() - begin, 0,
                        wait_allowed_ms(ENDS_MS * s->kind->servers +
                                        wait_scaled_ms(STAND_SLACK_MS)));
        if (!is_told_of_a_shortage(status))
            fail_msg("%d: %s", n, lk_status_name(status));
    } while (memory_was_short(n));
    assert_in_range(n, 10, MEMORY_MOST - 1);
}

static bool is_renewed(void *data)
{
    const party *p = data;

    return lk_hold_remaining_ms(p->hold) > p->site.lease_ms * 3 / 4;
}

/* The watchdog cannot renew once, and makes up for it. */
static void a_hold_outlives_a_shortage(stand *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           2 * (uint64_t)wait_lease_ms()};
    party *p = party_near(s, &options);
    bool was_renewed;

    party_acquire(p);
    memory_fails_from(1);
    stand_pass_ms(p->site.lease_ms * 5 / 12);
    was_renewed = is_renewed(p);
    (void)memory_lasts();
    assert_false(was_renewed);
    assert_true(wait_until(is_renewed, p, STAND_MS));
    party_assert_in(p);
    party_release(p);
    stand_is_clean(s);
}

int test_memory(void)
{
    const stand_test tests[] = {
        STAND_TEST(an_allocation_that_fails_is_told_or_made_up_for,
                   stand_is_any),
        STAND_TEST(without_memory_a_call_says_so, stand_is_any),
        STAND_TEST(without_memory_every_call_ends_in_time, stand_is_any),
        STAND_TEST(a_hold_outlives_a_shortage, stand_is_held),
    };

    return stand_run("memory", tests, sizeof(tests) / sizeof(tests[0]));
}
