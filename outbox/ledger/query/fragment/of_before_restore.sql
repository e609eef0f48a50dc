-- True if the effect e existed when an operator declared the database restored, or its event
-- existed and was not replayed since. A later retry by an operator makes the condition false. The
-- effect may have been applied in the time that the restore lost.
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
