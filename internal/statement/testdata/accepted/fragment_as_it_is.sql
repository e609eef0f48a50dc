SELECT e.key, {{is_due}} AS due
FROM hooklatch.effects AS e
WHERE e.queue = :queue
    AND {{is_due}}
