// Package alarm decides which alerts fire and sends notifications: when an alert fires,
// periodically while it lasts, and when it resolves.
//
// Judge is a pure function of the waiting work, recent counts and usual counts. For each condition,
// docs/monitoring.md explains the meaning and what to do, and docs/monitoring contains an
// equivalent Prometheus rule.
//
// An Alarm sends alerts as effects with unique keys. One transaction decides which alerts to send
// and enqueues the effects. So two workers send an alert only once, and a killed worker leaves no
// half-sent alert. The effects' destinations are copies of the configured destinations. The copies
// have separate queues and no rate limit or breaker, so that an alert does not wait behind the
// effects that it reports. The Alarm notifies the first target in the list. If that notification is
// not delivered within a minute, the Alarm notifies the next target.
//
// No alert is sent if no worker runs or the database is unavailable. A missing heartbeat and
// Prometheus reveal both cases.
package alarm
