SELECT accept_seq
FROM hooklatch.events_kept
ORDER BY accept_seq
