SELECT content_type, body
FROM hooklatch.stored_delivery(:delivery_id, :received_at)
