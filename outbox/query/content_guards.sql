-- Returns the given contents whose windows are open, with the event that opened each window. For an
-- arrival in the past, a window that begins later, but within the arrival's own window, also counts
-- as open. A window whose event is not stored does not count. Otherwise an event with the same
-- content would be acknowledged, although no stored event has this content. This transaction's
-- tentative windows are therefore excluded too: their events are not stored yet.
SELECT g.source, g.hash, g.event_id, g.acceptance_id, stored.received_at
FROM :contents AS known (source text, hash bytea, window_seconds float8, arrived_at timestamptz)
CROSS JOIN LATERAL (
    SELECT g.source, g.hash, g.event_id, g.acceptance_id, g.accepted_at, g.expires_at
    FROM hooklatch.content_guards AS g
    WHERE g.source = known.source
        AND g.hash = known.hash
    OFFSET 0 -- forces one look-up per content
) AS g
CROSS JOIN LATERAL (
    SELECT p.received_at
    FROM hooklatch.processed_events AS p
    WHERE p.source = g.source
        AND p.event_id = g.event_id
        AND p.acceptance_id = g.acceptance_id
    OFFSET 0
) AS stored
WHERE g.expires_at > LEAST(known.arrived_at, now())
    AND (known.arrived_at IS NULL OR g.accepted_at < known.arrived_at + make_interval(secs => known.window_seconds))
