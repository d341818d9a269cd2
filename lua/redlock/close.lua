-- SPDX-License-Identifier: MIT
-- close: take a token away, if it stands.
--
-- was: it stood.
--
-- Invariants: a key with anything but the token is not touched; so it may be sent
-- any number of times, and late. A full server does not refuse it.
-- needs: state

local has, bad = state(name_key, token)
if has == 1 then
    redis.call('DEL', name_key)
end
return bad or {CLOSED, has == 1 and 1 or 0}
