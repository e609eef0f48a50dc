-- A process says that it is there. Its start is measured by the server's clock,
-- so that two of them can be compared.
INSERT INTO hooklatch.workers (id, started_at, config_hash, destinations, queues)
VALUES ($1, now() - make_interval(secs => $2::float8), $3, $4::text[], $5::text[])
ON CONFLICT (id) DO UPDATE
SET
    seen_at = now(),
    config_hash = EXCLUDED.config_hash,
    destinations = EXCLUDED.destinations,
    queues = EXCLUDED.queues
