// Package alarm decides which alerts fire, and sends them: when one fires, from time to
// time while it lasts, and when it resolves.
//
// Judge is a pure function of what is waiting, what was counted lately, and what is
// usual. Each condition has its place in docs/monitoring.md, which says what it means and
// what to do, and a rule for Prometheus in docs/monitoring that asks the same of the
// metrics.
//
// An Alarm sends alerts as effects, decided and enqueued in one transaction, each under a
// key of its own: two workers send an alert once, and one that is killed leaves nothing
// half sent. Their destinations are copies of the configured ones, with queues of their
// own and without rate and breaker, so that an alert does not wait behind what it is
// about. The first target in the list is notified; when that fails, the next one.
//
// A worker cannot send an alert if no worker runs or the database is unavailable. A missing
// heartbeat and Prometheus show that.
package alarm
