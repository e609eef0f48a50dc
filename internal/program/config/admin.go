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

// Admin configures the listener for people and probes.
type Admin struct {
	// Address to listen on, host:port. Anything but a loopback address needs a
	// token, or auth. Defaults to 127.0.0.1:8081.
	Listen string `yaml:"listen,omitempty"`
	// Certificate and key. Defaults to plain HTTP.
	TLS *KeyPair `yaml:"tls,omitempty"`
	// Token that console, API and metrics ask for, of 16 bytes at least. A wrong one
	// is answered 429 when its address was wrong ten times before, and the right one
	// is never refused. Defaults to none, which only a loopback address allows.
	Token secret.Value `yaml:"token,omitempty"`
	// Tokens that console, API and metrics take besides, each with a name and a
	// role: for machines, and for people who are not to have the token above, with
	// which everything may be done.
	Tokens []AdminToken `yaml:"tokens,omitempty"`
	// Who may do what.
	Auth AdminAuth `yaml:"auth,omitempty"`
	// What the pages show.
	Console AdminConsole `yaml:"console,omitempty"`
	// Whether the operator log says who looked at which payload, once an hour for
	// each: true or false. Defaults to false.
	AuditReads bool `yaml:"audit_reads,omitempty"`
	// URL under which people reach the console, for the links in jobs and for
	// forms that come through a proxy. It may have a path, which the proxy may
	// keep or take away. Defaults to the address above.
	ConsoleURL string `yaml:"console_url,omitempty"`
	// URL under which people reach River UI, for links from effects to their jobs.
	// Defaults to no links.
	RiverUI string `yaml:"river_ui,omitempty"`
	// How many events or effects one run of an operator may concern. Admins may
	// order more. Defaults to 10000.
	MaxRun int64 `yaml:"max_run,omitempty"`
}

// defaultMaxRun is Admin.MaxRun where nobody said.
const defaultMaxRun = 10_000

// AdminToken is a token with the name and the role of who carries it.
type AdminToken struct {
	// Whose it is, as records name them. It follows the rule of names of sources.
	Name string `yaml:"name"`
	// The role of the token: metrics reads /metrics only, viewer reads, operator
	// retries, cancels, parks, pauses and verifies again, admin does everything.
	Role string `yaml:"role"`
	// The token itself, of 16 bytes at least.
	Token secret.Value `yaml:"token,omitempty"`
}

// AdminAuth configures who may do what at the listener for people.
type AdminAuth struct {
	// A provider of OpenID Connect that people sign in at. It needs console_url,
	// where the provider leads back to: /auth/callback below it is to be allowed
	// there.
	OIDC *AdminOIDC `yaml:"oidc,omitempty"`
	// A proxy in front of the listener that says who asks. Or this, or oidc.
	Proxy *AdminProxy `yaml:"proxy,omitempty"`
	// Who has which role, of those whom oidc or proxy name.
	Roles AdminRoles `yaml:"roles,omitempty"`
	// The role that sees payloads, headers and what receivers answered: viewer,
	// operator or admin. Defaults to viewer.
	Payloads string `yaml:"payloads,omitempty"`
}

// AdminOIDC names a provider of OpenID Connect.
type AdminOIDC struct {
	// Its URL, as it names itself: https://, or http:// on this machine.
	Issuer string `yaml:"issuer"`
	// Who we are there.
	ClientID string `yaml:"client_id"`
	// The secret that it gave us.
	ClientSecret secret.Value `yaml:"client_secret,omitempty"`
	// What is asked of it. Defaults to openid, profile and email.
	Scopes []string `yaml:"scopes,omitempty"`
}

// AdminProxy configures whom a proxy names.
type AdminProxy struct {
	// Addresses that the proxy comes from, like 10.0.0.0/8. Headers of others are
	// ignored.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`
	// Header that names the person, like X-Forwarded-User. The proxy must take it
	// away from what others send.
	User string `yaml:"user"`
	// Header that lists the groups of the person, separated by commas, like
	// X-Forwarded-Groups. Defaults to none.
	Groups string `yaml:"groups,omitempty"`
}

// AdminRoles are conditions in CEL over what is claimed of a person. Names in them are
// claims, like email and groups, of a proxy user, groups, and email where the user is
// an address; claims["..."] is for other names. The strongest role whose condition
// holds is the person's, and who has none is refused.
type AdminRoles struct {
	// Who reads, like email.endsWith("@example.com").
	Viewer string `yaml:"viewer,omitempty"`
	// Who retries, cancels, parks, pauses and verifies again besides.
	Operator string `yaml:"operator,omitempty"`
	// Who may do everything, like groups.exists(g, g == "platform").
	Admin string `yaml:"admin,omitempty"`
}

// Conditions are those that are given.
func (r AdminRoles) Conditions() signin.Conditions {
	return signin.Conditions{signin.Viewer: r.Viewer, signin.Operator: r.Operator, signin.Admin: r.Admin}
}

// AdminConsole configures the pages.
type AdminConsole struct {
	// Values that admins alone see, by source: JSON pointers into an event, or names
	// of form fields with a slash before them, as /From. Others see no exact bytes of
	// the source, nothing that its effects sent and were answered, and cannot
	// search its payloads.
	Mask map[string][]string `yaml:"mask,omitempty"`
}

// Asks reports whether anybody is asked who they are.
func (a Admin) Asks() bool {
	return !a.Token.IsZero() || len(a.Tokens) > 0 || a.Auth.OIDC != nil || a.Auth.Proxy != nil
}

func (a Admin) check(d *decoder, g Gateway) {
	var c option.Check
	host, ok := c.Address("listen", a.Listen)
	if a.ConsoleURL != "" {
		c.URL("console_url", a.ConsoleURL)
	}
	if a.RiverUI != "" {
		c.URL("river_ui", a.RiverUI)
	}
	c.AtLeast("max_run", a.MaxRun, 1)
	c.OneOf("auth.payloads", "role", a.Auth.Payloads, roleNames()[1:]...) // the first sees no page
	d.faults("admin", c.Err())
	a.checkTokens(d)
	a.checkAuth(d)
	if ok && !loopback.Is(host) && !a.Asks() && !d.reported("admin.token") && !d.reported("admin.token_file") && !d.reported("admin.tokens") {
		d.reportf("admin.listen", "%s can be reached from other machines: set admin.token, admin.token_file, admin.tokens or admin.auth, or listen on 127.0.0.1", d.show("admin.listen", a.Listen))
	}
	if ok && a.Listen == g.Listen && !strings.HasSuffix(a.Listen, ":0") {
		d.reportf("admin.listen", "%s is the address of gateway.listen; two listeners need two", d.show("admin.listen", a.Listen))
	}
	a.TLS.check(d, "admin.tls")
}

// checkAuth wants one way to know people, all that it needs, and conditions that can be
// read.
func (a Admin) checkAuth(d *decoder) {
	const at = "admin.auth"
	oidc, proxy := a.Auth.OIDC, a.Auth.Proxy
	if oidc != nil && proxy != nil {
		d.reportf(at, "has oidc and proxy; give one of them")
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
		d.reportf(at+".roles", "means nothing without oidc or proxy, which name people")
	case (oidc != nil || proxy != nil) && given == 0 && !d.problems.about(at+".roles"):
		d.missingf(at, "roles", "has no roles, so that nobody could sign in; give roles with a condition for viewer, operator or admin")
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
		c.Missing("issuer", "has no issuer, the URL of the provider")
	} else if u, ok := c.URL("issuer", o.Issuer); ok && u.Scheme != "https" && !loopback.Is(u.Hostname()) {
		c.Failf("issuer", o.Issuer, "is plain HTTP, on which anybody could answer for it; allowed: https://, or http:// on this machine")
	}
	if o.ClientID == "" {
		c.Missing("client_id", "has no client_id, as which the provider knows us")
	}
	if len(o.Scopes) > 0 && !slices.Contains(o.Scopes, "openid") {
		c.Failf("scopes", nil, "lacks openid, without which the provider names nobody")
	}
	d.faults(at, c.Err())
	if _, inFile := d.origin.files[at+".client_secret"]; !inFile && o.ClientSecret.IsZero() {
		d.missingf(at, "client_secret", "has no client_secret; give client_secret or client_secret_file")
	}
	if !hasConsoleURL {
		d.reportf(at, "needs admin.console_url: the provider leads people back there, to /auth/callback below it")
	}
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func (p *AdminProxy) check(d *decoder, at string) {
	var c option.Check
	if len(p.TrustedProxies) == 0 {
		c.Missing("trusted_proxies", "has no trusted_proxies: anybody could name anybody; give the addresses that the proxy comes from, like 10.0.0.0/8")
	}
	if p.User == "" {
		c.Missing("user", "has no user, the header that names the person")
	}
	for field, name := range map[string]string{"user": p.User, "groups": p.Groups} {
		if name != "" && !headerName.MatchString(name) {
			c.Failf(field, name, "is not the name of a header; allowed: letters, digits and hyphens, like X-Forwarded-User")
		}
	}
	d.faults(at, c.Err())
}

// checkMasks wants pointers into what known sources send: a mask that hides nothing is
// noticed too late.
func (c *Config) checkMasks(d *decoder) {
	for source, pointers := range c.Admin.Console.Mask {
		at := "admin.console.mask." + source
		if _, known := c.Sources[source]; !known {
			d.reportf(at, "%s is not a source; %s", quote(source), d.oneOf(at, source, slices.Sorted(maps.Keys(c.Sources))))
		}
		for _, pointer := range pointers {
			if !isPointer(pointer) {
				d.reportf(at, "%s is not a JSON pointer; allowed: like /data/object/email, with ~1 for a slash and ~0 for a tilde in a name, or /From for a field of a form",
					d.show(at, pointer))
			}
		}
	}
}

// checkTokens wants names that differ, and secrets that do: of two that are the same it
// could not be told who came.
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
			c.Missing("name", "has no name, by which records know who came")
		} else if c.Name("name", one.Name); named[one.Name] > 0 {
			c.Failf("name", one.Name, "is the name of two tokens; the other is in line %d", named[one.Name])
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
			d.reportf(d.place(at+".token"), "is the same token as that of %s: nobody could tell who came", other)
		}
		secrets[one.Token] = fmt.Sprintf("admin.tokens[%d]", i)
	}
}

// checkTokenLength wants a token that nobody guesses, since guesses are slowed down but not
// refused.
func checkTokenLength(d *decoder, at string, token secret.Value) {
	if n := len(token.Reveal()); n < signin.MinToken {
		d.reportf(d.place(at), "has %d bytes, so it could be guessed; allowed: at least %d, like what this prints: openssl rand -hex 32", n, signin.MinToken)
	}
}

func roleNames() []string {
	var names []string
	for _, role := range signin.Roles() {
		names = append(names, string(role))
	}
	return names
}
