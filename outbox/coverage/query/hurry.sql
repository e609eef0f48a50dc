-- Makes lists due. One that a pass works on at this moment is due when that has ended.
UPDATE hooklatch.coverage
SET next_at = now()
WHERE source = ANY (:sources::text[])
