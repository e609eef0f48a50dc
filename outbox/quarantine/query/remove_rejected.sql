DELETE FROM hooklatch.rejected_deliveries AS r
USING :asked AS a (rejection_id uuid)
WHERE r.rejection_id = a.rejection_id
