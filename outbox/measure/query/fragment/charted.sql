-- The count c in the numbers over time, which do not distinguish reasons of refusals.
CASE WHEN c.what LIKE 'refused:%' THEN 'refused' ELSE c.what END
