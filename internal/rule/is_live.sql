-- True if River works on the job j, or will.
j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
