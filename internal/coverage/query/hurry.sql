-- Makes lists due. A list with a running pass is due when the pass has ended: begin_pass waits for
-- the pass's lease.
UPDATE hooklatch.coverage
SET next_at = now()
WHERE source = ANY (:sources::text[])
RETURNING lease_until > now()
