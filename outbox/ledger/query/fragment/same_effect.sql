-- Whether the effect e is the one in locked, found by a look-up in the primary key
-- for each row of locked, whatever the planner knows of the table: ANY keeps the
-- first column from being joined by hash or merge, which read the table whole, and
-- other conditions on e would offer indexes of many rows. They stand on locked.
e.scope = ANY (ARRAY[locked.scope])
    AND e.key = locked.key
    AND e.generation = locked.generation
