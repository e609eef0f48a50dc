INSERT INTO hooklatch.sender_keys (source, key_id, document)
SELECT k.source, k.key_id, k.document
FROM unnest($1::text[], $2::text[], $3::bytea[]) AS k (source, key_id, document)
ORDER BY k.source COLLATE "C", k.key_id COLLATE "C"
ON CONFLICT (source, key_id) DO UPDATE
SET
    document = EXCLUDED.document,
    proven_at = EXCLUDED.proven_at
