/* SPDX-License-Identifier: MIT */

/* Events of names: noting them, and reading those of one name or of all. */

#include <latchkey/latchkey.h>

#include <string.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"

enum { READ_MS = 10000, NAMES = 700 };

#define OWNER "01234567-89ab-cdef-0123-456789abcdef:7"

static lk_events *read_events(lk_client *client, const char *name)
{
    lk_events *events = NULL;

    assert_status(lk_events_get(client, READ_MS, name, &events), LK_OK);
    return events;
}

LOCKS_TEST(what_was_noted_is_read_with_its_doer)
{
    lk_client *client = locking_open(f, NULL);
    lk_events *events;
    const lk_event *event;

    assert_status(lk_event_note(client, "n", "ended", OWNER, "words"), LK_OK);
    events = read_events(client, "n");
    assert_int_equal(events->count, 1);
    event = events->entries[0];
    assert_string_equal(event->name, "n");
    assert_string_equal(event->what, "ended");
    assert_string_equal(event->owner, OWNER);
    assert_string_equal(event->text, "words");
    assert_true(event->host[0] != '\0');
    assert_string_equal(event->command, "test_integration_inspect");
    assert_int_equal(event->pid, getpid());
    lk_events_free(events);
}

LOCKS_TEST(they_are_told_in_the_order_of_time)
{
    lk_client *client = locking_open(f, NULL);
    lk_events *events;

    freeReplyObject(
        server_command(f->server,
                       "XADD latchkey:{b}:e 2000-0 name b what second"));
    freeReplyObject(
        server_command(f->server,
                       "XADD latchkey:{a}:e 1000-0 name a what first"));
    freeReplyObject(
        server_command(f->server,
                       "XADD latchkey:{a}:e 3000-0 name a what third"));
    events = read_events(client, NULL);
    assert_int_equal(events->count, 3);
    assert_string_equal(events->entries[0]->what, "first");
    assert_string_equal(events->entries[1]->what, "second");
    assert_string_equal(events->entries[2]->what, "third");
    assert_int_equal(events->entries[2]->at_ms, 3000);
    assert_string_equal(events->entries[2]->owner, "");
    lk_events_free(events);
}

/* More than one step of SCAN has. */
LOCKS_TEST(those_of_many_names_are_all_read)
{
    lk_client *client = locking_open(f, NULL);
    lk_events *events;

    for (int i = 0; i < NAMES; i++)
        freeReplyObject(
            server_command(f->server, "XADD latchkey:{n%d}:e * name n%d what x",
                           i, i));
    events = read_events(client, NULL);
    assert_int_equal(events->count, NAMES);
    assert_false(events->truncated);
    lk_events_free(events);
}

/* 400 names with 32 each are more than are told. */
LOCKS_TEST(no_more_are_told_than_there_is_room_for)
{
    lk_client *client = locking_open(f, NULL);
    lk_events *events;

    freeReplyObject(server_command(
        f->server,
        "EVAL for\ti=1,400\tdo\tfor\tj=1,32\tdo\tredis.call('XADD',"
        "'latchkey:{n'..i..'}:e','*','name','n'..i,'what','x')end\tend 0"));
    events = read_events(client, NULL);
    assert_int_equal(events->count, 10000);
    assert_true(events->truncated);
    lk_events_free(events);
}

LOCKS_TEST(a_long_text_is_cut)
{
    lk_client *client = locking_open(f, NULL);
    lk_events *events;
    char text[400];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_status(lk_event_note(client, "n", "ended", OWNER, text), LK_OK);
    events = read_events(client, "n");
    assert_int_equal(strlen(events->entries[0]->text), 300);
    lk_events_free(events);
}

LOCKS_TEST(a_key_that_is_something_else_is_left)
{
    lk_client *client = locking_open(f, NULL);
    lk_events *events = NULL;

    freeReplyObject(server_command(f->server, "SET latchkey:{n}:e 1"));
    assert_status(lk_event_note(client, "n", "ended", OWNER, ""), LK_ETYPE);
    assert_status(lk_events_get(client, READ_MS, "n", &events), LK_ETYPE);
    events = read_events(client, NULL);
    assert_int_equal(events->count, 0);
    lk_events_free(events);
}

/* Its end is the second thing to be asked. */
LOCKS_TEST(an_event_that_stands_is_noted_though_its_end_is_denied)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .user = "endless", .password = "secret"};
    lk_client *client;
    call noted = {.data = NULL};
    lk_events *events;

    freeReplyObject(server_command(
        f->server,
        "ACL SETUSER endless on >secret ~* &* +@all -expire -pexpire"));
    client = locking_open_url(f, server_url(f->server), &options);
    assert_status(lk_event_note(client, "n", "ended", OWNER, "one"), LK_OK);
    assert_status(lk_event_note_async(client, "n", "ended", OWNER, "two",
                                      call_on_done, &noted),
                  LK_OK);
    assert_status(call_wait(&noted, NULL), LK_OK);
    events = read_events(client, "n");
    assert_int_equal(events->count, 2);
    lk_events_free(events);
}

LOCKS_TEST(arguments_are_checked)
{
    lk_client *client = locking_open(f, NULL);
    lk_events *events = NULL;

    assert_status(lk_event_note(client, "n", "", OWNER, ""), LK_EINVAL);
    assert_status(lk_event_note(client, "n", NULL, OWNER, ""), LK_EINVAL);
    assert_status(lk_event_note(client, "n", "x", "", ""), LK_EINVAL);
    assert_status(lk_event_note(client, "n", "x", OWNER, NULL), LK_EINVAL);
    assert_status(lk_event_note(client, "{}", "x", OWNER, ""), LK_EINVAL);
    assert_status(lk_event_note_async(client, "n", "x", OWNER, "", NULL, NULL),
                  LK_EINVAL);
    assert_status(lk_events_get(client, 0, "n", &events), LK_EINVAL);
    assert_status(lk_events_get(client, READ_MS, "{}", &events), LK_EINVAL);
    assert_status(lk_events_get(client, READ_MS, "n", NULL), LK_EINVAL);
    assert_status(lk_events_get_async(client, READ_MS, "n", NULL, NULL),
                  LK_EINVAL);
    lk_events_free(NULL);
}

typedef struct seen {
    call call; /* first: how it ended */
    lk_events *events;
} seen;

static void on_events(lk_status status, lk_events *events, void *data)
{
    ((seen *)data)->events = events;
    call_on_done(status, data);
}

LOCKS_TEST(the_async_forms_call_back_once)
{
    lk_client *client = locking_open(f, NULL);
    call noted = {.data = NULL};
    seen all = {.events = NULL}, wrong = {.events = NULL};

    assert_status(lk_event_note_async(client, "n", "ended", OWNER, "words",
                                      call_on_done, &noted),
                  LK_OK);
    assert_status(call_wait(&noted, NULL), LK_OK);
    assert_status(lk_events_get_async(client, READ_MS, NULL, on_events, &all),
                  LK_OK);
    assert_status(call_wait(&all.call, NULL), LK_OK);
    assert_int_equal(all.events->count, 1);
    assert_int_equal(all.call.ends, 1);
    lk_events_free(all.events);
    freeReplyObject(server_command(f->server, "SET latchkey:{m}:e 1"));
    assert_status(lk_events_get_async(client, READ_MS, "m", on_events, &wrong),
                  LK_OK);
    assert_status(call_wait(&wrong.call, NULL), LK_ETYPE);
    assert_null(wrong.events);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
