-- SPDX-License-Identifier: MIT
-- part_rw_room: whose turn it is.
-- Needs: part_error, part_rw_record, part_rw_readers, part_clock, part_line,
-- part_rw_share.
--
-- An upgrade goes before all others and keeps them out. In turns (order 0)
-- there are phases: when a writer has left, those who wait to read come in, up
-- to the last ticket at that time, the wave; then comes the first writer, and
-- readers who came meanwhile wait for the next phase. Upgradeable readers take
-- turns with the writers, by ticket. With readers first (order 1) a writer
-- comes in when nobody waits to read; with writers first (order 2) readers do
-- when nobody waits to write.
--
-- Who waits to write keeps readers out only while it is alive: room.next()
-- gives the dead as well, to be skipped.
--
-- One that spins to write stands in no lane. It leaves a mark instead, which
-- keeps new readers out as a waiting writer does, but not in our turn, when the
-- name is not for those who spin. A writer of Redisson's that waits does so as
-- well, by listening to its channel.

local room = {family = 'rwlock', take = share.take, undo = share.undo,
    free = share.free, word = share.word, set_turn = share.set_turn}
local order = record.order
local selves, heads, alive, shown = {}, {}, {}, nil
local WRITER_SPINS, SPIN_MS = 'w', 1000
local spin_mark, foreign

-- Says that a claim is alive, whatever its inbox says.
function room.trust(claim)
    selves[claim] = true
end

-- Says who goes first from now on. Returns true if that is news.
function room.set_order(wanted)
    order = wanted
    return wanted ~= record.order
end

-- Whether some who hold are not ours.
local function has_foreign_holders()
    local all = tonumber(redis.pcall('HLEN', lock)) or 0
    local ours = tonumber(redis.pcall('HLEN', holders)) or 0
    return all - 1 - (share.lapsed and 1 or 0) > ours
end

-- Whether a writer of Redisson's waits: nobody else of its waiters does where
-- readers hold. Where those are Redisson's as well, who do not stand back, it
-- would be of no use if ours did.
local function has_foreign_writer()
    if foreign == nil then
        local counts = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
        foreign = not failed(counts) and counts[2] > 0
            and not has_foreign_holders()
    end
    return foreign
end

-- Readers of Redisson's that overlap keep our writer out, and do not stand back
-- for it. It would be of no use if ours did all the time, and for ours to be
-- without end: so they pass it then, in one half of each second. In the other
-- they stand back as ever, and it has its chance when all of those are gone.
local SECOND_MS, PASS_MS = 1000, 500
local function passes_writers()
    return share.mode == 'read' and order == '0'
        and clock.ms % SECOND_MS < PASS_MS and has_foreign_holders()
end

-- Whether a writer that stands in no queue of ours keeps new readers out: one
-- that spins, or Redisson's.
local function has_outside_writer()
    if share.mode ~= 'read' or order == '1' or share.turn_ms
            or clock.ms < (record.till or 0) then
        return false
    end
    spin_mark = spin_mark or redis.pcall('GET', KEYS[9])
    return spin_mark == WRITER_SPINS or has_foreign_writer()
end

-- Notes that one that spins was sent away. Who spins to read leaves the mark of
-- one that spins to write.
function room.note_spinner(entry)
    if entry.kind == 'w' or entry.kind == 'x' then
        redis.pcall('SET', KEYS[9], WRITER_SPINS, 'PX', SPIN_MS)
    elseif redis.pcall('GET', KEYS[9]) ~= WRITER_SPINS then
        redis.pcall('SET', KEYS[9], '1', 'PX', SPIN_MS)
    end
end

-- One that spins to write has come in; others of its kind will say so again.
function room.unmark_writer()
    if redis.pcall('GET', KEYS[9]) == WRITER_SPINS then
        redis.pcall('SET', KEYS[9], '1', 'PX', SPIN_MS)
    end
end

-- The first of a lane, and its entry.
local function head(lane)
    heads[lane] = heads[lane] or {line.first(lane)}
    return heads[lane][1], heads[lane][2]
end

-- In doubt a waiter is alive: the server may deny the answer.
local function is_alive(claim, entry)
    if alive[claim] == nil then
        alive[claim] = selves[claim] or line.is_alive(entry) ~= false
    end
    return alive[claim]
end

-- Whether a writer comes in: nobody reads but its base.
local function lets_write(entry)
    local base = base_of(entry)
    return readers.any(base) == false
end

-- Whether an upgrade may go on: its base lives, or did until this call, so that
-- nobody can have written since; and it was not revoked.
function room.has_base(entry)
    local base = base_of(entry)
    local lives = readers.lives(base) or base == ARGV[1] and record.reads
    return lives and type(redis.pcall('ZSCORE', KEYS[7], base)) ~= 'string'
end

-- Whether a reader comes in before the first writer, if there is one.
local function lets_read(entry, writer)
    if order == '1' or not writer and not has_outside_writer() then
        return true
    elseif order == '2' then
        return false
    elseif share.wave < 0 then
        return true
    end
    return entry.ticket <= share.wave
        or passes_writers() and not has_outside_writer()
end

-- Whether an upgradeable reader does.
local function lets_upgradeable(entry, writer)
    if readers.lives(share.upgrader) or has_outside_writer() then
        return false
    elseif not writer or order == '1' then
        return true
    end
    return order ~= '2' and entry.ticket < writer.ticket
end

-- Like room.next(), and says the lane.
local function choose()
    if share.mode == 'write' then
        return nil
    end
    local claim, entry = head(UPGRADES)
    if entry and not room.has_base(entry) then
        return UPGRADES, claim, nil -- its client is told when it looks
    elseif claim then
        if not entry or not is_alive(claim, entry) or lets_write(entry) then
            return UPGRADES, claim, entry
        end
        return nil
    end
    local writer, writes = head(queue)
    if writer and (not writes or not is_alive(writer, writes)) then
        return queue, writer, writes
    end
    claim, entry = head(READERS)
    if claim and (not entry or lets_read(entry, writes)) then
        return READERS, claim, entry
    end
    claim, entry = head(UPGRADERS)
    if claim and (not entry or lets_upgradeable(entry, writes)) then
        return UPGRADERS, claim, entry
    end
    if writer and lets_write(writes) then
        return queue, writer, writes
    end
    return nil
end

-- The waiter that is to be served now and fits, or is dead and to be skipped;
-- and its entry. Whoever was given out before was dealt with.
function room.next()
    local claim, entry
    if shown then
        heads[shown] = nil
    end
    shown, claim, entry = choose()
    return claim, entry
end

-- The lane of waiters that keep new readers out, besides that of upgrades.
local function keeps_out()
    return order == '1' and UPGRADES or queue
end

-- Whether the name lies free for others, and one of ours waits already: only
-- the first in line tries to get it from them.
local function is_left_to_others()
    return not share.mode and (record.open or 0) > 0
        and redis.call('EXISTS', READERS) == 1
end

-- Whether a newcomer comes in at once, before it queues: nobody waits whose
-- turn would be sooner. writer: its own claim that writes, if any.
function room.is_open_to(entry, writer)
    if share.mode == 'write' then
        return entry.kind == 'r' and writer
            or entry.kind == 'u' and writer
            and not readers.lives(share.upgrader)
    elseif entry.kind == 'r' then
        return (redis.call('EXISTS', keeps_out(), UPGRADES) == 0
                or passes_writers() and redis.call('EXISTS', UPGRADES) == 0)
            and not has_outside_writer() and not is_left_to_others()
    elseif entry.kind == 'x' then
        return redis.call('EXISTS', UPGRADES) == 0 and lets_write(entry)
    elseif redis.call('EXISTS', queue, READERS, UPGRADERS, UPGRADES) > 0 then
        return false
    elseif entry.kind == 'u' then
        return not readers.lives(share.upgrader) and not has_outside_writer()
    end
    return lets_write(entry)
end

-- Whether one that spins comes in beside those who hold, whoever waits: in the
-- turn of the others, which is on. Until it has been on for so long readers
-- join those who came in it; then they are to come to an end.
local JOINS_MS = 150
function room.is_theirs(entry)
    if not share.mode then
        return true
    end
    return entry.kind == 'r' and share.mode == 'read'
        and clock.ms < record.open + JOINS_MS
end

-- The first of these lanes by ticket.
local function foremost(lanes)
    local claim, ticket
    for _, lane in ipairs(lanes) do
        local found = redis.pcall('ZRANGE', lane, 0, 0, 'WITHSCORES')
        local own = tonumber(found[2])
        if own and (not ticket or own < ticket) then
            claim, ticket = found[1], own
        end
    end
    return claim
end

-- Whether somebody waits whom the holder keeps out.
function room.is_waited_for()
    if share.mode == 'write' then
        return redis.call('EXISTS', queue, READERS, UPGRADERS, UPGRADES) > 0
    end
    return redis.call('EXISTS', keeps_out(), UPGRADES) > 0
end

-- Who is next where somebody holds the name who will never hand it over: its
-- client must try for itself; or where it lies free in the turn of those who
-- spin. nil: nobody.
function room.contender()
    if share.mode == 'write' then
        local ours = redis.pcall('HEXISTS', lock, share.claim .. ':write') == 1
        return not ours
            and foremost({UPGRADES, queue, READERS, UPGRADERS}) or nil
    elseif share.mode == 'read' then
        return has_foreign_holders() and foremost({UPGRADES, queue}) or nil
    elseif (record.open or 0) > 0 and (record.came or -1) >= 0 then
        return foremost({UPGRADES, queue, READERS, UPGRADERS})
    end
    return nil
end

-- If that is this claim: 1 where somebody holds the name, 2 where it lies free.
-- Else 0.
function room.contends(claim)
    if room.contender() ~= claim then
        return 0
    end
    return share.mode and 1 or 2
end
