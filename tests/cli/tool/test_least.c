/* SPDX-License-Identifier: MIT */

/* A build without OpenSSL and libmicrohttpd: what needs them is refused by name,
   and nothing goes out in plain text in its place. */

#include <latchkey/client.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/socket.h"
#include "support/tool.h"

static int end(NO_STATE)
{
    tool_free_all();
    return 0;
}

static const char lacks[] =
    "this latchkey was built without it: build it where "
    "libssl-dev is installed";

static void assert_refused(const char *url)
{
    lk_client *client = NULL;

    assert_status(lk_client_open(&client, url, NULL), LK_ENOTSUP);
    assert_null(client);
    assert_non_null(strstr(lk_last_error(), lacks));
}

CHECK_TEST(every_url_with_tls_is_refused_by_name)
{
    assert_refused("rediss://localhost");
    assert_refused("valkeys://localhost:6380/1?tls_verify=none");
    assert_refused("rediss://localhost?tls_ca_file=/ca.crt");
    assert_refused("rediss+sentinel://localhost/main");
    assert_refused("rediss+cluster://localhost");
}

/* A port that anybody could listen on hears of nobody. */
CHECK_TEST(nothing_goes_out_in_plain_text)
{
    uint16_t port = 0;
    int listener = socket_listen_tcp(&port);
    char url[64];

    (void)snprintf(url, sizeof(url), "rediss://u:secret@127.0.0.1:%u", port);
    assert_refused(url);
    assert_int_equal(accept4(listener, NULL, NULL, SOCK_NONBLOCK), -1);
    (void)close(listener);
}

CHECK_TEST_OF(the_tool_says_so, NO_STATE, NULL, end)
{
    const tool_how tls = {.url = "rediss://localhost:1"};
    const tool_how plain = {.url = "redis://localhost:1"};

    assert_tool(&tls, 78, "", lacks, "lock", "n", "--", "true", NULL);
    assert_tool(&plain, 70, "",
                "was built without an HTTP server: build it where "
                "libmicrohttpd-dev is installed",
                "serve", "--listen", "0", NULL);
}
