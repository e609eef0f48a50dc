-- Moves the place of a run, with what was counted up to there.
UPDATE hooklatch.replay_runs
SET
    leased_until = now() + :lease_seconds * interval '1 second',
    place = :place,
    selected = :selected,
    changed = :changed,
    reopened = :reopened,
    in_doubt = :in_doubt,
    unrendered = :unrendered,
    unclear = :unclear
WHERE id = :id
    AND worker = :worker
