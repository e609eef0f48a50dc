//go:build failpoint

package failpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// passages is the environment variable that turns this test binary into a program. The program
// passes a place the given number of times and prints the passages that it survived.
const passages = "FAILPOINT_TEST_PASSAGES"

func TestMain(m *testing.M) {
	n, err := strconv.Atoi(os.Getenv(passages))
	if err != nil {
		os.Exit(m.Run())
	}
	for i := range n {
		said := "ok"
		if err := HitIn("pay", BeforeCommit); err != nil {
			said = err.Error()
		}
		os.Stdout.WriteString(strconv.Itoa(i+1) + " " + said + "\n")
	}
}

// program returns a command that passes pay.before_commit four times, and the paths of its trace
// file and its file of fired failpoints.
func program(t *testing.T, rules string) (cmd *exec.Cmd, trace, fired string) {
	t.Helper()
	dir := t.TempDir()
	trace, fired = filepath.Join(dir, "trace"), filepath.Join(dir, "fired")
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), passages+"=4", rulesVariable+"="+rules, traceVariable+"="+trace, firedVariable+"="+fired)
	return cmd, trace, fired
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestErrorComesAtItsPassages(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"":                                    "1 ok\n2 ok\n3 ok\n4 ok\n",
		"other.begin=error":                   "1 ok\n2 ok\n3 ok\n4 ok\n",
		"pay.before_commit=error@2":           "1 ok\n2 failpoint pay.before_commit, passage 2\n3 ok\n4 ok\n",
		"pay.before_commit=error@4+":          "1 ok\n2 ok\n3 ok\n4 failpoint pay.before_commit, passage 4\n",
		"pay.before_commit=error@3+ , x=stop": "1 ok\n2 ok\n3 failpoint pay.before_commit, passage 3\n4 failpoint pay.before_commit, passage 4\n",
		"pay.before_commit=delay(1ms)@1,pay.before_commit=error@4": "1 ok\n2 ok\n3 ok\n4 failpoint pay.before_commit, passage 4\n",
	} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			cmd, trace, _ := program(t, rules)
			out, err := cmd.Output()
			require.NoError(t, err)
			require.Equal(t, want, string(out))
			require.Equal(t, strings.Repeat("pay.before_commit\n", 4), contents(t, trace))
		})
	}
}

func TestKillEndsTheProcessAtItsPassage(t *testing.T) {
	t.Parallel()
	cmd, trace, fired := program(t, "pay.before_commit=kill@3")
	out, err := cmd.Output()
	require.Error(t, err)
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGKILL, status.Signal())
	require.Equal(t, "1 ok\n2 ok\n", string(out))
	require.Equal(t, strings.Repeat("pay.before_commit\n", 3), contents(t, trace))
	require.Equal(t, "pay.before_commit kill 3\n", contents(t, fired), "the action is recorded before it is taken")
}

func TestStopEndsWithContinue(t *testing.T) {
	t.Parallel()
	cmd, _, _ := program(t, "pay.before_commit=stop@2")
	var out strings.Builder
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	var status syscall.WaitStatus
	_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, cmd.Wait())
	require.Equal(t, "1 ok\n2 ok\n3 ok\n4 ok\n", out.String())
}

func TestDelayTakesItsTime(t *testing.T) {
	t.Parallel()
	cmd, _, fired := program(t, "pay.before_commit=delay(300ms)@2")
	began := time.Now()
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "1 ok\n2 ok\n3 ok\n4 ok\n", string(out))
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	require.Equal(t, "pay.before_commit delay 2\n", contents(t, fired))
}

func TestMistakeEndsTheProcess(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{
		"pay.begin", "=kill", "pay.begin=panic", "pay.begin=kill@0", "pay.begin=kill@-1", "pay.begin=kill@2-", "pay.begin=kill@+",
		"pay.begin=delay", "pay.begin=delay()", "pay.begin=delay(5)", "pay.begin=delay(5s", "pay.begin=kill(5s)", "pay.begin=error()",
	} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			cmd, _, _ := program(t, rules)
			var said strings.Builder
			cmd.Stderr = &said
			require.Error(t, cmd.Run())
			require.Equal(t, 2, cmd.ProcessState.ExitCode())
			require.Contains(t, said.String(), rulesVariable)
		})
	}
}

func TestTraceIsBounded(t *testing.T) {
	t.Parallel()
	cmd, trace, _ := program(t, "")
	cmd.Env = append(cmd.Env, passages+"=1000")
	require.NoError(t, cmd.Run())
	require.Equal(t, maxTraced, strings.Count(contents(t, trace), "\n"))
}
