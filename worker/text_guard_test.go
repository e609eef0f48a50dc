package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
)

func TestTextGuard(t *testing.T) {
	t.Parallel()
	guarded := func(inner func(context.Context) error) error {
		g := &textGuard{logger: slog.New(slog.DiscardHandler), running: new(underway)}
		return g.Work(t.Context(), &rivertype.JobRow{ID: 1}, inner)
	}
	returning := func(err error) error { return guarded(func(context.Context) error { return err }) }

	require.NoError(t, returning(nil))
	require.EqualError(t, returning(errors.New("a\x00b\nc\xff")), "a b c\uFFFD")
	const place = ` at github\.com/hooklatch/hooklatch/worker\.TestTextGuard\.func\d+:\d+$`
	require.Regexp(t, "^panic: string"+place, guarded(func(context.Context) error { panic("canary") }).Error())
	require.Regexp(t, `^panic: \*errors\.errorString`+place, guarded(func(context.Context) error { panic(errors.New("canary")) }).Error())

	long := returning(errors.New(strings.Repeat("é", 5000))).Error()
	require.LessOrEqual(t, len(long), maxText)
	require.True(t, utf8.ValidString(long))

	// River still finds the wrapped errors below the safe text.
	var cancelled *river.JobCancelError
	err := returning(fmt.Errorf("outer: %w", river.JobCancel(errors.New("bad\x00"))))
	require.ErrorAs(t, err, &cancelled)
	require.NotContains(t, err.Error(), "\x00")
	var snoozed *river.JobSnoozeError
	require.ErrorAs(t, returning(river.JobSnooze(time.Minute)), &snoozed)
	require.Equal(t, time.Minute, snoozed.Duration)
	require.ErrorIs(t, returning(fmt.Errorf("stop: %w", context.Canceled)), context.Canceled)
}

func FuzzOneLine(f *testing.F) {
	f.Add("a\x00b\u2028c\xff")
	f.Add(strings.Repeat("\xf0\x9f\x98\x80", 600))
	f.Fuzz(func(t *testing.T, s string) {
		line := oneLine(s)
		require.True(t, utf8.ValidString(line))
		require.LessOrEqual(t, len(line), maxText)
		require.NotContains(t, line, "\x00")
		require.NotContains(t, line, "\n")
		require.Equal(t, line, oneLine(line))
	})
}
