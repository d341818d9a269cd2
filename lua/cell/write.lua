-- SPDX-License-Identifier: MIT
-- write: set a cell, if it is of the expected version, and if the writer's fence is
-- the newest.
--
-- op is the change's own number. expected: a version; "0": only if unset; "": any.
-- ttl in ms; 0: for ever. settled: changes of this client that may be forgotten.
-- fence of the writer; 0: it has none. field stands in the lock as long as that is
-- held; "": the lock is not looked at. written: it is set, now or before. other: it
-- is of that version; 0: it is unset. fenced: a newer fence has written. unheld: the
-- lock is not held any more.
--
-- Invariants: sent again it changes nothing more and answers the same. The version
-- only grows, and so does the fence. A full server refuses it before anything is
-- written, and a replica whatever the answer would be.
-- needs: cell failed made master memo

local bad, before = made(cell_key, memo_key, op, settled)
if bad then
    return bad
elseif before then
    return master(cell_key) or {WRITTEN, before}
elseif cell.is_other(expected) then
    return master(cell_key) or {OTHER, tonumber(cell.version or 0)}
end
local is_fenced = tonumber(fence) > 0
local newest = is_fenced and redis.call('HGET', mark_key, 'fence')
if newest and tonumber(newest) > tonumber(fence) then
    return master(cell_key) or {FENCED, tonumber(newest)}
elseif field ~= '' and redis.call('HEXISTS', lock_key, field) == 0 then
    return master(cell_key) or {UNHELD}
end
local version, over = cell.next_version(mark_key)
if over then
    return over
end

-- All but the value, which cannot fail after that. Returns an error or nil.
local function prepare()
    local refused = failed(redis.pcall('HSET', cell_key, 'v', '1'))
        or memo.note(version)
        or is_fenced and cell.mark(mark_key, 'fence', fence)
    if not refused and tonumber(ttl) > 0 then
        refused = failed(redis.pcall('PEXPIRE', cell_key, ttl))
    elseif not refused and cell.ends then
        refused = failed(redis.pcall('PERSIST', cell_key))
    end
    return refused or nil
end

bad = prepare()
if bad then
    if not cell.version then
        redis.pcall('DEL', cell_key)
    end
    memo.drop()
    return bad
end
redis.call('HSET', cell_key, 'version', version, 'value', value, 'ttl',
    tonumber(ttl) > 0 and '1' or '0')
cell.settle(memo_key, op, settled)
return {WRITTEN, tonumber(version)}
