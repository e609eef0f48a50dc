-- Records the state of Hooklatch's endpoint at the provider, and the time at which this state was
-- first seen.
UPDATE hooklatch.coverage AS c
SET
    endpoint = :state,
    endpoint_why = :why,
    endpoint_at = CASE WHEN c.endpoint = :state AND c.endpoint_at IS NOT NULL THEN c.endpoint_at ELSE now() END
WHERE c.source = :source
    AND c.stream = :name
