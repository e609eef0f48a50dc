-- Notifies River's clients of queues that got jobs. Its COMMIT waits neither for the disk
-- nor for a standby: only the notification can be lost with it, and it holds the server's
-- single lock for all notifying commits.
SELECT
    set_config('synchronous_commit', 'off', true),
    pg_notify(:topic, json_build_object('queue', queue)::text)
FROM unnest(:queues::text[]) AS queue
