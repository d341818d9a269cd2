/* SPDX-License-Identifier: MIT */

/* Sized structs, options by text, and the settings made from them. */

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "settings/settings.h"
#include "support/check.h"

/* ---- sized structs ------------------------------------------------------ */

typedef struct v1 {
    size_t size;
    uint64_t a;
} v1;

typedef struct v2 {
    size_t size;
    uint64_t a;
    uint64_t b;
} v2;

CHECK_TEST(null_means_all_defaults)
{
    v2 ours = {.a = 7};

    assert_status(lk__options_copy(&ours, sizeof(ours), NULL), LK_OK);
    assert_int_equal(ours.a, 0);
}

CHECK_TEST(an_older_caller_gets_defaults_for_new_fields)
{
    v1 theirs = {.size = sizeof(theirs), .a = 7};
    v2 ours = {.b = 9};

    assert_status(lk__options_copy(&ours, sizeof(ours), &theirs), LK_OK);
    assert_int_equal(ours.a, 7);
    assert_int_equal(ours.b, 0);
}

CHECK_TEST(a_newer_caller_is_refused_what_we_do_not_know)
{
    v2 theirs = {.size = sizeof(theirs), .a = 7};
    v1 ours;

    assert_status(lk__options_copy(&ours, sizeof(ours), &theirs), LK_OK);
    assert_int_equal(ours.a, 7);
    theirs.b = 1;
    assert_status(lk__options_copy(&ours, sizeof(ours), &theirs), LK_ENOTSUP);
}

CHECK_TEST(a_forgotten_size_is_refused)
{
    v1 theirs = {.a = 7};
    v1 ours;

    assert_status(lk__options_copy(&ours, sizeof(ours), &theirs), LK_EINVAL);
}

/* ---- by text ------------------------------------------------------------ */

static lk_client_options options;

static int begin(NO_STATE)
{
    options = (lk_client_options){LK_CLIENT_OPTIONS_INIT};
    return 0;
}

static void assert_set(const char *key, const char *value)
{
    assert_status(lk_client_options_set(&options, key, value), LK_OK);
}

static void
assert_refused(const char *key, const char *value, const char *words)
{
    lk_client_options before = options;

    assert_status(lk_client_options_set(&options, key, value), LK_EINVAL);
    if (strstr(lk_last_error(), words) == NULL)
        assert_string_equal(lk_last_error(), words);
    assert_memory_equal(&options, &before, sizeof(options));
}

#define TEXT_TEST(name)     CHECK_TEST_OF(name, NO_STATE, begin, NULL)
#define SETTINGS_TEST(name) CHECK_TEST_OF(name, NO_STATE, begin, end)

TEXT_TEST(a_string_is_borrowed)
{
    const char *user = "app";

    assert_set("user", user);
    assert_ptr_equal(options.user, user);
}

TEXT_TEST(a_time_takes_a_unit)
{
    assert_set("offline_ms", "250");
    assert_int_equal(options.offline_ms, 250);
    assert_set("offline_ms", "500ms");
    assert_int_equal(options.offline_ms, 500);
    assert_set("offline_ms", "5s");
    assert_int_equal(options.offline_ms, 5000);
    assert_set("offline_ms", "2m");
    assert_int_equal(options.offline_ms, 120000);
    assert_set("offline_ms", "1h");
    assert_int_equal(options.offline_ms, 3600000);
    assert_set("offline_ms", "1m30s");
    assert_int_equal(options.offline_ms, 90000);
    assert_set("offline_ms", "1h0m1s1ms");
    assert_int_equal(options.offline_ms, 3601001);
}

TEXT_TEST(a_time_is_taken_as_a_clock_shows_it)
{
    assert_set("offline_ms", "0:42");
    assert_int_equal(options.offline_ms, 42000);
    assert_set("offline_ms", "1:02:03");
    assert_int_equal(options.offline_ms, 3723000);
    assert_set("offline_ms", "90:00");
    assert_int_equal(options.offline_ms, 5400000);
    assert_refused("offline_ms", ":42", "it has to be a time");
    assert_refused("offline_ms", "0:", "it has to be a time");
    assert_refused("offline_ms", "0:4", "it has to be a time");
    assert_refused("offline_ms", "0:60", "it has to be a time");
    assert_refused("offline_ms", "0:0a", "it has to be a time");
    assert_refused("offline_ms", "0:042", "it has to be a time");
    assert_refused("offline_ms", "0:42s", "it has to be a time");
    assert_refused("offline_ms", "1:02:03:04", "it has to be a time");
    /* 2^64 ms and a little, which would come out as a small number. */
    assert_refused("offline_ms", "5124095576030:26:00", "has to be a time");
    assert_refused("offline_ms", "307445734561825:52", "has to be a time");
}

TEXT_TEST(what_is_no_time_is_refused)
{
    assert_refused("offline_ms", "", "offline_ms has no value");
    assert_refused("offline_ms", "s", "it has to be a time");
    assert_refused("offline_ms", "5 s", "it has to be a time");
    assert_refused("offline_ms", " 5s", "it has to be a time");
    assert_refused("offline_ms", "+5s", "it has to be a time");
    assert_refused("offline_ms", "-5s", "it has to be a time");
    assert_refused("offline_ms", "1.5s", "it has to be a time");
    assert_refused("offline_ms", "5d", "it has to be a time");
    assert_refused("offline_ms", "5sx", "it has to be a time");
    assert_refused("offline_ms", "1m30", "it has to be a time");
    assert_refused("offline_ms", "30s1m", "it has to be a time");
    assert_refused("offline_ms", "1s1s", "it has to be a time");
    assert_refused("offline_ms", "s1", "it has to be a time");
    assert_refused("offline_ms", "1h18446744073709551615ms", "it has to be");
}

TEXT_TEST(what_overflows_is_refused)
{
    assert_refused("offline_ms", "18446744073709551616", "has to be a time");
    assert_refused("offline_ms", "99999999999999999999999", "has to be a time");
    /* 2^64 ms and a little, which would come out as a small number. */
    assert_refused("offline_ms", "5124095576030432h", "has to be a time");
    assert_refused("db", "18446744073709551616", "a number of digits only");
}

TEXT_TEST(a_number_has_bounds)
{
    assert_set("db", "0");
    assert_set("db", "2147483647");
    assert_int_equal(options.db, 2147483647);
    assert_refused("db", "2147483648", "db is 2147483648; it has to be 0 to");
    assert_refused("db", "-1", "a number of digits only");
    assert_refused("db", "0x1", "a number of digits only");
    assert_refused("watchdog_ms", "99", "it has to be 100 to 86400000");
    assert_set("watchdog_ms", "100");
    assert_set("watchdog_ms", "24h");
    assert_refused("watchdog_ms", "25h", "it has to be 100 to 86400000");
    assert_refused("connect_timeout_ms", "0", "it has to be 1 to");
}

TEXT_TEST(a_choice_takes_its_words)
{
    assert_set("interop", "redisson");
    assert_int_equal(options.interop, LK_INTEROP_REDISSON);
    assert_set("interop", "auto");
    assert_int_equal(options.interop, LK_INTEROP_AUTO);
    assert_set("log_level", "error");
    assert_int_equal(options.log_level, LK_LOG_ERROR);
    assert_set("log_level", "debug");
    assert_int_equal(options.log_level, LK_LOG_DEBUG);
    assert_refused("log_level", "loud", "error, warn, info or debug");
    assert_refused("tls_verify", "some", "full, ca or none");
    assert_refused("interop", "Redisson", "auto or redisson");
}

TEXT_TEST(a_flag_takes_its_words)
{
    assert_set("dispatch", "yes");
    assert_int_equal(options.dispatch, 1);
    assert_set("dispatch", "off");
    assert_int_equal(options.dispatch, 0);
    assert_refused("dispatch", "2", "a flag");
}

TEXT_TEST(a_name_is_what_the_server_takes)
{
    char longest[130];

    memset(longest, 'n', sizeof(longest));
    longest[129] = '\0';
    assert_refused("name", longest, "name is longer than 128 bytes");
    longest[128] = '\0';
    assert_set("name", longest);
    assert_refused("name", "two words", "visible ASCII");
    assert_refused("name", "caf\xc3\xa9", "visible ASCII");
}

TEXT_TEST(an_unknown_key_is_told_the_nearest)
{
    assert_refused("pasword", "x", "the nearest is 'password'");
    assert_refused("connect_timeout", "x", "'connect_timeout_ms'");
    assert_refused("offlne_ms", "x", "the nearest is 'offline_ms'");
    assert_refused("", "x", "there is no option ''");
    assert_refused("a_key_that_is_longer_than_any_option_is", "x",
                   "so long a name");
}

TEXT_TEST(what_is_no_text_cannot_be_set)
{
    assert_refused("log", "x", "there is no option 'log'");
    assert_refused("log_data", "x", "there is no option 'log_data'");
    assert_refused("size", "8", "there is no option 'size'");
}

TEXT_TEST(an_error_never_shows_the_password)
{
    static char secret[16400];

    memset(secret, 's', sizeof(secret) - 1);
    assert_refused("password", secret, "password is longer than");
    assert_null(strstr(lk_last_error(), "sss"));
}

TEXT_TEST(setting_needs_an_initialised_struct)
{
    options.size = 0;
    assert_refused("db", "1", "size is not set");
    assert_status(lk_client_options_set(NULL, "db", "1"), LK_EINVAL);
    assert_status(lk_client_options_set(&options, NULL, "1"), LK_EINVAL);
    assert_status(lk_client_options_set(&options, "db", NULL), LK_EINVAL);
}

TEXT_TEST(a_field_beyond_the_size_is_not_touched)
{
    options.size = offsetof(lk_client_options, db);
    assert_refused("db", "1", "db is beyond the size");
    assert_set("user", "app");
}

/* ---- the table ---------------------------------------------------------- */

CHECK_TEST(the_table_names_every_field_but_those_of_the_struct_alone)
{
    size_t size = sizeof(options.size) + sizeof(options.log) +
                  sizeof(options.log_data) + sizeof(options.under);

    for (size_t i = 0; i < lk__option_count; i++) {
        size += sizeof(uint64_t);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(lk__options[i].offset, lk__options[j].offset);
    }
    assert_int_equal(size, sizeof(lk_client_options));
}

CHECK_TEST(every_default_lies_within_its_bounds)
{
    for (size_t i = 0; i < lk__option_count; i++) {
        const lk__option *option = &lk__options[i];

        if (option->kind == LK__OPTION_STRING)
            continue;
        assert_in_range(option->initial, option->min, option->max);
    }
}

/* ---- settings ----------------------------------------------------------- */

static lk__settings settings;

static int end(NO_STATE)
{
    lk__settings_done(&settings);
    return 0;
}

static void assert_made(const char *url)
{
    assert_status(lk__settings_make(&settings, url, &options), LK_OK);
}

SETTINGS_TEST(everything_has_a_default)
{
    assert_status(lk__settings_make(&settings, "redis://", NULL), LK_OK);
    assert_string_equal(settings.address.host, "127.0.0.1");
    assert_null(settings.address.path);
    assert_int_equal(settings.address.port, 6379);
    assert_null(settings.user);
    assert_null(settings.password);
    assert_int_equal(settings.db, 0);
    assert_int_equal(settings.connect_timeout_ms, 2000);
    assert_int_equal(settings.command_timeout_ms, 2000);
    assert_int_equal(settings.offline_ms, 5000);
    assert_int_equal(settings.watchdog_ms, 30000);
    assert_int_equal(settings.max_pending, 100000);
    assert_int_equal(settings.interop, LK_INTEROP_AUTO);
    assert_int_equal(settings.log_level, LK_LOG_WARN);
    assert_false(settings.dispatch);
    assert_true(settings.log == NULL);
}

SETTINGS_TEST(the_default_name_is_the_programs)
{
    assert_made("redis://");
    assert_non_null(strstr(settings.name, "test_unit_settings"));
    assert_null(strchr(settings.name, '/'));
}

SETTINGS_TEST(the_url_beats_the_default)
{
    assert_made("redis://u:p@h:1/3?name=n&offline_ms=7s&dispatch=1");
    assert_string_equal(settings.address.host, "h");
    assert_int_equal(settings.address.port, 1);
    assert_string_equal(settings.user, "u");
    assert_string_equal(settings.password, "p");
    assert_string_equal(settings.name, "n");
    assert_int_equal(settings.db, 3);
    assert_int_equal(settings.offline_ms, 7000);
    assert_true(settings.dispatch);
}

SETTINGS_TEST(a_field_beats_the_url)
{
    options.db = 4;
    options.user = "v";
    options.offline_ms = 8000;
    options.log_level = LK_LOG_DEBUG;
    assert_made("redis://u:p@h/3?offline_ms=7s&log_level=error");
    assert_int_equal(settings.db, 4);
    assert_string_equal(settings.user, "v");
    assert_string_equal(settings.password, "p");
    assert_int_equal(settings.offline_ms, 8000);
    assert_int_equal(settings.log_level, LK_LOG_DEBUG);
}

SETTINGS_TEST(a_socket_has_a_path_and_no_host)
{
    assert_made("unix:/run/redis.sock");
    assert_string_equal(settings.address.path, "/run/redis.sock");
    assert_null(settings.address.host);
}

SETTINGS_TEST(a_user_always_comes_with_a_password)
{
    options.user = "app";
    assert_made("redis://h");
    assert_string_equal(settings.password, "");
}

SETTINGS_TEST(an_empty_password_alone_is_none)
{
    options.password = "";
    assert_made("redis://h");
    assert_null(settings.password);
}

SETTINGS_TEST(settings_keep_no_pointer_to_the_callers_strings)
{
    char url[] = "redis://u:p@h?name=n";
    char user[] = "v";

    options.user = user;
    assert_made(url);
    memset(url, 'x', sizeof(url) - 1);
    user[0] = 'x';
    assert_string_equal(settings.host, "h");
    assert_string_equal(settings.user, "v");
    assert_string_equal(settings.password, "p");
    assert_string_equal(settings.name, "n");
}

SETTINGS_TEST(a_field_out_of_bounds_is_refused)
{
    options.watchdog_ms = 99;
    assert_status(lk__settings_make(&settings, "redis://", &options),
                  LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "watchdog_ms is 99"));
    options.watchdog_ms = 0;
    options.dispatch = 2;
    assert_status(lk__settings_make(&settings, "redis://", &options),
                  LK_EINVAL);
    options.dispatch = 0;
    options.user = "";
    assert_status(lk__settings_make(&settings, "redis://", &options),
                  LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "user is empty"));
}

SETTINGS_TEST(a_failure_leaves_the_settings_alone)
{
    lk__settings before = settings;

    assert_status(lk__settings_make(&settings, NULL, NULL), LK_EINVAL);
    assert_status(lk__settings_make(&settings, "reddis://h", NULL), LK_EURL);
    assert_memory_equal(&settings, &before, sizeof(settings));
}

static int countdown;

static bool fails_at_the_end_of_the_countdown(void)
{
    return countdown-- == 0;
}

SETTINGS_TEST(any_allocation_may_fail)
{
    int failures = 0;
    lk_status status;

    do {
        countdown = failures;
        lk__mem_fail(fails_at_the_end_of_the_countdown);
        status = lk__settings_make(&settings, "redis://u:p@h?name=n", NULL);
        lk__mem_fail(NULL);
        if (status != LK_OK)
            assert_status(status, LK_ENOMEM);
        failures += status != LK_OK;
    } while (status != LK_OK);
    /* The URL's copy, the name, host, user, password and tenant. */
    assert_int_equal(failures, 6);
}

SETTINGS_TEST(settings_may_be_done_twice)
{
    assert_made("redis://:p@h");
    lk__settings_done(&settings);
    assert_null(settings.password);
    lk__settings_done(&settings);
}
