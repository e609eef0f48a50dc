-- Notifies River's clients of queues with new jobs, once the transaction is committed.
SELECT pg_notify(:topic, json_build_object('queue', queue)::text)
FROM unnest(:queues::text[]) AS queue
