package measure_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// addTo adds a count to a minute. The parameter ago is the time from the start of that minute to the
// start of the current minute.
func addTo(t *testing.T, pool *pgxpool.Pool, ago time.Duration, kind, name string, what measure.What, n int) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.minutes AS m VALUES (date_trunc('minute', now()) - make_interval(secs => $1), $2, $3, $4, $5)
		ON CONFLICT (minute, kind, name, what) DO UPDATE SET n = m.n + EXCLUDED.n`, ago.Seconds(), kind, name, string(what), n)
	require.NoError(t, err)
}

// total sums a count over a series.
func total(s *measure.Series, what measure.What) (sources, destinations int64) {
	for _, p := range s.Periods {
		sources += p.Sources[what]
		destinations += p.Destinations[what]
	}
	return sources, destinations
}

func series(t *testing.T, pool *pgxpool.Pool, of measure.Of, span measure.Span) *measure.Series {
	t.Helper()
	reader, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	s, err := reader.Series(t.Context(), of, span)
	require.NoError(t, err)
	require.False(t, s.Since.IsZero())
	return s
}

// The spans Hour and Day show the same counts: of everything, of one source, and of one destination.
func TestASeriesHasTheCountsOfItsSubject(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts := newCounts(t, pool)
	for _, ago := range []time.Duration{30 * time.Minute, 31 * time.Minute} { // in the same period of a span, or in neighbouring periods
		addTo(t, pool, ago, "source", "stripe", measure.Accepted, 5)
		addTo(t, pool, ago, "source", "github", measure.Accepted, 2)
		addTo(t, pool, ago, "source", "github", measure.Refused("bad_signature"), 3)
		addTo(t, pool, ago, "source", "github", measure.Refused("stale"), 1)
		addTo(t, pool, ago, "source", "stripe", measure.Attempts, 4)
		addTo(t, pool, ago, "destination", "app", measure.Attempts, 7)
		addTo(t, pool, ago, "destination", "crm", measure.Attempts, 1)
		addTo(t, pool, ago, "destination", "crm", "secret:1", 1000) // not in a chart
	}
	addTo(t, pool, 10*24*time.Hour, "source", "stripe", measure.Accepted, 1000) // older than every span
	require.NoError(t, counts.Tidy(t.Context()))
	for _, span := range []measure.Span{measure.Hour, measure.Day} {
		s := series(t, pool, measure.Of{}, span)
		accepted, _ := total(s, measure.Accepted)
		refused, _ := total(s, measure.AllRefused)
		_, attempts := total(s, measure.Attempts)
		require.Equal(t, []int64{14, 8, 16}, []int64{accepted, refused, attempts}, span)

		s = series(t, pool, measure.Of{Source: "github"}, span)
		accepted, _ = total(s, measure.Accepted)
		refused, _ = total(s, measure.AllRefused)
		require.Equal(t, []int64{4, 8}, []int64{accepted, refused}, span)

		s = series(t, pool, measure.Of{Destination: "app"}, span)
		_, attempts = total(s, measure.Attempts)
		require.EqualValues(t, 14, attempts, span)
		require.Empty(t, s.Periods[len(s.Periods)-1].Sources)
	}
	// Tidy sums a period again if counts arrive late.
	addTo(t, pool, 30*time.Minute, "source", "stripe", measure.Accepted, 100)
	require.NoError(t, counts.Tidy(t.Context()))
	accepted, _ := total(series(t, pool, measure.Of{}, measure.Day), measure.Accepted)
	require.EqualValues(t, 114, accepted)
}

// A Week series is read from the table hours, in which an older program may not have stored the
// sums over all names.
func TestAWeekIsReadFromTheHours(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.hours
		SELECT date_trunc('hour', now()) - h * interval '1 hour', 'source', name, 'accepted', 1
		FROM generate_series(3, 1000) AS h, unnest(ARRAY['stripe', 'github']) AS name`)
	require.NoError(t, err)
	counts := newCounts(t, pool)
	addTo(t, pool, 0, "source", "stripe", measure.Accepted, 1)
	require.NoError(t, counts.Tidy(t.Context()))
	for of, want := range map[measure.Of]int64{{}: 2, {Source: "stripe"}: 1} {
		s := series(t, pool, of, measure.Week)
		accepted, _ := total(s, measure.Accepted)
		require.InDelta(t, want*(7*24-2), accepted, 2, "%+v", of) // the newest hours have no counts
		require.True(t, s.Periods[0].Counted)
		require.False(t, s.Periods[len(s.Periods)-1].Counted)
		require.Zero(t, s.Since.UTC().Minute())
	}
}

// A period in which no process counted is a gap, not a zero. A period of an idle system is a zero.
func TestAnUncountedPeriodIsAGap(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	addTo(t, pool, 10*time.Minute, "timeline", "", "sampled", 1)
	addTo(t, pool, 20*time.Minute, "source", "stripe", measure.Accepted, 1)
	require.NoError(t, newCounts(t, pool).Tidy(t.Context()))
	for of, want := range map[measure.Of]int{{}: 2, {Source: "github"}: 2, {Destination: "app"}: 2} {
		s := series(t, pool, of, measure.Hour)
		counted := 0
		for i, p := range s.Periods {
			if p.Counted {
				counted++
				require.Contains(t, []int{9, 10, 11, 19, 20, 21}, int(s.Until().Sub(s.At(i)).Minutes()))
			}
		}
		require.Equal(t, want, counted, "%+v", of)
	}
	// The newest period of a Day series may end up to 25 minutes before now. A count that is 40
	// minutes old is therefore always in the series; newer counts may not be.
	addTo(t, pool, 40*time.Minute, "source", "stripe", measure.Accepted, 1)
	require.NoError(t, newCounts(t, pool).Tidy(t.Context()))
	s := series(t, pool, measure.Of{}, measure.Day)
	counted := 0
	for _, p := range s.Periods {
		if p.Counted {
			counted++
		}
	}
	require.Contains(t, []int{1, 2, 3}, counted)
}

// Minutes whose sums do not exist yet, because no worker leads, are gaps in a Day series.
func TestWhatIsNotSummedYetIsAGap(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	addTo(t, pool, 40*time.Minute, "source", "stripe", measure.Accepted, 1)
	for _, p := range series(t, pool, measure.Of{}, measure.Day).Periods {
		require.False(t, p.Counted)
	}
}

func TestWaitingWorkIsAnAverage(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for i, waiting := range []int{10, 20, 60} {
		ago := 30*time.Minute + time.Duration(i)*time.Minute
		addTo(t, pool, ago, "timeline", "", "sampled", 1)
		addTo(t, pool, ago, "destination", "app", measure.Awaiting, waiting)
		addTo(t, pool, ago, "destination", "crm", measure.Awaiting, 1)
	}
	require.NoError(t, newCounts(t, pool).Tidy(t.Context()))
	for of, want := range map[measure.Of]float64{{}: 31, {Destination: "app"}: 30, {Destination: "none"}: 0} {
		s := series(t, pool, of, measure.Day)
		var sum, readings float64
		for _, p := range s.Periods {
			if average, known := p.Average(p.Destinations); known {
				sum += average * float64(p.Readings)
				readings += float64(p.Readings)
			}
		}
		require.InDelta(t, 3, readings, 0, "%+v", of)
		require.InDelta(t, want, sum/readings, 1e-9, "%+v", of)
	}
}

func TestTheTimeLineHasChanges(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts := newCounts(t, pool)
	addTo(t, pool, 50*time.Minute, "timeline", "v2", measure.Started, 3)
	addTo(t, pool, 40*time.Minute, "timeline", "app", measure.BreakerOpened, 1)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.minutes
		SELECT date_trunc('minute', now()) - c.ago * interval '1 minute', 'timeline', c.name, c.what, c.n
		FROM (
			VALUES (30, 'app', $1, 1), (30, '5d1f', $2, 2)
			UNION ALL
			SELECT 20, 'v' || i, $3, 1 FROM generate_series(1, 100) AS i -- more changes than a series shows
		) AS c (ago, name, what, n)`, string(measure.BreakerClosed), string(measure.Configured), string(measure.Started))
	require.NoError(t, err)
	require.NoError(t, counts.Tidy(t.Context()))
	s := series(t, pool, measure.Of{Destination: "app"}, measure.Hour)
	require.Len(t, s.Changes, 4+20)
	var said []string
	for _, c := range s.Changes[:4] {
		said = append(said, fmt.Sprintf("%s %s %d", c.What, c.Name, c.N))
		require.Equal(t, s.At(c.Place), c.At)
	}
	require.Equal(t, []string{"started v2 3", "breaker_opened app 1", "configured 5d1f 2", "breaker_closed app 1"}, said)
}

// The collector counts the waiting work of all processes once a minute.
func TestTheCollectorCountsWhatWaits(t *testing.T) {
	t.Parallel()
	pool := waits(t)
	counts := newCounts(t, pool)
	reader, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	waiting, err := reader.Waiting(t.Context())
	require.NoError(t, err)
	counts.Sample(waiting)
	counts.Sample(waiting)
	require.NoError(t, counts.Stop(t.Context()))
	require.Equal(t, []row{
		{"destination", "crm", "waiting", 604}, {"destination", "mail", "waiting", 30},
		{"source", "github", "waiting", 40}, {"source", "stripe", "waiting", 40}, {"timeline", "", "sampled", 2},
	}, rows(t, pool, `SELECT kind, name, what, sum(n)::bigint FROM hooklatch.minutes WHERE what IN ('waiting', 'sampled') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`))
}

// The cost of a series does not depend on the number of sources and destinations, except for the
// last hour of all of them.
func TestASeriesCostsTheSameForAnyNumberOfNames(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	if !explained.Available(t.Context(), pool) {
		t.Skip("this build of Postgres has no auto_explain")
	}
	names := 12
	if os.Getenv("HOOKLATCH_LONG") != "" {
		names = 60
	}
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	log := explained.Watch(config)
	watched, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(watched.Close)
	reader, err := measure.NewReader(watched, "")
	require.NoError(t, err)
	counts := newCounts(t, pool)
	fill := func(from, to int) {
		for table, step := range map[string]string{"minutes": "1 minute", "hours": "1 hour"} {
			back := "26 hours"
			if table == "hours" {
				back = "8 days"
			}
			_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.`+table+`
				SELECT at, kind, kind || n, what, 1
				FROM generate_series(date_trunc('hour', now()) - $3::interval, date_trunc('minute', now()), $4::interval) AS at, generate_series($1::int, $2::int) AS n,
					unnest(ARRAY['source', 'destination']) AS kind, unnest(ARRAY['accepted', 'attempts', 'done', 'first_took:0.1', 'took:0.1', 'waiting']) AS what`, from, to, back, step)
			require.NoError(t, err)
		}
		require.NoError(t, counts.Tidy(t.Context()))
		_, err := pool.Exec(t.Context(), "VACUUM hooklatch.minutes, hooklatch.hours") // the previous sums are dead rows
		require.NoError(t, err)
	}
	read := func(of measure.Of, span measure.Span) (pages int, took time.Duration) {
		t.Helper()
		for range 2 { // the first call reads the catalogue
			pages, took = 0, 0
			_, err := log.Take()
			require.NoError(t, err)
			_, err = reader.Series(t.Context(), of, span)
			require.NoError(t, err)
			ran, err := log.Take()
			require.NoError(t, err)
			for _, s := range ran {
				pages, took = pages+s.Buffers, took+s.Took
				require.False(t, s.JIT)
			}
		}
		return pages, took
	}
	before := map[string]int{}
	check := func(names int, analysed string) {
		t.Helper()
		for _, of := range []measure.Of{{}, {Source: "source1"}, {Destination: "destination2"}} {
			for _, span := range measure.Spans() {
				name := fmt.Sprintf("%+v %s", of, span)
				pages, took := read(of, span)
				t.Logf("%-50s %-15s %3d names: %6d pages, %s", name, analysed, names, pages, took)
				if before[name] == 0 {
					before[name] = pages
				}
				if of != (measure.Of{}) || span != measure.Hour {
					require.LessOrEqual(t, pages, before[name]*2+200, name) // the index has one more level
				}
			}
		}
	}
	fill(1, 2)
	check(2, "never analysed")
	fill(3, names)
	check(names, "never analysed")
	_, err = pool.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
	check(names, "analysed")
}
