-- SPDX-License-Identifier: MIT
-- redlock_renew: lengthen the lease of a token that still stands.
-- uses: part_error
--
-- KEYS[1]  the name itself
-- ARGV     token, lease in ms
--
-- returns  {1}      it stands, with this lease at least
--          {0, 0}   there is no key
--          {0, 2}   the key holds something else
--
-- Invariants: a key is never made, so an answer of 1 proves that the token has
-- stood since it was planted. A lease is only lengthened; a key without an end
-- gets one. A full server does not refuse it.

local name, token, lease = KEYS[1], ARGV[1], tonumber(ARGV[2])
local own = redis.pcall('GET', name)

if failed(own) and not string.find(own.err, 'WRONGTYPE', 1, true) then
    return own
elseif failed(own) or (own and own ~= token) then
    return {0, 2}
elseif not own then
    return {0, 0}
end
if redis.call('PTTL', name) < lease then
    redis.call('PEXPIRE', name, lease)
end
return {1}
