-- Adds a part to an unfinished day, unless another process has added one or begun the day again. The
-- statement may be repeated.
UPDATE hooklatch.exported_days
SET parts = CASE WHEN parts @> :part::jsonb THEN parts ELSE parts || :part::jsonb END
WHERE day = :day
    AND manifest = ''
    AND begun_at = :begun_at
    AND (jsonb_array_length(parts) = :parts OR parts @> :part::jsonb)
