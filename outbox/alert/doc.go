// Package alert decides which alerts fire: from what is waiting, what was counted
// lately, and what is usual. It is a pure function of these; package worker/alarm
// decides who is notified, and how often.
//
// Each condition has its place in docs/monitoring.md, which says what it means and what
// to do, and a rule for Prometheus in docs/monitoring that asks the same of the metrics.
package alert
