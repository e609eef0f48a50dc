SELECT effects, others
FROM hooklatch.erase_event(:source, :event_id, :note, :redacting)
