package charttest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// problems returns the objections of kubeconform and of the rules below to rendered manifests.
func problems(t *testing.T, rendered string) error {
	t.Helper()
	var errs []error
	for _, minor := range minors {
		out, err := tool(t, rendered, "kubeconform", "-strict", "-skip", "PodMonitor", "-kubernetes-version", minor,
			"-schema-location", "schemas/{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}.json")
		if err != nil {
			errs = append(errs, fmt.Errorf("Kubernetes %s: %s", minor, out))
		}
	}
	scheme, err := adminScheme(rendered)
	errs = append(errs, err)
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		errs = append(errs, problemsOf([]byte(document), scheme))
	}
	return errors.Join(errs...)
}

// adminScheme returns the scheme that the rendered configuration gives the admin listener. A
// listener with TLS answers plain requests with 400.
func adminScheme(rendered string) (core.URIScheme, error) {
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var configured core.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &configured); err != nil {
			return "", err
		}
		if configured.Kind != "ConfigMap" {
			continue
		}
		var config struct{ Admin struct{ TLS any } }
		if err := yaml.Unmarshal([]byte(configured.Data["hooklatch.yaml"]), &config); err != nil {
			return "", err
		}
		if config.Admin.TLS != nil {
			return core.URISchemeHTTPS, nil
		}
		return core.URISchemeHTTP, nil
	}
	return "", errors.New("there is no ConfigMap")
}

func problemsOf(document []byte, scheme core.URIScheme) error {
	var object struct {
		Kind     string
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal(document, &object); err != nil {
		return err
	}
	for annotation := range object.Metadata.Annotations {
		if strings.HasPrefix(annotation, "helm.sh/hook") {
			return fmt.Errorf("%s is a hook, which tools other than Helm treat differently", object.Kind)
		}
	}
	switch object.Kind {
	case "Deployment":
		return problemsOfDeployment(document, scheme)
	case "Job":
		var job batch.Job
		return errors.Join(yaml.Unmarshal(document, &job), problemsOfPod(job.Spec.Template.Spec))
	case "PodDisruptionBudget":
		var budget policy.PodDisruptionBudget
		if err := yaml.Unmarshal(document, &budget); err != nil {
			return err
		}
		if budget.Spec.MinAvailable != nil && budget.Spec.MaxUnavailable != nil {
			return errors.New("the disruption budget has minAvailable and maxUnavailable")
		}
	case "ConfigMap":
		var configured core.ConfigMap
		if err := yaml.Unmarshal(document, &configured); err != nil {
			return err
		}
		var config any
		return errors.Join(yaml.Unmarshal([]byte(configured.Data["hooklatch.yaml"]), &config), openSecrets("", config), givenTwice(config))
	case "PodMonitor":
		var monitor monitoring.PodMonitor
		if err := yaml.UnmarshalStrict(document, &monitor); err != nil {
			return err
		}
		for _, endpoint := range monitor.Spec.PodMetricsEndpoints {
			if given := cmp.Or(strings.ToUpper(endpoint.Scheme.String()), "HTTP"); given != string(scheme) {
				return fmt.Errorf("the scheme of the PodMonitor is %s, and that of the admin listener %s", given, scheme)
			}
		}
	case "Secret":
		return errors.New("the chart makes a Secret: every reader of a release could read it")
	}
	return nil
}

func problemsOfDeployment(document []byte, scheme core.URIScheme) error {
	var deployment apps.Deployment
	if err := yaml.Unmarshal(document, &deployment); err != nil {
		return err
	}
	// The selector of an installed Deployment cannot change.
	selector := slices.Sorted(maps.Keys(deployment.Spec.Selector.MatchLabels))
	if want := []string{"app.kubernetes.io/component", "app.kubernetes.io/instance", "app.kubernetes.io/name"}; !slices.Equal(selector, want) {
		return fmt.Errorf("the selector of %s differs from that of installed releases: %v", deployment.Name, selector)
	}
	pod := deployment.Spec.Template.Spec
	for _, c := range pod.Containers {
		if c.LivenessProbe == nil || c.LivenessProbe.HTTPGet.Path != "/healthz" {
			return fmt.Errorf("the livenessProbe of %s does not request /healthz: a lost database would restart every pod", c.Name)
		}
		if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			return fmt.Errorf("the readinessProbe of %s does not request /readyz", c.Name)
		}
		for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
			if given := cmp.Or(probe.HTTPGet.Scheme, core.URISchemeHTTP); given != scheme {
				return fmt.Errorf("the scheme of the probes of %s is %s, and that of the admin listener %s", c.Name, given, scheme)
			}
		}
	}
	return problemsOfPod(pod)
}

// problemsOfPod checks the requirements of the Pod Security Standard "restricted", and requires a
// read-only root file system. Every container loads the configuration, so each one needs all
// variables of the common Secret.
func problemsOfPod(pod core.PodSpec) error {
	for _, c := range pod.Containers {
		if len(c.EnvFrom) == 0 || c.EnvFrom[0].SecretRef == nil || c.EnvFrom[0].SecretRef.Name != "hooklatch" {
			return fmt.Errorf("the environment of %s does not begin with the common Secret", c.Name)
		}
		for _, mount := range c.VolumeMounts {
			if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == mount.Name }) {
				return fmt.Errorf("%s mounts %s, which is not a volume of the pod", c.Name, mount.Name)
			}
		}
	}
	given, err := json.Marshal(pod)
	if err != nil {
		return err
	}
	for _, want := range []string{
		`"runAsNonRoot":true`, `"runAsUser":65532`, `"seccompProfile":{"type":"RuntimeDefault"}`, `"automountServiceAccountToken":false`,
		`"readOnlyRootFilesystem":true`, `"allowPrivilegeEscalation":false`, `"privileged":false`, `"capabilities":{"drop":["ALL"]}`,
	} {
		if !strings.Contains(string(given), want) {
			return fmt.Errorf("the pod has no %s", want)
		}
	}
	return nil
}

// secretKeys returns the names of the settings whose values are secret. These are the setting named
// value, and each setting that may also be given as a file, except those named url.
var secretKeys = sync.OnceValues(func() (map[string]bool, error) {
	text, err := os.ReadFile("../../config.schema.json")
	if err != nil {
		return nil, err
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	keys := map[string]bool{"value": true}
	err = json.Unmarshal(text, &schema)
	for _, definition := range schema.Defs {
		for key := range definition.Properties {
			if name, ok := strings.CutSuffix(key, "_file"); ok && definition.Properties[name] != nil && name != "url" {
				keys[name] = true
			}
		}
	}
	return keys, err
})

var (
	reference = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
	password  = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@|password=`)
)

// openSecrets finds secrets that a configuration contains as text instead of as references.
func openSecrets(key string, value any) error {
	var errs []error
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			errs = append(errs, openSecrets(name, inner))
		}
	case []any:
		for _, inner := range value {
			errs = append(errs, openSecrets(key, inner))
		}
	case string:
		keys, err := secretKeys()
		if err != nil {
			return err
		}
		if open := reference.ReplaceAllString(value, ""); keys[key] && open == value || password.MatchString(open) {
			return fmt.Errorf("the ConfigMap contains the secret in %s: refer to it as ${NAME} or by file", key)
		}
	}
	return errors.Join(errs...)
}

// givenTwice finds settings that a configuration gives both directly and as a file, which Hooklatch
// refuses. Helm merges default values with given ones, so the default of a setting remains if a
// user gives its file.
func givenTwice(value any) error {
	var errs []error
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if file := name + "_file"; value[file] != nil {
				errs = append(errs, fmt.Errorf("the ConfigMap contains both %s and %s", name, file))
			}
			errs = append(errs, givenTwice(inner))
		}
	case []any:
		for _, inner := range value {
			errs = append(errs, givenTwice(inner))
		}
	}
	return errors.Join(errs...)
}

func TestSecretsAreKnownByTheirFiles(t *testing.T) {
	t.Parallel()
	keys, err := secretKeys()
	require.NoError(t, err)
	for _, key := range []string{"token", "secrets", "bearer", "standard_webhooks", "password", "client_secret", "direct_url"} {
		require.True(t, keys[key], key)
	}
}
