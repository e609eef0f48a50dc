-- Values of the whole database: the clock, the partitions ahead, and the presence of a leading
-- worker.
SELECT
    now() AS now,
    hooklatch.delivery_days_ahead() AS days_ahead,
    NOT {{at_home}} AS withheld,
    EXISTS (
        SELECT
        FROM hooklatch.river_leader AS l
        WHERE l.expires_at > now()
    ) AS led
