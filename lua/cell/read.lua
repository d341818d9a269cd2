-- SPDX-License-Identifier: MIT
-- read: what is in a cell.
--
-- Invariants: nothing is changed. A replica refuses it.
-- needs: cell master

local bad = master(cell_key) or cell.look(cell_key)
if bad then
    return bad
elseif not cell.version then
    return {UNSET}
end
return {VALUE, tonumber(cell.version), redis.call('HGET', cell_key, 'value') or ''}
