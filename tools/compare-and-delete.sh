#!/bin/sh
# SPDX-License-Identifier: MIT
#
# compare-and-delete.sh [SERVER]
#
# What a token lock costs one server's processor, acquire and release: with the
# redlock's scripts, and with the server's own compare-and-delete in the place of the
# second one. SERVER is Valkey from 9.0 on or Redis from 8.4 on, valkey-server unless
# said. In microseconds a pair, commands read and answers written included, but sent by
# the hundred, so that the server does not fall asleep between them: the least of forty
# turns, since what else the machine does makes a turn slower and none faster. Needs
# redis-cli.

set -eu
server=${1-valkey-server}
pairs=2000
home=$(mktemp -d)
trap 'redis-cli -s "$home/s" shutdown nosave >"$home/log" 2>&1 || :; rm -rf "$home"' EXIT
"$server" --port 0 --unixsocket "$home/s" --save '' --appendonly no --dir "$home" \
    --daemonize yes >"$home/log"
redis-cli -s "$home/s" --no-raw ping >"$home/log" 2>&1 || sleep 1

ask()
{
    redis-cli -s "$home/s" "$@" | tr -d '\r'
}

processor_us()
{
    ask info cpu | awk -F: '/^used_cpu_(sys|user):/ { s += $2 } END { printf "%d", s * 1e6 }'
}

plant=$(ask script load "
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
        or redis.call('GET', KEYS[1]) == ARGV[1] then
    return {1}
end
return {3, redis.call('PTTL', KEYS[1])}")
close=$(ask script load "
local own = redis.pcall('GET', KEYS[1])
if type(own) == 'table' and own.err then return own end
local has = own == ARGV[1] and 1 or own and 2 or 0
if has == 1 then redis.call('DEL', KEYS[1]) end
return {1, has == 1 and 1 or 0, 0}")
own="delifeq n token"
ask command info delifeq | grep -q delifeq || own="delex n ifeq token"

# turn <what it is> <how it is released>
turn()
{
    awk -v n=$pairs -v a="evalsha $plant 1 n token 30000" -v b="$2" '
        function packed(text,    words, count, i, all) {
            count = split(text, words, " ")
            all = "*" count "\r\n"
            for (i = 1; i <= count; i++)
                all = all "$" length(words[i]) "\r\n" words[i] "\r\n"
            return all
        }
        BEGIN { for (i = 0; i < n; i++) printf "%s", packed(a) packed(b) }' \
        >"$home/pairs"
    before=$(processor_us)
    redis-cli -s "$home/s" --pipe <"$home/pairs" >"$home/log"
    after=$(processor_us)
    grep -q 'errors: 0' "$home/log"
    echo "$1 $(((after - before) * 10 / pairs))"
}

turn=0
while [ $turn -lt 40 ]; do
    turn script "evalsha $close 1 n token 0"
    turn own "$own"
    turn=$((turn + 1))
done | awk '!($1 in us) || $2 < us[$1] { us[$1] = $2 }
    END { for (way in us) printf "%-8s %.1f us\n", way, us[way] / 10 }' | sort -r
