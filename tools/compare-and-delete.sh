#!/bin/sh
# SPDX-License-Identifier: MIT
#
# compare-and-delete.sh [SERVER]
#
# What a token lock costs one server's processor, acquire and release: with the
# redlock's scripts, and with the server's own compare-and-delete in the place of the
# second one. SERVER is Valkey from 9.0 on or Redis from 8.4 on, valkey-server unless
# said. Three turns of each, in microseconds a pair, commands read and answers written
# included. Needs redis-cli.

set -eu
server=${1-valkey-server}
pairs=20000
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
return {2, has == 1 and 1 or 0}")
own="delifeq n token"
ask command info delifeq | grep -q delifeq || own="delex n ifeq token"

# turn <what it is> <how it is released>
turn()
{
    before=$(processor_us)
    awk -v n=$pairs -v a="evalsha $plant 1 n token 30000" -v b="$2" \
        'BEGIN { for (i = 0; i < n; i++) print a "\n" b }' | ask >"$home/log"
    after=$(processor_us)
    printf '%-8s %3d us\n' "$1" $(((after - before) / pairs))
}

for _ in 1 2 3; do
    turn script "evalsha $close 1 n token"
    turn own "$own"
done
