package app

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// reloadable are the fields of the configuration that a reload puts into effect. A process reads
// such a field from App.config whenever it needs it, or gets the new value from App.put or
// App.apply. All other fields wait for a restart. Add a new field here only if no part of a process
// keeps the value with which it started.
const reloadable = `
	database.url database.direct_url database.read_url cells.url cells.direct_url cells.read_url
	gateway.tls.cert_file gateway.tls.key_file
	admin.tls.cert_file admin.tls.key_file admin.token admin.tokens.name admin.tokens.role admin.tokens.token admin.auth.oidc.client_secret
	retention.dedup retention.payloads retention.history retention.audit
	destinations.http.secret_url destinations.http.headers destinations.http.bearer destinations.http.basic.password
	destinations.http.sign.standard_webhooks destinations.smtp.password
	destinations.nats.password destinations.nats.token destinations.nats.credentials destinations.rabbitmq.password
	checks.name checks.sql allow_empty

	sources.provider sources.secrets.value sources.secrets.not_before sources.secrets.not_after sources.secrets.encoding
	sources.cell sources.moved_from sources.max_body sources.gzip sources.handlers sources.public_url sources.replay_guard
	sources.dedup.rule sources.dedup.ignore sources.dedup_window sources.redact sources.redact_after sources.search
	sources.quarantine sources.livemode sources.team sources.retention.dedup
	sources.backfill.token sources.backfill.endpoint sources.backfill.base_url sources.backfill.accounts sources.backfill.app
	sources.backfill.mode sources.backfill.via sources.backfill.types sources.backfill.every sources.backfill.deep
	sources.backfill.window sources.backfill.lag sources.backfill.overlap sources.backfill.rate sources.backfill.experimental
	sources.backfill.list.url sources.backfill.list.credential sources.backfill.list.items sources.backfill.list.body
	sources.backfill.list.headers sources.backfill.list.time sources.backfill.list.ref sources.backfill.list.next
	sources.backfill.list.order sources.backfill.list.seconds
	sources.tolerance sources.secret_encoding sources.audience sources.issuer sources.jwks_url sources.jwks_file
	sources.algorithms sources.claims sources.body_hash_claim sources.max_age sources.query sources.app_ids sources.tenants
	sources.verify_token sources.header sources.algorithm sources.encoding sources.prefix sources.template
	sources.timestamp_header sources.timestamp_unit sources.id_header sources.signature_field sources.timestamp_field
	sources.separator sources.each sources.event_id.header sources.event_id.pointer sources.event_id.form
	sources.event_id.join sources.event_id.fields sources.event_id.optional
	sources.type.header sources.type.pointer sources.type.form sources.type.fixed sources.occurred_at.pointer
	sources.occurred_at.unit sources.answer.status sources.answer.body sources.answer.headers sources.probe.methods
	sources.probe.unsigned sources.probe.echo.query sources.probe.echo.header sources.probe.echo.field

	routes.name routes.from routes.types routes.when routes.to routes.key routes.order_by routes.on_park routes.latest_by
	routes.backfill routes.refetch.url routes.refetch.auth routes.refetch.bearer routes.http.method routes.http.url
	routes.http.body routes.http.text routes.http.headers routes.forward.headers routes.forward.also routes.forward.allow
	routes.message.address routes.message.body routes.message.headers routes.email.recipient routes.email.values
	routes.email.subject routes.email.text routes.email.html routes.sql.statement routes.sql.params`

// A reload puts each changed field of the configuration into effect, or says that the field waits
// for a restart and leaves everything as it was.
func TestAReloadNamesEachFieldThatItDoesNotApply(t *testing.T) {
	t.Parallel()
	var paths, applied []string
	old := filled(t, "", &paths)
	require.Greater(t, len(paths), 200)
	equal := func(a, b *config.Config) bool {
		return reflect.DeepEqual(a, b) //nolint:govet // the configurations contain no errors
	}
	for _, path := range paths {
		next := filled(t, path, nil)
		kept := inEffect(old, next)
		sections, destinations := waiting(kept, next)
		if len(sections)+len(destinations) > 0 {
			require.True(t, equal(old, kept), "%s waits for a restart, but a part of it is in effect", path)
			continue
		}
		require.True(t, equal(next, kept), "%s is not in effect, and no message says so", path)
		applied = append(applied, path)
	}
	require.ElementsMatch(t, strings.Fields(reloadable), applied)
}

// A new client secret waits for a restart together with the provider or the client that it is for.
func TestAClientSecretForAnotherProviderWaits(t *testing.T) {
	t.Parallel()
	old, secretOf := filled(t, "", nil), func(c *config.Config) string { return c.Admin.Auth.OIDC.ClientSecret.Reveal() }
	for _, other := range []string{"admin.auth.oidc.issuer", "admin.auth.oidc.client_id", "admin.auth.oidc.scopes"} {
		next := filled(t, other, nil)
		next.Admin.Auth.OIDC.ClientSecret = secret.New("the-next-secret")
		require.Equal(t, other == "admin.auth.oidc.scopes", secretOf(inEffect(old, next)) == "the-next-secret", other)
	}
}

// Expressions use the gateway's limit of bodies, which does not change before a restart.
func TestTheLimitOfBodiesIsInEffectAsAWhole(t *testing.T) {
	t.Parallel()
	limited := func(limit string) *config.Config {
		return parse(t, "gateway: {max_body: "+limit+"}\nsources: {stripe: {provider: stripe, secrets: [the-first-secret]}}")
	}
	require.EqualValues(t, 8<<20, inEffect(limited("8MiB"), limited("4MiB")).MaxBodyOf("stripe"))
}

// filled returns a configuration in which every field is set, and the field at changed has another
// value. If paths is not nil, filled adds the paths of all fields to it. A path contains no names
// of sources, destinations and cells, and no positions in lists.
func filled(t *testing.T, changed string, paths *[]string) *config.Config {
	t.Helper()
	cfg := config.Default()
	fill(t, reflect.ValueOf(&cfg).Elem(), "", changed, paths)
	return &cfg
}

// fill sets a value, which is at path, and the values in it.
func fill(t *testing.T, v reflect.Value, path, changed string, paths *[]string) {
	t.Helper()
	n := 1
	if path == changed {
		n = 2
	}
	set := func(value any) { v.Set(reflect.ValueOf(value).Convert(v.Type())) }
	switch v.Interface().(type) {
	case secret.Value:
		set(secret.New(fmt.Sprintf("postgres://user:password%d@localhost/hooklatch", n)))
	case netip.Prefix:
		set(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}), 32))
	case time.Time:
		set(time.Unix(int64(n), 0))
	default:
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), path, changed, paths)
			return
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(t, v.Index(0), path, changed, paths)
			return
		case reflect.Map:
			one := reflect.New(v.Type().Elem()).Elem()
			fill(t, one, path, changed, paths)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("name"), one)
			return
		case reflect.Struct:
			require.NotEmpty(t, config.Fields(v.Type()), "%s: no value of %s is known", path, v.Type())
			for _, f := range config.Fields(v.Type()) {
				if f.File == "" {
					fill(t, v.FieldByIndex(f.Index), strings.TrimPrefix(path+"."+f.Name, "."), changed, paths)
				}
			}
			return
		case reflect.Bool:
			v.SetBool(n == 1)
		case reflect.String:
			set(fmt.Sprint("text", n))
		default:
			set(n)
		}
	}
	if paths != nil && !slices.Contains(*paths, path) {
		*paths = append(*paths, path)
	}
}
