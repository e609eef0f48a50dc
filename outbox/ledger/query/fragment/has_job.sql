-- Whether a job of the effect e is among those in job. The list is hashed: comparing each
-- effect with each job would take seconds, whatever the planner knows of their number.
(e.scope, e.key, e.generation) IN (
    SELECT job.args ->> 'scope', job.args ->> 'key', (job.args ->> 'generation')::integer
    FROM job
    WHERE job.kind = 'effect'
        AND (job.args ->> 'scope', job.args ->> 'key', job.args ->> 'generation') IS NOT NULL
)
