-- Reads the next :limit events. Of these, returns the source's events that are old enough to be
-- redacted, and the last old event of any source. The next slice begins after that last event.
-- Events that are not committed yet are too young for this slice, so no event is skipped. An event
-- that is more than a day ahead of the clock was received under a wrong clock. It does not end the
-- slice, because it would hold up every source until the clock reaches its time. If it belongs to
-- the source, it is returned, and waits until it is old enough.
WITH slice AS (
    SELECT p.source, p.event_id, p.accept_seq, p.received_at, p.erased_at
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq > :after
    ORDER BY p.accept_seq
    LIMIT :limit
), old AS (
    SELECT
        slice.*,
        lead(slice.accept_seq) OVER (ORDER BY slice.accept_seq) IS NULL AS is_last
    FROM slice
    WHERE slice.accept_seq < COALESCE((
        SELECT min(young.accept_seq)
        FROM slice AS young
        WHERE young.received_at > now() - make_interval(secs => :after_seconds)
            AND young.received_at <= now() + interval '1 day'
    ), 9223372036854775807)
)
SELECT old.source = :source AND old.erased_at IS NULL AS selected, source, event_id, accept_seq
FROM old
WHERE old.source = :source AND old.erased_at IS NULL
    OR old.is_last
ORDER BY accept_seq
