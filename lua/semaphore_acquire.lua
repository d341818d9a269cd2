-- SPDX-License-Identifier: MIT
-- semaphore_acquire: take permits if they are free and nobody waits, else queue
-- for them.
-- uses: part_permit_quick_take
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_others part_pass part_void
--
-- KEYS[1]  counter  string  permits that are free; unset: there is no number
-- KEYS[2]  state    hash    kind, fence of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  permits  zset    permit -> end of its lease, plus the skew
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  holders  hash    permit of ours -> whose it is; of a claim's first:
--                           what is known of it
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  lease    milliseconds, > 0
-- ARGV[5]  queue    1: queue if they are not free
-- ARGV[6]  inbox    channel on which grants are received; no space in it
-- ARGV[7]  reason   for operators; any bytes
-- ARGV[8]  check_void  1: refuse a claim that was given up
-- ARGV[9]  mode     p
-- ARGV[10] need     so many permits, 1 to 1000
-- ARGV[11] number   N, if text is not empty
-- ARGV[12] text     set: it is set where none is; check: another is refused, as
--                   well; resize: it is set whatever it was
--
-- returns  {1, fence, lease left in ms, fence}  it holds
--          {0, left, ticket, contend}  it is queued; left: ms until the next
--              lease ends, -1: that cannot be told; contend 1: it is next, and
--              may wait for one who will not hand over
--          {2, left}  not free, and not queued
--          {4} it needs more than N; {5} no number is set; {6} N is another
--          error LKVOID  the claim was given up
--
-- Invariants: what is free and what is taken add up to N. Sending it again
-- neither gives a second ticket nor a second hold nor changes a lease. A full
-- server refuses it before anything is written. Nobody passes by a waiter that
-- is alive.

local owner, text = ARGV[1], ARGV[12]
local need, number = tonumber(ARGV[10]), tonumber(ARGV[11])
local ask = {ticket = 0, kind = ARGV[9], need = need, lease = tonumber(ARGV[4]),
    inbox = ARGV[6], reason = ARGV[7]}

-- Sees to it that there is a number, and the right one. Returns the answer if
-- the claim is refused, and whether the number was set.
local function settle()
    local total = permits.free and permits.free + permits.taken
    local wanted = total
    if not total and text == '' then
        return {5}
    elseif not total or text == 'resize' then
        wanted = number
    elseif text == 'check' and total ~= number then
        return {6}
    end
    if need > wanted then
        return {4}
    end
    return wanted ~= total and permits.set(wanted) or nil, wanted ~= total
end

-- Takes the permits. Returns the answer.
local function take(entry)
    ask.ticket = entry and entry.ticket or 0
    local fence, bad = permits.take(owner, ask, ask.lease)
    if not bad and entry then
        bad = line.leave(owner)
        if bad then
            room.undo(owner, ask)
        end
    end
    return bad or {1, fence, ask.lease, fence}
end

-- Others wait, or it does not fit: it queues. What is free goes to the first of
-- them that are alive, and that may be itself. Returns the answer.
local function queue_up(entry, last, fits)
    local bad
    if entry then
        bad = line.touch(owner, entry)
    else
        entry = ask
        bad = line.append(owner, entry, last)
    end
    if bad then
        return bad
    end
    local _, mine
    if fits then
        _, _, _, mine = pass.give(owner)
    end
    if mine then
        return take(entry)
    elseif ARGV[5] ~= '1' then
        return line.leave(owner) or {2, permits.left()}
    end
    permits.tidy()
    return {0, permits.left(), entry.ticket, permits.contends(owner)}
end

clock.look()
permits.recover()
if ARGV[8] == '1' and void.refuses(owner) then
    return redis.error_reply('LKVOID the claim was given up')
end

local own, bad = permits.find(owner)
if bad then
    return bad
elseif own and own.till and own.till > clock.ms then
    return {1, own.fence, own.till - clock.ms, own.fence}
end

local slots = redis.call('HMGET', tickets, owner, '#')
local entry = line.unpack(slots[1])
local first = line.first()
local answer, is_set = settle()
if answer then
    return answer
end

local fits = permits.free >= need or permits.available() >= need
if fits and (not first or first == owner) then
    answer = take(entry)
elseif not fits and not is_set and ARGV[5] ~= '1' then
    answer = {2, permits.left()}
else
    answer = queue_up(entry, slots[2], fits or is_set)
end
if is_set then
    others.tell()
end
return answer
