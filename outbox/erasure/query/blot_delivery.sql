SELECT hooklatch.blot_delivery(:delivery_id, :received_at, :was, :starts::integer[], :lengths::integer[], :kind)
