-- Whether the event p is the one in locked, found by a look-up in the primary key
-- for each row of locked, whatever the planner knows of the table: ANY keeps the
-- first column from being joined by hash or merge, which read the table whole, and
-- other conditions on p would offer indexes of many rows. They stand on locked.
p.source = ANY (ARRAY[locked.source])
    AND p.event_id = locked.event_id
