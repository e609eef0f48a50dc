-- Opens a tentative window for each of the given contents that has no open window, in key order,
-- before any event is inserted. It returns no row for content whose window is still open, or begins
-- later. If two gateways open a window for the same content simultaneously, the row lock makes the
-- second wait until the first transaction has ended.
INSERT INTO hooklatch.content_guards AS open (source, hash, event_id, acceptance_id, accepted_at, expires_at)
SELECT
    g.source, g.hash, g.event_id, g.acceptance_id,
    LEAST(g.arrived_at, now()), LEAST(g.arrived_at, now()) + make_interval(secs => g.window_seconds)
FROM :contents AS g (source text, hash bytea, event_id text, acceptance_id uuid, window_seconds float8, arrived_at timestamptz)
ORDER BY g.source COLLATE "C", g.hash
ON CONFLICT (source, hash) DO UPDATE
SET
    event_id = EXCLUDED.event_id,
    acceptance_id = EXCLUDED.acceptance_id,
    accepted_at = EXCLUDED.accepted_at,
    expires_at = EXCLUDED.expires_at
WHERE open.expires_at <= EXCLUDED.accepted_at
RETURNING source, hash
