/* SPDX-License-Identifier: MIT */

/* The URL of a cluster: its nodes in every spelling, described in one, and what
   a client is told. */

#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"
#include "settings/settings.h"
#include "support/check.h"
#include "support/urls.h"

static void assert_described(const char *text, const char *expected)
{
    char description[1024];

    url_read(text);
    assert_true(url.is_cluster);
    assert_status(lk__url_describe(&url, description, sizeof(description)),
                  LK_OK);
    assert_string_equal(description, expected);
    /* What is described is described as itself. */
    url_read(expected);
    assert_status(lk__url_describe(&url, description, sizeof(description)),
                  LK_OK);
    assert_string_equal(description, expected);
}

/* ---- understood ----------------------------------------------------------- */

URL_TEST(the_nodes_are_read)
{
    url_read("redis+cluster://u:p@h1:7000,h2,[::1]:7002/0?name=n");
    assert_true(url.is_cluster);
    assert_false(url.tls);
    assert_null(url.host);
    assert_null(url.path);
    assert_null(url.master);
    assert_int_equal(url.server_count, 3);
    assert_url_server(0, "h1", 7000);
    assert_url_server(1, "h2", 6379);
    assert_url_server(2, "::1", 7002);
    assert_string_equal(url.options.user, "u");
    assert_string_equal(url.options.password, "p");
    assert_string_equal(url.options.name, "n");
}

URL_TEST(one_node_of_a_cluster_will_do)
{
    url_read("redis+cluster://h");
    assert_true(url.is_cluster);
    assert_null(url.host);
    assert_int_equal(url.server_count, 1);
    url_read("redis://h"); /* no cluster of its own accord */
    assert_false(url.is_cluster);
    assert_string_equal(url.host, "h");
    assert_int_equal(url.server_count, 0);
}

URL_TEST(every_spelling_becomes_one)
{
    static const char *const texts[] = {
        "redis+cluster://h1:7000,h2/0",
        "redis-cluster://h1:7000,h2:6379",
        "VALKEY+CLUSTER://h1:7000,h2",
        "valkey-cluster://h1:7000,h2/",
        "redis-cluster://h1:7000?node=h2",
        "redis://h1:7000,h2/0", /* Lettuce */
        "valkey://h1:7000,h2?db=0",
        "redis://h1:7000?addr=h2", /* go-redis */
        "redis://h1:7000/0?addr=h2:6379",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_described(texts[i], "redis+cluster://h1:7000,h2:6379");
}

URL_TEST(with_tls_it_is_another_scheme)
{
    static const char *const texts[] = {"rediss+cluster://h1,h2?sni=n",
                                        "rediss-cluster://h1,h2?sni=n",
                                        "valkeys+cluster://h1,h2?sni=n",
                                        "valkeys-cluster://h1?node=h2&sni=n",
                                        "rediss://h1,h2?sni=n",
                                        "valkeys://h1?addr=h2&sni=n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_described(texts[i], "rediss+cluster://h1:6379,h2:6379"
                                   "?tls_server_name=n");
}

URL_TEST(all_but_the_password_is_described)
{
    assert_described("redis+cluster://u:p@[fe80::1%25e]:7000,h/0?interop="
                     "redisson&db=0&offline_ms=9s",
                     "redis+cluster://u:***@[fe80::1%25e]:7000,h:6379"
                     "?offline_ms=9000ms&interop=redisson");
}

URL_TEST(a_cluster_has_up_to_15_seeds)
{
    static const char many[] = "redis+cluster://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o";
    char text[sizeof(many) + 20];

    url_read(many);
    assert_int_equal(url.server_count, 15);
    (void)snprintf(text, sizeof(text), "%s,p", many);
    assert_url_refused(text, "at byte 47: more than 15 hosts");
    (void)snprintf(text, sizeof(text), "%s?node=p", many);
    assert_url_refused(text, "more than 15 hosts");
}

/* ---- refused -------------------------------------------------------------- */

URL_TEST(a_cluster_has_one_database)
{
    assert_url_refused("redis+cluster://h/1",
                       "at byte 19: a cluster has database "
                       "0 alone; leave the database out");
    assert_url_refused("redis+cluster://h?db=1", "at byte 19: a cluster has");
    assert_url_refused("redis+cluster://h?name=n&database=1",
                       "at byte 26: a cluster has");
    assert_url_refused("redis://h1,h2/1", "a cluster has");
    assert_url_refused("redis://h1/1?addr=h2", "a cluster has");
    assert_url_refused("redis+cluster://h/m",
                       "the database has to be a number");
    url_read("redis+cluster://h/1?db=0");
    assert_int_equal(url.options.db, 0);
}

URL_TEST(a_wrong_list_of_nodes_is_refused)
{
    assert_url_refused("redis+cluster:h", "two slashes");
    assert_url_refused("redis+cluster://", "at byte 17: a host is missing");
    assert_url_refused("redis+cluster:///0", "a host is missing");
    assert_url_refused("redis+cluster://h1,", "a host is missing");
    assert_url_refused("redis://h1,,h2", "at byte 12: a host is missing");
    assert_url_refused("redis://,h2", "a host is missing");
    assert_url_refused("redis+cluster://h1:0,h2", "the port");
    assert_url_refused("redis+cluster://h1,h*", "not the name");
    assert_url_refused("redis+cluster://h1,h2,H1:6379", "twice");
    assert_url_refused("redis+cluster://h1?node=h1", "twice");
    assert_url_refused("redis+cluster://h1?node=h2*", "not the name");
    assert_url_refused("redis+cluster://h1?addr=h2", "no option 'addr'");
    assert_url_refused("redis://h1?node=h2", "no option 'node'");
    assert_url_refused("redis+cluster://secret@h1", "user or password?");
}

URL_TEST(of_other_topologies_is_what_says_so)
{
    assert_url_refused("redis+cluster://h?sentinel_user=u",
                       "redis+sentinel://");
    assert_url_refused("redis://h?failover=fast", "redis+sentinel://");
    assert_url_refused("redis+cluster://h?master_name=m", "no option");
    assert_url_refused("redis+cluster://h#m", "a # has to");
    assert_url_refused("redis+cluster://h?sni=n", "write rediss+cluster://");
    assert_url_refused("redis://h?sni=n&addr=h2", "write rediss://");
    url_read("redis://h1:1?addr=h2:2&master_name=m");
    assert_false(url.is_cluster);
    assert_string_equal(url.master, "m");
}

/* ---- what a client is told -------------------------------------------------- */

static lk_status
settings_of(lk__settings *ret_settings, const char *text, uint64_t db)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .db = db};

    url_read(text);
    return lk__settings_of(ret_settings, &url, &options);
}

URL_TEST(a_client_gets_its_seeds)
{
    lk__settings settings = {.host = NULL};

    assert_status(settings_of(&settings, "redis+cluster://u:p@h1:7000,h2", 0),
                  LK_OK);
    assert_null(settings.host);
    assert_null(settings.path);
    assert_null(settings.master);
    assert_null(settings.address.host);
    assert_int_equal(settings.sentinel_count, 0);
    assert_int_equal(settings.seed_count, 2);
    assert_string_equal(settings.seeds[0].host, "h1");
    assert_int_equal(settings.seeds[0].port, 7000);
    assert_null(settings.seeds[0].tls);
    assert_string_equal(settings.seeds[1].host, "h2");
    assert_int_equal(settings.seeds[1].port, 6379);
    assert_string_equal(settings.user, "u");
    assert_int_equal(settings.watchdog_ms, 30000);
    lk__settings_done(&settings);
}

URL_TEST(a_client_of_no_cluster_gets_none)
{
    lk__settings settings = {.host = NULL};

    assert_status(settings_of(&settings, "redis+sentinel://h1,h2/m", 3), LK_OK);
    assert_int_equal(settings.seed_count, 0);
    assert_int_equal(settings.sentinel_count, 2);
    lk__settings_done(&settings);
}

static uint64_t offline_ms_of(const char *text)
{
    lk__settings settings = {.host = NULL};
    uint64_t ms;

    assert_status(settings_of(&settings, text, 0), LK_OK);
    ms = settings.offline_ms;
    lk__settings_done(&settings);
    return ms;
}

/* Of Redis' own settings a failover takes 15 to 30 seconds, and some more. */
URL_TEST(a_wait_rides_out_a_failover)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .offline_ms = 5000};
    lk__settings settings = {.host = NULL};

    assert_int_equal(offline_ms_of("redis://h"), 5000);
    assert_int_equal(offline_ms_of("redis+cluster://h"), 60000);
    assert_int_equal(offline_ms_of("redis+sentinel://h/m"), 60000);
    assert_int_equal(offline_ms_of("redis+cluster://h?offline_ms=7s"), 7000);
    url_read("redis+cluster://h");
    assert_status(lk__settings_of(&settings, &url, &options), LK_OK);
    assert_int_equal(settings.offline_ms, 5000);
    lk__settings_done(&settings);
}

URL_TEST(a_database_that_is_told_otherwise_is_refused)
{
    lk__settings settings = {.host = NULL};

    assert_status(settings_of(&settings, "redis+cluster://h", 2), LK_EINVAL);
    assert_string_equal(lk_last_error(),
                        "db is 2; a cluster has database 0 alone");
}

static int left;

static bool fails(void)
{
    return left-- == 0;
}

URL_TEST(without_memory_nothing_is_made)
{
    lk_status status = LK_ENOMEM;
    lk__settings settings = {.host = NULL};

    for (int n = 0; status == LK_ENOMEM; n++) {
        left = n;
        url_read("redis+cluster://u:p@h1,h2");
        lk__mem_fail(fails);
        status = lk__settings_of(&settings, &url,
                                 &(lk_client_options){LK_CLIENT_OPTIONS_INIT,
                                                      .name = "n"});
        lk__mem_fail(NULL);
        assert_int_equal(settings.seed_count, status == LK_OK ? 2 : 0);
    }
    assert_status(status, LK_OK);
    lk__settings_done(&settings);
}
