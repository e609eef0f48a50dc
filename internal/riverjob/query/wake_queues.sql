-- Tells River's clients of queues that got jobs. Its COMMIT waits neither for the disk
-- nor for a standby: nothing is lost with it but the notification, and it holds the
-- server's one lock of all notifying commits.
SELECT
    set_config('synchronous_commit', 'off', true),
    pg_notify(:topic, json_build_object('queue', queue)::text)
FROM unnest(:queues::text[]) AS queue
