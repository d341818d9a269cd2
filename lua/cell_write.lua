-- SPDX-License-Identifier: MIT
-- cell_write: set a cell, if it is of the expected version, and if the writer's
-- fence is the newest.
-- uses: part_error part_clock part_cell part_memo part_cell_change
--
-- KEYS[1]  cell  hash  version, value
-- KEYS[2]  memo  hash  change that was made -> when, and the version it made
-- KEYS[3]  mark  hash  what outlives the cell: fence, version
-- KEYS[4]  lock  hash  whoever holds it; without a field any key of the slot
-- ARGV[1]  owner     the change
-- ARGV[2]  channel   not used
-- ARGV[3]  interop   not used
-- ARGV[4]  expected  version; "0": only if unset; "": any
-- ARGV[5]  ttl       in ms; 0: for ever
-- ARGV[6]  settled   changes of this client that may be forgotten
-- ARGV[7]  fence     of the writer; "0": it has none
-- ARGV[8]  field     that stands in the lock as long as it is held; "": not
--                    looked at
-- ARGV[9]  value
--
-- returns  {1, version}  it is set, now or before
--          {0, version}  of another version; "0": it is unset
--          {2, fence}    a newer fence has written
--          {3}           the lock is not held any more
--
-- Invariants: sent again it changes nothing more and answers the same. The
-- version only grows, and so does the fence. A full server refuses it before
-- anything is written.

clock.look()
if memo.words then
    return memo.answer({1, memo.words}, ARGV[6])
end
local refused = change.refused(ARGV[4])
if refused then
    return refused
end

local fence = tonumber(ARGV[7])
if fence > 0 then
    local newest = redis.call('HGET', mark, 'fence')
    if newest and tonumber(newest) > fence then
        return {2, newest}
    end
end
if ARGV[8] ~= '' and redis.call('HEXISTS', KEYS[4], ARGV[8]) == 0 then
    return {3}
end

local ended = change.ended()
if ended then
    return ended
end
local version, ttl = change.next_version(), tonumber(ARGV[5])

-- All but the value, which cannot fail after that. Returns an error or nil.
local function prepare()
    local bad = failed(redis.pcall('HSET', key, 'v', '1'))
        or memo.note(version)
        or fence > 0 and change.mark('fence', ARGV[7])
    if not bad and ttl > 0 then
        bad = failed(redis.pcall('PEXPIRE', key, ttl))
    elseif not bad and cell.ends then
        bad = failed(redis.pcall('PERSIST', key))
    end
    return bad or nil
end

local bad = prepare()
if bad then
    if not cell.version then
        redis.pcall('DEL', key)
    end
    memo.drop()
    return bad
end
redis.call('HSET', key, 'version', version, 'value', ARGV[9], 'ttl',
    ttl > 0 and '1' or '0')
return memo.answer({1, version}, ARGV[6])
