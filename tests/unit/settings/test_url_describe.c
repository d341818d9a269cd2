/* SPDX-License-Identifier: MIT */

/* The canonical spelling of a URL: one form, every part, no password. */

#include <latchkey/client.h>

#include <stdio.h>
#include <string.h>

#include "support/check.h"

static void assert_described(const char *url, const char *expected)
{
    char once[LK_URL_DESCRIPTION_SIZE];
    char twice[LK_URL_DESCRIPTION_SIZE];

    assert_status(lk_url_describe(url, once, sizeof(once)), LK_OK);
    assert_string_equal(once, expected);
    /* What is described is described as itself. */
    assert_status(lk_url_describe(once, twice, sizeof(twice)), LK_OK);
    assert_string_equal(twice, expected);
}

CHECK_TEST(every_spelling_becomes_one)
{
    assert_described("redis://", "redis://127.0.0.1:6379/0");
    assert_described("VALKEY://h", "redis://h:6379/0");
    assert_described("redis://h/1?db=2", "redis://h:6379/2");
    assert_described("redis://[::1]", "redis://[::1]:6379/0");
    assert_described("redis://[fe80::1%25eth0]",
                     "redis://[fe80::1%25eth0]:6379/0");
    assert_described("unix:/run/r.sock", "unix:///run/r.sock");
    assert_described("redis+unix:///run/r%20s?db=2", "unix:///run/r%20s?db=2");
    assert_described("redis://h?watchdog_ms=5s&interop=redisson&name=a",
                     "redis://h:6379/0?name=a&watchdog_ms=5000ms"
                     "&interop=redisson");
}

CHECK_TEST(sentinels_and_their_master_are_described)
{
    assert_described("redis+sentinel://h1,h2:2,[::1]/m",
                     "redis+sentinel://h1:26379,h2:2,[::1]:26379/m/0");
    assert_described("redis+sentinel+tls://h/m?tls_verify=ca",
                     "rediss+sentinel://h:26379/m/0?tls_verify=ca");
    assert_described("redis-sentinel://:p@h1,h2:2/3#m%2Fx",
                     "redis+sentinel://:***@h1:26379,h2:2/m%2Fx/3");
    assert_described("rediss://h1:1/3?master_name=m&addr=h2:2",
                     "rediss+sentinel://h1:1,h2:2/m/3");
    assert_described("valkey+sentinel://u:p@h/a%2Fb/3?sentinel_password=x"
                     "&failover=fast&sentinel_user=w",
                     "redis+sentinel://u:***@h:26379/a%2Fb/3?sentinel_user=w"
                     "&sentinel_password=***&failover=fast");
}

/* Each text as long as it may be, and of bytes that are shown by their codes. */
CHECK_TEST(the_longest_has_room)
{
    static const struct {
        const char *key;
        int size;
    } texts[] = {{"user", 512},           {"name", 128},
                 {"tls_ca_file", 4095},   {"tls_ca_dir", 4095},
                 {"tls_cert_file", 4095}, {"tls_key_file", 4095},
                 {"tls_server_name", 255}};
    static const char host[] = "rediss://[fe80::1%25eth0]?password=x";
    static char url[32768], text[LK_URL_DESCRIPTION_SIZE];
    size_t used = (size_t)snprintf(url, sizeof(url), "%s", host);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        used += (size_t)snprintf(url + used, sizeof(url) - used,
                                 "&%s=", texts[i].key);
        memset(url + used, '!', (size_t)texts[i].size);
        used += (size_t)texts[i].size;
    }
    assert_true(used < sizeof(url));
    assert_status(lk_url_describe(url, text, sizeof(text)), LK_OK);
    assert_non_null(strstr(text, "tls_server_name=%21"));
}

CHECK_TEST(a_zone_is_no_longer_than_a_name_may_be)
{
    char zone[257] = "", url[300], text[64];

    memset(zone, 'z', sizeof(zone) - 1);
    (void)snprintf(url, sizeof(url), "redis://[fe80::1%%25%s]", zone);
    assert_status(lk_url_describe(url, text, sizeof(text)), LK_EURL);
}

CHECK_TEST(a_password_is_masked_whatever_it_is)
{
    assert_described("redis://:x@h", "redis://:***@h:6379/0");
    assert_described("redis://u:a%40b@h", "redis://u:***@h:6379/0");
    assert_described("redis://u:@h", "redis://u:@h:6379/0");
    assert_described("redis://h?user=u%2Fv&password=p",
                     "redis://u%2Fv:***@h:6379/0");
    assert_described("unix://u:p@/s", "unix://u:***@/s");
    assert_described("valkeys://u:p@h?cacert=/a%20b&verifyPeer=CA",
                     "rediss://u:***@h:6379/0?tls_ca_file=/a%20b&"
                     "tls_verify=ca");
}

CHECK_TEST(what_is_wrong_is_refused_as_on_open)
{
    char text[LK_URL_DESCRIPTION_SIZE];

    assert_status(lk_url_describe("gopher://h", text, sizeof(text)), LK_EURL);
    assert_status(lk_url_describe(NULL, text, sizeof(text)), LK_EINVAL);
    assert_status(lk_url_describe("redis://h", NULL, 0), LK_EINVAL);
}

CHECK_TEST(too_little_room_is_refused_and_not_overrun)
{
    char text[32];
    size_t need = strlen("redis://h:6379/0") + 1;

    for (size_t size = 0; size < need; size++) {
        memset(text, 'x', sizeof(text));
        assert_status(lk_url_describe("redis://h", text, size), LK_EINVAL);
        assert_int_equal(text[size], 'x');
    }
    assert_status(lk_url_describe("redis://h", text, need), LK_OK);
    assert_string_equal(text, "redis://h:6379/0");
}
