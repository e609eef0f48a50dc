-- Returns the names of a finished day's files that no manifest lists, so that they are deleted. Other
-- processes may be writing some of these files. The new begun_at makes their later statements fail,
-- so no manifest will list the files.
UPDATE hooklatch.exported_days
SET begun_at = GREATEST(clock_timestamp(), begun_at + interval '1 microsecond')
WHERE day = :day
    AND manifest <> ''
RETURNING garbage
