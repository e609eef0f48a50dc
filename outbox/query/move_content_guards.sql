-- Assigns windows to the events that open them, or closes the windows. This transaction has already
-- locked the windows.
UPDATE hooklatch.content_guards AS g
SET
    event_id = c.event_id,
    acceptance_id = c.acceptance_id,
    accepted_at = LEAST(c.arrived_at, now()),
    expires_at = LEAST(c.arrived_at, now()) + make_interval(secs => c.window_seconds)
FROM :contents AS c (source text, hash bytea, event_id text, acceptance_id uuid, window_seconds float8, arrived_at timestamptz)
WHERE g.source = ANY (ARRAY[c.source])
    AND g.hash = c.hash
