-- SPDX-License-Identifier: MIT
-- part_rw_share: making a claim a reader or the writer, and ending that.
-- Needs: part_error, part_rw_record, part_rw_readers, part_clock, part_lease,
-- part_line.
--
-- An entry is what a claim asks for: ticket (0: it never queued), kind, need,
-- lease in ms, inbox, reason; and at times order, if that is to be noted, and
-- fence, if it has one already. The kind says in which lane it waits:
--
--   r  reads
--   u  reads and may go on to write; there is one such reader at a time
--   w  writes
--   x  writes, and has an upgradeable hold already, its base, to which this
--      one is added; the reason begins with the base's claim and a blank

-- What is so at present, after what was done here already: how the name is
-- held, nil if it is not; the last writer that is on record, its fence, 0 if
-- there was none; the phase, see part_rw_room; the last upgradeable reader;
-- the writer that has a key for its lease, and the one that is to be taken out
-- because that key is gone; see part_rw_record.
local share = {mode = record.mode, claim = record.claim or '',
    top = record.top, wave = record.wave, upgrader = record.upgrader,
    aside = record.aside, lapsed = record.lapsed}
local READERS, UPGRADERS, UPGRADES = KEYS[6], KEYS[10], KEYS[11]
-- luacheck: push ignore 122
line.lanes = {r = READERS, u = UPGRADERS, x = UPGRADES}
-- luacheck: pop

-- For so long, beyond a grant, the readers' records are kept.
local HOLDERS_MS = 8 * 86400000

-- The claim of an entry's base, nil if it has none; and its reason.
local function base_of(entry)
    if entry.kind ~= 'x' then
        return nil, entry.reason
    end
    return string.match(entry.reason, '^(%S*) (.*)$')
end

-- ---- records ----

-- Our turn is not longer, if nobody has said else.
local TURN_MS = 500

-- If a turn of the others ends with the next grant, ours is so long.
function share.set_turn(ms)
    share.turn_ms = ms
end

-- What a grant notes in the state, whoever it is for. A turn of the others that
-- was open ends here: if nobody has said else, this side keeps the name for
-- half as long as they had it.
-- Numbers are passed as such: Redis writes them out in full.
local function marks_of(entry)
    local marks = {'v', '1', 'kind', 'rw'}
    if (record.open or 0) > 0 then
        local ms = math.min(math.max(clock.ms - record.open, 0) / 2, TURN_MS)
        marks[5], marks[6], marks[7] = 'open', 0, 'until'
        marks[8] = clock.ms + math.floor(share.turn_ms or ms)
    end
    if entry.order then
        marks[#marks + 1], marks[#marks + 2] = 'order', entry.order
    end
    return marks
end

-- Writes marks, if they say more than what they began with. Returns an error
-- or nil.
local function write_marks(marks, entry)
    local bad
    if #marks > 4 then
        bad = failed(redis.pcall('HSET', state, unpack(marks)))
    end
    if not bad then
        bad = lease.keep(state, record.kept, entry.lease)
        if bad and not record.kept then
            redis.pcall('DEL', state) -- a state without a TTL would stay
        end
    end
    return bad
end

-- Notes who goes first, for a claim that queues before anybody came in. Where
-- that cannot be done the next grant does it.
function share.note_order(order, ms)
    local bad = failed(redis.pcall('HSET', state, 'v', '1', 'kind', 'rw',
        'order', order)) or lease.keep(state, record.kept, ms)
    if bad and not record.kept then
        redis.pcall('DEL', state) -- a state without a TTL would stay
    end
end

-- The highest ticket of those who wait to read; 0: nobody does.
local function last_reader()
    local last = redis.pcall('ZREVRANGE', READERS, 0, 0, 'WITHSCORES')
    return tonumber(last[2]) or 0
end

-- Readers share the fence of the last writer. The first reader after a writer,
-- not one beside it, notes up to which ticket those who wait belong to its
-- phase.
local function sign_reader(claim, entry)
    local marks = marks_of(entry)
    local function mark(name, value)
        marks[#marks + 1], marks[#marks + 2] = name, value
    end
    if share.top == 0 then
        share.top = clock.us
        mark('fence', share.top)
    end
    if share.wave < 0 and share.mode == 'read' then
        share.wave = last_reader()
        mark('wave', share.wave)
    end
    if entry.kind == 'u' then
        share.upgrader = claim
        mark('upgrader', claim)
    end
    local fence = entry.fence or share.top
    local packed = string.format('%.0f %.0f %s %.0f %.0f %s ', fence,
        entry.ticket, entry.kind, clock.ms, entry.lease, entry.inbox)
    return failed(redis.pcall('HSET', holders, claim, packed .. entry.reason))
        or failed(redis.pcall('PEXPIRE', holders, HOLDERS_MS + entry.lease))
        or write_marks(marks, entry)
end

-- A wave of -1: the next phase is the readers'.
local function sign_writer(claim, entry)
    local marks = marks_of(entry)
    local _, reason = base_of(entry)
    local bad = beyond(share.top + 1, 'fences')
    if bad then
        return bad
    end
    share.top, share.wave = math.max(share.top + 1, clock.us), -1
    share.claim = claim
    for name, value in pairs({fence = share.top, top = share.top,
            claim = claim, ticket = entry.ticket, since = clock.ms,
            lease = entry.lease, inbox = entry.inbox, reason = reason,
            wave = share.wave}) do
        marks[#marks + 1], marks[#marks + 2] = name, value
    end
    return write_marks(marks, entry)
end

-- The fence and the ticket under which a claim holds; a new record, as the
-- entry says, if there is none. Or nil, nil and an error.
function share.own(claim, entry)
    if record.writes and record.claim == claim then
        return tonumber(record.fence), tonumber(record.ticket)
    end
    local mark = not record.writes
        and mark_of(redis.call('HGET', holders, claim))
    if mark then
        return mark.fence, mark.ticket
    end
    local sign = record.writes and sign_writer or sign_reader
    local bad = sign(claim, entry)
    if bad then
        return nil, nil, bad
    end
    return share.top, entry.ticket
end

-- Whether the claim holds, or held, under another fence.
function share.is_other(claim, fence)
    if record.writes then
        return record.claim == claim and record.fence ~= fence
    end
    local mark = mark_of(redis.call('HGET', holders, claim))
    return mark and mark.fence ~= tonumber(fence)
end

-- Why a claim does not hold: 2 another holds instead of it, 0 nobody does.
function share.code(claim)
    local wrote = record.mode and record.claim == claim
    return (record.mode == 'write' or wrote) and 2 or 0
end

-- The key whose life is the lease of a claim that holds.
function share.lease_key(claim)
    if record.writes and share.aside ~= claim then
        return lock
    end
    return timeout_key(claim)
end

-- Makes the hold of a claim last for ms at least. Returns how long it does, or
-- an error.
function share.lengthen(claim, ms)
    local key = share.lease_key(claim)
    if key == lock then
        return lease.lengthen(lock, ms)
    end
    local left = lease.lengthen(key, ms)
    return failed(left) or failed(lease.lengthen(lock, left)) or left
end

-- ---- coming in ----

local function is_writer(entry)
    return entry.kind == 'w' or entry.kind == 'x'
end

-- Writes the field of a claim. Returns an error, and then nothing has changed,
-- or nil.
local function enter(claim, entry)
    local base = base_of(entry)
    local reply
    if is_writer(entry) then
        reply = redis.pcall('HSET', lock, 'mode', 'write', claim .. ':write',
            '1')
    elseif share.mode == 'write' then
        reply = redis.pcall('HSET', lock, claim, '1')
    else
        reply = redis.pcall('HSET', lock, 'mode', 'read', claim, '1')
    end
    if not failed(reply) then
        share.alone = is_writer(entry) and not (base and readers.lives(base))
            or not share.mode
        share.mode = is_writer(entry) and 'write' or share.mode or 'read'
    end
    return failed(reply)
end

-- From now on the writer's lease is for ms, whatever becomes of the hash.
-- Returns an error or nil.
local function set_aside(writer, ms)
    share.aside = writer
    return failed(redis.pcall('SET', timeout_key(writer), '1', 'PX', ms))
        or failed(redis.pcall('HSET', state, 'aside', writer))
end

-- Before a read beside the writer lengthens the hash. Returns an error or nil.
local function keep_write_lease()
    local writer = share.claim
    if share.mode ~= 'write' or share.aside == writer
            or redis.pcall('HEXISTS', lock, writer .. ':write') ~= 1 then
        return nil
    end
    local left = redis.pcall('PTTL', lock)
    return failed(left) or left > 0 and set_aside(writer, left) or nil
end

-- Takes out the writer whose lease ran out. Returns an error or nil.
local function bury_writer()
    local writer = share.lapsed
    share.lapsed = nil
    return writer and failed(redis.pcall('HDEL', lock, writer .. ':write'))
end

local function settle_read(claim, entry, ms)
    readers.note(claim, true)
    return keep_write_lease()
        or failed(redis.pcall('SET', timeout_key(claim), '1', 'PX', ms))
        or failed(lease.lengthen(lock, ms))
        or sign_reader(claim, entry)
end

local function settle_write(claim, entry, ms)
    if share.alone then
        return failed(redis.pcall('PEXPIRE', lock, ms)) or readers.bury()
            or sign_writer(claim, entry)
    end
    return failed(lease.lengthen(lock, ms)) or readers.bury()
        or sign_writer(claim, entry) or set_aside(claim, ms)
end

-- Makes a claim for which there is room a holder for ms. Returns its fence
-- twice, as fence and top; or nil and an error, and then it holds nothing.
function share.take(claim, entry, ms)
    local settle = is_writer(entry) and settle_write or settle_read
    local bad = enter(claim, entry)
    if bad then
        return nil, bad
    end
    if share.alone then
        redis.pcall('DEL', holders) -- what is left of readers that are gone
    end
    bad = bury_writer() or settle(claim, entry, ms)
    if bad then
        share.undo(claim, entry)
        return nil, bad
    end
    return {fence = share.top, top = share.top}
end

-- Takes the last take() back.
function share.undo(claim, entry)
    local field = claim
    redis.pcall('DEL', timeout_key(claim))
    if is_writer(entry) then
        field = claim .. ':write'
    else
        redis.pcall('HDEL', holders, claim)
        readers.note(claim, false)
    end
    if share.alone and not failed(redis.pcall('DEL', lock)) then
        share.mode = nil
        return
    end
    redis.pcall('HDEL', lock, field)
    if redis.pcall('HLEN', lock) == 1 then
        redis.pcall('HDEL', lock, 'mode')
        share.mode = nil
    elseif is_writer(entry) then
        redis.pcall('HSET', lock, 'mode', 'read')
        share.mode = 'read'
    end
end

-- Makes the writer a reader for ms at least, and for what its lease has left:
-- first all that a reader has but its field, then that, in place of the
-- writer's. Returns an error, and then it writes on, or nil.
function share.turn_to_read(claim, fence, ms)
    local left, own_left = redis.pcall('PTTL', lock),
        redis.pcall('PTTL', share.lease_key(claim))
    if failed(left) or failed(own_left) then
        return failed(left) or own_left
    end
    ms = math.max(ms, own_left)
    local entry = {ticket = tonumber(record.ticket) or 0, kind = 'r',
        lease = ms, inbox = '', reason = '', fence = tonumber(fence)}
    local own = redis.pcall('HMGET', state, 'inbox', 'reason')
    if record.claim == claim and not failed(own) then
        entry.inbox, entry.reason = own[1] or '', own[2] or ''
    end
    share.mode = 'read'
    -- Never a no-op: a full server lets through what follows such a write.
    local bad = failed(redis.pcall('PEXPIRE', lock, math.max(left, ms)))
        or failed(redis.pcall('SET', timeout_key(claim), '1', 'PX', ms))
        or sign_reader(claim, entry)
        or failed(redis.pcall('HDEL', lock, claim .. ':write'))
    if bad then
        if share.aside ~= claim then
            redis.pcall('DEL', timeout_key(claim))
        end
        redis.pcall('HDEL', holders, claim)
        return bad
    end
    readers.note(claim, true)
    share.leaving = {wrote = true, stays = true}
    return failed(redis.pcall('HSET', lock, 'mode', 'read', claim, '1'))
end

-- ---- going out ----

-- Says what share.free() is to end: how 'write' or 'read', the hold of a claim;
-- 'all', every hold; 'none', what the dead have left. Returns true if others
-- hold on. If that cannot be told they do.
function share.leave(how, claim)
    local stays, bad = false, nil
    if how == 'write' then
        stays, bad = readers.any()
    elseif how == 'read' and share.mode == 'write' then
        stays = true
    elseif how == 'read' then
        stays, bad = readers.any(claim)
    end
    share.leaving = {how = how, claim = claim, stays = stays or bad ~= nil}
    return share.leaving.stays
end

-- Has the hash end with the last lease in it, as Redisson does, and not with
-- one that was given up. In doubt it ends later.
local function shorten()
    local longest = readers.longest()
    if longest and share.mode == 'write' then
        local own = share.aside == share.claim
            and redis.pcall('PTTL', timeout_key(share.claim))
        longest = type(own) == 'number' and math.max(longest, own)
    end
    local left = redis.pcall('PTTL', lock)
    if longest and longest > 0 and not failed(left) and left > longest then
        redis.pcall('PEXPIRE', lock, longest)
    end
end

local function free_read(claim)
    local own = redis.pcall('PTTL', timeout_key(claim))
    local left = redis.pcall('PTTL', lock)
    local bad = failed(redis.pcall('HDEL', lock, claim))
    if bad then
        return bad
    end
    redis.pcall('DEL', timeout_key(claim))
    redis.pcall('HDEL', holders, claim)
    readers.note(claim, false)
    readers.bury()
    -- Another's is the longest lease if this one is shorter than the hash's.
    if failed(own) or failed(left) or own + 50 >= left then
        shorten()
    end
    return nil
end

-- The readers' phase begins with the reads of its owner that are left.
local function free_write(claim)
    local bad = failed(redis.pcall('HDEL', lock, claim .. ':write'))
    if bad then
        return bad
    end
    redis.pcall('HSET', lock, 'mode', 'read')
    redis.pcall('DEL', timeout_key(claim))
    share.mode, share.wave = 'read', last_reader()
    write_marks({'v', '1', 'kind', 'rw', 'wave', share.wave}, {lease = 0})
    readers.bury()
    shorten()
    return nil
end

local function free_all(leaving)
    local bad = failed(redis.pcall('DEL', lock))
    if bad then
        return bad
    end
    share.mode = nil
    readers.forget()
    if leaving.wrote and share.aside == share.claim then
        redis.pcall('DEL', timeout_key(share.claim))
    end
    if leaving.how == 'read' then
        redis.pcall('DEL', timeout_key(leaving.claim), holders)
    elseif leaving.how ~= 'write' then -- a writer left none when it came
        redis.pcall('DEL', holders)
    end
    return nil
end

-- Does what share.leave() said. Returns an error, and then nothing has changed,
-- or nil.
function share.free()
    local leaving = share.leaving
    leaving.wrote = share.mode == 'write'
    if not leaving.stays then
        return free_all(leaving)
    elseif leaving.how == 'write' then
        return free_write(leaving.claim)
    end
    return free_read(leaving.claim)
end

-- What Redisson's channel is told: 1 has all of its waiters look, 0 one in each
-- process.
function share.word()
    return share.leaving.wrote and '1' or '0'
end
