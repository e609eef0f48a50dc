SELECT hooklatch.empty_delivery(:delivery_id, :received_at, :source)
