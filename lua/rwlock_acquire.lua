-- SPDX-License-Identifier: MIT
-- rwlock_acquire: read, or write, if that may be done beside the others; else
-- queue.
-- uses: part_rw_quick_take part_error part_rw_record part_clock part_lease
-- uses: part_line
-- uses: part_rw_readers part_rw_share part_rw_room part_others part_pass
-- uses: part_void
--
-- KEYS[1]  lock      hash    mode -> read or write; reader -> its holds; or
--                            <writer>:write -> its holds; its TTL is the lease
-- KEYS[2]  state     hash    record of the last writer, the phase, and the turn
-- KEYS[3]  queue     zset    claim that waits to write -> ticket
-- KEYS[4]  tickets   hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped   zset    claim passed over -> since when
-- KEYS[6]  readers   zset    claim that waits to read -> ticket
-- KEYS[7]  void      zset    claim that must not acquire -> until when
-- KEYS[8]  holders   hash    claim that reads -> record of its grant
-- KEYS[9]  spin      string  there while a client spins
-- KEYS[10] upgraders zset    claim that waits to read, to write later
-- KEYS[11] upgrades  zset    claim that waits to write, and reads already
-- KEYS[12] timeout   string  lives as long as the claim's lease as a reader
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  lease    milliseconds, > 0
-- ARGV[5]  queue    1: queue if need be; t: do not, and do not come in in the
--                   others' turn; s: do not, but note that somebody spins
-- ARGV[6]  inbox    channel on which grants are received; no space in it
-- ARGV[7]  reason   for operators; any bytes
-- ARGV[8]  check_void  1: refuse a claim that was given up
-- ARGV[9]  mode     r: read; u: read, and perhaps write later; w: write
-- ARGV[10] need     1
-- ARGV[11] order    who goes first: 0 turns, 1 readers, 2 writers
-- ARGV[12] base     to read: the same owner's claim that writes; to write: the
--                   same owner's of mode u; or empty
--
-- returns  {1, fence, lease left in ms, top}  it holds; top is the fence
--          {0, lease left, ticket, contend}  it is queued; contend 1 or 2: it
--              is next, and nobody will hand over to it, as in rwlock_recheck
--          {2, lease left}  it cannot come in now, and is not queued
--          {9}  its base is revoked, or lost: others may have written
--          error LKVOID  the claim was given up
--
-- Invariants: a writer is alone, but for reads of its own owner. A hash that
-- exists has a TTL, which does not end before a lease in it. Sending it again
-- neither gives a second ticket nor a second hold nor changes a lease. A full
-- server refuses it before anything is written. A claim that holds does not
-- wait. Nobody alive who goes first is passed by, but in their turn by those
-- who spin.

local owner, order, base = ARGV[1], ARGV[11], ARGV[12]
local ask = {ticket = 0, kind = ARGV[9], need = 1, lease = tonumber(ARGV[4]),
    inbox = ARGV[6], reason = ARGV[7]}

-- Takes the room there is. Returns the answer.
local function take(entry)
    ask.ticket = entry and entry.ticket or 0
    local range, bad = room.take(owner, ask, ask.lease)
    if not bad and entry then
        bad = line.leave(owner)
        if bad then
            room.undo(owner, ask)
        end
    end
    return bad or {1, range.fence, ask.lease, range.top}
end

-- Has a claim stand in line. Returns its entry, or nil and an error.
local function stand(entry, last)
    local bad
    if entry then
        bad = line.touch(owner, entry)
    else
        entry = ask
        bad = line.append(owner, entry, last)
    end
    if not bad and ask.order then
        share.note_order(ask.order, ask.lease)
    end
    return not bad and entry or nil, bad
end

-- Queues; those who come before it are served, and itself if nobody does.
-- Returns the answer.
local function queue_up(entry, last)
    local left = redis.call('PTTL', lock) -- to be denied, if so, before a write
    local bad, mine
    entry, bad = stand(entry, last)
    if bad then
        return bad
    elseif share.mode ~= 'write' then
        room.trust(owner)
        mine = select(4, pass.give(owner))
    end
    if mine then
        return take(entry)
    elseif ARGV[5] ~= '1' then
        return line.leave(owner) or {2, left}
    end
    return {0, redis.call('PTTL', lock), entry.ticket, room.contends(owner)}
end

-- Serves those who wait where nobody writes, so that the dead among them keep
-- nobody out. Returns whether the name is open after that.
local function is_open_after_all(writer)
    if share.mode == 'write' or not line.is_there() then
        return false
    end
    pass.give()
    line.forget()
    return room.is_open_to(ask, writer)
end

-- What one that spins asks for. Returns the answer.
local function try_spinning(writer)
    local theirs = (record.open or 0) > 0 and (others.came or 0) == 0
        or ask.kind == 'r' and (others.came or 0) > 0
    if not (theirs and room.is_theirs(ask)) and not room.is_open_to(ask, writer)
            and not is_open_after_all(writer) then
        local left = redis.call('PTTL', lock)
        room.note_spinner(ask)
        return {2, left}
    end
    local answer = take()
    if answer[1] == 1 then
        others.come()
        if ask.kind ~= 'r' then
            room.unmark_writer()
        end
    end
    return answer
end

clock.look()
if ARGV[8] == '1' and void.refuses(owner) then
    return redis.error_reply('LKVOID the claim was given up')
end

if record.writes or record.reads then
    local fence, _, bad = share.own(owner, ask)
    return bad or {1, fence, redis.call('PTTL', share.lease_key(owner)), fence}
end

if room.set_order(order) then
    ask.order = order
end
if ask.kind == 'w' and base ~= '' then
    ask.kind, ask.reason = 'x', base .. ' ' .. ask.reason
    if not room.has_base(ask) then
        return line.leave(owner) or {9}
    end
end
local writer = base ~= '' and redis.call('HEXISTS', lock, base .. ':write') == 1
local slots = redis.call('HMGET', tickets, owner, '#')
local entry = line.unpack(slots[1])

if ARGV[5] == 's' then
    return try_spinning(writer)
elseif (not others.came or ARGV[5] == '0' or base ~= '')
        and room.is_open_to(ask, writer) then
    return take(entry)
elseif share.mode == 'write' and ARGV[5] ~= '1' then
    return {2, redis.call('PTTL', lock)}
end
return queue_up(entry, slots[2])
