-- The newest event: what is accepted later is not looked at.
SELECT COALESCE((
    SELECT accept_seq
    FROM hooklatch.processed_events
    ORDER BY accept_seq DESC
    LIMIT 1
), 0)
