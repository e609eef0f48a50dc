-- Makes lists due. A list with a running pass is due when that has ended: begin_pass waits for
-- its lease.
UPDATE hooklatch.coverage
SET next_at = now()
WHERE source = ANY (:sources::text[])
RETURNING lease_until > now()
