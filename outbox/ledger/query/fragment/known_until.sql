-- The time up to which the table job is complete: work that was due earlier and has no row in job
-- has no live job. Work that became due later may have a job that was not read. A job waits in its
-- queue from the time at which its work was due; a snoozed job runs again within minutes.
COALESCE((
    SELECT min(CASE
        WHEN list.state = 'available' THEN list.last
        WHEN list.last > now() + interval '10 minutes' THEN 'infinity'
        ELSE '-infinity'
    END)
    FROM {{full_lists}} AS list
), 'infinity')
