SELECT undispatched.source, undispatched.queue
FROM {{undispatched_sources}} AS undispatched
