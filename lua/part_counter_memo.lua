-- SPDX-License-Identifier: MIT
-- part_counter_memo: which of the changes of a counter were made.
-- Needs: part_memo and what that needs, part_counter.
--
-- The words of a change are "<n> <record.gone>".
--
-- made.count  the n of ARGV[1]'s change, nil: it made none
-- made.gone   which counter it changed: the record.gone of that time

local made = {}

do
    local count, gone = string.match(memo.words or '', '^(%-?%d+) (%d+)$')
    made.count, made.gone = tonumber(count), tonumber(gone)
end

-- Remembers ARGV[1]'s change of n, as memo.note does.
function made.note(n)
    return memo.note(string.format('%.0f %.0f', n, record.gone))
end
