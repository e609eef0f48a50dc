-- Reports whether a worker is running: if so, one of the workers is the leader, and renews its term
-- every 5 seconds. The query also returns the last time at which a worker reported any queue, in
-- case no worker is running.
SELECT
    now() AS now,
    EXISTS (
        SELECT
        FROM hooklatch.river_leader
        WHERE expires_at > now()
    ) AS leads,
    (
        SELECT max(updated_at)
        FROM hooklatch.river_queue
    ) AS reported_at
