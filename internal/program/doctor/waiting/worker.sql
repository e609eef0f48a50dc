-- Whether a worker runs: one of them leads, and says so every 5 seconds. And when
-- any queue was last worked, for when none does.
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
