SELECT coalesce(max(accept_seq), 0)
FROM hooklatch.processed_events
