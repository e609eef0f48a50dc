-- Values of the whole database: its clock, the number of coming days that have partitions, whether
-- at_most_once effects are withheld, and whether a worker leads.
SELECT
    now() AS now,
    hooklatch.delivery_days_ahead() AS days_ahead,
    NOT {{at_home}} AS withheld,
    EXISTS (
        SELECT
        FROM hooklatch.river_leader AS l
        WHERE l.expires_at > now()
    ) AS led
