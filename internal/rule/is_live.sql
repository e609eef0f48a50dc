-- True if River is working on the job j, or will work on it.
j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
