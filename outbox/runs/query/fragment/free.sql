-- Whether no worker has the run. A lease that ends after an hour was given by a clock that
-- has been set back since: leases last for seconds.
(leased_until < now() OR leased_until > now() + interval '1 hour')
