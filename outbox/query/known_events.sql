-- Returns the given events that are already stored. With synchronous replication a visible row
-- might not be on the standby yet, and a read-only transaction does not wait for the standby. The
-- WAL message makes this transaction wait.
SELECT p.source, p.event_id, p.acceptance_id, p.received_at, p.payload_hash
FROM :events AS known (source text, event_id text)
CROSS JOIN LATERAL (
    SELECT p.source, p.event_id, p.acceptance_id, p.received_at, p.payload_hash
    FROM hooklatch.processed_events AS p
    WHERE p.source = known.source
        AND p.event_id = known.event_id
    OFFSET 0 -- forces one look-up per event
) AS p
WHERE (
    SELECT CASE
        WHEN current_setting('synchronous_standby_names') = '' THEN true
        ELSE pg_logical_emit_message(true, 'hooklatch.duplicate', '') IS NOT NULL
    END
)
