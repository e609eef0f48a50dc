-- The position up to which a source's events are redacted, and the rules used.
SELECT rules, accept_seq
FROM hooklatch.redaction_progress
WHERE source = :source
