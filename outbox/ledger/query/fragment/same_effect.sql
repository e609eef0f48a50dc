-- True if the effect e is the effect in locked. A primary-key look-up for each row of locked finds
-- it, whatever the statistics say. ANY prevents a hash or merge join on the first column, which
-- would read the whole table. Other conditions belong on locked: on e, they would let Postgres
-- choose an index with many rows.
e.scope = ANY (ARRAY[locked.scope])
    AND e.key = locked.key
    AND e.generation = locked.generation
