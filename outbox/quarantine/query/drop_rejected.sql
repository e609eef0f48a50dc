DELETE FROM hooklatch.rejected_deliveries AS r
WHERE {{selected}}
