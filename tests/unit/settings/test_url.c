/* SPDX-License-Identifier: MIT */

/* The URL of a server: what is understood, what is refused, and the words. */

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "support/check.h"
#include "support/urls.h"

static void
assert_tcp(const char *text, const char *host, unsigned port, uint64_t db)
{
    url_read(text);
    assert_url_text(url.host, host);
    assert_null(url.path);
    assert_int_equal(url.port, port);
    assert_int_equal(url.options.db, db);
}

static void assert_unix(const char *text, const char *path)
{
    url_read(text);
    assert_url_text(url.path, path);
    assert_null(url.host);
    assert_int_equal(url.port, 0);
}

static void
assert_user(const char *text, const char *user, const char *password)
{
    url_read(text);
    assert_url_text(url.options.user, user);
    assert_url_text(url.options.password, password);
}

/* ---- understood --------------------------------------------------------- */

URL_TEST(host_port_and_db_may_each_be_left_out)
{
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

URL_TEST(both_names_of_the_server_are_understood)
{
    assert_tcp("valkey://h:1/2", "h", 1, 2);
    assert_tcp("REDIS://h:1/2", "h", 1, 2);
    assert_tcp("tcp://h:1/2", "h", 1, 2);
}

URL_TEST(an_s_means_tls)
{
    assert_tcp("rediss://h:1/2", "h", 1, 2);
    assert_true(url.tls);
    assert_tcp("valkeys://", "127.0.0.1", 6379, 0);
    assert_true(url.tls);
    assert_tcp("redis://h", "h", 6379, 0);
    assert_false(url.tls);
}

URL_TEST(others_spellings_of_tls_are_understood)
{
    url_read("rediss://h?ssl_ca_certs=/a&ssl_ca_path=/d&ssl_certfile=/c&"
             "ssl_keyfile=/k&ssl_cert_reqs=none");
    assert_url_text(url.options.tls_ca_file, "/a");
    assert_url_text(url.options.tls_ca_dir, "/d");
    assert_url_text(url.options.tls_cert_file, "/c");
    assert_url_text(url.options.tls_key_file, "/k");
    assert_int_equal(url.options.tls_verify, LK_TLS_NONE);
    url_read("rediss://h?cacert=/a&cacertdir=/d&cert=/c&key=/k&sni=n&"
             "verifyPeer=CA");
    assert_url_text(url.options.tls_ca_file, "/a");
    assert_url_text(url.options.tls_ca_dir, "/d");
    assert_url_text(url.options.tls_cert_file, "/c");
    assert_url_text(url.options.tls_key_file, "/k");
    assert_url_text(url.options.tls_server_name, "n");
    assert_int_equal(url.options.tls_verify, LK_TLS_CA);
    url_read("rediss://h?skip_verify=true");
    assert_int_equal(url.options.tls_verify, LK_TLS_NONE);
    url_read("rediss://h?tls_verify=full");
    assert_int_equal(url.options.tls_verify, LK_TLS_FULL);
}

URL_TEST(an_ipv6_address_stands_in_brackets)
{
    assert_tcp("redis://[::1]", "::1", 6379, 0);
    assert_tcp("redis://[::1]:7000/3", "::1", 7000, 3);
    assert_tcp("redis://[fe80::1%25eth0]:7000", "fe80::1%eth0", 7000, 0);
    assert_tcp("redis://u:p@[::ffff:10.0.0.1]/3", "::ffff:10.0.0.1", 6379, 3);
}

URL_TEST(every_spelling_of_a_socket_is_understood)
{
    assert_unix("unix:/run/r.sock", "/run/r.sock");
    assert_unix("unix:///run/r.sock", "/run/r.sock");
    assert_unix("redis+unix:///run/r.sock", "/run/r.sock");
    assert_unix("valkey+unix:///run/r.sock", "/run/r.sock");
    assert_unix("redis-socket:///run/r.sock", "/run/r.sock");
    assert_unix("redis+uds:///run/r.sock", "/run/r.sock");
    assert_unix("valkey+uds:///run/r.sock", "/run/r.sock");
    assert_unix("unix:/run/a@b%20c", "/run/a@b c");
}

URL_TEST(a_socket_takes_a_user_and_options)
{
    assert_unix("unix://u:p@/run/r.sock?db=4&name=n", "/run/r.sock");
    assert_url_text(url.options.user, "u");
    assert_url_text(url.options.password, "p");
    assert_url_text(url.options.name, "n");
    assert_int_equal(url.options.db, 4);
}

URL_TEST(user_and_password_are_told_apart)
{
    assert_user("redis://h", NULL, NULL);
    assert_user("redis://u:p@h", "u", "p");
    assert_user("redis://:p@h", NULL, "p");
    assert_user("redis://u:@h", "u", "");
    assert_user("redis://:@h", NULL, NULL);
    assert_user("redis://@h", NULL, NULL);
}

URL_TEST(every_part_is_decoded_once)
{
    assert_user("redis://%75%3A:%40%2f%3F%23%25@h", "u:", "@/?#%");
    assert_user("redis://u:%2541@h", "u", "%41");
    assert_user("redis://u:a+b@h", "u", "a+b");
    assert_user("redis://u:p%C3%A9@h", "u", "p\xc3\xa9");
    assert_tcp("redis://%68o/%33?n%61me=%6e", "ho", 6379, 3);
    assert_url_text(url.options.name, "n");
}

URL_TEST(options_are_read)
{
    url_read(
        "redis://h?connect_timeout_ms=500ms&watchdog_ms=10s&interop=redisson"
        "&dispatch=on&max_pending=99&name=a=b&log_level=info");
    assert_int_equal(url.options.connect_timeout_ms, 500);
    assert_int_equal(url.options.watchdog_ms, 10000);
    assert_int_equal(url.options.interop, LK_INTEROP_REDISSON);
    assert_int_equal(url.options.dispatch, 1);
    assert_int_equal(url.options.max_pending, 99);
    assert_int_equal(url.options.log_level, LK_LOG_INFO);
    assert_url_text(url.options.name, "a=b");
}

URL_TEST(an_option_beats_the_path_and_the_user_info)
{
    assert_tcp("redis://h/3?db=5", "h", 6379, 5);
    assert_tcp("redis://h/3?db=0", "h", 6379, 0);
    assert_user("redis://u:p@h?user=v&password=q", "v", "q");
}

/* ---- refused ------------------------------------------------------------ */

URL_TEST(what_cannot_be_is_refused_by_name)
{
    assert_url_fails("rediss+unix:///s", LK_ENOTSUP, "TLS on a unix socket");
    assert_url_refused("sentinel://h1/0;sentinel://h2/0",
                       "write redis+sentinel://");
}

URL_TEST(an_unknown_scheme_is_refused)
{
    assert_url_refused("", "no known scheme");
    assert_url_refused("localhost", "no known scheme");
    assert_url_refused("localhost:6379", "no known scheme");
    assert_url_refused("redis", "no known scheme");
    assert_url_refused("://h", "scheme");
    assert_url_refused("reddis://h", "'reddis' is not known");
    assert_url_refused("http://h", "'http' is not known");
    assert_url_refused("/run/r.sock", "no known scheme");
}

URL_TEST(slashes_are_counted)
{
    assert_url_refused("redis:h", "at byte 7: two slashes");
    assert_url_refused("redis:/h", "at byte 7: two slashes");
    assert_url_refused("unix://run/r.sock", "three slashes");
    assert_url_refused("unix:r.sock", "at byte 6: a whole path");
    assert_url_refused("unix:", "a whole path");
    assert_url_refused("unix:///", "a whole path");
    assert_url_refused("unix://u:p@", "a whole path");
}

URL_TEST(a_path_too_long_for_a_socket_is_refused)
{
    char text[5 + 108 + 1] = "unix:/";

    memset(text + 6, 'p', 107);
    assert_url_refused(text, "at most 107 bytes");
    text[5 + 107] = '\0';
    assert_unix(text, text + 5);
}

URL_TEST(a_user_info_without_a_colon_is_refused)
{
    assert_url_refused("redis://word@h", "write user:@ or :password@");
    assert_url_refused("unix://word@/s", "write user:@ or :password@");
}

/* Clients do not agree on what they mean. */
URL_TEST(a_user_info_that_is_not_encoded_is_refused)
{
    assert_url_refused("redis://u:p:q@h", "write : as %3A and @ as %40");
    assert_url_refused("redis://u:p@q@h:1/2", "at byte 9: in a user or");
    assert_url_refused("redis://u@a:p@h", "@ as %40");
    assert_url_refused("redis://u:p/q@h", "write / ? # @ as %2F");
}

URL_TEST(tls_is_never_left_out_in_silence)
{
    assert_url_refused("redis://h?tls_ca_file=/a", "write rediss://");
    assert_url_refused("redis://h?ssl_cert_reqs=none", "write rediss://");
    assert_url_refused("unix:/s?tls_verify=full", "write rediss://");
    assert_url_refused("redis+sentinel://h/m?tls_verify=full",
                       "write rediss+sentinel://");
    assert_url_refused("rediss://h?tls_verify=some", "full, ca or none");
    assert_url_refused("rediss://h?tls_verify=ca&skip_verify=1",
                       "for the second time");
}

URL_TEST(a_wrong_port_is_refused)
{
    assert_url_refused("redis://h:", "at byte 11: the port");
    assert_url_refused("redis://h:0", "the port has to be 1 to 65535");
    assert_url_refused("redis://h:65536", "the port");
    assert_url_refused("redis://h:99999999999999999999", "the port");
    assert_url_refused("redis://h:4294967297", "the port");
    assert_url_refused("redis://h:-1", "the port");
    assert_url_refused("redis://h:1x", "the port");
    assert_url_refused("redis://h:%31", "the port");
}

URL_TEST(a_wrong_host_is_refused)
{
    char text[8 + 257] = "redis://";

    assert_url_refused("redis://a*b", "at byte 9: not the name");
    assert_url_refused("redis://a%2Fb", "not the name");
    assert_url_refused("redis://::1", "stands in [ ]");
    assert_url_refused("redis://[::1", "a [ without its ]");
    assert_url_refused("redis://[]", "not an IPv6 address");
    assert_url_refused("redis://[h]", "not an IPv6 address");
    assert_url_refused("redis://[::1%25]", "not an IPv6 address");
    assert_url_refused("redis://[::1]x", "have to follow the ]");
    memset(text + 8, 'h', 256);
    assert_url_refused(text, "not the name");
}

URL_TEST(a_wrong_database_is_refused)
{
    assert_url_refused("redis://h/x", "at byte 11: the database");
    assert_url_refused("redis://h/0/", "the database");
    assert_url_refused("redis://h/-1", "the database");
    assert_url_refused("redis://h/2147483648", "0 to 2147483647");
}

URL_TEST(wrong_options_are_refused)
{
    assert_url_refused("redis://h?", "at byte 11: an option has to be");
    assert_url_refused("redis://h?db", "written key=value");
    assert_url_refused("redis://h?=1", "written key=value");
    assert_url_refused("redis://h?db=1&", "at byte 16: an option has");
    assert_url_refused("redis://h?db=1&&db=1", "at byte 16: an option");
    assert_url_refused("redis://h?db=", "db has no value");
    assert_url_refused("redis://h?db=1&db=1", "for the second time");
    assert_url_refused(
        "redis://h?ofline_ms=1",
        "at byte 11: there is no option 'ofline_ms'; the nearest "
        "is 'offline_ms'");
    assert_url_refused("redis://h?watchdog_ms=1", "it has to be 100 to");
}

URL_TEST(wrong_encodings_are_refused)
{
    assert_url_refused("redis://u:%4@h", "at byte 11: two hexadecimal");
    assert_url_refused("redis://u:%@h", "two hexadecimal");
    assert_url_refused("redis://u:%4g@h", "two hexadecimal");
    assert_url_refused("redis://h?name=%", "two hexadecimal");
    assert_url_refused("redis://h/%3", "two hexadecimal");
}

URL_TEST(control_bytes_are_refused)
{
    assert_url_refused("redis://u:a%00b@h", "a control character");
    assert_url_refused("redis://u:a%0Ab@h", "a control character");
    assert_url_refused("unix:/a%7f", "a control character");
    assert_url_refused("redis://h\n", "at byte 10: a space or control");
    assert_url_refused("redis://h /1", "a space or control character");
    assert_url_refused("redis://h#1", "a # has to be written %23");
}

/* Whatever is wrong and wherever the password has run. */
URL_TEST(no_error_repeats_the_password)
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

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_not_equal(lk__url_parse(&url, texts[i]), LK_OK);
        assert_true(lk_last_error()[0] != '\0');
        if (strstr(lk_last_error(), "hunter") != NULL)
            fail_msg("%s: %s", texts[i], lk_last_error());
    }
}

URL_TEST(a_password_that_was_not_encoded_is_told_how)
{
    assert_url_refused("redis://:a/b@h", "in a user or password write");
    assert_url_refused("redis://u:a?b@h", "in a user or password write");
    assert_url_refused("redis://u:a#b@h", "in a user or password write");
}

/* Every prefix, and every byte replaced: it fails or not, and cleanly. */
URL_TEST(no_damage_to_a_url_does_harm)
{
    static const char whole[] =
        "redis://us%65r:p%61ss@[::1]:6379/12?name=n%61&db=3";

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

URL_TEST(without_memory_nothing_is_parsed)
{
    lk__mem_fail(always);
    assert_url_fails("redis://h", LK_ENOMEM, "out of memory");
    lk__mem_fail(NULL);
}
