// Package alert is responsible for deciding what needs a person: from what waits, what
// was counted lately, and what is usual. It is a function of these; who is told, and how
// often, is decided elsewhere.
//
// Each condition has its place in docs/monitoring.md, which says what it means and what
// to do, and a rule for Prometheus in docs/monitoring that asks the same of the metrics.
package alert
