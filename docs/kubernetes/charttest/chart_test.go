// Package charttest renders the chart in docs/kubernetes/chart with Helm and checks the result.
package charttest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	chart     = "../chart"
	manifests = "../manifests/hooklatch.yaml"
)

// minors are the Kubernetes versions in schemas.
var minors = []string{"1.35.3", "1.36.3"}

var update = flag.Bool("update", false, "write "+manifests)

// tool runs a tool of go.mod and returns its output.
func tool(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"tool"}, args...)...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := command.Run()
	return stdout.String() + stderr.String(), err
}

// valuesFiles returns the paths of the values files with which the chart is rendered.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "ci", "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 7)
	return files
}

func render(t *testing.T, chart, values string) string {
	t.Helper()
	rendered, err := tool(t, "", "helm", "template", "hooklatch", chart, "--values", values, "--kube-version", minors[1])
	require.NoError(t, err, rendered)
	return rendered
}

func TestEveryValuesFileRendersValidManifests(t *testing.T) {
	t.Parallel()
	for _, values := range valuesFiles(t) {
		t.Run(filepath.Base(values), func(t *testing.T) {
			t.Parallel()
			out, err := tool(t, "", "helm", "lint", "--strict", "--kube-version", minors[1], "--values", values, chart)
			require.NoError(t, err, out)
			require.NoError(t, problems(t, render(t, chart, values)))
		})
	}
}

func TestTheManifestsAreWhatTheChartRenders(t *testing.T) {
	t.Parallel()
	// Nothing would update the checksum without Helm, but its presence would suggest that editing
	// the ConfigMap starts new pods.
	checksum := regexp.MustCompile(`\n +annotations:\n +checksum/config: .*`)
	rendered := render(t, chart, filepath.Join(chart, "ci", "manifests.yaml"))
	require.Len(t, checksum.FindAllString(rendered, -1), 2)
	want := "# Rendered from the chart in docs/kubernetes/chart with ci/manifests.yaml. See docs/kubernetes.md.\n" +
		checksum.ReplaceAllString(rendered, "")
	if *update {
		require.NoError(t, os.WriteFile(manifests, []byte(want), 0o600))
	}
	got, err := os.ReadFile(manifests)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run: go -C docs/kubernetes/charttest test . -update")
}

// containers returns the containers of rendered manifests by their names.
func containers(t *testing.T, rendered string) map[string]core.Container {
	t.Helper()
	found := map[string]core.Container{}
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var object struct {
			Spec struct{ Template core.PodTemplateSpec }
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object))
		for _, c := range object.Spec.Template.Spec.Containers {
			found[c.Name] = c
		}
	}
	require.Len(t, found, 3)
	return found
}

// A role's Secret contains only the role's DATABASE_URL. If several Secrets contain a variable, the
// last of them takes precedence.
func TestARoleAddsItsSecretToTheCommonOne(t *testing.T) {
	t.Parallel()
	given := containers(t, render(t, chart, filepath.Join(chart, "ci", "roles.yaml")))
	for name, secret := range map[string]string{"gateway": "hooklatch-gateway", "worker": "hooklatch-worker", "migrate": "hooklatch-owner"} {
		var names []string
		for _, from := range given[name].EnvFrom {
			names = append(names, from.SecretRef.Name)
		}
		require.Equal(t, []string{"hooklatch", secret}, names, name)
	}
}

// The root file system is read-only, so workers can export only to a volume. The pods of the
// gateway, which face the internet, do not get this volume.
func TestTheExportIsAVolumeOfWorkers(t *testing.T) {
	t.Parallel()
	rendered := render(t, chart, filepath.Join(chart, "ci", "export.yaml"))
	require.Contains(t, rendered, "directory: /mnt/hooklatch-export\n")
	require.Equal(t, 1, strings.Count(rendered, "claimName: hooklatch-export\n"))
	for name, c := range containers(t, rendered) {
		mounted := slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == "/mnt/hooklatch-export" && !m.ReadOnly })
		require.Equal(t, name == "worker", mounted, name)
	}
}

// A release without a source would never be ready.
func TestAnInstallationWithoutSourcesIsRefused(t *testing.T) {
	t.Parallel()
	out, err := tool(t, "", "helm", "template", "hooklatch", chart, "--kube-version", minors[1])
	require.Error(t, err)
	require.Contains(t, out, "/config/sources")
}

// Each mistake is planted in a copy of the chart, and the function problems must report it.
func TestMistakesInTheChartAreFound(t *testing.T) {
	t.Parallel()
	for _, mistake := range []struct{ name, file, old, mistaken, found string }{
		{"misspelt probe", "templates/deployments.yaml", "readinessProbe:", "readynessProbe:", "readynessProbe"},
		{"double budget", "templates/deployments.yaml", "maxUnavailable: 1\n", "maxUnavailable: 1\n  minAvailable: 1\n", "minAvailable and maxUnavailable"},
		{"changed selector", "templates/_parts.tpl", "app.kubernetes.io/name: hooklatch", "app.kubernetes.io/name: hooklatch\ntier: web", "selector"},
		{"liveness that asks Postgres", "templates/deployments.yaml", "path: /healthz", "path: /readyz", "livenessProbe"},
		{"writable root", "templates/_parts.tpl", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "readOnlyRootFilesystem"},
		{"mount without a volume", "templates/_parts.tpl", "  - name: config\n    configMap:", "  - name: configuration\n    configMap:", "not a volume of the pod"},
		{"hook", "templates/migrate.yaml", "kind: Job\nmetadata:\n", "kind: Job\nmetadata:\n  annotations: { helm.sh/hook: pre-upgrade }\n", "hook"},
		{"secret in the ConfigMap", "ci/manifests.yaml", `["${STRIPE_WEBHOOK_SECRET}"]`, `["whsec_c2VjcmV0"]`, "secrets"},
		{"token in the ConfigMap", "values.yaml", `token: "${HOOKLATCH_ADMIN_TOKEN}"`, "token: 0123456789abcdef", "token"},
		{"password in the ConfigMap", "values.yaml", "  sources: {}", "  database: { url: \"postgres://hooklatch:password@db/hooklatch\" }\n  sources: {}", "url"},
		{"plain probes of a TLS listener", "templates/deployments.yaml", "scheme: {{ . }}", "scheme: HTTP", "scheme of the probes"},
		{"plain metrics of a TLS listener", "templates/podmonitor.yaml", "scheme: {{ lower . }}", "scheme: http", "scheme of the PodMonitor"},
		{"misspelt field of the PodMonitor", "templates/podmonitor.yaml", "podMetricsEndpoints:", "podMetricEndpoints:", "podMetricEndpoints"},
	} {
		t.Run(mistake.name, func(t *testing.T) {
			t.Parallel()
			copied := t.TempDir()
			require.NoError(t, os.CopyFS(copied, os.DirFS(chart)))
			at := filepath.Join(copied, mistake.file)
			text, err := os.ReadFile(at)
			require.NoError(t, err)
			require.Contains(t, string(text), mistake.old)
			require.NoError(t, os.WriteFile(at, []byte(strings.ReplaceAll(string(text), mistake.old, mistake.mistaken)), 0o600))
			values := "manifests.yaml"
			if mistake.file == "templates/podmonitor.yaml" || mistake.found == "scheme of the probes" {
				values = "everything.yaml"
			}
			require.ErrorContains(t, problems(t, render(t, copied, filepath.Join(copied, "ci", values))), mistake.found)
		})
	}
}
