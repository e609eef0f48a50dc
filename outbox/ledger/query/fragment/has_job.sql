-- True if a job of the effect e is in job. Postgres hashes the list, whatever row count the planner
-- expects. Comparing each effect with each job would take seconds.
(e.scope, e.key, e.generation) IN (
    SELECT job.args ->> 'scope', job.args ->> 'key', (job.args ->> 'generation')::integer
    FROM job
    WHERE job.kind = 'effect'
        AND (job.args ->> 'scope', job.args ->> 'key', job.args ->> 'generation') IS NOT NULL
)
