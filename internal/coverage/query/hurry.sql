-- Makes lists due. A list with a running pass is due when that pass has ended: until then,
-- begin_pass returns no row for the list, unless an operator requested the pass.
UPDATE hooklatch.coverage
SET next_at = now()
WHERE source = ANY (:sources::text[])
RETURNING lease_until > now()
