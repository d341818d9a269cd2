-- SPDX-License-Identifier: MIT
-- state: how the name is held.
--
-- Invariants: nothing is changed, but a replica refuses it. A reader whose lease
-- has run out is none.
-- needs: failed hold master readers

local bad = master(lock_key) or hold.look(lock_key, record_key, '-')
if bad then
    return bad
elseif hold.mode == 'write' then
    return {STATE, 2}
end
local lives
lives, bad = readers.any(lock_key)
return bad or {STATE, lives and 1 or 0}
