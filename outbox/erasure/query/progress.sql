-- How far the events of a source are redacted, and by which rules.
SELECT rules, accept_seq
FROM hooklatch.redaction_progress
WHERE source = :source
