INSERT INTO hooklatch.events_kept (accept_seq)
SELECT DISTINCT unnest(:events::bigint[])
ON CONFLICT DO NOTHING
