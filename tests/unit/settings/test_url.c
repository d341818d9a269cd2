/* SPDX-License-Identifier: MIT */

/* The URL of a server: what is understood, what is refused, and the words. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "settings/url.h"
#include "support/check.h"

static lk__url url;

static int end(void **state)
{
    (void)state;
    lk__url_done(&url);
    return 0;
}

static void assert_text(const char *actual, const char *expected)
{
    if (expected == NULL)
        assert_null(actual);
    else
        assert_string_equal(actual, expected);
}

static void parse(const char *text)
{
    lk__url_done(&url);
    if (lk__url_parse(&url, text) != LK_OK)
        fail_msg("%s: %s", text, lk_last_error());
}

static void
assert_tcp(const char *text, const char *host, unsigned port, uint64_t db)
{
    parse(text);
    assert_text(url.host, host);
    assert_null(url.path);
    assert_int_equal(url.port, port);
    assert_int_equal(url.options.db, db);
}

static void assert_unix(const char *text, const char *path)
{
    parse(text);
    assert_text(url.path, path);
    assert_null(url.host);
    assert_int_equal(url.port, 0);
}

static void
assert_user(const char *text, const char *user, const char *password)
{
    parse(text);
    assert_text(url.options.user, user);
    assert_text(url.options.password, password);
}

static void
assert_refused(const char *text, lk_status status, const char *words)
{
    lk__url untouched = url;

    assert_status(lk__url_parse(&url, text), status);
    assert_memory_equal(&url, &untouched, sizeof(url));
    if (strstr(lk_last_error(), words) == NULL)
        assert_string_equal(lk_last_error(), words);
}

/* ---- understood --------------------------------------------------------- */

static void host_port_and_db_may_each_be_left_out(void **state)
{
    (void)state;
    assert_tcp("redis://", "127.0.0.1", 6379, 0);
    assert_tcp("redis://h", "h", 6379, 0);
    assert_tcp("redis://h/", "h", 6379, 0);
    assert_tcp("redis://h:1", "h", 1, 0);
    assert_tcp("redis://h:65535/15", "h", 65535, 15);
    assert_tcp("redis://h/3", "h", 6379, 3);
    assert_tcp("redis:///3", "127.0.0.1", 6379, 3);
    assert_tcp("redis://:7000", "127.0.0.1", 7000, 0);
    assert_tcp("redis://10.0.0.1:7000/2", "10.0.0.1", 7000, 2);
    assert_tcp("redis://my-cache_1.example.:7000", "my-cache_1.example.", 7000,
               0);
}

static void both_names_of_the_server_are_understood(void **state)
{
    (void)state;
    assert_tcp("valkey://h:1/2", "h", 1, 2);
    assert_tcp("REDIS://h:1/2", "h", 1, 2);
    assert_tcp("tcp://h:1/2", "h", 1, 2);
}

static void an_s_means_tls(void **state)
{
    (void)state;
    assert_tcp("rediss://h:1/2", "h", 1, 2);
    assert_true(url.tls);
    assert_tcp("valkeys://", "127.0.0.1", 6379, 0);
    assert_true(url.tls);
    assert_tcp("redis://h", "h", 6379, 0);
    assert_false(url.tls);
}

static void others_spellings_of_tls_are_understood(void **state)
{
    (void)state;
    parse("rediss://h?ssl_ca_certs=/a&ssl_ca_path=/d&ssl_certfile=/c&"
          "ssl_keyfile=/k&ssl_cert_reqs=none");
    assert_text(url.options.tls_ca_file, "/a");
    assert_text(url.options.tls_ca_dir, "/d");
    assert_text(url.options.tls_cert_file, "/c");
    assert_text(url.options.tls_key_file, "/k");
    assert_int_equal(url.options.tls_verify, LK_TLS_NONE);
    parse("rediss://h?cacert=/a&cacertdir=/d&cert=/c&key=/k&sni=n&"
          "verifyPeer=CA");
    assert_text(url.options.tls_ca_file, "/a");
    assert_text(url.options.tls_ca_dir, "/d");
    assert_text(url.options.tls_cert_file, "/c");
    assert_text(url.options.tls_key_file, "/k");
    assert_text(url.options.tls_server_name, "n");
    assert_int_equal(url.options.tls_verify, LK_TLS_CA);
    parse("rediss://h?skip_verify=true");
    assert_int_equal(url.options.tls_verify, LK_TLS_NONE);
    parse("rediss://h?tls_verify=full");
    assert_int_equal(url.options.tls_verify, LK_TLS_FULL);
}

static void an_ipv6_address_stands_in_brackets(void **state)
{
    (void)state;
    assert_tcp("redis://[::1]", "::1", 6379, 0);
    assert_tcp("redis://[::1]:7000/3", "::1", 7000, 3);
    assert_tcp("redis://[fe80::1%25eth0]:7000", "fe80::1%eth0", 7000, 0);
    assert_tcp("redis://u:p@[::ffff:10.0.0.1]/3", "::ffff:10.0.0.1", 6379, 3);
}

static void every_spelling_of_a_socket_is_understood(void **state)
{
    (void)state;
    assert_unix("unix:/run/r.sock", "/run/r.sock");
    assert_unix("unix:///run/r.sock", "/run/r.sock");
    assert_unix("redis+unix:///run/r.sock", "/run/r.sock");
    assert_unix("valkey+unix:///run/r.sock", "/run/r.sock");
    assert_unix("redis-socket:///run/r.sock", "/run/r.sock");
    assert_unix("redis+uds:///run/r.sock", "/run/r.sock");
    assert_unix("valkey+uds:///run/r.sock", "/run/r.sock");
    assert_unix("unix:/run/a@b%20c", "/run/a@b c");
}

static void a_socket_takes_a_user_and_options(void **state)
{
    (void)state;
    assert_unix("unix://u:p@/run/r.sock?db=4&name=n", "/run/r.sock");
    assert_text(url.options.user, "u");
    assert_text(url.options.password, "p");
    assert_text(url.options.name, "n");
    assert_int_equal(url.options.db, 4);
}

static void user_and_password_are_told_apart(void **state)
{
    (void)state;
    assert_user("redis://h", NULL, NULL);
    assert_user("redis://u:p@h", "u", "p");
    assert_user("redis://:p@h", NULL, "p");
    assert_user("redis://u:@h", "u", "");
    assert_user("redis://:@h", NULL, NULL);
    assert_user("redis://@h", NULL, NULL);
}

static void every_part_is_decoded_once(void **state)
{
    (void)state;
    assert_user("redis://%75%3A:%40%2f%3F%23%25@h", "u:", "@/?#%");
    assert_user("redis://u:%2541@h", "u", "%41");
    assert_user("redis://u:a+b@h", "u", "a+b");
    assert_user("redis://u:p%C3%A9@h", "u", "p\xc3\xa9");
    assert_tcp("redis://%68o/%33?n%61me=%6e", "ho", 6379, 3);
    assert_text(url.options.name, "n");
}

static void options_are_read(void **state)
{
    (void)state;
    parse("redis://h?connect_timeout_ms=500ms&watchdog_ms=10s&interop=redisson"
          "&dispatch=on&max_pending=99&name=a=b&log_level=info");
    assert_int_equal(url.options.connect_timeout_ms, 500);
    assert_int_equal(url.options.watchdog_ms, 10000);
    assert_int_equal(url.options.interop, LK_INTEROP_REDISSON);
    assert_int_equal(url.options.dispatch, 1);
    assert_int_equal(url.options.max_pending, 99);
    assert_int_equal(url.options.log_level, LK_LOG_INFO);
    assert_text(url.options.name, "a=b");
}

static void an_option_beats_the_path_and_the_user_info(void **state)
{
    (void)state;
    assert_tcp("redis://h/3?db=5", "h", 6379, 5);
    assert_tcp("redis://h/3?db=0", "h", 6379, 0);
    assert_user("redis://u:p@h?user=v&password=q", "v", "q");
}

/* ---- Sentinel ----------------------------------------------------------- */

static void assert_server(size_t index, const char *host, unsigned port)
{
    assert_true(index < url.server_count);
    assert_text(url.servers[index].host, host);
    assert_int_equal(url.servers[index].port, port);
}

static void the_sentinels_and_their_master_are_read(void **state)
{
    (void)state;
    parse("redis+sentinel://u:p@h1:1,h2,[::1]:3/m%2Fx/4?failover=fast"
          "&sentinel_user=su&sentinel_password=sp");
    assert_null(url.host);
    assert_null(url.path);
    assert_int_equal(url.server_count, 3);
    assert_server(0, "h1", 1);
    assert_server(1, "h2", 26379);
    assert_server(2, "::1", 3);
    assert_text(url.master, "m/x");
    assert_int_equal(url.options.db, 4);
    assert_text(url.options.user, "u");
    assert_text(url.options.password, "p");
    assert_text(url.options.sentinel_user, "su");
    assert_text(url.options.sentinel_password, "sp");
    assert_int_equal(url.options.failover, LK_FAILOVER_FAST);
}

static void of_sentinel_port_and_database_may_be_left_out(void **state)
{
    (void)state;
    parse("valkey+sentinel://h/m");
    assert_int_equal(url.server_count, 1);
    assert_server(0, "h", 26379);
    assert_text(url.master, "m");
    assert_int_equal(url.options.db, 0);
    parse("redis+sentinel://a,b/m/?name=n");
    assert_int_equal(url.server_count, 2);
    assert_text(url.master, "m");
    assert_text(url.options.name, "n");
}

static void of_sentinel_tls_is_a_scheme_of_its_own(void **state)
{
    static const char *const texts[] = {"rediss+sentinel://h/m?sni=n",
                                        "valkeys+sentinel://h/m?sni=n",
                                        "redis+sentinel+tls://h/m?sni=n",
                                        "valkey+sentinel+tls://h/m?sni=n"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        parse(texts[i]);
        assert_true(url.tls);
        assert_server(0, "h", 26379);
        assert_text(url.master, "m");
        assert_text(url.options.tls_server_name, "n");
    }
    parse("redis+sentinel://h/m");
    assert_false(url.tls);
}

/* redis-sentinel://host,host/db#master and go-redis' options. */
static void the_ways_of_other_clients_name_a_master_too(void **state)
{
    static const char *const texts[] = {
        "redis-sentinel://u:p@h1:1,h2/4#m%2Fx",
        "valkey-sentinel://u:p@h1:1,h2/4?sentinelMasterId=m/x",
        "redis-sentinel://u:p@h1:1,h2?database=4&clientName=n#m%2Fx",
        "redis://h1:1/4?master_name=m/x&addr=h2:26379&user=u",
        ("redis://h1:1?sentinel_username=su&addr=h2:26379&db=4"
         "&username=u&master_name=m%2fx"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        parse(texts[i]);
        assert_null(url.host);
        assert_int_equal(url.server_count, 2);
        assert_server(0, "h1", 1);
        assert_server(1, "h2", 26379);
        assert_text(url.master, "m/x");
        assert_int_equal(url.options.db, 4);
        assert_text(url.options.user, "u");
        assert_false(url.tls);
        lk__url_done(&url);
    }
    parse("rediss-sentinel://h#m");
    assert_true(url.tls);
    lk__url_done(&url);
    parse("rediss://h:1?master_name=m&sni=n");
    assert_true(url.tls);
    assert_server(0, "h", 1);
    lk__url_done(&url);
    parse("redis://h:1"); /* no sentinel of its own accord */
    assert_int_equal(url.server_count, 0);
}

/* The sentinels are told, and the servers are not. */
static void before_the_at_of_go_redis_is_the_sentinels_user(void **state)
{
    (void)state;
    parse("redis://u:p@h:1?master_name=m");
    assert_null(url.options.user);
    assert_null(url.options.password);
    assert_text(url.options.sentinel_user, "u");
    assert_text(url.options.sentinel_password, "p");
    lk__url_done(&url);
    parse("redis://:p@h:1?master_name=m&username=app&password=q");
    assert_text(url.options.user, "app");
    assert_text(url.options.password, "q");
    assert_null(url.options.sentinel_user);
    assert_text(url.options.sentinel_password, "p");
    lk__url_done(&url);
    parse("redis://u:p@h:1?master_name=m&sentinel_user=s&sentinel_password=t");
    assert_null(url.options.password);
    assert_text(url.options.sentinel_user, "s");
    assert_text(url.options.sentinel_password, "t");
}

static void what_other_clients_leave_out_is_asked_for(void **state)
{
    (void)state;
    assert_refused("redis-sentinel://h1,h2/0", LK_EURL, "the master's name");
    assert_refused("redis-sentinel://h1,h2/m", LK_EURL, "the database");
    assert_refused("redis-sentinel://h1,h2/0#", LK_EURL, "the master's name");
    assert_refused("redis-sentinel://h/0?sentinelMasterId=#m", LK_EURL,
                   "named twice");
    assert_refused("redis-sentinel://h/0#a#b", LK_EURL, "a # has to");
    assert_refused("redis-sentinel://u:1#hunter@h/0", LK_EURL,
                   "a # has to be written %23");
    assert_refused("redis-sentinel://h/0#a b", LK_EURL, "a space");
    assert_refused("redis+sentinel://h/m#m", LK_EURL, "a # has to");
    assert_refused("redis+sentinel://h/m?master_name=m", LK_EURL, "");
    assert_refused("redis://h?master_name=m", LK_EURL, "the sentinel's port");
    assert_refused("redis://h:1?master_name=m&addr=h2", LK_EURL,
                   "the sentinel's port");
    assert_refused("redis://h:1?master_name=m&addr=h:1", LK_EURL, "twice");
    assert_refused("redis://h:1?master_name=m&master_name=m", LK_EURL,
                   "named twice");
    assert_refused("unix:/s?master_name=m", LK_EURL, "");
}

static void a_wrong_sentinel_url_is_refused(void **state)
{
    static const char many[] = "redis+sentinel://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o";
    char text[sizeof(many) + 4];

    (void)state;
    assert_refused("redis+sentinel://h1,h2", LK_EURL, "the master's name");
    assert_refused("redis+sentinel://h1,h2/", LK_EURL, "the master's name");
    assert_refused("redis+sentinel://h1,h2//0", LK_EURL, "the master's name");
    assert_refused("redis+sentinel://h?name=/m", LK_EURL, "the master's name");
    assert_refused("redis+sentinel:h/m", LK_EURL, "two slashes");
    assert_refused("redis+sentinel:///m", LK_EURL, "is missing");
    assert_refused("redis+sentinel://h1,,h2/m", LK_EURL, "at byte 21: a host");
    assert_refused("redis+sentinel://h1,h2,/m", LK_EURL, "is missing");
    assert_refused("redis+sentinel://h1:x,h2/m", LK_EURL, "the port");
    assert_refused("redis+sentinel://h1,h2,H1:26379/m", LK_EURL, "twice");
    assert_refused("redis+sentinel://h1,h*/m", LK_EURL, "not the name");
    assert_refused("redis+sentinel://h1,[::1/m", LK_EURL, "without its ]");
    assert_refused("redis+sentinel://h/m/x", LK_EURL, "the database");
    assert_refused("redis+sentinel://h/m/0/1", LK_EURL, "the database");
    assert_refused("redis+sentinel://h/m?failover=no", LK_EURL, "safe or fast");
    (void)snprintf(text, sizeof(text), "%s,p/m", many);
    assert_refused(text, LK_EURL, "more than 15");
    (void)snprintf(text, sizeof(text), "%s/m", many);
    parse(text);
    assert_int_equal(url.server_count, 15);
}

static void an_option_of_sentinel_wants_sentinel(void **state)
{
    (void)state;
    assert_refused("redis://h?failover=fast", LK_EURL, "redis+sentinel://");
    assert_refused("unix:/s?sentinel_password=p", LK_EURL, "redis+sentinel://");
}

/* ---- refused ------------------------------------------------------------ */

static void what_cannot_be_is_refused_by_name(void **state)
{
    (void)state;
    assert_refused("rediss+unix:///s", LK_ENOTSUP, "TLS on a unix socket");
    assert_refused("sentinel://h1/0;sentinel://h2/0", LK_EURL,
                   "write redis+sentinel://");
}

static void an_unknown_scheme_is_refused(void **state)
{
    (void)state;
    assert_refused("", LK_EURL, "no known scheme");
    assert_refused("localhost", LK_EURL, "no known scheme");
    assert_refused("localhost:6379", LK_EURL, "no known scheme");
    assert_refused("redis", LK_EURL, "no known scheme");
    assert_refused("://h", LK_EURL, "scheme");
    assert_refused("reddis://h", LK_EURL, "'reddis' is not known");
    assert_refused("http://h", LK_EURL, "'http' is not known");
    assert_refused("/run/r.sock", LK_EURL, "no known scheme");
}

static void slashes_are_counted(void **state)
{
    (void)state;
    assert_refused("redis:h", LK_EURL, "at byte 7: two slashes");
    assert_refused("redis:/h", LK_EURL, "at byte 7: two slashes");
    assert_refused("unix://run/r.sock", LK_EURL, "three slashes");
    assert_refused("unix:r.sock", LK_EURL, "at byte 6: a whole path");
    assert_refused("unix:", LK_EURL, "a whole path");
    assert_refused("unix:///", LK_EURL, "a whole path");
    assert_refused("unix://u:p@", LK_EURL, "a whole path");
}

static void a_path_too_long_for_a_socket_is_refused(void **state)
{
    char text[5 + 108 + 1] = "unix:/";

    (void)state;
    memset(text + 6, 'p', 107);
    assert_refused(text, LK_EURL, "at most 107 bytes");
    text[5 + 107] = '\0';
    assert_unix(text, text + 5);
}

static void a_user_info_without_a_colon_is_refused(void **state)
{
    (void)state;
    assert_refused("redis://word@h", LK_EURL, "write user:@ or :password@");
    assert_refused("unix://word@/s", LK_EURL, "write user:@ or :password@");
}

/* Clients do not agree on what they mean. */
static void a_user_info_that_is_not_encoded_is_refused(void **state)
{
    (void)state;
    assert_refused("redis://u:p:q@h", LK_EURL, "write : as %3A and @ as %40");
    assert_refused("redis://u:p@q@h:1/2", LK_EURL, "at byte 9: in a user or");
    assert_refused("redis://u@a:p@h", LK_EURL, "@ as %40");
    assert_refused("redis://u:p/q@h", LK_EURL, "write / ? # @ as %2F");
}

static void tls_is_never_left_out_in_silence(void **state)
{
    (void)state;
    assert_refused("redis://h?tls_ca_file=/a", LK_EURL, "write rediss://");
    assert_refused("redis://h?ssl_cert_reqs=none", LK_EURL, "write rediss://");
    assert_refused("unix:/s?tls_verify=full", LK_EURL, "write rediss://");
    assert_refused("redis+sentinel://h/m?tls_verify=full", LK_EURL,
                   "write rediss+sentinel://");
    assert_refused("rediss://h?tls_verify=some", LK_EURL, "full, ca or none");
    assert_refused("rediss://h?tls_verify=ca&skip_verify=1", LK_EURL,
                   "for the second time");
}

static void a_wrong_port_is_refused(void **state)
{
    (void)state;
    assert_refused("redis://h:", LK_EURL, "at byte 11: the port");
    assert_refused("redis://h:0", LK_EURL, "the port has to be 1 to 65535");
    assert_refused("redis://h:65536", LK_EURL, "the port");
    assert_refused("redis://h:99999999999999999999", LK_EURL, "the port");
    assert_refused("redis://h:4294967297", LK_EURL, "the port");
    assert_refused("redis://h:-1", LK_EURL, "the port");
    assert_refused("redis://h:1x", LK_EURL, "the port");
    assert_refused("redis://h:%31", LK_EURL, "the port");
}

static void a_wrong_host_is_refused(void **state)
{
    char text[8 + 257] = "redis://";

    (void)state;
    assert_refused("redis://a*b", LK_EURL, "at byte 9: not the name");
    assert_refused("redis://a%2Fb", LK_EURL, "not the name");
    assert_refused("redis://::1", LK_EURL, "stands in [ ]");
    assert_refused("redis://[::1", LK_EURL, "a [ without its ]");
    assert_refused("redis://[]", LK_EURL, "not an IPv6 address");
    assert_refused("redis://[h]", LK_EURL, "not an IPv6 address");
    assert_refused("redis://[::1%25]", LK_EURL, "not an IPv6 address");
    assert_refused("redis://[::1]x", LK_EURL, "have to follow the ]");
    memset(text + 8, 'h', 256);
    assert_refused(text, LK_EURL, "not the name");
}

static void a_wrong_database_is_refused(void **state)
{
    (void)state;
    assert_refused("redis://h/x", LK_EURL, "at byte 11: the database");
    assert_refused("redis://h/0/", LK_EURL, "the database");
    assert_refused("redis://h/-1", LK_EURL, "the database");
    assert_refused("redis://h/2147483648", LK_EURL, "0 to 2147483647");
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    assert_refused("redis://h?", LK_EURL, "at byte 11: an option has to be");
    assert_refused("redis://h?db", LK_EURL, "written key=value");
    assert_refused("redis://h?=1", LK_EURL, "written key=value");
    assert_refused("redis://h?db=1&", LK_EURL, "at byte 16: an option has");
    assert_refused("redis://h?db=1&&db=1", LK_EURL, "at byte 16: an option");
    assert_refused("redis://h?db=", LK_EURL, "db has no value");
    assert_refused("redis://h?db=1&db=1", LK_EURL, "for the second time");
    assert_refused("redis://h?ofline_ms=1", LK_EURL,
                   "at byte 11: there is no option 'ofline_ms'; the nearest "
                   "is 'offline_ms'");
    assert_refused("redis://h?watchdog_ms=1", LK_EURL, "it has to be 100 to");
}

static void wrong_encodings_are_refused(void **state)
{
    (void)state;
    assert_refused("redis://u:%4@h", LK_EURL, "at byte 11: two hexadecimal");
    assert_refused("redis://u:%@h", LK_EURL, "two hexadecimal");
    assert_refused("redis://u:%4g@h", LK_EURL, "two hexadecimal");
    assert_refused("redis://h?name=%", LK_EURL, "two hexadecimal");
    assert_refused("redis://h/%3", LK_EURL, "two hexadecimal");
}

static void control_bytes_are_refused(void **state)
{
    (void)state;
    assert_refused("redis://u:a%00b@h", LK_EURL, "a control character");
    assert_refused("redis://u:a%0Ab@h", LK_EURL, "a control character");
    assert_refused("unix:/a%7f", LK_EURL, "a control character");
    assert_refused("redis://h\n", LK_EURL, "at byte 10: a space or control");
    assert_refused("redis://h /1", LK_EURL, "a space or control character");
    assert_refused("redis://h#1", LK_EURL, "a # has to be written %23");
}

/* Whatever is wrong and wherever the password has run. */
static void no_error_repeats_the_password(void **state)
{
    static const char *const texts[] = {
        "redis://:hunter@h:x",      "redis://:hunter%@h",
        "redis://u:hunter@h/x",     "redis://u:hunter@h?x=1",
        "redis://hunter@h",         "redis://:/hunter@h",
        "redis://:1/hunter@h",      "redis://:1?hunter@h",
        "redis://:1?hunter=1@h",    "redis://:1?db=hunter@h",
        "redis://:1?name=&hunter@", "redis://:#hunter@h",
        "redis://:hunter/2@h",      "redis://:hunter?2@h",
        "redis://:hunter#2@h",      "redis://:hunter 2@h",
        "redis://:hunter,2@h,i/1",  "redis://u:[hunter/@h",
        "unix://u:hunter@h/p",      "unix://u:hunter@",
        "unix://hunter@/p",         "rediss://:hunter@h:x",
        "reddis://:hunter@h",       "hunter:hunter@h",
        "redis:hunter@h",           "redis://h?password=hunter&x=1",
        "redis://:1:hunter@h",      "redis://:hunter@1@h",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_not_equal(lk__url_parse(&url, texts[i]), LK_OK);
        assert_true(lk_last_error()[0] != '\0');
        if (strstr(lk_last_error(), "hunter") != NULL)
            fail_msg("%s: %s", texts[i], lk_last_error());
    }
}

static void a_password_that_was_not_encoded_is_told_how(void **state)
{
    (void)state;
    assert_refused("redis://:a/b@h", LK_EURL, "in a user or password write");
    assert_refused("redis://u:a?b@h", LK_EURL, "in a user or password write");
    assert_refused("redis://u:a#b@h", LK_EURL, "in a user or password write");
}

/* Every prefix, and every byte replaced: it fails or not, and cleanly. */
static void no_damage_to_a_url_does_harm(void **state)
{
    static const char whole[] =
        "redis://us%65r:p%61ss@[::1]:6379/12?name=n%61&db=3";

    (void)state;
    for (size_t at = 0; at < sizeof(whole); at++) {
        for (int byte = 0; byte < 256; byte++) {
            char text[sizeof(whole)];

            memcpy(text, whole, sizeof(whole));
            text[at] = (char)byte;
            if (at == sizeof(whole) - 1)
                text[at] = '\0';
            if (lk__url_parse(&url, text) == LK_OK)
                lk__url_done(&url);
        }
    }
}

static bool always(void)
{
    return true;
}

static void without_memory_nothing_is_parsed(void **state)
{
    (void)state;
    lk__mem_fail(always);
    assert_refused("redis://h", LK_ENOMEM, "out of memory");
    lk__mem_fail(NULL);
}

#define URL_TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        URL_TEST(host_port_and_db_may_each_be_left_out),
        URL_TEST(both_names_of_the_server_are_understood),
        URL_TEST(an_s_means_tls),
        URL_TEST(others_spellings_of_tls_are_understood),
        URL_TEST(an_ipv6_address_stands_in_brackets),
        URL_TEST(every_spelling_of_a_socket_is_understood),
        URL_TEST(a_socket_takes_a_user_and_options),
        URL_TEST(user_and_password_are_told_apart),
        URL_TEST(every_part_is_decoded_once),
        URL_TEST(options_are_read),
        URL_TEST(an_option_beats_the_path_and_the_user_info),
        URL_TEST(the_sentinels_and_their_master_are_read),
        URL_TEST(of_sentinel_port_and_database_may_be_left_out),
        URL_TEST(of_sentinel_tls_is_a_scheme_of_its_own),
        URL_TEST(the_ways_of_other_clients_name_a_master_too),
        URL_TEST(before_the_at_of_go_redis_is_the_sentinels_user),
        URL_TEST(what_other_clients_leave_out_is_asked_for),
        URL_TEST(a_wrong_sentinel_url_is_refused),
        URL_TEST(an_option_of_sentinel_wants_sentinel),
        URL_TEST(what_cannot_be_is_refused_by_name),
        URL_TEST(an_unknown_scheme_is_refused),
        URL_TEST(slashes_are_counted),
        URL_TEST(a_path_too_long_for_a_socket_is_refused),
        URL_TEST(a_user_info_without_a_colon_is_refused),
        URL_TEST(a_user_info_that_is_not_encoded_is_refused),
        URL_TEST(tls_is_never_left_out_in_silence),
        URL_TEST(a_wrong_port_is_refused),
        URL_TEST(a_wrong_host_is_refused),
        URL_TEST(a_wrong_database_is_refused),
        URL_TEST(wrong_options_are_refused),
        URL_TEST(wrong_encodings_are_refused),
        URL_TEST(control_bytes_are_refused),
        URL_TEST(no_error_repeats_the_password),
        URL_TEST(a_password_that_was_not_encoded_is_told_how),
        URL_TEST(no_damage_to_a_url_does_harm),
        URL_TEST(without_memory_nothing_is_parsed),
    };

    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
