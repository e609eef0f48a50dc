-- True if the event p is the one in locked. For each row in locked, Postgres finds the event by a
-- primary key look-up, whatever the planner knows about the table. ANY prevents a hash join or
-- merge join on the first column, which would read the complete table. Conditions on other columns
-- of p could make the planner choose an index with many matching rows: they belong on locked.
p.source = ANY (ARRAY[locked.source])
    AND p.event_id = locked.event_id
