-- Deletes the row of an unfinished day, unless a process has noted another file or begun the day
-- again.
DELETE FROM hooklatch.exported_days
WHERE day = :day
    AND manifest = ''
    AND garbage = '{}'
    AND begun_at = :begun_at
