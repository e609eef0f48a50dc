package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// environmentSecret stands in for each environment variable. It is long enough for every secret.
const environmentSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

// The module in docs/kubernetes/charttest compares the manifests with the chart, and validates them.
func TestTheManifestsOfKubernetesAreSound(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("kubernetes/manifests/hooklatch.yaml")
	require.NoError(t, err)
	require.NotContains(t, string(text), "helm.sh/hook")
	require.NotContains(t, string(text), "checksum/config", "nothing updates it without Helm")
	require.NotContains(t, string(text), "kind: Secret\n")
	chart, err := os.ReadFile("kubernetes/chart/Chart.yaml")
	require.NoError(t, err)
	version := regexp.MustCompile(`appVersion: (\S+)`).FindSubmatch(chart)
	kinds, restart := map[string]int{}, []string{"kubectl rollout restart"}
	_, documents, _ := strings.Cut(string(text), "\n---\n") // after the heading
	for document := range strings.SplitSeq(documents, "\n---\n") {
		var object struct {
			Kind     string            `yaml:"kind"`
			Data     map[string]string `yaml:"data"`
			Metadata struct {
				Name string `yaml:"name"`
			} `yaml:"metadata"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object))
		kinds[object.Kind]++
		switch object.Kind {
		case "ConfigMap":
			requireNoSecret(t, object.Data["hooklatch.yaml"])
		case "Deployment", "Job":
			require.Contains(t, document, "image: ghcr.io/hooklatch/hooklatch:"+string(version[1])+"\n")
			for _, restricted := range []string{
				"runAsNonRoot: true", "runAsUser: 65532", "readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false",
				"drop: [ALL]", "type: RuntimeDefault", "automountServiceAccountToken: false",
			} {
				require.Contains(t, document, restricted, object.Kind)
			}
		}
		if object.Kind == "Deployment" {
			restart = append(restart, "deployment/"+object.Metadata.Name)
			require.Regexp(t, `livenessProbe:\n\s+httpGet:\n\s+path: /healthz\n`, document)
			require.Regexp(t, `readinessProbe:\n\s+httpGet:\n\s+path: /readyz\n`, document)
		}
	}
	page, err := os.ReadFile("kubernetes.md")
	require.NoError(t, err)
	require.Contains(t, string(page), strings.Join(restart, " ")+"\n", "an edit of the ConfigMap starts no new pods")
	require.Equal(t, map[string]int{"ServiceAccount": 1, "ConfigMap": 1, "Service": 1, "Deployment": 2, "PodDisruptionBudget": 2, "Job": 1}, kinds)
}

// requireNoSecret checks that a configuration contains no secret: each one comes from the
// environment.
func requireNoSecret(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	cfg, err := config.Load(path, func(string) (string, bool) { return environmentSecret, true })
	require.NoError(t, err)
	require.Equal(t, environmentSecret, cfg.Admin.Token.Reveal())
	require.True(t, cfg.Database.URL.IsZero(), "it comes from DATABASE_URL")
	for name, source := range cfg.Sources {
		for _, one := range source.Secrets {
			require.Equal(t, environmentSecret, one.Value.Reveal(), name)
		}
	}
}
