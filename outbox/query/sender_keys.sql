-- Returns the keys kept for a source, newest first, with the age of each key in seconds.
SELECT key_id, document, GREATEST(extract(epoch FROM clock_timestamp() - proven_at), 0)::double precision
FROM hooklatch.sender_keys
WHERE source = :source
ORDER BY proven_at DESC, key_id COLLATE "C"
