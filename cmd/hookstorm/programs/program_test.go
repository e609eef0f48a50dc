package programs_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/internal/freeport"
)

func TestEveryEndIsWrittenDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		end    func(t *testing.T, p *programs.Program)
		want   string
	}{
		"it fails":                   {"exit 3", nil, "ordered=false exit status 3"},
		"it kills itself":            {"kill -9 $$", nil, "ordered=false signal: killed"},
		"it is killed":               {"exec sleep 60", func(t *testing.T, p *programs.Program) { require.NoError(t, p.Kill()) }, "ordered=true signal: killed"},
		"it is stopped":              {"exec sleep 60", func(t *testing.T, p *programs.Program) { require.NoError(t, p.Stop(t.Context())) }, "ordered=true signal: terminated"},
		"it is paused, then stopped": {"exec sleep 60", pauseAndStop, "ordered=true signal: terminated"},
		"it is paused, then killed": {"exec sleep 60", func(t *testing.T, p *programs.Program) {
			require.NoError(t, p.Pause())
			require.NoError(t, p.Kill())
		}, "ordered=true signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, notes := newShell(t, c.script, nil)
			require.NoError(t, p.Start(t.Context()))
			if c.end != nil {
				require.True(t, p.Alive())
				require.Positive(t, p.PID())
				c.end(t, p)
			}
			<-p.Exited()
			require.False(t, p.Alive())
			require.Zero(t, p.PID())
			require.Equal(t, []string{"shell started=true ordered=true ", "shell started=false " + c.want}, notes.list())
			how, ordered := p.Ended()
			require.Equal(t, c.want, fmt.Sprintf("ordered=%t %s", ordered, how))
			require.NoError(t, p.Stop(t.Context()), "Stop may be called again without a process")
			require.ErrorContains(t, p.Pause(), "no process is running")

			require.NoError(t, p.Start(t.Context()), "a program is started again")
		})
	}
}

func pauseAndStop(t *testing.T, p *programs.Program) {
	t.Helper()
	require.NoError(t, p.Pause())
	require.NoError(t, p.Stop(t.Context()))
}

func TestOneThatDoesNotStopIsKilled(t *testing.T) {
	t.Parallel()
	p, notes := newShell(t, "trap '' TERM; echo deaf; while :; do sleep 0.1; done", func(o *programs.Options) { o.StopTimeout = 50 * time.Millisecond })
	require.NoError(t, p.Start(t.Context()))
	require.Eventually(t, func() bool { return p.LastLines() == "deaf" }, 2*time.Minute, time.Millisecond)
	require.ErrorContains(t, p.Stop(t.Context()), "did not end by itself")
	require.False(t, p.Alive())
	require.Contains(t, notes.list()[1], "ordered=true signal: killed")
}

func TestTwoProcessesOfOneProgramAreRefused(t *testing.T) {
	t.Parallel()
	p, _ := newShell(t, "exec sleep 60", nil)
	require.NoError(t, p.Kill(), "Kill may be called before the first start")
	<-p.Exited()
	require.NoError(t, p.Start(t.Context()))
	require.ErrorContains(t, p.Start(t.Context()), "it is already running")
}

func TestReadinessEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	free, err := freeport.Addresses(1)
	require.NoError(t, err)
	p, _ := newShell(t, "echo no database; exit 1", func(o *programs.Options) { o.ReadyURL = "http://" + free[0] + "/readyz" })
	require.NoError(t, p.Start(t.Context()))
	err = p.Ready(t.Context())
	require.ErrorContains(t, err, "it ended: exit status 1")
	require.ErrorContains(t, err, "no database")

	asleep, _ := newShell(t, "exec sleep 60", func(o *programs.Options) { o.ReadyURL = "http://" + free[0] + "/readyz" })
	require.NoError(t, asleep.Start(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, asleep.Ready(ctx), context.DeadlineExceeded)
	require.ErrorContains(t, asleep.Reload(t.Context()), "does not listen yet")
	require.True(t, asleep.Alive(), "SIGHUP would have ended it")
}

func TestEnvironmentIsOfTheStart(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://somewhere/else")
	t.Setenv("HOOKLATCH_FAILPOINTS", "gateway.body_read=kill")
	p, _ := newShell(t, `echo "$WHERE-$FAULT-$DATABASE_URL-$HOOKLATCH_FAILPOINTS"`, func(o *programs.Options) { o.Env = []string{"WHERE=here", "FAULT=none"} })
	require.NoError(t, p.Start(t.Context(), "FAULT=one"))
	<-p.Exited()
	require.Equal(t, "here-one--", p.LastLines())
	require.NoError(t, p.Start(t.Context()))
	<-p.Exited()
	require.Equal(t, "here-one--\nhere-none--", p.LastLines())
}

func TestLogKeepsTheNewest(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	var path string
	p, _ := newShell(t, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done", func(o *programs.Options) {
		o.LogSize = limit
		path = o.Log
	})
	require.NoError(t, p.Start(t.Context()))
	<-p.Exited()
	newest, err := os.ReadFile(path)
	require.NoError(t, err)
	older, err := os.ReadFile(path + ".old")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(newest), "line 19999\n"))
	require.True(t, strings.HasSuffix(p.LastLines(), "line 19999"))
	kept := len(newest) + len(older)
	require.LessOrEqual(t, kept, limit)
	require.Greater(t, kept, limit/3)
}

// beParent starts a child, prints its id and waits.
func beParent(log string) {
	p, err := programs.New(programs.Options{
		Name: "child", Binary: "/bin/sleep", Args: []string{"60"}, Log: log, History: history.NewWriter(io.Discard),
	})
	if err == nil {
		err = p.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	<-p.Exited()
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"="+t.TempDir()+"/log")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, 0), "the child runs")

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool { return gone(pid) }, 2*time.Minute, time.Millisecond)
}

// gone reports whether a process has exited, even if it is still a zombie.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
