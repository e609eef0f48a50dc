-- Notes names of files. Files that no manifest lists are deleted later. The statement also returns
-- whether begun_at still has the value that the writer has read.
UPDATE hooklatch.exported_days
SET garbage = garbage || (SELECT COALESCE(array_agg(n), '{}') FROM unnest(:names::text[]) AS n WHERE NOT n = ANY (garbage))
WHERE day = :day
RETURNING begun_at = :begun_at
