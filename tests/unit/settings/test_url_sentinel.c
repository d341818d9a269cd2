/* SPDX-License-Identifier: MIT */

/* The URL of a master that sentinels name, and how other clients write it. */

#include <stdio.h>

#include "support/check.h"
#include "support/urls.h"

URL_TEST(the_sentinels_and_their_master_are_read)
{
    url_read("redis+sentinel://u:p@h1:1,h2,[::1]:3/m%2Fx/4?failover=fast"
             "&sentinel_user=su&sentinel_password=sp");
    assert_null(url.host);
    assert_null(url.path);
    assert_int_equal(url.server_count, 3);
    assert_url_server(0, "h1", 1);
    assert_url_server(1, "h2", 26379);
    assert_url_server(2, "::1", 3);
    assert_url_text(url.master, "m/x");
    assert_int_equal(url.options.db, 4);
    assert_url_text(url.options.user, "u");
    assert_url_text(url.options.password, "p");
    assert_url_text(url.options.sentinel_user, "su");
    assert_url_text(url.options.sentinel_password, "sp");
    assert_int_equal(url.options.failover, LK_FAILOVER_FAST);
}

URL_TEST(of_sentinel_port_and_database_may_be_left_out)
{
    url_read("valkey+sentinel://h/m");
    assert_int_equal(url.server_count, 1);
    assert_url_server(0, "h", 26379);
    assert_url_text(url.master, "m");
    assert_int_equal(url.options.db, 0);
    url_read("redis+sentinel://a,b/m/?name=n");
    assert_int_equal(url.server_count, 2);
    assert_url_text(url.master, "m");
    assert_url_text(url.options.name, "n");
}

URL_TEST(of_sentinel_tls_is_a_scheme_of_its_own)
{
    static const char *const texts[] = {"rediss+sentinel://h/m?sni=n",
                                        "valkeys+sentinel://h/m?sni=n",
                                        "redis+sentinel+tls://h/m?sni=n",
                                        "valkey+sentinel+tls://h/m?sni=n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        url_read(texts[i]);
        assert_true(url.tls);
        assert_url_server(0, "h", 26379);
        assert_url_text(url.master, "m");
        assert_url_text(url.options.tls_server_name, "n");
    }
    url_read("redis+sentinel://h/m");
    assert_false(url.tls);
}

/* redis-sentinel://host,host/db#master and go-redis' options. */
URL_TEST(the_ways_of_other_clients_name_a_master_too)
{
    static const char *const texts[] = {
        "redis-sentinel://u:p@h1:1,h2/4#m%2Fx",
        "valkey-sentinel://u:p@h1:1,h2/4?sentinelMasterId=m/x",
        "redis-sentinel://u:p@h1:1,h2?database=4&clientName=n#m%2Fx",
        "redis://h1:1/4?master_name=m/x&addr=h2:26379&user=u",
        ("redis://h1:1?sentinel_username=su&addr=h2:26379&db=4"
         "&username=u&master_name=m%2fx"),
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        url_read(texts[i]);
        assert_null(url.host);
        assert_int_equal(url.server_count, 2);
        assert_url_server(0, "h1", 1);
        assert_url_server(1, "h2", 26379);
        assert_url_text(url.master, "m/x");
        assert_int_equal(url.options.db, 4);
        assert_url_text(url.options.user, "u");
        assert_false(url.tls);
        lk__url_done(&url);
    }
    url_read("rediss-sentinel://h#m");
    assert_true(url.tls);
    lk__url_done(&url);
    url_read("rediss://h:1?master_name=m&sni=n");
    assert_true(url.tls);
    assert_url_server(0, "h", 1);
    lk__url_done(&url);
    url_read("redis://h:1"); /* no sentinel of its own accord */
    assert_int_equal(url.server_count, 0);
}

/* The sentinels are told, and the servers are not. */
URL_TEST(before_the_at_of_go_redis_is_the_sentinels_user)
{
    url_read("redis://u:p@h:1?master_name=m");
    assert_null(url.options.user);
    assert_null(url.options.password);
    assert_url_text(url.options.sentinel_user, "u");
    assert_url_text(url.options.sentinel_password, "p");
    lk__url_done(&url);
    url_read("redis://:p@h:1?master_name=m&username=app&password=q");
    assert_url_text(url.options.user, "app");
    assert_url_text(url.options.password, "q");
    assert_null(url.options.sentinel_user);
    assert_url_text(url.options.sentinel_password, "p");
    lk__url_done(&url);
    url_read(
        "redis://u:p@h:1?master_name=m&sentinel_user=s&sentinel_password=t");
    assert_null(url.options.password);
    assert_url_text(url.options.sentinel_user, "s");
    assert_url_text(url.options.sentinel_password, "t");
}

URL_TEST(what_other_clients_leave_out_is_asked_for)
{
    assert_url_refused("redis-sentinel://h1,h2/0", "the master's name");
    assert_url_refused("redis-sentinel://h1,h2/m", "the database");
    assert_url_refused("redis-sentinel://h1,h2/0#", "the master's name");
    assert_url_refused("redis-sentinel://h/0?sentinelMasterId=#m",
                       "named twice");
    assert_url_refused("redis-sentinel://h/0#a#b", "a # has to");
    assert_url_refused("redis-sentinel://u:1#hunter@h/0",
                       "a # has to be written %23");
    assert_url_refused("redis-sentinel://h/0#a b", "a space");
    assert_url_refused("redis+sentinel://h/m#m", "a # has to");
    assert_url_refused("redis+sentinel://h/m?master_name=m", "");
    assert_url_refused("redis://h?master_name=m", "the sentinel's port");
    assert_url_refused("redis://h:1?master_name=m&addr=h2",
                       "the sentinel's port");
    assert_url_refused("redis://h:1?master_name=m&addr=h:1", "twice");
    assert_url_refused("redis://h:1?master_name=m&master_name=m",
                       "named twice");
    assert_url_refused("unix:/s?master_name=m", "");
}

URL_TEST(a_wrong_sentinel_url_is_refused)
{
    static const char many[] = "redis+sentinel://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o";
    char text[sizeof(many) + 4];

    assert_url_refused("redis+sentinel://h1,h2", "the master's name");
    assert_url_refused("redis+sentinel://h1,h2/", "the master's name");
    assert_url_refused("redis+sentinel://h1,h2//0", "the master's name");
    assert_url_refused("redis+sentinel://h?name=/m", "the master's name");
    assert_url_refused("redis+sentinel:h/m", "two slashes");
    assert_url_refused("redis+sentinel:///m", "is missing");
    assert_url_refused("redis+sentinel://h1,,h2/m", "at byte 21: a host");
    assert_url_refused("redis+sentinel://h1,h2,/m", "is missing");
    assert_url_refused("redis+sentinel://h1:x,h2/m", "the port");
    assert_url_refused("redis+sentinel://h1,h2,H1:26379/m", "twice");
    assert_url_refused("redis+sentinel://h1,h*/m", "not the name");
    assert_url_refused("redis+sentinel://h1,[::1/m", "without its ]");
    assert_url_refused("redis+sentinel://h/m/x", "the database");
    assert_url_refused("redis+sentinel://h/m/0/1", "the database");
    assert_url_refused("redis+sentinel://h/m?failover=no", "safe or fast");
    (void)snprintf(text, sizeof(text), "%s,p/m", many);
    assert_url_refused(text, "more than 15");
    (void)snprintf(text, sizeof(text), "%s/m", many);
    url_read(text);
    assert_int_equal(url.server_count, 15);
}

URL_TEST(an_option_of_sentinel_wants_sentinel)
{
    assert_url_refused("redis://h?failover=fast", "redis+sentinel://");
    assert_url_refused("unix:/s?sentinel_password=p", "redis+sentinel://");
}
