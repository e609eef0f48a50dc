package deployment

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// manifest is the part of a Kubernetes object that the tests use.
type manifest struct {
	Kind string            `yaml:"kind"`
	Data map[string]string `yaml:"data"`
	Spec struct {
		Ports []struct {
			TargetPort string `yaml:"targetPort"` //nolint:tagliatelle // Kubernetes' name
		} `yaml:"ports"`
		Template struct {
			Spec struct {
				Containers []container `yaml:"containers"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type container struct {
	Name  string   `yaml:"name"`
	Args  []string `yaml:"args"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"` //nolint:tagliatelle // Kubernetes' name
	} `yaml:"ports"`
	Liveness  probe `yaml:"livenessProbe"`  //nolint:tagliatelle // Kubernetes' name
	Readiness probe `yaml:"readinessProbe"` //nolint:tagliatelle // Kubernetes' name
	Mounts    []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"` //nolint:tagliatelle // Kubernetes' name
	} `yaml:"volumeMounts"` //nolint:tagliatelle // Kubernetes' name
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"` //nolint:tagliatelle // Kubernetes' name
}

// kubernetes returns the configuration, the containers and the Service's port of the manifests.
func kubernetes(t *testing.T) (config string, containers map[string]container, servicePort string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/kubernetes/manifests/hooklatch.yaml")
	require.NoError(t, err)
	_, documents, _ := strings.Cut(string(text), "\n---\n")
	containers = map[string]container{}
	for document := range strings.SplitSeq(documents, "\n---\n") {
		var m manifest
		require.NoError(t, yaml.Unmarshal([]byte(document), &m))
		switch m.Kind {
		case "ConfigMap":
			config = m.Data["hooklatch.yaml"]
		case "Service":
			servicePort = m.Spec.Ports[0].TargetPort
		case "Deployment", "Job":
			for _, c := range m.Spec.Template.Spec.Containers {
				containers[c.Name] = c
			}
		}
	}
	require.Len(t, containers, 3)
	return config, containers, servicePort
}

// pod runs a container's command, with the environment of the Secret. In a cluster, each pod has
// its own address. In the test, each pod has its own ports instead: ports contains the addresses by
// the ports' names.
type pod struct {
	*clitest.Program
	container

	ports map[string]string
}

func newPod(t *testing.T, c container, config, database string) *pod {
	t.Helper()
	p := &pod{container: c, ports: map[string]string{}}
	free, err := freeport.Find(2)
	require.NoError(t, err)
	for i, port := range []struct{ name, listen string }{{"http", ":8080"}, {"admin", ":8081"}} {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(free[i]))
		require.Contains(t, config, "listen: "+port.listen+"\n")
		config = strings.Replace(config, "listen: "+port.listen+"\n", "listen: "+at+"\n", 1)
		for _, opened := range c.Ports {
			if opened.Name == port.name {
				require.Equal(t, port.listen, ":"+strconv.Itoa(opened.ContainerPort))
				p.ports[port.name] = at
			}
		}
	}
	require.Contains(t, config, "\ngateway:\n")
	config = strings.Replace(config, "\ngateway:\n", "\ngateway:\n  accept_timeout: 60s\n  read_header_timeout: 60s\n", 1) // a busy machine must not cause a 503
	require.Equal(t, "config", c.Mounts[0].Name)
	mounted := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(mounted, "hooklatch.yaml"), []byte("database: {allow: [fsync_off]}\n"+config), 0o600))
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		args[i] = strings.Replace(arg, c.Mounts[0].MountPath+"/", mounted+"/", 1)
	}
	p.Program = clitest.NewProgram(t, args...)
	p.Cmd.Env = []string{
		clitest.AsProgram + "=1", "DATABASE_URL=" + database, "HOOKLATCH_ADMIN_TOKEN=0123456789abcdef0123456789abcdef",
		"STRIPE_WEBHOOK_SECRET=whsec_kubernetes_0123456789", "APP_SIGNING_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
	}
	p.Cmd.Dir = "/" // the image's working directory; nothing is written there
	return p
}

// answers returns the status with which a pod answers a probe, or 0 without a response.
func (p *pod) answers(ctx context.Context, asked probe) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.ports[asked.HTTPGet.Port]+asked.HTTPGet.Path, http.NoBody)
	if err != nil {
		return 0
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// All manifests are applied at once: gateway and worker are alive but not ready until the Job has
// applied the migrations. Then the Service's port takes deliveries.
func TestTheContainersOfTheManifestsRun(t *testing.T) {
	t.Parallel()
	config, containers, servicePort := kubernetes(t)
	pool := pgtest.New(t, pgtest.Empty())
	database := pgtest.URL(t, pool)
	pods := map[string]*pod{}
	for _, name := range []string{"gateway", "worker"} {
		p := newPod(t, containers[name], config, database)
		pods[name] = p
		require.NoError(t, p.Cmd.Start())
		require.Eventually(t, func() bool { return p.answers(t.Context(), p.Liveness) == http.StatusOK }, clitest.Patience, clitest.Tick, "%s: %s", name, &p.Stderr)
		p.Says(t, "waiting for migrations")
		require.Equal(t, http.StatusServiceUnavailable, p.answers(t.Context(), p.Readiness), name)
	}
	job := newPod(t, containers["migrate"], config, database)
	require.NoError(t, job.Cmd.Run(), job.Stderr.String())
	for name, p := range pods {
		require.Eventually(t, func() bool { return p.answers(t.Context(), p.Readiness) == http.StatusOK }, clitest.Patience, clitest.Tick, "%s: %s", name, &p.Stderr)
		require.Equal(t, http.StatusOK, p.answers(t.Context(), p.Liveness), name)
	}
	gateway := pods["gateway"]
	send := clitest.NewProgram(t, append([]string{"send", "stripe", "--url", "http://" + gateway.ports[servicePort]}, gateway.Cmd.Args[len(gateway.Cmd.Args)-2:]...)...)
	send.Cmd.Env = gateway.Cmd.Env
	require.NoError(t, send.Cmd.Run(), send.Stderr.String())
	for name, p := range pods {
		p.Signal(t, syscall.SIGTERM)
		require.NoError(t, p.Cmd.Wait(), "%s: %s", name, &p.Stderr)
	}
}
