-- The position up to which redaction has read a source's events, and the hash of the rules that it
-- used.
SELECT rules, accept_seq
FROM hooklatch.redaction_progress
WHERE source = :source
