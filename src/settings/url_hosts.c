/* SPDX-License-Identifier: MIT */

/* The hosts of a URL, and the master that sentinels are asked for. */

#include "settings/url_hosts.h"

#include <string.h>
#include <strings.h>

enum { MASTER_MAX = 255 };

static bool is_of(const lk__url_parser *parser, lk__scheme_kind kind)
{
    return parser->scheme->kind == kind;
}

/* ---- hosts ------------------------------------------------------------------- */

/* Whether the last host is one of those before it: a sentinel would vote twice. */
static bool is_named_before(const lk__url *url)
{
    const lk__url_server *last = &url->servers[url->server_count - 1];

    for (size_t i = 0; i + 1 < url->server_count; i++)
        if (strcasecmp(url->servers[i].host, last->host) == 0 &&
            url->servers[i].port == last->port)
            return true;
    return false;
}

/* Reads a host, from begin to end. port: if it has none; 0: settled later. */
static lk_status
add_host(lk__url_parser *parser, char *begin, char *end, uint16_t port)
{
    lk__url *url = parser->url;
    lk__url_server *server = &url->servers[url->server_count];
    lk_status status;

    if (url->server_count == LK__SEEDS_MOST)
        return lk__url_refuse(parser, begin,
                              "more than 15 hosts; a few of them will do");
    url->server_count++;
    server->port = port;
    status = lk__url_read_server(parser, begin, end, server);
    if (status == LK_OK && server->port == 0 && parser->portless == NULL)
        parser->portless = begin;
    if (status == LK_OK && is_named_before(url))
        return lk__url_refuse(parser, begin, "a host is named twice");
    return status;
}

/* The port of one that has none written; 0: it depends on what follows. */
static uint16_t usual_port(const lk__url_parser *parser)
{
    if (is_of(parser, LK__SCHEME_SENTINEL))
        return LK__URL_SENTINEL_PORT;
    return is_of(parser, LK__SCHEME_CLUSTER) ? LK__URL_PORT : 0;
}

lk_status lk__url_read_hosts(lk__url_parser *parser, char *begin, char *end)
{
    bool may_be_left_out = is_of(parser, LK__SCHEME_TCP);

    for (;;) {
        char *comma = memchr(begin, ',', (size_t)(end - begin));
        char *stop = comma != NULL ? comma : end;
        lk_status status;

        may_be_left_out = may_be_left_out && comma == NULL;
        if (begin == stop && !may_be_left_out)
            return lk__url_refuse(parser, begin, "a host is missing");
        status = add_host(parser, begin, stop, usual_port(parser));
        if (status != LK_OK || comma == NULL)
            return status;
        begin = comma + 1;
        may_be_left_out = false;
    }
}

/* ---- the master --------------------------------------------------------------- */

/* Takes the master's name, which is decoded. */
static lk_status name_master(lk__url_parser *parser, const char *name)
{
    if (parser->url->master != NULL)
        return lk__url_refuse(parser, name, "the master is named twice");
    if (name[0] == '\0')
        return lk__url_refuse(parser, name,
                              "the master's name has to stand here");
    if (strlen(name) > MASTER_MAX)
        return lk__url_refuse(parser, name,
                              "the name of a master has at most 255 bytes");
    parser->url->master = name;
    return LK_OK;
}

bool lk__url_has_master(const lk__url_parser *parser)
{
    return is_of(parser, LK__SCHEME_SENTINEL) && !parser->scheme->master_last;
}

lk_status lk__url_read_master(lk__url_parser *parser, char *begin,
                              const char *end, char **ret_stop)
{
    char *stop = end - begin < 2 ? NULL : begin + 1 + strcspn(begin + 1, "/?");
    lk_status status;

    if (stop == NULL || stop == begin + 1)
        return lk__url_refuse(parser, begin,
                              "the master's name has to stand here: "
                              "redis+sentinel://host,host/master");
    *ret_stop = stop;
    status = lk__url_decode(parser, begin + 1, stop);
    return status == LK_OK ? name_master(parser, begin + 1) : status;
}

lk_status lk__url_cut_master(lk__url_parser *parser)
{
    char *hash =
        parser->scheme->master_last ? strrchr(parser->url->text, '#') : NULL;
    lk_status status;

    if (hash == NULL)
        return LK_OK;
    if (strpbrk(hash, "@/?") != NULL) /* it may be in a password */
        return lk__url_refuse(parser, hash, "a # has to be written %23");
    *hash = '\0';
    status = lk__url_check_bytes(parser, hash + 1);
    if (status == LK_OK)
        status = lk__url_decode(parser, hash + 1, hash + 1 + strlen(hash + 1));
    return status == LK_OK ? name_master(parser, hash + 1) : status;
}

/* ---- options ------------------------------------------------------------------- */

/* Lettuce names the master as an option too. go-redis does so behind one of the
   sentinels, and names the others, or the other nodes of a cluster; so does
   redis-rs with those. */
bool lk__url_take_host(lk__url_parser *parser, const char *key, char *value,
                       lk_status *ret_status)
{
    const bool is_one = is_of(parser, LK__SCHEME_TCP);

    if ((parser->scheme->master_last &&
         strcasecmp(key, "sentinelMasterId") == 0) ||
        (is_one && strcasecmp(key, "master_name") == 0))
        *ret_status = name_master(parser, value);
    else if ((is_one && strcasecmp(key, "addr") == 0) ||
             (is_of(parser, LK__SCHEME_CLUSTER) &&
              strcasecmp(key, "node") == 0))
        *ret_status =
            add_host(parser, value, value + strlen(value), usual_port(parser));
    else
        return false;
    return true;
}

lk_status lk__url_refuse_tls(const lk__url_parser *parser, const char *at)
{
    static const char tcp[] = "an option of TLS, and the URL is without; write "
                              "rediss://";
    static const char sentinel[] = "an option of TLS, and the URL is without; "
                                   "write rediss+sentinel://";
    static const char cluster[] = "an option of TLS, and the URL is without; "
                                  "write rediss+cluster://";

    if (parser->url->master != NULL)
        return lk__url_refuse(parser, at, sentinel);
    return lk__url_refuse(parser, at,
                          is_of(parser, LK__SCHEME_CLUSTER) ? cluster : tcp);
}

/* ---- the end ------------------------------------------------------------------- */

/* go-redis has before the @ what the sentinels are told, and tells the servers only
   what is named as an option. An option beats what stands before the @. */
static void give_to_sentinels(const lk__url_parser *parser)
{
    lk_client_options *options = &parser->url->options;
    bool names_own =
        options->sentinel_user != NULL || options->sentinel_password != NULL;

    if (!names_own) {
        options->sentinel_user = parser->user;
        options->sentinel_password = parser->password;
    }
    if (options->user == parser->user)
        options->user = NULL;
    if (options->password == parser->password)
        options->password = NULL;
}

static lk_status settle_sentinels(lk__url_parser *parser, const char *at)
{
    if (parser->url->master == NULL)
        return lk__url_refuse(parser, at,
                              "the master's name has to stand at the "
                              "end: redis-sentinel://host,host/db#master");
    if (is_of(parser, LK__SCHEME_SENTINEL))
        return LK_OK;
    if (parser->portless != NULL)
        return lk__url_refuse(parser, parser->portless,
                              "the sentinel's port has to stand here");
    give_to_sentinels(parser);
    return LK_OK;
}

lk_status lk__url_settle_hosts(lk__url_parser *parser)
{
    lk__url *url = parser->url;
    const char *at = url->text + parser->authority_end;

    if (is_of(parser, LK__SCHEME_SENTINEL) || url->master != NULL)
        return settle_sentinels(parser, at);
    if (parser->group_option != NULL)
        return lk__url_refuse(parser, parser->group_option,
                              "an option of Sentinel, and the URL is without; "
                              "write redis+sentinel://host,host/master");
    for (size_t i = 0; i < url->server_count; i++) {
        if (url->servers[i].port == 0)
            url->servers[i].port = LK__URL_PORT;
    }
    url->is_cluster =
        is_of(parser, LK__SCHEME_CLUSTER) || url->server_count > 1;
    if (!url->is_cluster && parser->failover != NULL)
        return lk__url_refuse(parser, parser->failover,
                              "an option of Sentinel and of clusters, and the "
                              "URL is without; write "
                              "redis+sentinel://host,host/master");
    if (url->is_cluster && url->options.db != 0)
        return lk__url_refuse(parser, parser->db,
                              "a cluster has database 0 alone; leave the "
                              "database out");
    if (!url->is_cluster && url->server_count == 1) {
        url->host = url->servers[0].host;
        url->port = url->servers[0].port;
        url->server_count = 0;
    }
    return LK_OK;
}
