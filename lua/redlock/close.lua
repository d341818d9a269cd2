-- SPDX-License-Identifier: MIT
-- close: take a token away, if it stands.
--
-- was: it stood. may: was it asked for, the server has DELIFEQ, and the user may use
-- it: it does the same. Asking makes no entry in ACL LOG. Servers before Redis 7.0
-- cannot be asked, and have it not.
--
-- Invariants: a key with anything but the token is not touched; so it may be sent
-- any number of times, and late. A full server does not refuse it.
-- needs: state

local has, bad = state(name_key, token)
if has == 1 then
    redis.call('DEL', name_key)
end
local known, may
if asks == '1' then
    known, may = pcall(redis.acl_check_cmd, 'DELIFEQ', name_key, token)
end
return bad or {CLOSED, has == 1 and 1 or 0, known and may and 1 or 0}
