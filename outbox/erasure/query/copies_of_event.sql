SELECT delivery_id, received_at, item
FROM hooklatch.copies_of_event(:source, :event_id)
