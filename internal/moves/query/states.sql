-- Returns this cell's records of where sources' events are stored.
SELECT m.source, m.to_cell, m.moved_at IS NOT NULL, m.from_cell, m.arrived_at IS NOT NULL
FROM hooklatch.source_moves AS m
WHERE m.source = ANY (:sources::text[])
