package patroni

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
)

//go:embed patroni.yaml.tmpl
var memberFile string

//go:embed haproxy.cfg.tmpl
var proxyFile string

var (
	memberTemplate = template.Must(template.New("patroni.yaml").Parse(memberFile))
	proxyTemplate  = template.Must(template.New("haproxy.cfg").Parse(proxyFile))
)

// member is a machine of the cluster: a Patroni and the Postgres that it starts.
type member struct {
	name    string
	server  string // address of Postgres, host:port
	api     string // address of Patroni's REST API, host:port
	data    string // data directory
	patroni *programs.Program
}

func (c *Cluster) newMember(number int, server, api string, etcd []string) (*member, error) {
	m := &member{name: fmt.Sprintf("member%d", number), server: server, api: api}
	dir := filepath.Join(c.opts.Dir, m.name)
	if err := errors.Join(os.Mkdir(dir, 0o700), c.install.Take(dir)); err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	m.data = filepath.Join(dir, "data")
	var text bytes.Buffer
	if err := memberTemplate.Execute(&text, map[string]any{
		"Name": m.name, "API": api, "Server": server, "Etcd": etcd, "TTL": int(TTL.Seconds()), "Synchronous": c.opts.Synchronous,
		"Dir": dir, "Data": m.data, "Bin": c.install.Bin, "Password": c.password,
	}); err != nil {
		return nil, fmt.Errorf("write a configuration: %w", err)
	}
	config := filepath.Join(dir, "patroni.yaml")
	if err := c.write(config, text.String()); err != nil {
		return nil, err
	}
	var err error
	m.patroni, err = c.program("patroni-"+m.name, c.tools.patroni, config)
	return m, err
}

// kill sends SIGKILL to Patroni and its Postgres, as when a machine loses power. Postgres is killed
// first: it shares Patroni's output, and Kill returns only when that output ends.
func (m *member) kill() error { return errors.Join(m.signal(syscall.SIGKILL), m.patroni.Kill()) }

// freeze suspends Patroni and its Postgres. Connections stay open, but get no response.
func (m *member) freeze() error { return errors.Join(m.patroni.Pause(), m.signal(syscall.SIGSTOP)) }

// thaw resumes the processes that freeze suspended.
func (m *member) thaw() error { return errors.Join(m.signal(syscall.SIGCONT), m.patroni.Continue()) }

// signal signals all processes of the member's Postgres. It does nothing if none is running.
func (m *member) signal(signal syscall.Signal) error {
	var failed []error
	for _, pid := range m.processes() {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			failed = append(failed, fmt.Errorf("signal Postgres of %s: %w", m.name, err))
		}
	}
	return errors.Join(failed...)
}

// stopSenders suspends the processes that send WAL to the standbys. WAL that they have already
// sent may still arrive.
func (m *member) stopSenders() error {
	stopped := 0
	for _, pid := range m.processes() {
		if !strings.Contains(commandOf(pid), "walsender") {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return fmt.Errorf("stop replication of %s: %w", m.name, err)
		}
		stopped++
	}
	if stopped != size-1 {
		return fmt.Errorf("stop replication of %s: %d processes send WAL, not one to each standby", m.name, stopped)
	}
	return nil
}

// processes returns the process ids of the member's Postgres. The postmaster is the first, so that
// it starts no new process while the others are signalled.
func (m *member) processes() []int {
	text, err := os.ReadFile(filepath.Join(m.data, "postmaster.pid"))
	if err != nil {
		return nil // no server is running
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 || !m.owns(pid) {
		return nil // the file is from a server that has stopped
	}
	return append([]int{pid}, childrenOf(pid)...)
}

// owns reports whether a process is a server on the member's data. A process id alone proves
// nothing, because it may have been reused.
func (m *member) owns(pid int) bool {
	return slices.Contains(strings.Split(commandOf(pid), "\x00"), m.data)
}

// commandOf returns the command line of a process, or "" if it has exited.
func commandOf(pid int) string {
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(command)
}

// childrenOf returns the children of a process.
func childrenOf(pid int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil // the process has exited
	}
	var children []int
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}

// proxied returns the member as HAProxy's configuration lists it.
func (m *member) proxied() (map[string]string, error) {
	host, port, err := net.SplitHostPort(m.api)
	return map[string]string{"Name": m.name, "Server": m.server, "Host": host, "Port": port}, err
}
