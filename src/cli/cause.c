/* SPDX-License-Identifier: MIT */

#include "cli/cause.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cli/local/peer.h"

/* What words of the library, the system or the server mean. */
static const struct known {
    lk_status status;
    bool is_unix;     /* of unix sockets only */
    const char *sign; /* is in the words; NULL: they are of a sentinel */
    cli_cause cause;
} known[] = {
    {LK_EOFFLINE,
     false,
     "unknown node or service",
     {"there is no host of this name",
      "correct the host in the URL, or this machine's DNS"}},
    {LK_EOFFLINE,
     false,
     "temporary failure",
     {"the host's name cannot be looked up now",
      "mend this machine's DNS, or write the address into the URL"}},
    {LK_EOFFLINE,
     false,
     "limit of clients",
     {NULL, "raise its maxclients, or end clients that CLIENT LIST shows"}},
    {LK_EOFFLINE,
     true,
     "no such file or directory",
     {"there is no such socket",
      "start Redis with this path as its `unixsocket`, or correct the URL"}},
    {LK_EOFFLINE,
     true,
     "connection refused",
     {"nobody listens on this socket", NULL}},
    {LK_EOFFLINE,
     true,
     "permission denied",
     {"this user has no right to the socket",
      "let the user into its group, with `unixsocketperm 770`"}},
    {LK_EOFFLINE,
     false,
     "perhaps the port is a plain one",
     {"the TLS handshake is not answered, as where a port is a plain one",
      "write redis:// in the place of rediss://, or give the server TLS"}},
    {LK_EAUTH,
     false,
     "certificate",
     {NULL, "share/doc/latchkey/tls.md has all that TLS may say"}},
    {LK_EAUTH,
     false,
     NULL,
     {NULL,
      "set LATCHKEY_SENTINEL_PASSWORD_FILE or LATCHKEY_SENTINEL_PASSWORD, or "
      "write ?sentinel_password=PASSWORD into the URL, and sentinel_user=USER "
      "where it is a user's"}},
    {LK_EDENIED,
     false,
     NULL,
     {NULL, "give it the rights that `latchkey doctor --acl` prints for them"}},
    {LK_EAUTH,
     false,
     "NOAUTH",
     {"the server wants a password",
      "set LATCHKEY_PASSWORD_FILE or LATCHKEY_PASSWORD, or write it into the "
      "URL, as redis://:PASSWORD@host"}},
    {LK_EAUTH,
     false,
     "without any password",
     {"a password was sent, and the server has none",
      "`latchkey config --explain` tells where it comes from: take it out "
      "there, or set `requirepass` at the server"}},
    {LK_EAUTH, false, "WRONGPASS", {"the user or the password is wrong", NULL}},
    {LK_ESERVERMEM, false, "OOM", {"the server's memory is full", NULL}},
    {LK_ELOADING, false, "LOADING", {"the server still loads its data", NULL}},
    {LK_EREADONLY,
     false,
     "is a replica",
     {"it is a replica, and only its primary grants",
      "let the URL name that one; `redis-cli info replication` tells which"}},
    {LK_ESERVER,
     false,
     "MOVED ",
     {"it is a node of a Redis Cluster",
      "write redis+cluster:// in the place of redis:// in the URL"}},
    {LK_ESERVER,
     false,
     "CLUSTERDOWN",
     {"its cluster does not serve all slots",
      "`redis-cli cluster info` tells more; if the URL begins with redis://, "
      "write redis+cluster://"}},
    {LK_ESERVER,
     false,
     "DB index is out of range",
     {"it has no database of this number",
      "choose one below the server's `databases`, 16 unless it is changed"}},
};

static const cli_cause of_peer[] = {
    [CLI_PEER_UNKNOWN] = {NULL, NULL},
    [CLI_PEER_AWAY] =
        {"it takes no connection",
         "look whether it runs, and whether a firewall is between"},
    [CLI_PEER_SILENT] =
        {"it takes connections and does not answer",
         "look at its process and log: it is stopped, paused or busy"},
    [CLI_PEER_TLS] = {"it looks like TLS",
                      "write rediss:// in the place of redis:// in the URL"},
    [CLI_PEER_HTTP] = {"an HTTP server answers there, and not Redis",
                       "correct host and port in the URL"},
};

bool cli_cause_is_sentinels(const char *words)
{
    static const char begin[] = "sentinel ";

    return strncmp(words, begin, sizeof(begin) - 1) == 0;
}

static bool is_known(const struct known *one, const char *words)
{
    return one->sign != NULL ? strstr(words, one->sign) != NULL
                             : cli_cause_is_sentinels(words);
}

static bool has_any(const char *words, const char *const *signs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(words, signs[i]) != NULL)
            return true;
    }
    return false;
}

/* Whether there was no answer at all, as far as is known. */
static bool is_silence(const char *words)
{
    static const char *const signs[] = {"took too long", "not connected yet",
                                        "timed out", "no answer in time"};

    return has_any(words, signs, sizeof(signs) / sizeof(signs[0]));
}

/* Whether something came that Redis does not do. */
static bool is_strange(const char *words)
{
    static const char *const signs[] = {"closed by the server",
                                        "connection reset",
                                        "the reply is not understood",
                                        "an unexpected reply"};

    return has_any(words, signs, sizeof(signs) / sizeof(signs[0]));
}

/* What is there, asked where no Redis has answered. A name whose look-up may be
   what takes so long is not looked up again. */
static cli_cause peer_cause(const char *words, const char *server)
{
    static const char *const before[] = {"connecting took too long",
                                         "not connected yet"};
    bool is_silent = is_silence(words);
    cli_peer_hint hint = CLI_PEER_ANSWERS;

    if (!is_silent && !is_strange(words))
        return of_peer[CLI_PEER_UNKNOWN];
    if (strncmp(server, "unix:", 5) == 0)
        return of_peer[is_silent ? CLI_PEER_SILENT : CLI_PEER_UNKNOWN];
    if (is_silent)
        hint = has_any(words, before, 2) ? CLI_PEER_NOTHING : CLI_PEER_TAKES;
    return of_peer[cli_peer_find(server, hint)];
}

cli_cause
cli_cause_find(lk_status status, const char *words, const char *server)
{
    bool is_unix = strncmp(server, "unix:", 5) == 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status && (is_unix || !known[i].is_unix) &&
            is_known(&known[i], words))
            return known[i].cause;
    }
    if (status == LK_EOFFLINE || status == LK_EPROTO)
        return peer_cause(words, server);
    return of_peer[CLI_PEER_UNKNOWN];
}
