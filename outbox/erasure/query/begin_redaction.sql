-- Notes a run of the redaction for a source. Returns the hash of the rules that redaction used, the
-- position up to which it has read events, the time since which it waits (NULL if it does not
-- wait), and the time of its last run. If more than three days seem to have passed since the last
-- run, the clock may have jumped. Redaction then waits for a day, in which an operator can set the
-- clock right.
INSERT INTO hooklatch.redaction_progress AS p (source, rules, accept_seq, ran_at)
VALUES (:source, :rules, 0, now())
ON CONFLICT (source) DO UPDATE
SET
    ran_at = CASE
        WHEN p.ran_at < now() - interval '3 days' AND COALESCE(p.waits_since, now()) > now() - interval '1 day' THEN p.ran_at
        ELSE now()
    END,
    waits_since = CASE
        WHEN p.ran_at < now() - interval '3 days' AND COALESCE(p.waits_since, now()) > now() - interval '1 day' THEN LEAST(p.waits_since, now())
    END
RETURNING p.rules, p.accept_seq, p.waits_since, p.ran_at
