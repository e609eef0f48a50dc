-- Whether the effect e could be attempted for :grace seconds.
(
    e.state = 'pending' AND e.next_attempt_at <= now() - make_interval(secs => :grace)
)
