-- Whether the effect e is the one in locked, found by a primary-key look-up for each row of
-- locked, whatever the planner knows of the table. ANY keeps the first column from being joined
-- by hash or merge, which read the whole table. Other conditions belong on locked: on e they
-- would offer indexes with many rows.
e.scope = ANY (ARRAY[locked.scope])
    AND e.key = locked.key
    AND e.generation = locked.generation
