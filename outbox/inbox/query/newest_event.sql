-- The newest event: those accepted later are not part of a run that starts now.
SELECT COALESCE(max(p.accept_seq), 0)
FROM hooklatch.processed_events AS p
