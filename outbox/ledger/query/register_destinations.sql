INSERT INTO hooklatch.destinations (name, kind, queue, policy, config_hash)
SELECT d.name, d.kind, d.queue, d.policy, d.config_hash
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS d (name, kind, queue, policy, config_hash)
ORDER BY d.name COLLATE "C"
ON CONFLICT (name) DO UPDATE
SET
    kind = EXCLUDED.kind,
    queue = EXCLUDED.queue,
    policy = EXCLUDED.policy,
    config_hash = EXCLUDED.config_hash,
    registered_at = now()
WHERE (destinations.kind, destinations.queue, destinations.policy, destinations.config_hash)
    IS DISTINCT FROM (EXCLUDED.kind, EXCLUDED.queue, EXCLUDED.policy, EXCLUDED.config_hash)
