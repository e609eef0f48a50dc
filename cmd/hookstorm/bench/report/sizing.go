package report

import "fmt"

// The assumptions of the sizing. docs/performance.md gives the reasons.
const (
	// peak is the ratio of the busiest hour's load to the average hour's.
	peak = 3
	// busy is the share of the cores that may be busy in the busiest hour.
	busy = 0.6
	// dedupDays and payloadDays are the defaults of retention.dedup and retention.payloads.
	dedupDays, payloadDays = 90, 30
)

// eventsADay returns the numbers of events a day for which the sizing has rows.
func eventsADay() []float64 { return []float64{100_000, 1_000_000, 10_000_000, 50_000_000} }

// Sizing returns the resources needed for given numbers of events a day, each with one effect,
// computed from the measurements. The result is a paragraph and a table in Markdown, or empty if
// the run did not measure full lifecycles.
func (r *Report) Sizing() string {
	cpu := median(r.sum(SectionLife, WholeLife, CPUServer, CPUWorker, CPUPostgres))
	wal := median(r.values(SectionLife, WholeLife, WAL))
	if cpu == 0 || wal == 0 {
		return ""
	}
	delivery := median(r.values(SectionLife, WholeLife, DeliveryKept))
	rows, walOfYears := median(r.values(SectionYears, ThisTree, RowsKept)), median(r.values(SectionYears, ThisTree, WAL))
	table := [][]string{{"events a day", "busiest hour", "cores", "disk", "WAL a day", "WAL a day, large tables"}}
	for _, n := range eventsADay() {
		rate := peak * n / (24 * 60 * 60)
		kept := 0.0
		if rows > 0 {
			kept = n * (rows*dedupDays + delivery*payloadDays)
		}
		table = append(table, []string{number(n), number(rate) + "/s", number(rate * cpu / 1e6 / busy), amount(kept), amount(n * wal), amount(n * walOfYears)})
	}
	said := fmt.Sprintf("From the figures above: a full lifecycle takes %s us of CPU and %s B of WAL, and the delivery takes %s B", number(cpu), number(wal), number(delivery))
	if rows > 0 {
		said += fmt.Sprintf(". The rows that a lifecycle leaves take %s B. Right after a checkpoint, in tables of %s lifecycles, a lifecycle writes %s B of WAL",
			number(rows), number(float64(r.Rows)), number(walOfYears))
	}
	return said + ".\n\n" + grid(table)
}

// amount formats a number of bytes. It returns "-" for 0, which means that the number is unknown.
func amount(bytes float64) string {
	switch {
	case bytes == 0:
		return "-"
	case bytes >= 1e12:
		return number(bytes/1e12) + " TB"
	case bytes >= 1e9:
		return number(bytes/1e9) + " GB"
	}
	return number(bytes/1e6) + " MB"
}
