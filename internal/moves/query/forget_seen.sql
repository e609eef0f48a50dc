-- Forgets when the source was last seen in this cell, so that no alert reports its silence here.
DELETE FROM hooklatch.last_seen
WHERE kind = 'source'
    AND name = :source
