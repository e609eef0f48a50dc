-- True if no worker holds the run. Leases last for seconds. If a lease ends more than an hour from
-- now, the clock has been set back since the lease was granted.
(leased_until < now() OR leased_until > now() + interval '1 hour')
