-- True if the effect e or its event existed when an operator declared the database restored, and no
-- operator has requested the effect since. It may have been applied in the missing time.
EXISTS (
    SELECT
    FROM hooklatch.installation AS i
    WHERE i.restored_at >= COALESCE(e.reopened_at, '-infinity')
        AND (i.restored_at >= e.created_at OR (
            i.restored_seq >= e.accept_seq
            AND NOT EXISTS (
                SELECT
                FROM hooklatch.event_replays AS r
                WHERE r.source = e.source
                    AND r.event_id = e.event_id
                    AND r.requested_at > i.restored_at
                    AND r.route IN ('', e.route)
            )
        ))
)
