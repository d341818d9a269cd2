-- SPDX-License-Identifier: MIT
-- delete: make a cell unset, if it is of the expected version.
--
-- op is the change's own number. expected: a version; "": any. settled: changes of
-- this client that may be forgotten. deleted: it is unset, now or before; version:
-- that it had. other: it is of that version. unset: it was.
--
-- Invariants: sent again it answers the same. A cell that is set again has a higher
-- version. A full server does not refuse it, a replica does.
-- needs: cell failed made master memo

local bad, before = master(cell_key), nil
if not bad then
    bad, before = made(cell_key, memo_key, op, settled)
end
if bad then
    return bad
elseif before then
    return {DELETED, before}
elseif not cell.version then
    return {UNSET}
elseif cell.is_other(expected) then
    return {OTHER, tonumber(cell.version)}
end
bad = memo.open() or memo.note(cell.version)
    or cell.mark(mark_key, 'version', cell.version)
    or failed(redis.pcall('DEL', cell_key))
if bad then
    memo.drop()
    return bad
end
cell.settle(memo_key, op, settled)
return {DELETED, tonumber(cell.version)}
