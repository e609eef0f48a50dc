SELECT EXISTS (
    SELECT
    FROM river_job
    WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
)
