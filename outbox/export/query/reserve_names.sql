-- Notes names of files before they are written. Files that no manifest lists are deleted later.
UPDATE hooklatch.exported_days
SET garbage = garbage || (SELECT COALESCE(array_agg(n), '{}') FROM unnest(:names::text[]) AS n WHERE NOT n = ANY (garbage))
WHERE day = :day
