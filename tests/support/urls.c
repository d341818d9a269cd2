/* SPDX-License-Identifier: MIT */
#include "support/urls.h"

#include <string.h>

#include "support/check.h"

lk__url url;

int urls_end(void **state)
{
    (void)state;
    lk__url_done(&url);
    return 0;
}

void url_read(const char *text)
{
    lk__url_done(&url);
    if (lk__url_parse(&url, text) != LK_OK)
        fail_msg("%s: %s", text, lk_last_error());
}

void assert_url_refused(const char *text, const char *words)
{
    assert_url_fails(text, LK_EURL, words);
}

void assert_url_fails(const char *text, lk_status status, const char *words)
{
    lk__url untouched = url;

    assert_status(lk__url_parse(&url, text), status);
    assert_memory_equal(&url, &untouched, sizeof(url));
    if (strstr(lk_last_error(), words) == NULL)
        assert_string_equal(lk_last_error(), words);
}

void assert_url_text(const char *actual, const char *expected)
{
    if (expected == NULL)
        assert_null(actual);
    else
        assert_string_equal(actual, expected);
}

void assert_url_server(size_t index, const char *host, unsigned port)
{
    assert_true(index < url.server_count);
    assert_url_text(url.servers[index].host, host);
    assert_int_equal(url.servers[index].port, port);
}
