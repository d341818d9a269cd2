-- SPDX-License-Identifier: MIT
-- hold: how the name is held, and what is on record of it.
--
-- hold.mode    'read' or 'write'; nil: there is no hash. A writer whose own
--              lease ran out while the hash is there for a read beside it is
--              none: hold.lapsed is its field then
-- hold.was     the record; hold.marks what it has of a read-write lock
-- hold.top     the highest fence that was ever given out; 0: none is known
-- hold.writes, hold.reads  what the claim does that was asked about
-- hold.code    of a claim that does not hold: 2 another does, 0 nobody
-- needs: failed past readers

local hold = {}

local function wrong()
    return redis.error_reply('LKTYPE the key is not a read-write lock')
end

-- Reads it. Returns an error or nil.
function hold.look(lock, record_at, claim)
    local bad
    hold.was, bad = past.read(redis.call('GET', record_at), form.layout_rwlock)
    if not hold.was then
        return bad
    end
    local was = hold.was
    local last = was.claim .. ':write'
    local fields = redis.pcall('HMGET', lock, 'mode', claim, claim .. ':write',
        last)
    if failed(fields) then
        return string.find(fields.err, 'WRONGTYPE', 1, true) and wrong()
            or fields
    elseif fields[1] and fields[1] ~= 'read' and fields[1] ~= 'write'
            or not fields[1] and redis.call('EXISTS', lock) == 1 then
        return wrong()
    end
    hold.marks = marks.read(was.more) or {wave = '-1', order = '0',
        upgrader = '-', aside = '-'}
    hold.top = was.fence + was.spare
    hold.mode = fields[1] or nil
    hold.is_ours = fields[1] == 'write' and fields[4] ~= false
    if hold.is_ours and hold.marks.aside == was.claim
            and redis.call('EXISTS', readers.key(lock, was.claim)) == 0 then
        hold.mode, hold.lapsed, hold.is_ours = 'read', last, false
    end
    hold.writes = hold.mode == 'write' and fields[3] ~= false
    hold.reads = fields[2] ~= false and readers.lives(lock, claim, true)
    hold.code = (hold.mode == 'write' or hold.lapsed == claim .. ':write')
        and 2 or 0
    return nil
end

-- The mode that the hash says, as text; nil: there is no hash.
function hold.told_mode()
    return hold.lapsed and 'write' or hold.mode
end

-- The grant that the claim holds by: a table with fence and flag; nil: its
-- record is lost.
function hold.grant(holders, claim)
    if hold.writes then
        return hold.was.claim == claim and hold.was or nil
    end
    return reader.read(redis.call('HGET', holders, claim) or '')
end

-- The key whose life is the lease of the claim.
function hold.lasts_by(lock, claim)
    if hold.writes and hold.marks.aside ~= claim then
        return lock
    end
    return readers.key(lock, claim)
end

-- For how long a key is to live, as text: ms at least, and no shorter than
-- before. Others may hold for longer than the hash says, as Redisson's renewal
-- cuts it.
function hold.life(key, ms)
    return string.format('%.0f', math.max(redis.call('PTTL', key), ms))
end

-- The record with what the marks say now, and other fields.
function hold.record(changes)
    local it = {}
    for name, value in pairs(hold.was) do
        it[name] = value
    end
    it.more = marks.write(hold.marks)
    for name, value in pairs(changes) do
        it[name] = value
    end
    it.layout = form.layout_rwlock
    return record.write(it)
end
