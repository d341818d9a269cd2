/* SPDX-License-Identifier: MIT */

/* Reading the events of names from a server that says whatever it likes. */

#include "support/check.h"
#include "support/playing.h"

#define KEY   "$14\r\nlatchkey:{n}:e\r\n"
#define ENTRY "*2\r\n$3\r\n7-0\r\n*2\r\n$4\r\nname\r\n$1\r\nn\r\n"

/* As a server does whose table of keys shrinks meanwhile. */
PLAYED_TEST(a_key_that_is_found_twice_is_told_once)
{
    lk_events *events;

    p->scan_answer = "*2\r\n$1\r\n0\r\n*2\r\n" KEY KEY;
    p->range_answer = "*1\r\n" ENTRY;
    assert_status(lk_events_get(p->client, 1000, NULL, &events), LK_OK);
    assert_int_equal(events->count, 1);
    assert_int_equal(events->entries[0]->at_ms, 7);
    assert_string_equal(events->entries[0]->name, "n");
    assert_string_equal(events->entries[0]->host, "");
    lk_events_free(events);
}

PLAYED_TEST(an_entry_without_its_name_is_passed_over)
{
    static const char *const answers[] = {
        "*1\r\n:7\r\n",
        "*1\r\n*0\r\n",
        "*1\r\n*2\r\n:7\r\n:8\r\n",
        "*1\r\n*2\r\n$3\r\n7-0\r\n$-1\r\n",
        "*1\r\n*2\r\n$3\r\n7-0\r\n*1\r\n$4\r\nname\r\n",
        "*1\r\n*2\r\n$3\r\n7-0\r\n*2\r\n$4\r\nname\r\n:1\r\n",
    };
    lk_events *events;

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        p->range_answer = answers[i];
        assert_status(lk_events_get(p->client, 1000, "n", &events), LK_OK);
        assert_int_equal(events->count, 0);
        lk_events_free(events);
    }
}

PLAYED_TEST(what_is_no_list_is_refused)
{
    static const char *const answers[] = {"+OK\r\n", ":1\r\n", "$-1\r\n",
                                          "*1\r\n$1\r\n0\r\n",
                                          "*2\r\n$1\r\n0\r\n+OK\r\n"};
    lk_events *events;

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        p->scan_answer = answers[i];
        assert_status(lk_events_get(p->client, 1000, NULL, &events), LK_EPROTO);
    }
    for (size_t i = 0; i < 3; i++) {
        p->range_answer = answers[i];
        assert_status(lk_events_get(p->client, 1000, "n", &events), LK_EPROTO);
    }
}

PLAYED_TEST(a_server_that_finds_no_end_is_left_in_time)
{
    uint64_t began = played_now_ms(p);
    lk_events *events;

    played_ways(p, 1, 1);
    p->scan_answer = "*2\r\n$1\r\n5\r\n*0\r\n";
    assert_status(lk_events_get(p->client, 1000, NULL, &events), LK_ETIMEDOUT);
    assert_int_equal(played_now_ms(p) - began, 1000);
}
