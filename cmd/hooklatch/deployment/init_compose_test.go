package deployment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// The compose.yaml that init writes drops capabilities and publishes ports only on localhost, like
// the repository's file.
func TestInitsComposeFile(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]secret.Value{"own Postgres": {}, "given Postgres": secret.New("postgres://db.example.com/hooklatch")} {
		answers := firstrun.Answers{Providers: []string{"stripe"}, Target: firstrun.Compose, Version: "v1.2.3", Database: database}.WithDefaults()
		files, err := answers.Files("hooklatch.yaml", "")
		require.NoError(t, err)
		text := files[2].Text
		matchesSpecification(t, []byte(text))
		var compose composeFile
		require.NoError(t, yaml.Unmarshal([]byte(text), &compose))
		require.Equal(t, "ghcr.io/hooklatch/hooklatch:1.2.3", compose.Services["server"].Image)
		for service, one := range compose.Services {
			require.Equal(t, []string{"ALL"}, one.CapDrop, "%s: service %s", name, service)
			require.Equal(t, []string{"no-new-privileges:true"}, one.SecurityOpt, "%s: service %s", name, service)
			for _, port := range one.Ports {
				require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s: service %s publishes %s", name, service, port)
			}
			for variable := range one.Environment {
				_, known := firstrun.ReadDotenv(files[1].Text)[variable]
				require.True(t, known || service == "postgres", "%s: service %s reads %s", name, service, variable)
			}
		}
		require.NotContains(t, compose.Services["server"].Environment, "POSTGRES_SUPERUSER_PASSWORD")
		postgres, runs := compose.Services["postgres"]
		require.Equal(t, database.IsZero(), runs)
		if runs {
			require.Equal(t, readCompose(t).Services["postgres"].Image, postgres.Image)
		}
	}
}

// matchesSpecification checks a file against the schema of Compose.
func matchesSpecification(t *testing.T, compose []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("testdata/compose-spec.json")
	require.NoError(t, err)
	var document any
	require.NoError(t, yaml.Unmarshal(compose, &document))
	asJSON, err := json.Marshal(document)
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON)))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(instance))
}
