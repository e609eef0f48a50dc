-- Keeps the newest keys of each source, and deletes the others.
WITH ranked AS (
    SELECT source, key_id, row_number() OVER (PARTITION BY source ORDER BY proven_at DESC, key_id COLLATE "C") AS place
    FROM hooklatch.sender_keys
    WHERE source = ANY (:sources::text[])
)
DELETE FROM hooklatch.sender_keys AS k
USING ranked
WHERE k.source = ranked.source
    AND k.key_id = ranked.key_id
    AND ranked.place > :kept
