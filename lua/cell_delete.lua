-- SPDX-License-Identifier: MIT
-- cell_delete: make a cell unset, if it is of the expected version.
-- uses: part_error part_clock part_cell part_memo part_cell_change
--
-- KEYS[1]  cell  hash  version, value
-- KEYS[2]  memo  hash  change that was made -> when, and the version it made
-- KEYS[3]  mark  hash  what outlives the cell: fence, version
-- ARGV[1]  owner     the change
-- ARGV[2]  channel   not used
-- ARGV[3]  interop   not used
-- ARGV[4]  expected  version; "": any
-- ARGV[5]  settled   changes of this client that may be forgotten
--
-- returns  {1, version}  it is unset, now or before; version: that it had
--          {0, version}  of another version
--          {5}           it was unset
--
-- Invariants: sent again it answers the same. A cell that is set again has a
-- higher version. A full server does not refuse it.

clock.look()
if memo.words then
    return memo.answer({1, memo.words}, ARGV[5])
elseif not cell.version then
    return {5}
end
local refused = change.refused(ARGV[4])
if refused then
    return refused
end
local bad = memo.open() or memo.note(cell.version)
    or change.mark('version', cell.version)
bad = bad or failed(redis.pcall('DEL', key))
if bad then
    memo.drop()
    return bad
end
return memo.answer({1, cell.version}, ARGV[5])
