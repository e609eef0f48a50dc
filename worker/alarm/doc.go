// Package alarm sends alerts: when one fires, from time to time while it lasts, and when
// it resolves.
//
// What is told goes out as effects, decided and enqueued in one transaction, each under a
// key of its own: two workers tell a thing once, and one that is killed leaves nothing
// half told. Their destinations are copies of the configured ones, with queues of their
// own and without rate and breaker, so that an alert does not wait behind what it is
// about. Whoever is first in the list is told; when that does not come, the next one.
//
// What a worker cannot tell, that none runs or that the database is away, is told by a
// heartbeat that stays away, and by Prometheus.
package alarm
