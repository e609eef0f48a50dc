package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/signin"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/loopback"
	"github.com/hooklatch/hooklatch/outbox/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Admin configures the listener for people and probes.
type Admin struct {
	// Address to listen on, host:port. Anything but a loopback address needs a
	// token. Defaults to 127.0.0.1:8081.
	Listen string `yaml:"listen,omitempty"`
	// Certificate and key. Defaults to plain HTTP.
	TLS *KeyPair `yaml:"tls,omitempty"`
	// Token that console, API and metrics ask for. A client address that was
	// wrong about it ten times is answered 429. Defaults to none, which only a
	// loopback address allows.
	Token secret.Value `yaml:"token,omitempty"`
	// Tokens that console, API and metrics take besides, each with a name and a
	// role: for machines, and for people who are not to have the token above, with
	// which everything may be done.
	Tokens []AdminToken `yaml:"tokens,omitempty"`
	// Who may do what.
	Auth AdminAuth `yaml:"auth,omitempty"`
	// What the pages show.
	Console AdminConsole `yaml:"console,omitempty"`
	// Whether the operator log says who looked at which payload: true or false. Each
	// look is a row. Defaults to false.
	AuditReads bool `yaml:"audit_reads,omitempty"`
	// URL under which people reach the console, for the links in jobs and for
	// forms that come through a proxy. It may have a path, which the proxy may
	// keep or take away. Defaults to the address above.
	ConsoleURL string `yaml:"console_url,omitempty"`
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
	// What it lets do: viewer reads, operator retries, cancels, parks, pauses and
	// verifies again, admin does everything.
	Role string `yaml:"role"`
	// The token itself.
	Token secret.Value `yaml:"token,omitempty"`
}

// AdminAuth configures who may do what at the listener for people.
type AdminAuth struct {
	// The role that sees payloads, headers and what receivers answered: viewer,
	// operator or admin. Defaults to viewer.
	Payloads string `yaml:"payloads,omitempty"`
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
func (a Admin) Asks() bool { return !a.Token.IsZero() || len(a.Tokens) > 0 }

func (a Admin) check(d *decoder, g Gateway) {
	var c option.Check
	host, ok := c.Address("listen", a.Listen)
	if a.ConsoleURL != "" {
		c.URL("console_url", a.ConsoleURL)
	}
	c.AtLeast("max_run", a.MaxRun, 1)
	c.OneOf("auth.payloads", "role", a.Auth.Payloads, roleNames()...)
	d.faults("admin", c.Err())
	a.checkTokens(d)
	if ok && !loopback.Is(host) && !a.Asks() && !d.reported("admin.token") && !d.reported("admin.token_file") && !d.reported("admin.tokens") {
		d.reportf("admin.listen", "%s can be reached from other machines: set admin.token, admin.token_file or admin.tokens, or listen on 127.0.0.1", d.show("admin.listen", a.Listen))
	}
	if ok && a.Listen == g.Listen && !strings.HasSuffix(a.Listen, ":0") {
		d.reportf("admin.listen", "%s is the address of gateway.listen; two listeners need two", d.show("admin.listen", a.Listen))
	}
	a.TLS.check(d, "admin.tls")
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
		if other, twice := secrets[one.Token]; twice {
			d.reportf(d.place(at+".token"), "is the same token as that of %s: nobody could tell who came", other)
		}
		secrets[one.Token] = fmt.Sprintf("admin.tokens[%d]", i)
	}
}

func roleNames() []string {
	var names []string
	for _, role := range signin.Roles() {
		names = append(names, string(role))
	}
	return names
}
