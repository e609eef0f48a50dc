-- Whether River works the job j, or will.
j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
