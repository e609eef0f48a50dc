package measure

import "go.opentelemetry.io/otel/attribute"

func (e *exporter) effects() {
	e.Gauge("hooklatch.effects", "{effect}", "Effects that are not finished, failed or parked, by destination and state.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Effects {
				tell(float64(of.Count), ofDestination(of.Destination), inState(of.State))
			}
		})
	e.Gauge("hooklatch.effects.oldest_due", "s", "How long the effect of a destination that waits longest has been due.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Due {
				tell(ago(s.At, of.At), ofDestination(of.Name))
			}
		})
}

func (e *exporter) events() {
	e.Gauge("hooklatch.events.undispatched", "{event}", "Events that wait for their dispatch, by source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Undispatched {
				tell(float64(of.Count), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.events.oldest_undispatched", "s", "How long the event of a source that waits longest for its dispatch has done so.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Undispatched {
				tell(ago(s.At, of.Since), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.events.aside", "{event}", "Events that wait for a person, by source and state.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.EventsAside {
				tell(float64(of.Count), ofSource(of.Source), inState(of.State))
			}
		})
}

func (e *exporter) sources() {
	e.Gauge("hooklatch.source.silence", "s", "How long nothing was accepted of a source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.LastAccepted {
				tell(ago(s.At, of.At), ofSource(of.Name))
			}
		})
	e.Gauge("hooklatch.source.usual_events", "{event}", "Median of the events that a source brought in this hour on the last seven days.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Usual {
				if of.Events != nil {
					tell(*of.Events, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.source.duplicates", "1", "Share of duplicates of the events of the last 60 minutes, when there were 50 and more.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Usual {
				if rate, enough := of.Rate(); enough {
					tell(rate, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.source.usual_duplicates", "1", "Median of the share of duplicates in this hour on the last seven days.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Usual {
				if of.DuplicateRate != nil {
					tell(*of.DuplicateRate, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.quarantine.deliveries", "{delivery}", "Refused deliveries that are kept, by source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Quarantine {
				tell(float64(of.Count), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.quarantine.size", "By", "What they take.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Quarantine {
				tell(float64(of.Bytes), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.quarantine.of_known_senders", "{delivery}", "Those from addresses that deliveries were accepted from, since the last one was.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Quarantine {
				tell(float64(of.OfKnown), ofSource(of.Source))
			}
		})
}

func (e *exporter) lists() {
	e.Gauge("hooklatch.backfill.covered", "s", "How long ago the time was up to which a source is known to be complete.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				tell(ago(s.At, of.CoveredUntil), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.backfill.slack", "s", "How long it takes until the provider forgets what is not known to be complete.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				if slack, known := of.Slack(s.At); known {
					tell(slack.Seconds(), ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.backfill.slack_share", "1", "What part that is of the time for which the provider lists an event.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				if slack, known := of.Slack(s.At); known {
					tell(slack.Seconds()/of.Seconds, ofSource(of.Source))
				}
			}
		})
	e.Gauge("hooklatch.backfill.failures", "{pass}", "Passes over the list of a source that failed in a row.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				tell(float64(of.Failures), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.endpoint.enabled", "", "1 while the provider sends to our endpoint, 0 while it is off or leads elsewhere.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Lists {
				if of.Endpoint != "" {
					tell(yes(of.Endpoint == "on"), ofSource(of.Source))
				}
			}
		})
}

func (e *exporter) destinations() {
	e.Gauge("hooklatch.destination.paused", "", "1 while a person has paused the destination.",
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
	e.Gauge("hooklatch.database.size_budget", "By", "What all tables may take: database.size_budget of the configuration.",
		func(_ *Snapshot, tell observe) {
			if sizeBudget > 0 {
				tell(float64(sizeBudget))
			}
		})
	e.Gauge("hooklatch.collected.timestamp", "s", "When all of these were read, in seconds since 1970.",
		func(s *Snapshot, tell observe) { tell(float64(s.At.UnixMilli()) / 1000) })
	e.Gauge("hooklatch.collected.duration", "s", "How long that took.",
		func(s *Snapshot, tell observe) { tell(s.Took.Seconds()) })
	e.Gauge("hooklatch.partitions.ahead", "d", "How many days of partitions lie ahead.",
		func(s *Snapshot, tell observe) { tell(float64(s.DaysAhead)) })
	e.Gauge("hooklatch.at_most_once.withheld", "", "1 while no at_most_once effect starts, since the database is on another server.",
		func(s *Snapshot, tell observe) { tell(yes(s.Withheld)) })
	e.Gauge("hooklatch.leader", "", "1 while a worker leads.",
		func(s *Snapshot, tell observe) { tell(yes(s.Led)) })
	e.Gauge("hooklatch.processes", "{process}", "Processes that run, by kind, version and the hash of their configuration.",
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
	e.Gauge("hooklatch.retention.stopped", "", "1 while retention waits for a person, by kind and source.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Retention {
				tell(yes(of.StoppedSince != nil), attribute.String("kind", of.What), ofSource(of.Source))
			}
		})
	e.Gauge("hooklatch.table.rows", "{row}", "Rows of a table with its partitions, as Postgres estimates them.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Tables {
				tell(float64(of.Rows), attribute.String("table", of.Name))
			}
		})
	e.Gauge("hooklatch.table.size", "By", "What a table takes with its partitions and indexes.",
		func(s *Snapshot, tell observe) {
			for _, of := range s.Tables {
				tell(float64(of.Bytes), attribute.String("table", of.Name))
			}
		})
}
