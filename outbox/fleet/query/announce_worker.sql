-- A process says that it is there. Its start is measured by the server's clock,
-- so that two of them can be compared.
INSERT INTO hooklatch.workers (id, started_at, config_hash, destinations, queues)
VALUES (:id, now() - make_interval(secs => :running_seconds::float8), :config_hash, :destinations::text[], :queues::text[])
ON CONFLICT (id) DO UPDATE
SET
    seen_at = now(),
    config_hash = EXCLUDED.config_hash,
    destinations = EXCLUDED.destinations,
    queues = EXCLUDED.queues
