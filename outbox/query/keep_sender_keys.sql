INSERT INTO hooklatch.sender_keys (source, key_id, document)
SELECT k.source, k.key_id, k.document
FROM :keys AS k (source text, key_id text, document bytea)
ORDER BY k.source COLLATE "C", k.key_id COLLATE "C"
ON CONFLICT (source, key_id) DO UPDATE
SET
    document = EXCLUDED.document,
    proven_at = EXCLUDED.proven_at
