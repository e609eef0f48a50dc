package main_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

const repository = "../.."

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
		if service.Image == "hooklatch" {
			require.NotEmpty(t, service.Command, "service %s", name)
			commands[name] = service.Command
		}
	}
	return commands
}

func TestComposeMatchesTheSpecification(t *testing.T) {
	t.Parallel()
	var document any
	require.NoError(t, yaml.Unmarshal(readFile(t, "compose.yaml"), &document))
	asJSON, err := json.Marshal(document)
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
	require.NoError(t, err)

	text, err := os.ReadFile("testdata/compose-spec.json")
	require.NoError(t, err)
	specification, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("compose-spec.json", specification))
	schema, err := compiler.Compile("compose-spec.json")
	require.NoError(t, err)
	require.NoError(t, schema.Validate(instance))
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

		// Every service's environment fills in the file.
		environment := service.Environment
		cfg, err := config.Load(filepath.Join(repository, mounted), func(variable string) (string, bool) {
			value, ok := environment[variable]
			return interpolate(value), ok
		})
		require.NoError(t, err, name)
		require.Equal(t, cfg.Database.Schema, compose.Services["riverui"].Environment["RIVER_SCHEMA"])
		require.Equal(t, interpolate(compose.Services["riverui"].Environment["DATABASE_URL"]), cfg.Database.URL.Reveal())
		require.NotEmpty(t, cfg.Admin.Token.Reveal())
		ui, err := url.Parse(cfg.Admin.RiverUI)
		require.NoError(t, err)
		require.Contains(t, compose.Services["riverui"].Ports[0], ":"+ui.Port()+":", "the console links to it")
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
		if name != "migrate" {
			require.NotNil(t, service.Healthcheck, "service %s", name)
		}
		require.Equal(t, []string{"ALL"}, service.CapDrop, "service %s", name)
		require.Equal(t, []string{"no-new-privileges:true"}, service.SecurityOpt, "service %s", name)
	}
	require.Empty(t, compose.Services["postgres"].Ports)
	ui := compose.Services["riverui"]
	require.NotEmpty(t, interpolate(ui.Environment["RIVER_BASIC_AUTH_USER"]))
	require.NotEmpty(t, interpolate(ui.Environment["RIVER_BASIC_AUTH_PASS"]))
	require.Equal(t, "service_healthy", compose.Services["migrate"].DependsOn["postgres"].Condition)
	for _, name := range []string{"gateway", "worker", "riverui"} {
		require.Equal(t, "service_completed_successfully", compose.Services[name].DependsOn["migrate"].Condition, name)
	}
}

// The image's script creates the role with which the services connect. The role owns its database
// and is not a superuser.
func TestComposeConnectsAsNoSuperuser(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("there is no psql")
	}
	server, err := embedded.Start(t.Context(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	compose := readCompose(t)
	superuser, err := url.Parse(server.URL("postgres"))
	require.NoError(t, err)
	password, _ := superuser.User.Password()
	command := exec.CommandContext(t.Context(), "sh", filepath.Join(repository, "docs/examples/compose/database.sh"))
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(psql)+":"+os.Getenv("PATH"), "POSTGRES_USER="+superuser.User.Username(),
		"PGHOST="+superuser.Hostname(), "PGPORT="+superuser.Port(), "PGDATABASE=postgres", "PGPASSWORD="+password,
		"HOOKLATCH_PASSWORD="+interpolate(compose.Services["postgres"].Environment["HOOKLATCH_PASSWORD"]))
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))

	given, err := url.Parse(interpolate(compose.Services["gateway"].Environment["DATABASE_URL"]))
	require.NoError(t, err)
	given.Host = superuser.Host
	pool, err := pgxpool.New(t.Context(), given.String())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	require.NoError(t, err)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	var privileged bool
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user`).Scan(&privileged))
	require.False(t, privileged)
}

// An image tag must be exact, because other tags can change.
func TestImagesHaveExactVersions(t *testing.T) {
	t.Parallel()
	exact := regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?(@sha256:[0-9a-f]{64})?$`)
	patch := regexp.MustCompile(`:v?\d+\.\d+\.\d+`)
	for name, service := range readCompose(t).Services {
		if service.Image == "hooklatch" {
			continue // built from this repository
		}
		require.Regexp(t, exact, service.Image, name)
		if name != "postgres" { // Postgres versions have two numbers
			require.Regexp(t, patch, service.Image, name)
		}
	}
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllSubmatch(readFile(t, "Dockerfile"), -1)
	require.Len(t, from, 2)
	for _, image := range from {
		require.Regexp(t, patch, string(image[1]))
	}
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
