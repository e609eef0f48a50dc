-- True if the event p is the one in locked. It is found by a primary key look-up for each
-- row in locked, whatever the planner knows about the table. ANY keeps the first column
-- from being joined by hash or merge, which read the complete table. Other conditions on
-- p would offer indexes with many rows, so they are on locked.
p.source = ANY (ARRAY[locked.source])
    AND p.event_id = locked.event_id
