-- Notifies River's clients of queues with new jobs. The COMMIT waits neither for the disk nor for a
-- standby, because it holds the server's single lock for all notifying commits. A crash can lose
-- only the notification.
SELECT
    set_config('synchronous_commit', 'off', true),
    pg_notify(:topic, json_build_object('queue', queue)::text)
FROM unnest(:queues::text[]) AS queue
