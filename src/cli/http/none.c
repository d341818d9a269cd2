/* SPDX-License-Identifier: MIT */

/* A build without libmicrohttpd. */

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/http/http.h"

int cli_http_open(const struct cli *c, const cli_http_place *place,
                  const cli_http_page *pages, cli_http **ret_http)
{
    (void)place;
    (void)pages;
    *ret_http = NULL;
    return cli_fail(c, CLI_INTERNAL,
                    "this latchkey was built without an HTTP server: build it "
                    "where libmicrohttpd-dev is installed");
}

unsigned short cli_http_port(const cli_http *http)
{
    (void)http;
    return 0;
}

bool cli_http_publish(cli_http *http, char *text, size_t size)
{
    (void)http;
    (void)size;
    free(text);
    return false;
}

void cli_http_close(cli_http *http)
{
    (void)http;
}
