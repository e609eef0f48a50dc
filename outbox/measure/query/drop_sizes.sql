-- Deletes expired sizes.
DELETE FROM hooklatch.sizes AS s
WHERE s.day < (now() - make_interval(secs => :kept_seconds))::date
