-- SPDX-License-Identifier: MIT
-- redlock_acquire: plant a token under a plain key.
-- uses: part_error
--
-- KEYS[1]  the name itself
-- ARGV     token, lease in ms
--
-- returns  {1}         the key holds the token
--          {0, pttl}   it holds another's, for so long; -1: without end
--
-- Invariants: `SET NX PX` and nothing else is written, so any library of plain
-- token keys excludes it and is excluded. Run twice it does no more than once:
-- a token that stands keeps the lease it has. A key of another type is an
-- error and is not touched.

local name, token, lease = KEYS[1], ARGV[1], ARGV[2]
local own

if redis.call('SET', name, token, 'NX', 'PX', lease) then
    return {1}
end
own = redis.pcall('GET', name)
if failed(own) then
    return own
elseif own == token then
    return {1}
end
return {0, redis.call('PTTL', name)}
