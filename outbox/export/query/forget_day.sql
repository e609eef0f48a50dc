-- Makes an exported day unfinished, so that it is written again.
UPDATE hooklatch.exported_days
SET
    manifest = '',
    parts = '[]',
    garbage = garbage || :former::text[],
    begun_at = now(),
    exported_at = NULL
WHERE day = :day
    AND manifest = :was
