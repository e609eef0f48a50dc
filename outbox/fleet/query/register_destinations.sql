INSERT INTO hooklatch.destinations (name, kind, queue, policy, config_hash)
SELECT d.name, d.kind, d.queue, d.policy, d.config_hash
FROM :destinations AS d (name text, kind text, queue text, policy text, config_hash text)
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
