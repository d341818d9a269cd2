/* SPDX-License-Identifier: MIT */

/* Where the tool listens, and under which names it answers. */

#include "cli/http/http.h"
#include "support/check.h"

static void assert_place(const char *text, const char *address, unsigned port,
                         bool is_local)
{
    cli_http_place place;

    assert_true(cli_http_place_read(text, &place));
    assert_string_equal(place.address, address);
    assert_int_equal(place.port, port);
    assert_int_equal(place.is_local, is_local);
}

CHECK_TEST(places_are_read)
{
    assert_place("0", "127.0.0.1", 0, true);
    assert_place("9400", "127.0.0.1", 9400, true);
    assert_place("127.0.0.1:65535", "127.0.0.1", 65535, true);
    assert_place("127.8.9.1:1", "127.8.9.1", 1, true);
    assert_place("localhost:80", "127.0.0.1", 80, true);
    assert_place("[::1]:80", "::1", 80, true);
    assert_place("0.0.0.0:80", "0.0.0.0", 80, false);
    assert_place("[::]:80", "::", 80, false);
    assert_place("10.0.0.1:80", "10.0.0.1", 80, false);
}

CHECK_TEST(what_is_no_place_is_refused)
{
    static const char *const wrong[] =
        {"",
         ":",
         ":80",
         "65536",
         "-1",
         "80x",
         " 80",
         "here:80",
         "1.2.3:80",
         "::1:80",
         "[::1]",
         "[]:80",
         "[1.2.3.4:80",
         "127.0.0.1:",
         "127.0.0.1",
         "[::1:80",
         "::1",
         "localhost",
         "localhos:80",
         "[fe80::1%lo]:80",
         "1111111111111111111111111111111111111111111111111111111111111111:80"};
    cli_http_place place;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (cli_http_place_read(wrong[i], &place))
            fail_msg("'%s' was taken", wrong[i]);
    }
}

CHECK_TEST(only_names_of_this_machine_are_local)
{
    static const char *const right[] = {"localhost", "LocalHost:8080",
                                        "127.0.0.1", "127.0.0.1:1",
                                        "[::1]",     "[::1]:65535",
                                        "127.0.0.2", "127.0.0.2:9401"};
    static const char *const wrong[] = {"",
                                        "localhost.",
                                        "localhost.evil.example",
                                        "evil",
                                        "127.0.0.1.nip.io",
                                        "127.0.0.1:80@evil",
                                        "::1",
                                        "[::1",
                                        "localhost:",
                                        "localhost:x",
                                        "0.0.0.0",
                                        "evil:80"};

    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_true(cli_http_host_is_local(right[i], "127.0.0.2"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (cli_http_host_is_local(wrong[i], "127.0.0.2"))
            fail_msg("'%s' was taken", wrong[i]);
    }
    assert_false(cli_http_host_is_local(NULL, "127.0.0.2"));
    assert_false(cli_http_host_is_local("127.0.0.2", "127.0.0.1"));
}
