package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// sampled is the maximum number of matches that a preview shows.
const sampled = 10

// count counts the selection and takes a sample. It fixes the upper bound of the selection, so that
// later matches are not included.
func (m manyOrder) count(ctx context.Context, r *runs.Runs) (runs.Preview, error) {
	progress := m.eachSecond()
	order, bite := m.order, runs.Bite{For: progressInterval}
	var sample []runs.Sampled
	for {
		v, err := r.Preview(ctx, order, bite)
		if err != nil {
			return v, err
		}
		sample = append(sample, v.Sample...)
		if !v.More {
			v.Sample = sample[:min(len(sample), sampled)]
			return v, nil
		}
		progress("counting: %s so far\n", counted(int(v.Selected), thing(order)))
		order, bite.After, bite.Counts = v.Order, v.Place, v.Counts
	}
}

func (m manyOrder) preview(ctx context.Context, o *outbox.Outbox, r *runs.Runs) error {
	v, err := m.count(ctx, r)
	if err != nil {
		return err
	}
	var forecasts []string
	if v.Order.Action == ledger.ActionReplayEvent {
		if forecasts, err = m.forecasts(ctx, o, v); err != nil {
			return err
		}
	}
	if m.asJSON {
		return PrintJSON(m.Stdout, m.viewOfPreview(v, forecasts))
	}
	fmt.Fprintf(m.Stdout, "%s selected\n", counted(int(v.Selected), thing(v.Order)))
	m.printLeftOut(v.Order, v.Counts)
	if v.Selected == 0 {
		return nil
	}
	fmt.Fprintln(m.Stdout)
	if err := m.printSample(v, forecasts); err != nil {
		return err
	}
	if more := v.Selected - int64(len(v.Sample)); more > 0 {
		fmt.Fprintf(m.Stdout, "and %d more\n", more)
	}
	if v.Order.OfEvents() {
		_, err = fmt.Fprintf(m.Stdout, "\n%s them with the same command and --yes\n", m.cmd.Name())
	} else {
		_, err = fmt.Fprintf(m.Stdout, "\n%s them with:\n  %s\n", m.cmd.Name(), m.commandFor(v.Order))
	}
	return err
}

// forecasts returns the predicted replay of each event in the sample, or "-" if no prediction is
// possible.
func (m manyOrder) forecasts(ctx context.Context, o *outbox.Outbox, v runs.Preview) ([]string, error) {
	f, all := m.forecast(o, v.Order.NewKeys, v.Order.Route), make([]string, len(v.Sample))
	for i, e := range v.Sample {
		came, known, err := f.Of(ctx, e.Event)
		if err != nil {
			return nil, err
		}
		if all[i] = "-"; known {
			all[i] = came.String()
		}
	}
	return all, nil
}

func (m manyOrder) printSample(v runs.Preview, forecasts []string) error {
	if v.Order.OfEvents() {
		header := []string{"RECEIVED", "EVENT", "TYPE", "STATE"}
		if forecasts != nil {
			header = append(header, "REPLAY FORECAST")
		}
		t := newTable(m.Stdout, header...)
		for i, e := range v.Sample {
			row := []string{shown(e.At), e.Event.String(), e.EventType, e.State}
			if forecasts != nil {
				row = append(row, forecasts[i])
			}
			t.row(row...)
		}
		return t.flush()
	}
	t := newTable(m.Stdout, "CREATED", "EFFECT", "DESTINATION", "EVENT", "STATE", "LAST RESULT")
	for _, e := range v.Sample {
		t.row(shown(e.At), e.Effect, e.Destination, causeOf(e.Event), e.State,
			lastOf(ledger.Effect{ResponseStatus: e.ResponseStatus, Error: e.Error}))
	}
	return t.flush()
}

// commandFor returns the command that carries out the previewed run.
func (m manyOrder) commandFor(o runs.Order) string {
	return commandFor(m.cmd, map[string]time.Time{"since": o.Effects.Since, "until": o.Effects.Until, "as-of": o.AsOf}, o.InDoubt)
}
