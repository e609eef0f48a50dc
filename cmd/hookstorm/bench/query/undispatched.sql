SELECT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = 'received')
