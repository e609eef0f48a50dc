package crashtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// stage is a gateway and a worker in which a situation occurs.
type stage struct {
	*testing.T

	pool     *pgxpool.Pool
	gateway  *process
	worker   *process
	fleet    map[string]*process
	receiver atomic.Pointer[http.HandlerFunc] // if nil, the receiver accepts everything
	record   recording
	sent     int
}

// onStage allows so many attempts that no effect is parked before its receiver recovers.
const onStage = `
destinations:
  app: {http: {url: %q}, retry: {initial: 1s, max: 1s, max_attempts: 10000}%s}
routes:
  - {name: all, from: stripe, to: app}
`

func newStage(t *testing.T, settings string) *stage {
	s := &stage{T: t, pool: pgtest.New(t, pgtest.MaxConns(4))}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if handle := s.receiver.Load(); handle != nil {
			(*handle)(w, r)
		}
	}))
	t.Cleanup(server.Close)
	config := fmt.Sprintf(onStage, server.URL, settings)
	s.gateway, s.worker = newProcess(t, s.pool, "gateway", config), newProcess(t, s.pool, "worker", config)
	s.fleet = map[string]*process{"gateway": s.gateway, "worker": s.worker}
	s.worker.start(t)
	s.gateway.start(t)
	return s
}

// answer sets the receiver's handler. With nil, the receiver accepts everything.
func (s *stage) answer(how http.HandlerFunc) {
	if how == nil {
		s.receiver.Store(nil)
		return
	}
	s.receiver.Store(&how)
}

func (s *stage) exec(text string, args ...any) {
	s.Helper()
	_, err := s.pool.Exec(s.Context(), text, args...)
	require.NoError(s, err)
}

// deliver sends n events and requires the status for each. It scrapes after every fourth event.
func (s *stage) deliver(n, status int) {
	s.Helper()
	for range n {
		s.sent++
		got, _ := s.gateway.deliver(s.Context(), "invoice.paid", fmt.Sprintf("evt_%d", s.sent))
		require.Equal(s, status, got)
		if s.sent%4 == 0 {
			s.record.scrape(s.T, s.fleet)
		}
	}
}

// forge sends an unsigned delivery from an address of this machine, and requires that the gateway
// refuses it. It skips the test if the machine does not have the address.
func (s *stage) forge(from string) {
	s.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	answer, err := client.Post(s.gateway.url+"/webhooks/stripe", "application/json", strings.NewReader(`{"id":"evt_x"}`))
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		s.Skip("this machine has only one loopback address")
	}
	require.NoError(s, err)
	require.Equal(s, http.StatusUnauthorized, answer.StatusCode)
	require.NoError(s, answer.Body.Close())
}

// seenWithin is the maximum time until metrics show a change: a killed process counts as present
// until it is presumed dead.
const seenWithin = retention.PresumedGone + patience

// see waits until a process exports collected metrics and the metrics of all processes together
// satisfy a condition. Then it scrapes.
func (s *stage) see(what func(metrics string) bool) {
	s.Helper()
	require.Eventually(s, func() bool {
		var all strings.Builder
		for _, p := range s.fleet {
			all.WriteString(p.metrics(s.T))
		}
		return strings.Contains(all.String(), "\n"+collectedAt) && what(all.String())
	}, seenWithin, 200*time.Millisecond)
	s.record.scrape(s.T, s.fleet)
}

// seeLine waits until a line that begins with metric ends with the value.
func (s *stage) seeLine(metric, value string) {
	s.Helper()
	s.see(func(text string) bool {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, metric) && strings.HasSuffix(line, " "+value+"\n") {
				return true
			}
		}
		return false
	})
}

// situation is an incident: how it begins, how it ends, and the alerts that must fire.
type situation struct {
	settings string // further settings of the destination, in YAML
	act      func(s *stage)
	end      func(s *stage)
	alerts   []string
	short    bool // it also runs without HOOKLATCH_LONG
}

func fails(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }

const noBreaker = ", breaker: {off: true}"

var situations = map[string]situation{
	"receiver fails": {
		settings: noBreaker, short: true,
		act:    func(s *stage) { s.answer(fails); s.deliver(40, 200); s.drain() },
		end:    func(s *stage) { s.answer(nil); s.done() },
		alerts: []string{"HooklatchFirstAttemptsFail/destination=app"},
	},
	"receiver is flaky": {
		settings: noBreaker,
		act: func(s *stage) {
			var n atomic.Int32
			s.answer(func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1)%2 == 0 {
					fails(w, r)
				}
			})
			s.deliver(60, 200)
			s.done()
		},
		end:    func(s *stage) { s.answer(nil) },
		alerts: []string{"HooklatchFirstAttemptsFail/destination=app"},
	},
	"receiver is slow": {
		settings: ", timeout: 1s" + noBreaker,
		act: func(s *stage) {
			s.answer(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-time.After(3 * time.Second):
				}
			})
			s.deliver(40, 200)
			s.drain()
		},
		end:    func(s *stage) { s.answer(nil); s.done() },
		alerts: []string{"HooklatchFirstAttemptsFail/destination=app"},
	},
	"breaker is open": {
		short: true,
		act: func(s *stage) {
			s.answer(fails)
			s.deliver(12, 200)
			s.seeLine("hooklatch_destination_breaker_open{", "1")
		},
		end: func(s *stage) {
			s.answer(nil)
			s.seeLine(`hooklatch_destination_breaker_open{destination="app"`, "0")
			s.done()
		},
		alerts: []string{"HooklatchBreakerOpen/destination=app"},
	},
	"worker is gone": {
		act:    func(s *stage) { s.worker.kill(); s.seeLine("hooklatch_leader", "0") },
		end:    func(s *stage) { s.worker.start(s.T); s.seeLine("hooklatch_leader", "1") },
		alerts: []string{"HooklatchNoWorker"},
	},
	"nobody collects": {
		short:  true,
		act:    func(s *stage) { s.worker.kill(); s.gateway.kill(); s.record.scrape(s.T, s.fleet) },
		end:    func(s *stage) { s.worker.start(s.T); s.gateway.start(s.T); s.seeLine("hooklatch_leader", "1") },
		alerts: []string{"HooklatchNoCollector"},
	},
	"secret is wrong": {
		short: true,
		act: func(s *stage) {
			for i := range 40 {
				s.forge("127.0.0.2") // the deliveries came from another address, so no known sender is refused
				if i%4 == 0 {
					s.record.scrape(s.T, s.fleet)
				}
			}
			s.see(func(string) bool { return true })
		},
		end:    func(s *stage) { s.deliver(4, 200); s.done() },
		alerts: []string{"HooklatchRefusals/source=stripe"},
	},
	"known sender is refused": {
		act: func(s *stage) {
			s.deliver(1, 200)
			s.done()
			require.Eventually(s, func() bool {
				return count(s.T, s.pool, `SELECT count(*) FROM hooklatch.known_addresses`) == 1
			}, patience, 100*time.Millisecond)
			for range 3 {
				s.forge("127.0.0.1")
			}
			s.seeLine("hooklatch_quarantine_of_known_senders{", "3")
		},
		end:    func(s *stage) { s.deliver(1, 200); s.done(); s.seeLine("hooklatch_quarantine_of_known_senders{", "0") },
		alerts: []string{"HooklatchKnownSenderRefused/source=stripe"},
	},
	"source is silent": {
		act: func(s *stage) {
			s.usual(20, 0)
			require.Eventually(s, func() bool { // until the gateway has added its counts
				return count(s.T, s.pool, `SELECT count(*) FROM hooklatch.last_seen WHERE what = 'accepted'`) == 1
			}, patience, 100*time.Millisecond)
			s.exec(`UPDATE hooklatch.last_seen SET seen_at = now() - interval '2 hours' WHERE what = 'accepted'`)
			s.seeLine(`hooklatch_source_usual_events{`, "20")
			s.see(func(m string) bool { return largest(m, silence) >= 3600 })
		},
		end:    func(s *stage) { s.deliver(1, 200); s.see(func(m string) bool { return largest(m, silence) < 60 }) },
		alerts: []string{"HooklatchSourceSilent/source=stripe"},
	},
	"storm of duplicates": {
		act: func(s *stage) {
			s.usual(100, 2)
			s.deliver(60, 200)
			s.sent -= 60
			s.deliver(60, 200)
			require.Eventually(s, func() bool { // until the gateway has added all its counts
				return count(s.T, s.pool, `SELECT COALESCE(sum(n), 0)::bigint FROM hooklatch.minutes WHERE what = 'duplicate'`) == 60
			}, patience, 100*time.Millisecond)
			s.see(func(m string) bool {
				return strings.Contains(m, "hooklatch_source_usual_duplicates_ratio{") && strings.Contains(m, "hooklatch_source_duplicates_ratio{")
			})
		},
		end: func(s *stage) {
			s.exec(`DELETE FROM hooklatch.minutes WHERE what = 'duplicate'`)
			s.see(func(m string) bool { return largest(m, "hooklatch_source_duplicates_ratio") == 0 })
		},
		alerts: []string{"HooklatchDuplicates/source=stripe"},
	},
	"100,000 effects wait": {
		act: func(s *stage) {
			s.exec(`
				INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, next_attempt_at)
				SELECT 's', 'gone' || i, 'hl_gone' || i, 'gone', 'dst_gone', 'at_least_once', 'pending', now() - interval '6 minutes'
				FROM generate_series(1, 100000) AS i`)
			s.seeLine(`hooklatch_effects{destination="gone"`, "100000")
		},
		end: func(s *stage) {
			s.exec(`DELETE FROM hooklatch.effects WHERE destination = 'gone'`)
			s.see(func(m string) bool { return !strings.Contains(m, `destination="gone"`) })
		},
		alerts: []string{"HooklatchEffectsLate/destination=gone"},
	},
	"partition is missing": {
		act: func(s *stage) {
			require.Eventually(s, func() bool { // the worker has checked the partitions, and checks them again in an hour
				return count(s.T, s.pool, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'upkeep.partitions' AND state = 'completed'`) == 1
			}, patience, 100*time.Millisecond)
			s.exec(`
				DO $$
				DECLARE day date;
				BEGIN
					FOR day IN SELECT d::date FROM generate_series(current_date + 2, current_date + 20, interval '1 day') AS d LOOP
						EXECUTE format('DROP TABLE IF EXISTS hooklatch.deliveries_%s', to_char(day, 'YYYYMMDD'));
					END LOOP;
				END $$`)
			s.see(func(m string) bool {
				return strings.Contains(m, "\nhooklatch_partitions_ahead_days") && largest(m, "hooklatch_partitions_ahead_days") <= 1
			})
		},
		end: func(s *stage) {
			s.worker.run(s.T, "migrate", "up")
			s.see(func(m string) bool { return largest(m, "hooklatch_partitions_ahead_days") >= 3 })
		},
		alerts: []string{"HooklatchPartitionsMissing"},
	},
	"two configurations": {
		act: func(s *stage) {
			second := newProcess(s.T, s.pool, "gateway", "\n  other: {provider: stripe, secrets: [whsec_other_0123456789abcdef]}\n")
			second.start(s.T)
			s.fleet["second"] = second
			s.see(func(m string) bool { return strings.Count(m, "hooklatch_processes{") == 3 })
		},
		end: func(s *stage) {
			s.fleet["second"].kill()
			s.see(func(m string) bool { return strings.Count(m, "hooklatch_processes{") == 2 })
		},
		alerts: []string{"HooklatchTwoConfigurations"},
	},
}

// usual creates counts for the hours around the current one, on each of the last seven days.
func (s *stage) usual(events, duplicates int) {
	s.Helper()
	s.exec(`
		INSERT INTO hooklatch.hours (hour, kind, name, what, n)
		SELECT date_trunc('hour', now(), 'UTC') + h * interval '1 hour' - d * interval '1 day', 'source', 'stripe', counted.what, counted.n
		FROM generate_series(1, 7) AS d
		CROSS JOIN generate_series(-2, 2) AS h
		CROSS JOIN (VALUES ('accepted', $1::bigint - $2::bigint), ('duplicate', $2::bigint)) AS counted (what, n)`, events, duplicates)
}

const silence = "hooklatch_source_silence_seconds"

// largest returns the largest value of a metric, or 0 if the metric has no value.
func largest(metrics, name string) float64 {
	most := 0.0
	for line := range strings.Lines(metrics) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &value); err == nil {
			most = max(most, value)
		}
	}
	return most
}

// drain waits until every effect has had its first attempt, and then scrapes. So all first attempts
// are in the time window of the rules, even on a slow machine.
func (s *stage) drain() {
	s.Helper()
	require.Eventually(s, func() bool {
		return count(s.T, s.pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`) == 0 &&
			count(s.T, s.pool, `SELECT count(*) FROM hooklatch.effects WHERE attempt = 0 OR attempt = 1 AND state = 'started'`) == 0
	}, patience, 100*time.Millisecond)
	s.see(func(string) bool { return true })
}

// done waits until every event is dispatched and every effect is done, and the collected metrics
// show this.
func (s *stage) done() {
	s.Helper()
	require.Eventually(s, func() bool {
		return count(s.T, s.pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`) == 0 &&
			count(s.T, s.pool, `SELECT count(*) FROM hooklatch.effects WHERE state <> 'done'`) == 0
	}, patience, 100*time.Millisecond)
	s.see(func(m string) bool { return !strings.Contains(m, "hooklatch_effects{") })
}

// A process exports no collected gauges of an unavailable cell, and the missing gauge makes the
// alert fire.
func TestTheRuleOfACellFires(t *testing.T) {
	t.Parallel()
	all, away := map[string]string{}, map[string]string{}
	for _, labels := range []string{"", `cell="payments",`, `cell="shops",`} {
		info, collected := `target_info{`+labels+`service_name="hooklatch",instance="a"}`, collectedAt+"{"+labels+`instance="a"}`
		all[info], all[collected], away[info], away[collected] = "1", "1", "1", "1"
	}
	delete(away, collectedAt+`{cell="payments",instance="a"}`)
	var record recording
	record.add(all)
	record.hold(10 * time.Minute)
	before := record.at()
	record.add(away)
	record.hold(10 * time.Minute)
	record.judge(t, firing{at: before, ever: true}, firing{at: record.at(), alerts: []string{"HooklatchCellAway"}})
}

// Each situation makes its alert fire and then resolve, and makes no other alert fire. Prometheus'
// own tool, promtool, evaluates the rules. HOOKLATCH_LONG=1 runs all situations.
func TestAlertsFireInTheirSituation(t *testing.T) {
	t.Parallel()
	promtool(t)
	for name, acted := range situations {
		if !acted.short && !long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, acted.settings)
			s.deliver(8, 200)
			s.done()
			s.seeLine("hooklatch_leader", "1")
			s.record.hold(15 * time.Minute)
			before := s.record.at()
			acted.act(s)
			s.record.hold(4 * time.Minute)
			during := s.record.at()
			s.record.hold(16 * time.Minute) // a rollout may take 15 minutes
			acted.end(s)
			s.record.hold(20 * time.Minute)
			expected := []firing{{at: before}, {at: s.record.at()}, {at: s.record.at(), ever: true, alerts: acted.alerts}}
			if name != "two configurations" {
				expected = append(expected, firing{at: during, alerts: acted.alerts})
			}
			s.record.judge(t, expected...)
		})
	}
}
