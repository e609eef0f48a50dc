-- Stores values by which operators find events. An event has each of its values only once. The
-- values of an event expire with its delivery. Values are left out if retention has dropped the day
-- on which the event was received. They are also left out if that day was over before the table
-- existed.
INSERT INTO hooklatch.search_values (value, source, accept_seq, received_at)
SELECT k.value, k.source, k.accept_seq, k.received_at
FROM :kept AS k (value text, source text, accept_seq bigint, received_at timestamptz)
WHERE EXISTS (
    SELECT
    FROM pg_inherits AS i
    WHERE i.inhrelid = to_regclass('hooklatch.search_values_' || to_char(k.received_at AT TIME ZONE 'UTC', 'YYYYMMDD'))
        AND i.inhparent = to_regclass('hooklatch.search_values')
        AND NOT i.inhdetachpending
)
ORDER BY k.value COLLATE "C", k.source COLLATE "C", k.accept_seq
ON CONFLICT DO NOTHING
