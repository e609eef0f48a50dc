package stage_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

func TestStopEndsTheLastFirstAndEachOnce(t *testing.T) {
	t.Parallel()
	s, err := stage.New(stage.Options{Who: "test", Dir: t.TempDir()})
	require.NoError(t, err)
	var ended []string
	for _, name := range []string{"first", "second", "third"} {
		s.OnStop(name, func(context.Context) error {
			ended = append(ended, name)
			if name == "second" {
				return errors.New("it hangs")
			}
			return nil
		})
	}
	require.EqualError(t, s.Stop(t.Context()), "stop second: it hangs")
	require.NoError(t, s.Stop(t.Context()))
	require.Equal(t, []string{"third", "second", "first"}, ended)
}

// Stop removes only a directory that the stage created, and only after Forget.
func TestOnlyAForgottenDirectoryOfItsOwnIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ chosen, forgotten, kept bool }{
		"its own":            {kept: true},
		"its own, to forget": {forgotten: true},
		"chosen, to forget":  {chosen: true, forgotten: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := stage.Options{Who: "test"}
			if c.chosen {
				o.Dir = t.TempDir()
			}
			s, err := stage.New(o)
			require.NoError(t, err)
			s.History.Add(history.Record{Who: "test", Kind: history.Note, Op: history.OpPhase, Phase: history.PhaseStorm})
			if c.forgotten {
				s.Forget()
			}
			require.NoError(t, s.Stop(t.Context()))
			if c.kept {
				require.FileExists(t, s.HistoryPath())
			} else {
				require.NoDirExists(t, s.Dir)
			}
			if !c.chosen && c.kept {
				s.Forget()
				require.NoError(t, s.Stop(t.Context()), "Stop may be called again")
				require.NoDirExists(t, s.Dir)
			}
		})
	}
}
