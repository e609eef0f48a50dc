INSERT INTO hooklatch.redaction_progress (source, rules, accept_seq)
VALUES (:source, :rules, :accept_seq)
ON CONFLICT (source) DO UPDATE
SET
    rules = EXCLUDED.rules,
    accept_seq = EXCLUDED.accept_seq
