package measure

import "go.opentelemetry.io/otel/attribute"

func (e *exporter) effects() {
	e.Gauge("hooklatch.effects", "{effect}", "Effects that are unfinished, failed or parked, by destination and state.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Effects {
				tell(float64(of.Count), ofDestination(of.Destination), inState(of.State))
			}
		})
	e.Gauge("hooklatch.effects.oldest_due", "s", "Time for which the oldest due effect of a destination has been due.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Due {
				tell(ago(s.At, of.At), ofDestination(of.Name))
			}
		})
}

func (e *exporter) events() {
	e.Gauge("hooklatch.events.undispatched", "{event}", "Events that wait to be dispatched, by source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Undispatched {
				tell(float64(of.Count), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.events.oldest_undispatched", "s", "Time for which the oldest undispatched event of a source has waited.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Undispatched {
				tell(ago(s.At, of.Since), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.events.aside", "{event}", "Events that wait for an operator, by source and state.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.EventsAside {
				tell(float64(of.Count), ofSource(of.Source), inState(of.State))
			}
		})
}

func (e *exporter) sources() {
	e.Gauge("hooklatch.source.silence", "s", "Time since an event of a source was last accepted.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.LastAccepted {
				tell(ago(s.At, of.At), ofSource(of.Name))
			}
		})
	e.Gauge("hooklatch.source.usual_events", "{event}", "Median number of events of a source in this hour of the day over the last seven days.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Usual {
				if of.Events != nil {
					tell(*of.Events, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.source.duplicates", "1", "Duplicate rate of the last 60 minutes, if there were at least 50 events.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Usual {
				if rate, enough := of.Rate(); enough {
					tell(rate, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.source.usual_duplicates", "1", "Median duplicate rate in this hour of the day over the last seven days.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Usual {
				if of.DuplicateRate != nil {
					tell(*of.DuplicateRate, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.quarantine.deliveries", "{delivery}", "Refused deliveries in quarantine, by source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Quarantine {
				tell(float64(of.Count), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.quarantine.size", "By", "Size of the refused deliveries in quarantine, by source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Quarantine {
				tell(float64(of.Bytes), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.quarantine.of_known_senders", "{delivery}", "Refused deliveries of known senders since a delivery was last accepted, by source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Quarantine {
				tell(float64(of.OfKnown), ofSource(of.Source))
			}
		})
}

func (e *exporter) lists() {
	e.Gauge("hooklatch.backfill.covered", "s", "Age of the time up to which a source is known to be complete.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				tell(ago(s.At, of.CoveredUntil), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.backfill.slack", "s", "Time until the provider stops listing events that have not been compared.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				if slack, known := of.Slack(s.At); known {
					tell(slack.Seconds(), ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.backfill.slack_share", "1", "Time until the provider stops listing those events, as a share of the period for which it lists an event.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				if slack, known := of.Slack(s.At); known {
					tell(slack.Seconds()/of.Seconds, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.backfill.failures", "{pass}", "Consecutive failed passes over the provider's list of a source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				tell(float64(of.Failures), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.endpoint.enabled", "", "1 if the provider sends to Hooklatch's endpoint, 0 if the endpoint is off or leads elsewhere.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				if of.Endpoint != "" {
					tell(yes(of.Endpoint == "on"), ofSource(of.Source))
				}
			}
		})
}

func (e *exporter) destinations() {
	e.Gauge("hooklatch.destination.paused", "", "1 while an operator has paused the destination.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Destinations {
				tell(yes(of.Paused), ofDestination(of.Name))
			}
		})
	e.Gauge("hooklatch.destination.breaker_open", "", "1 while the breaker of the destination is not closed.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Destinations {
				tell(yes(of.Broken), ofDestination(of.Name))
			}
		})
}

func (e *exporter) database(sizeBudget int64) {
	e.Gauge("hooklatch.database.size_budget", "By", "Number of bytes that all tables may use: database.size_budget in the configuration.",
		func(_ *Snapshot, tell observe) {
			if sizeBudget > 0 {
				tell(float64(sizeBudget))
			}
		})
	e.Gauge("hooklatch.collected.timestamp", "s", "Time at which these gauges were read, in seconds since 1970.",
		func(s *Snapshot, tell observe) { tell(float64(s.At.UnixMilli()) / 1000) })
	e.Gauge("hooklatch.collected.duration", "s", "Time that it took to read these gauges.",
		func(s *Snapshot, tell observe) { tell(s.Took.Seconds()) })
	e.Gauge("hooklatch.partitions.ahead", "d", "Days for which partitions exist in advance.",
		func(s *Snapshot, tell observe) { tell(float64(s.DaysAhead)) })
	e.Gauge("hooklatch.at_most_once.withheld", "", "1 while no at_most_once effect starts because the database server has changed.",
		func(s *Snapshot, tell observe) { tell(yes(s.Withheld)) })
	e.Gauge("hooklatch.leader", "", "1 while a worker is the leader.",
		func(s *Snapshot, tell observe) { tell(yes(s.Led)) })
	e.Gauge("hooklatch.processes", "{process}", "Running processes, by kind, version and hash of their configuration.",
		func(s *Snapshot, tell observe) {
			type fleet struct{ kind, version, hash string }
			running := map[fleet]int{}
			for _, p := range s.Processes {
				running[fleet{p.Kind, p.Version, p.ConfigHash}]++
			}
			for of, n := range running {
				tell(float64(n), attribute.String("kind", of.kind), attribute.String("version", of.version), attribute.String("config_hash", of.hash))
			}
		})
	e.Gauge("hooklatch.retention.day_rows", "{row}", "Rows that retention deleted on the day it last ran, by kind and source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Retention {
				tell(float64(of.DayRows), attribute.String("kind", of.What), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.retention.stopped", "", "1 while retention waits for an operator or its export fails, by kind and source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Retention {
				tell(yes(of.StoppedSince != nil || of.ExportFailedSince != nil), attribute.String("kind", of.What), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.table.rows", "{row}", "Rows of a table including its partitions, by Postgres' estimate.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Tables {
				tell(float64(of.Rows), attribute.String("table", of.Name))
			}
		})
	e.Gauge("hooklatch.table.size", "By", "Size of a table with its partitions and indexes.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Tables {
				tell(float64(of.Bytes), attribute.String("table", of.Name))
			}
		})
}
