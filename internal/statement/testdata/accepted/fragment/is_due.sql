-- True if the effect e has been due for :grace seconds.
(
    e.state = 'pending' AND e.next_attempt_at <= now() - make_interval(secs => :grace)
)
