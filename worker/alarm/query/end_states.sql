DELETE FROM hooklatch.alert_states AS s
USING :states AS gone (name text, subject text)
WHERE s.name = gone.name
    AND s.subject = gone.subject
