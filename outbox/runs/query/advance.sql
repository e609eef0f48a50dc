-- Moves a run's position, with the counts up to that position. Clears the reason for which the run
-- could not continue.
UPDATE hooklatch.replay_runs
SET
    leased_until = now() + :lease_seconds * interval '1 second',
    next_at = CASE WHEN :rest_seconds::float8 > 0 THEN now() + :rest_seconds::float8 * interval '1 second' ELSE next_at END,
    place = :place,
    selected = :selected,
    changed = :changed,
    reopened = :reopened,
    in_doubt = :in_doubt,
    unrendered = :unrendered,
    unclear = :unclear,
    came = :came,
    error = ''
WHERE id = :id
    AND worker = :worker
