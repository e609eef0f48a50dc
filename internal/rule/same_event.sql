-- Whether the event p is the one in locked, found by a look-up in the primary key for
-- each row of locked, whatever the planner knows about the table. ANY keeps the first
-- column from being joined by hash or merge, which read the whole table. Other conditions
-- on p would offer indexes with many rows, so they are on locked.
p.source = ANY (ARRAY[locked.source])
    AND p.event_id = locked.event_id
