DELETE FROM hooklatch.rejected_deliveries
WHERE rejected_at <= now() - interval '7 days'
