package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// workflow is the part of a GitHub workflow that decides the rights of foreign code.
type workflow struct {
	Permissions map[string]string      `yaml:"permissions"`
	Jobs        map[string]workflowJob `yaml:"jobs"`
}

type workflowJob struct {
	Permissions map[string]string `yaml:"permissions"`
	Timeout     int               `yaml:"timeout-minutes"` //nolint:tagliatelle // GitHub chose the name
	Uses        string            `yaml:"uses"`
	Steps       []struct {
		Uses string         `yaml:"uses"`
		Run  string         `yaml:"run"`
		With map[string]any `yaml:"with"`
	} `yaml:"steps"`
}

// pinned matches an action at a full commit. A tag can be moved to another commit.
var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// workflowProblems returns the rules that a workflow breaks.
func workflowProblems(text []byte) (found []string) {
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		return []string{err.Error()}
	}
	if w.Permissions == nil || len(w.Permissions) > 0 {
		found = append(found, "the workflow needs permissions: {}; each job names its own")
	}
	for name, job := range w.Jobs {
		if job.Permissions == nil {
			found = append(found, name+" names no permissions")
		}
		if job.Timeout == 0 {
			found = append(found, name+" has no timeout-minutes")
		}
		if job.Uses != "" && !pinned.MatchString(job.Uses) {
			found = append(found, job.Uses+" is not pinned to a full commit")
		}
		for _, step := range job.Steps {
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				found = append(found, step.Uses+" is not pinned to a full commit")
			}
			if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
				found = append(found, name+" needs persist-credentials: false")
			}
			if strings.Contains(step.Run, "${{") {
				found = append(found, name+" has ${{ }} in run, where its value is executed; pass it by env")
			}
		}
	}
	return found
}

// Workflows run foreign code, which must get no rights in this repository beyond the job's
// permissions.
func TestWorkflowsGiveForeignCodeNoRights(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.y*ml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, workflowProblems(text), file)
	}
}

func TestMistakesInAWorkflowAreFound(t *testing.T) {
	t.Parallel()
	const good = `
permissions: {}
jobs:
  run:
    permissions: {contents: read}
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@8e8c483db84b4bee98b60c0593521ed34d9990e8 # v6.0.1
        with: {persist-credentials: false}
      - run: echo "$NAME"
`
	require.Empty(t, workflowProblems([]byte(good)))
	for mistake, want := range map[[2]string]string{
		{"permissions: {}", ""}:                                     "permissions: {}",
		{"permissions: {}", "permissions: {contents: write}"}:       "permissions: {}",
		{"permissions: {}", "permissions: write-all"}:               "",
		{"    permissions: {contents: read}\n", ""}:                 "names no permissions",
		{"    timeout-minutes: 5\n", ""}:                            "timeout-minutes",
		{"@8e8c483db84b4bee98b60c0593521ed34d9990e8", "@v6"}:        "full commit",
		{"@8e8c483db84b4bee98b60c0593521ed34d9990e8", "@8e8c483db"}: "full commit",
		{"persist-credentials: false", "fetch-depth: 0"}:            "persist-credentials",
		{`"$NAME"`, "${{ github.head_ref }}"}:                       "pass it by env",
	} {
		text := strings.Replace(good, mistake[0], mistake[1], 1)
		require.NotEqual(t, good, text)
		found := workflowProblems([]byte(text))
		require.NotEmpty(t, found, text)
		require.Contains(t, strings.Join(found, "\n"), want)
	}
}

// installations maps commands to the text of the installation that must precede them in a job.
// GitHub's machines have Go and Postgres, but not the other programs that tests start, and no job
// runs as root.
var installations = map[*regexp.Regexp]string{
	regexp.MustCompile(`^bash \.ci/run$`):             "bash .ci/run programs",
	regexp.MustCompile(`\bgo\b.* test .*\./\.\.\.`):   "bash .ci/run programs",
	regexp.MustCompile(`^go -C \.tools/mutants run `): "bash .ci/run programs",
	regexp.MustCompile(`^go -C cmd/hookstorm test `):  "patroni etcd-server haproxy",
	regexp.MustCompile(`^bash \.ci/kubernetes`):       "etcd-server",
	regexp.MustCompile(`^bash \.ci/release `):         "debootstrap debian-archive-keyring lintian ruby systemd-container",
}

// missingPrograms reports each step of a job that runs a command before the programs that the command
// needs are installed.
func missingPrograms(job workflowJob) (found []string) {
	installed := ""
	for _, step := range job.Steps {
		for command, wanted := range installations {
			if command.MatchString(step.Run) && !strings.Contains(installed, wanted) {
				found = append(found, step.Run+": install first: "+wanted)
			}
		}
		if strings.Contains(step.Run, "sudo") {
			installed += step.Run
		}
	}
	return found
}

// With CI set, as on GitHub, a test fails if a program that it starts is missing.
func TestWorkflowsInstallWhatTheirTestsStart(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.y*ml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	matched := map[*regexp.Regexp]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var w workflow
		require.NoError(t, yaml.Unmarshal(text, &w))
		for name, job := range w.Jobs {
			require.Empty(t, missingPrograms(job), "%s: %s", file, name)
			for _, step := range job.Steps {
				for command := range installations {
					matched[command] = matched[command] || command.MatchString(step.Run)
				}
			}
		}
	}
	for command := range installations {
		require.True(t, matched[command], "no workflow runs %s", command)
	}
	script, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	require.NotRegexp(t, `(?m)^step .* (need|install_postgres)\b`, string(script), "this belongs into programs, which workflows run")
}
