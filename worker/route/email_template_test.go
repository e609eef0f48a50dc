package route

import (
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Every template ends in time and uses little memory, even if it writes nothing. A viewer can send
// any template to the page on which users try a route.
//
//nolint:paralleltest // it measures the heap of the process
func TestEveryTemplateIsBounded(t *testing.T) {
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	var tree strings.Builder
	for name := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyzABCDEFGH", "") {
		tree.WriteString(`{{ define "` + name + `" }}{{ template "` + string(name[0]+1) + `" }}{{ template "` + string(name[0]+1) + `" }}{{ end }}`)
	}
	tree.WriteString(`{{ define "{" }}{{ end }}{{ define "I" }}{{ end }}{{ template "a" }}`)
	list := `{"l":[` + strings.Repeat("1,", 2000) + `1],"s":"` + strings.Repeat("x", 100<<10) + `"}`
	for name, text := range map[string]string{
		"empty loop":         `{{ range 1000000000000 }}{{ end }}`,
		"loop that assigns":  `{{ $x := 0 }}{{ range $i := 1000000000000 }}{{ $x = $i }}{{ end }}`,
		"loop that goes on":  `{{ range 1000000000000 }}{{ continue }}x{{ end }}`,
		"loop with a choice": `{{ range 1000000000000 }}{{ if false }}x{{ end }}{{ end }}`,
		"loops in loops":     `{{ range $.body.l }}{{ range $.body.l }}{{ range $.body.l }}{{ range $.body.l }}{{ end }}{{ end }}{{ end }}{{ end }}`,
		"templates":          tree.String(),
		"itself":             `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
		"print doubles":      `{{ $x := "12345678" }}` + strings.Repeat(`{{ $x = print $x $x }}`, 27),
		"printf doubles":     `{{ $x := "12345678" }}` + strings.Repeat(`{{ $x = printf "%[1]s%[1]s" $x }}`, 27),
		"println doubles":    `{{ $x := "12345678" }}` + strings.Repeat(`{{ $x = println $x $x }}`, 27),
		"js doubles":         `{{ $x := "\\\\\\\\" }}` + strings.Repeat(`{{ $x = js $x }}`, 27),
		"html grows":         `{{ $x := .body.s }}` + strings.Repeat(`{{ $x = html $x }}`, 27),
		"urlquery grows":     `{{ $x := .body.s }}` + strings.Repeat(`{{ $x = urlquery $x }}`, 27),
		"wide printf":        `{{ $x := printf "` + strings.Repeat("%[1]999999s", 1000) + `" "a" }}`,
		"wide arguments":     `{{ $x := printf "` + strings.Repeat("%[1]*[2]s", 1000) + `" 999999 "a" }}`,
		"same argument":      `{{ $x := printf "` + strings.Repeat("%[1]s", 3000) + `" .body.s }}`,
		"many arguments":     `{{ $x := print` + strings.Repeat(" $.body.s", 1500) + ` }}`,
		"extra arguments":    `{{ $x := printf ""` + strings.Repeat(" $.body.s", 1500) + ` }}`,
		"extra, nested":      `{{ $x := printf ""` + strings.Repeat(" .body.s", 30) + `}}{{ $y := printf ""` + strings.Repeat(" $x", 500) + ` }}`,
		"precision":          `{{ $x := printf "` + strings.Repeat("%.999999f", 1000) + `"` + strings.Repeat(" 1.0", 1000) + ` }}`,
		"whole bodies":       `{{ $x := printf "` + strings.Repeat("%[1]v", 3000) + `" .body }}`,
	} {
		for _, m := range []EmailMessage{
			{Recipient: `"a@example.com"`, Subject: "x", Text: text}, {Recipient: `"a@example.com"`, Subject: "x", HTML: text},
		} {
			kind := "text"
			if m.HTML != "" {
				kind = "html"
			}
			compiled := compileEmail(envs.render, &m, func(_, _ string, err error) { require.NoError(t, err, name) })
			e := &inbox.Event{ContentType: jsonContentType, Body: []byte(list), OccurredAt: time.Date(2026, 2, 22, 22, 22, 22, 0, time.UTC)}
			runtime.GC()
			before := heldBytes()
			done := make(chan error, 1)
			go func() {
				_, err := compiled.build(newEventScope(t.Context(), e))
				done <- err
			}()
			var most uint64
			limit, sample := time.After(time.Minute), time.NewTicker(time.Millisecond)
			for ended := false; !ended; {
				select {
				case err := <-done:
					t.Logf("%s, %s: %d MiB: %.100v", name, kind, most>>20, err)
					ended = true
				case <-sample.C:
					now := heldBytes()
					most = max(most, now-min(before, now))
				case <-limit:
					require.FailNow(t, "it does not end", "%s, %s", name, kind)
				}
			}
			sample.Stop()
			require.Less(t, most>>20, uint64(128), "%s, %s", name, kind)
		}
	}
}

// heldBytes returns the size of all objects on the heap, including dead objects that are not
// collected yet.
func heldBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A viewer's template formats times with literal layouts only: the length of a computed layout can
// double with each call.
func TestATypedTemplateComputesNoLayout(t *testing.T) {
	t.Parallel()
	for text, allowed := range map[string]bool{
		`{{ .event.occurred_at.Format "2006" }}`:                                          true,
		"{{ .event.occurred_at.Format `2006` | printf \"%s\" }} Format":                   true,
		`{{ $x := "2" }}{{ .event.occurred_at.Format $x }}`:                               false,
		`{{ $t := .event.occurred_at }}{{ "2" | $t.Format }}`:                             false,
		`{{ .event.occurred_at.UTC.Format (print "2" "2") }}`:                             false,
		`{{ if true }}{{ with "2" }}{{ $.event.occurred_at.Format . }}{{ end }}{{ end }}`: false,
	} {
		for _, typed := range []bool{true, false} {
			_, err := Compile(Options{Typed: typed, Targets: planTargets(t), Routes: []Route{
				{Name: "r", From: []string{"*"}, To: "mail", Email: &EmailMessage{Recipient: `"a@example.com"`, Subject: "x", Text: text}},
			}})
			if typed && !allowed {
				require.ErrorContains(t, err, "computes the layout of a time", text)
			} else {
				require.NoError(t, err, text)
			}
		}
	}
}
