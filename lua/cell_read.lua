-- SPDX-License-Identifier: MIT
-- cell_read: what is in a cell.
-- uses: part_error part_master part_cell
-- texts: the value
--
-- KEYS[1]  cell  hash  version, value
-- KEYS[2]  memo  hash  change that was made -> when, and the version it made
-- KEYS[3]  mark  hash  what outlives the cell: fence, version
--
-- returns  {1, version, value}
--          {5}  it is unset
--
-- Invariants: nothing is changed.

local refused = replica_refuses()
if refused then
    return refused
end

if not cell.version then
    return {5}
end
return {1, cell.version, redis.call('HGET', key, 'value') or ''}
