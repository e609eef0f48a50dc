SELECT setval('hooklatch.accept_seq', (SELECT max(accept_seq) + 1 FROM hooklatch.processed_events))
