package config

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Admin configures the listener for operators and probes.
type Admin struct {
	// Address to listen on, host:port. Any address other than loopback requires a token,
	// or auth. Defaults to 127.0.0.1:8081.
	Listen string `yaml:"listen,omitempty"`
	// Certificate and key. Defaults to plain HTTP.
	TLS *KeyPair `yaml:"tls,omitempty"`
	// Token that the console, the API and the metrics require, at least 16 bytes long.
	// After ten wrong tokens from one address, further wrong tokens are answered with 429; a
	// valid token is never refused. Defaults to none, which is allowed only on a loopback
	// address.
	Token secret.Value `yaml:"token,omitempty"`
	// Additional tokens for the console, the API and the metrics, each with a name and a role. They
	// are for machines, and for users who should not know the token in admin.token, which
	// allows everything.
	Tokens []AdminToken `yaml:"tokens,omitempty"`
	// Sign-in and roles.
	Auth AdminAuth `yaml:"auth,omitempty"`
	// Values that the console hides from all users except admins.
	Console AdminConsole `yaml:"console,omitempty"`
	// If true, the operator log records which user viewed which payload, at most once an
	// hour per user and payload. Defaults to false.
	AuditReads bool `yaml:"audit_reads,omitempty"`
	// URL at which users reach the console, for the links in jobs and for forms that arrive through
	// a proxy. The URL may have a path, which the proxy may keep or strip. Defaults to the address
	// in listen.
	ConsoleURL string `yaml:"console_url,omitempty"`
	// URL at which users reach River UI, for links from effects to their jobs.
	// Defaults to no links.
	RiverUI string `yaml:"river_ui,omitempty"`
	// Base URL of the gateway to which the console delivers test events, such as
	// http://gateway:8080, or off. Defaults to the address in gateway.listen.
	TestEvents string `yaml:"test_events,omitempty"`
	// Maximum number of events, effects or refused deliveries in an operator's bulk run. Admins may
	// exceed it. Defaults to 10000.
	MaxRun int64 `yaml:"max_run,omitempty"`
}

// defaultMaxRun is the default of Admin.MaxRun.
const defaultMaxRun = 10_000

// TestEventsOff is the value of Admin.TestEvents with which the console sends no test events.
const TestEventsOff = "off"

// AdminToken is a token with its bearer's name and role.
type AdminToken struct {
	// Name of the bearer in the operator log. The rule for names is the same as for
	// sources.
	Name string `yaml:"name"`
	// Role of the token: metrics reads /metrics only; viewer reads; operator also retries, cancels,
	// parks, pauses, and verifies refused deliveries again; admin does everything.
	Role string `yaml:"role"`
	// The token, at least 16 bytes long.
	Token secret.Value `yaml:"token,omitempty"`
}

// AdminAuth configures sign-in and roles at the admin listener.
type AdminAuth struct {
	// An OpenID Connect provider at which users sign in. oidc requires console_url, to
	// which the provider redirects: at the provider, allow the path /auth/callback below
	// this URL.
	OIDC *AdminOIDC `yaml:"oidc,omitempty"`
	// A proxy that identifies users, in front of the listener. At most one of proxy
	// and oidc may be given.
	Proxy *AdminProxy `yaml:"proxy,omitempty"`
	// Roles of the users that oidc or proxy identifies.
	Roles AdminRoles `yaml:"roles,omitempty"`
	// Role required to see payloads, headers and receivers' responses: viewer, operator or
	// admin. Defaults to viewer.
	Payloads string `yaml:"payloads,omitempty"`
}

// AdminOIDC configures an OpenID Connect provider.
type AdminOIDC struct {
	// Issuer URL, exactly as the provider states it: https://, or http:// on this machine.
	Issuer string `yaml:"issuer"`
	// Hooklatch's client id at the provider.
	ClientID string `yaml:"client_id"`
	// Client secret from the provider.
	ClientSecret secret.Value `yaml:"client_secret,omitempty"`
	// Scopes to request. Defaults to openid, profile and email.
	Scopes []string `yaml:"scopes,omitempty"`
}

// AdminProxy configures how a proxy identifies users.
type AdminProxy struct {
	// Addresses of the proxy, such as 10.0.0.0/8. The headers are ignored in requests
	// from any other address.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`
	// Header with the user's name, such as X-Forwarded-User. The proxy must remove this
	// header from its clients' requests.
	User string `yaml:"user"`
	// Header with the user's groups, separated by commas, such as X-Forwarded-Groups.
	// Defaults to none.
	Groups string `yaml:"groups,omitempty"`
}

// AdminRoles are CEL conditions over a user's claims. Names in a condition are claims, such as
// email and groups. A proxy provides user and groups, and email if the user's name is an address.
// Use claims["..."] for other names. A user has the strongest role whose condition is true; a user
// without a role is refused.
type AdminRoles struct {
	// Condition for users who may read, such as email.endsWith("@example.com").
	Viewer string `yaml:"viewer,omitempty"`
	// Condition for users who may also retry, cancel, park, pause, and verify refused deliveries
	// again.
	Operator string `yaml:"operator,omitempty"`
	// Condition for users who may do everything, such as groups.exists(g, g == "platform").
	Admin string `yaml:"admin,omitempty"`
}

// Conditions returns the conditions by role.
func (r AdminRoles) Conditions() signin.Conditions {
	return signin.Conditions{signin.Viewer: r.Viewer, signin.Operator: r.Operator, signin.Admin: r.Admin}
}

// AdminConsole configures which values the console hides.
type AdminConsole struct {
	// Values that only admins see, by source: JSON pointers into an event, or names of
	// form fields after a slash, such as /From. Other users see neither the source's exact
	// bytes, nor the requests and responses of its effects, and cannot search its
	// payloads.
	Mask map[string][]string `yaml:"mask,omitempty"`
}

// Asks reports whether requests must be authenticated.
func (a Admin) Asks() bool {
	return !a.Token.IsZero() || len(a.Tokens) > 0 || a.Auth.OIDC != nil || a.Auth.Proxy != nil
}

func (a Admin) check(d *decoder, g Gateway) {
	var c option.Check
	host, ok := c.Address("listen", a.Listen)
	for field, base := range map[string]string{"console_url": a.ConsoleURL, "river_ui": a.RiverUI} {
		if base == "" {
			continue
		}
		if u, ok := c.URL(field, base); ok && (u.RawQuery != "" || u.ForceQuery) {
			c.Failf(field, base, "has a query, to which no path can be appended; allowed: scheme, host and path")
		}
	}
	if a.TestEvents != "" && a.TestEvents != TestEventsOff {
		c.URL("test_events", a.TestEvents)
	}
	c.AtLeast("max_run", a.MaxRun, 1)
	c.OneOf("auth.payloads", "role", a.Auth.Payloads, roleNames()[1:]...) // the first role sees no page
	d.faults("admin", c.Err())
	a.checkTokens(d)
	a.checkAuth(d)
	if ok && !loopback.Is(host) && !a.Asks() && !d.reported("admin.token") && !d.reported("admin.token_file") && !d.reported("admin.tokens") {
		d.reportf("admin.listen", "%s can be reached from other machines: set admin.token, admin.token_file, admin.tokens or admin.auth, or listen on 127.0.0.1", d.show("admin.listen", a.Listen))
	}
	if ok && a.Listen == g.Listen && !strings.HasSuffix(a.Listen, ":0") {
		d.reportf("admin.listen", "%s is also the address of gateway.listen; give each listener its own address", d.show("admin.listen", a.Listen))
	}
	a.TLS.check(d, "admin.tls")
}

// checkAuth requires at most one way to identify users, with all its required fields, and valid
// conditions.
func (a Admin) checkAuth(d *decoder) {
	const at = "admin.auth"
	oidc, proxy := a.Auth.OIDC, a.Auth.Proxy
	if oidc != nil && proxy != nil {
		d.reportf(at, "has oidc and proxy; give only one")
	}
	conditions, given := a.Auth.Roles.Conditions(), 0
	for _, role := range signin.Roles() {
		if conditions[role] == "" {
			continue
		}
		given++
		if _, err := conditions.Compile(role); err != nil {
			path := at + ".roles." + string(role)
			d.reportf(path, "%s is not a condition: %s; allowed: CEL over claims, like groups.exists(g, g == \"oncall\")", d.show(path, conditions[role]), err)
		}
	}
	switch {
	case oidc == nil && proxy == nil && given > 0:
		d.reportf(at+".roles", "has no effect without oidc or proxy, which identify users")
	case (oidc != nil || proxy != nil) && given == 0 && !d.problems.about(at+".roles"):
		d.missingf(at, "roles", "has no roles, so no user could sign in; give roles with a condition for viewer, operator or admin")
	}
	if oidc != nil {
		oidc.check(d, at+".oidc", d.origin.lines["admin.console_url"] > 0)
	}
	if proxy != nil {
		proxy.check(d, at+".proxy")
	}
}

func (o *AdminOIDC) check(d *decoder, at string, hasConsoleURL bool) {
	var c option.Check
	if o.Issuer == "" {
		c.Missing("issuer", "has no issuer, the provider's URL")
	} else if u, ok := c.URL("issuer", o.Issuer); ok && u.Scheme != "https" && !loopback.Is(u.Hostname()) {
		c.Failf("issuer", o.Issuer, "is plain HTTP, which does not authenticate the provider; allowed: https://, or http:// on this machine")
	}
	if o.ClientID == "" {
		c.Missing("client_id", "has no client_id, Hooklatch's id at the provider")
	}
	if len(o.Scopes) > 0 && !slices.Contains(o.Scopes, "openid") {
		c.Failf("scopes", nil, "lacks openid, without which the provider does not identify users")
	}
	d.faults(at, c.Err())
	if _, inFile := d.origin.files[at+".client_secret"]; !inFile && o.ClientSecret.IsZero() {
		d.missingf(at, "client_secret", "has no client_secret; give client_secret or client_secret_file")
	}
	if !hasConsoleURL {
		d.reportf(at, "needs admin.console_url: the provider redirects users to /auth/callback below it")
	}
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func (p *AdminProxy) check(d *decoder, at string) {
	var c option.Check
	if len(p.TrustedProxies) == 0 {
		c.Missing("trusted_proxies", "has no trusted_proxies, so any client could claim to be any user; give the proxy's addresses, like 10.0.0.0/8")
	}
	if p.User == "" {
		c.Missing("user", "has no user, the header with the user's name")
	}
	for field, name := range map[string]string{"user": p.User, "groups": p.Groups} {
		if name != "" && !headerName.MatchString(name) {
			c.Failf(field, name, "is not the name of a header; allowed: letters, digits and hyphens, like X-Forwarded-User")
		}
	}
	d.faults(at, c.Err())
}

// checkMasks requires valid pointers of known sources: an operator would notice an ineffective mask
// too late.
func (c *Config) checkMasks(d *decoder) {
	for source, pointers := range c.Admin.Console.Mask {
		at := "admin.console.mask." + source
		if _, known := c.Sources[source]; !known {
			d.reportf(at, "%s is not a source; %s", quote(source), d.oneOf(at, source, slices.Sorted(maps.Keys(c.Sources))))
		}
		for _, pointer := range pointers {
			if !isPointer(pointer) {
				d.reportf(at, "%s is not a JSON pointer; allowed: one like /data/object/email, with ~1 for a slash and ~0 for a tilde in a name, or /From for a form field",
					d.show(at, pointer))
			}
		}
	}
}

// checkTokens requires distinct names and distinct secrets: a shared secret would not identify its
// bearer.
func (a Admin) checkTokens(d *decoder) {
	named, secrets := map[string]int{}, map[secret.Value]string{}
	if !a.Token.IsZero() {
		secrets[a.Token] = "admin.token"
		checkTokenLength(d, "admin.token", a.Token)
	}
	for i, one := range a.Tokens {
		at := "admin.tokens[" + strconv.Itoa(i) + "]"
		var c option.Check
		if one.Name == "" {
			c.Missing("name", "has no name, which the operator log records")
		} else if c.Name("name", one.Name); named[one.Name] > 0 {
			c.Failf("name", one.Name, "is the name of two tokens; the other is on line %d", named[one.Name])
		}
		if one.Role == "" {
			c.Missing("role", "has no role; allowed: "+strings.Join(roleNames(), ", "))
		} else {
			c.OneOf("role", "role", one.Role, roleNames()...)
		}
		d.faults(at, c.Err())
		named[one.Name] = d.origin.line(at)
		if one.Token.IsZero() {
			if _, inFile := d.origin.files[at+".token"]; !inFile {
				d.missingf(at, "token", "has no token; give token or token_file")
			}
			continue
		}
		checkTokenLength(d, at+".token", one.Token)
		if other, twice := secrets[one.Token]; twice {
			d.reportf(d.place(at+".token"), "is the same token as %s, so it would not identify its bearer", other)
		}
		secrets[one.Token] = fmt.Sprintf("admin.tokens[%d]", i)
	}
}

// checkTokenLength requires a token that cannot be guessed: guesses are slowed down but not
// prevented.
func checkTokenLength(d *decoder, at string, token secret.Value) {
	if n := len(token.Reveal()); n < signin.MinToken {
		d.reportf(d.place(at), "has %d bytes, so it could be guessed; allowed: at least %d bytes, such as the output of: openssl rand -hex 32", n, signin.MinToken)
	}
}

func roleNames() []string {
	var names []string
	for _, role := range signin.Roles() {
		names = append(names, string(role))
	}
	return names
}
