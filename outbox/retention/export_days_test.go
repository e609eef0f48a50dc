package retention_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// killing is a storage that, at one operation, cancels the run as if its process had been killed.
type killing struct {
	export.Storage

	left int // operations left until the kill
	kill context.CancelFunc
}

func (k *killing) Put(ctx context.Context, name string, content []byte) error {
	if k.left--; k.left <= 0 {
		k.kill()
		return ctx.Err()
	}
	return k.Storage.Put(ctx, name, content)
}

func (k *killing) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if k.left--; k.left <= 0 {
		k.kill()
		return nil, ctx.Err()
	}
	return k.Storage.Get(ctx, name, offset, length)
}

// bulkBody returns an event body that contains the id and long padding.
func bulkBody(id string) string {
	sum := md5.Sum([]byte(id))
	return fmt.Sprintf(`{"id": "%s",  "pad": "%s"}`, id, strings.Repeat(hex.EncodeToString(sum[:]), 20))
}

// Retention exports and drops thirty days, and the export returns them byte for byte. The test then
// erases some of their events. On every third day, it kills the exporting process midway, and
// another process continues. HOOKLATCH_LONG=1 creates 20,000 events a day.
func TestThirtyDaysLeaveAndAreReadBack(t *testing.T) {
	t.Parallel()
	const days = 30
	aDay := 20
	if os.Getenv("HOOKLATCH_LONG") != "" {
		aDay = 20_000
	}
	dir := t.TempDir()
	w := exporting(t, export.Directory(dir))
	settings := retention.Settings{Other: 60 * day, Payloads: 2 * day, History: 90 * day}
	var took time.Duration
	for today := range days + 3 {
		w.pass(t, day)
		if today < days {
			w.run(t, `
				WITH new AS (
					SELECT format('event-%s-%s', $1::int, n) AS id, gen_random_uuid() AS delivery
					FROM generate_series(1, $2::int) AS n
				), stored AS (
					INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome, processed_at)
					SELECT 'bulk', id, nextval('hooklatch.accept_seq'), delivery, 'hmac', 'happened', delivery, '', '', 'skipped', now() FROM new
				)
				INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
				SELECT delivery, 'bulk', '{"X-Test": ["bulk"]}', 'application/json',
					convert_to(format('{"id": "%s",  "pad": "%s"}', id, repeat(md5(id), 20)), 'UTF8')
				FROM new`, today, aDay)
			w.done(t, "own", fmt.Sprintf("own-%d", today))
		}
		if today%3 == 0 {
			ctx, kill := context.WithCancel(t.Context())
			w.restart(t, &killing{Storage: export.Directory(dir), left: 1 + rand.IntN(6), kill: kill})
			_, _ = w.Retention().Run(ctx, retention.Order{Settings: settings})
			kill()
			w.restart(t, export.Directory(dir))
		}
		began := time.Now()
		w.keep(t, settings)
		took += time.Since(began)
	}
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.deliveries`))
	require.Equal(t, days*(aDay+1), w.count(t, `SELECT sum(events) FROM hooklatch.exported_days`))
	t.Logf("%d events exported and dropped in %s; %d bytes", days*(aDay+1), took.Round(time.Millisecond), w.count(t, `SELECT sum(bytes) FROM hooklatch.exported_days`))

	exported, err := w.Export().Days(t.Context())
	require.NoError(t, err)
	read := 0
	began := time.Now()
	for _, d := range exported {
		for part, more := 0, true; more; part++ {
			found, next, err := w.Export().ReadPart(t.Context(), d, part)
			require.NoError(t, err)
			for _, f := range found {
				if f.Event.Source == "bulk" {
					require.Equal(t, bulkBody(string(f.Event.EventID)), string(f.Line.Body))
					read++
				}
			}
			more = next
		}
	}
	require.Equal(t, days*aDay, read)
	t.Logf("read back in %s", time.Since(began).Round(time.Millisecond))

	began = time.Now()
	const shown = 300
	for range shown {
		id := fmt.Sprintf("event-%d-%d", rand.IntN(days), 1+rand.IntN(aDay))
		require.Equal(t, bulkBody(id), string(w.shown(t, "bulk", id).Event.Body))
	}
	t.Logf("one event shown in %s", (time.Since(began) / shown).Round(time.Microsecond))
	for today := range days {
		own := w.shown(t, "own", fmt.Sprintf("own-%d", today))
		require.Equal(t, bodyOf(fmt.Sprintf("own-%d", today)), own.Event.Body)
		require.Len(t, own.Effects, 1)
	}

	began = time.Now()
	for today := range days {
		id := fmt.Sprintf("event-%d-%d", today, 1+today%aDay)
		_, err := w.Erasure().Event(t.Context(), ref("bulk", id), ann, erasure.Order{})
		require.NoError(t, err)
		require.Empty(t, w.shown(t, "bulk", id).Event.Body)
		require.NotContains(t, contents(t, dir+"/"+w.shown(t, "bulk", id).Event.ReceivedAt.UTC().Format(time.DateOnly)), strings.Repeat(bulkBody(id)[20+len(id):52+len(id)], 2))
	}
	t.Logf("one event erased in its day in %s", (time.Since(began) / days).Round(time.Millisecond))
	for range 30 {
		today := rand.IntN(days)
		id := fmt.Sprintf("event-%d-%d", today, 1+(today+1)%aDay)
		require.Equal(t, bulkBody(id), string(w.shown(t, "bulk", id).Event.Body), "other events of the day keep their bytes")
	}
}
