package deployment

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

const (
	repository = "../../.."
	// ourImage is the image's name in the registry. A maintainer must own this name before the
	// first release.
	ourImage = "ghcr.io/hooklatch/hooklatch:"
)

// composeFile is the part of compose.yaml that the tests check.
type composeFile struct {
	Services map[string]composeService `yaml:"services"`
}

type composeService struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Healthcheck any               `yaml:"healthcheck"`
	CapDrop     []string          `yaml:"cap_drop"`
	SecurityOpt []string          `yaml:"security_opt"`
	ReadOnly    bool              `yaml:"read_only"`
	Build       any               `yaml:"build"`
	Entrypoint  []string          `yaml:"entrypoint"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
}

// composeCommands returns the arguments that compose.yaml passes to the Hooklatch image, by
// service.
func composeCommands(t *testing.T) map[string][]string {
	t.Helper()
	commands := map[string][]string{}
	for name, service := range readCompose(t).Services {
		if strings.HasPrefix(service.Image, ourImage) {
			require.NotEmpty(t, service.Command, "service %s", name)
			commands[name] = service.Command
		}
	}
	return commands
}

func TestComposeMatchesTheSpecification(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/compose-spec.json")
	require.NoError(t, err)
	specification, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("compose-spec.json", specification))
	schema, err := compiler.Compile("compose-spec.json")
	require.NoError(t, err)
	for _, name := range []string{"compose.yaml", "compose.dev.yaml"} {
		var document any
		require.NoError(t, yaml.Unmarshal(readFile(t, name), &document))
		asJSON, err := json.Marshal(document)
		require.NoError(t, err)
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instance), name)
	}
}

func TestComposeRunsOurCommands(t *testing.T) {
	t.Parallel()
	commands := composeCommands(t)
	require.Equal(t, []string{"gateway", "migrate", "worker"}, slices.Sorted(maps.Keys(commands)))
	require.Equal(t, []string{"migrate", "up"}, commands["migrate"][:2])
}

// River UI shows the jobs of one schema, which must be Hooklatch's.
func TestComposePointsRiverUIAtOurSchema(t *testing.T) {
	t.Parallel()
	compose := readCompose(t)
	const mounted = "docs/examples/compose/hooklatch.yaml"
	for name, command := range composeCommands(t) {
		service := compose.Services[name]
		require.Contains(t, service.Volumes, "./"+mounted+":/etc/hooklatch/hooklatch.yaml:ro", name)
		require.Contains(t, strings.Join(command, " "), "--config /etc/hooklatch/hooklatch.yaml", name)

		// Each service's environment contains all variables of the file.
		environment := service.Environment
		cfg, err := config.Load(filepath.Join(repository, mounted), func(variable string) (string, bool) {
			value, ok := environment[variable]
			return interpolate(value), ok
		})
		require.NoError(t, err, name)
		require.Equal(t, cfg.Database.Schema, compose.Services["riverui"].Environment["RIVER_SCHEMA"])
		ours, theirs := cfg.Database.URL.Reveal(), interpolate(compose.Services["riverui"].Environment["DATABASE_URL"])
		require.Equal(t, afterUser(t, ours), afterUser(t, theirs))
		require.NotEmpty(t, cfg.Admin.Token.Reveal())
		ui, err := url.Parse(cfg.Admin.RiverUI)
		require.NoError(t, err)
		require.Contains(t, compose.Services["riverui"].Ports[0], ":"+ui.Port()+":", "the console links to it")
		console, err := url.Parse(cfg.Admin.ConsoleURL)
		require.NoError(t, err)
		require.Contains(t, compose.Services["worker"].Ports[0], ":"+console.Port()+":", "the gateway's role may not read the data that the console shows")
	}
}

// No service is reachable from other machines, has a published password, or starts before the
// services that it needs.
func TestComposeIsClosedByDefault(t *testing.T) {
	t.Parallel()
	compose := readCompose(t)
	for name, service := range compose.Services {
		for _, port := range service.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "service %s publishes %s", name, port)
		}
		if name != "migrate" && name != "grants" {
			require.NotNil(t, service.Healthcheck, "service %s", name)
		}
		require.Equal(t, []string{"ALL"}, service.CapDrop, "service %s", name)
		require.Equal(t, []string{"no-new-privileges:true"}, service.SecurityOpt, "service %s", name)
		require.True(t, service.ReadOnly, "service %s", name)
	}
	require.Empty(t, compose.Services["postgres"].Ports)
	ui := compose.Services["riverui"]
	require.NotEmpty(t, interpolate(ui.Environment["RIVER_BASIC_AUTH_USER"]))
	require.NotEmpty(t, interpolate(ui.Environment["RIVER_BASIC_AUTH_PASS"]))
	require.Equal(t, "service_healthy", compose.Services["migrate"].DependsOn["postgres"].Condition)
	require.Equal(t, "service_completed_successfully", compose.Services["grants"].DependsOn["migrate"].Condition)
	for _, name := range []string{"gateway", "worker", "riverui"} {
		require.Equal(t, "service_completed_successfully", compose.Services[name].DependsOn["grants"].Condition, name)
	}
}

// afterUser returns a connection URL without the user and the password.
func afterUser(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	u.User = nil
	return u.String()
}

// compose.yaml pulls the newest release, and compose.dev.yaml builds the same services.
func TestComposePullsTheNewestRelease(t *testing.T) {
	t.Parallel()
	newest := "0.1.0" // the first release
	if match := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindSubmatch(readFile(t, "CHANGELOG.md")); match != nil {
		newest = string(match[1])
	}
	var built composeFile
	require.NoError(t, yaml.Unmarshal(readFile(t, "compose.dev.yaml"), &built))
	for name, service := range readCompose(t).Services {
		require.Nil(t, service.Build, "service %s", name)
		if !strings.HasPrefix(service.Image, ourImage) {
			continue
		}
		require.Equal(t, ourImage+newest, service.Image, "service %s", name)
		require.NotNil(t, built.Services[name].Build, "service %s of compose.dev.yaml", name)
		require.NotEqual(t, service.Image, built.Services[name].Image, "an image that was built must not pass for a released one")
		delete(built.Services, name)
	}
	require.Empty(t, built.Services)
}

// An image tag must be exact, because other tags can change.
func TestImagesHaveExactVersions(t *testing.T) {
	t.Parallel()
	exact := regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?(@sha256:[0-9a-f]{64})?$`)
	patch := regexp.MustCompile(`:v?\d+\.\d+\.\d+`)
	for name, service := range readCompose(t).Services {
		if strings.HasPrefix(service.Image, ourImage) {
			continue // built from this repository
		}
		require.Regexp(t, exact, service.Image, name)
		if !strings.HasPrefix(service.Image, "postgres:") { // Postgres versions have two numbers
			require.Regexp(t, patch, service.Image, name)
		}
	}
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllSubmatch(readFile(t, "Dockerfile"), -1)
	require.Len(t, from, 2)
	require.Regexp(t, patch, string(from[0][1]))
	require.Equal(t, "scratch", string(from[1][1]), "the image contains no software of others")
}

// Without an .env file, the error names the missing variables.
func TestComposeHasNoSecretOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, service := range readCompose(t).Services {
		for variable, value := range service.Environment {
			if regexp.MustCompile(`PASS|TOKEN|SECRET|DATABASE_URL`).MatchString(variable) {
				require.Regexp(t, composeRequired, value, "%s of service %s", variable, name)
			}
		}
	}
}

var (
	composeDefault  = regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`)
	composeRequired = regexp.MustCompile(`\$\{([A-Z_]+):\?[^}]+\}`)
)

// interpolate replaces variables as Compose does, with only the .env file shown in compose.yaml's
// header.
func interpolate(value string) string {
	value = composeRequired.ReplaceAllString(value, "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")
	return strings.ReplaceAll(composeDefault.ReplaceAllString(value, "$1"), "$$", "$")
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	var file composeFile
	require.NoError(t, yaml.Unmarshal(readFile(t, "compose.yaml"), &file))
	return file
}

// readFile reads a file of the repository.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, path))
	require.NoError(t, err)
	return data
}
