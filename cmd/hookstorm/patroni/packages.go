package patroni

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// packages are Debian's packages of the cluster, with the dependencies that a Debian system with
// Python and Postgres lacks.
var packages = []string{
	"patroni", "etcd-server", "haproxy",
	"python3-cdiff", "python3-click", "python3-colorama", "python3-dateutil", "python3-dnspython", "python3-etcd", "python3-prettytable",
	"python3-psutil", "python3-psycopg2", "python3-six", "python3-urllib3", "python3-wcwidth", "python3-yaml",
	"liblua5.3-0", "libopentracing1", "libopentracing-c-wrapper0",
}

// tools are the programs of the cluster.
type tools struct {
	patroni, etcd, haproxy string
	env                    []string // lets the programs find their libraries
}

// findTools returns the installed programs. If one is missing, it downloads Debian's packages and
// unpacks them into a cache directory. This needs no root privileges and starts no service.
func findTools(ctx context.Context) (tools, error) {
	installed := tools{patroni: "/usr/bin/patroni", etcd: "/usr/bin/etcd", haproxy: "/usr/sbin/haproxy"}
	if installed.complete() == nil {
		return installed, nil
	}
	root, err := unpacked(ctx)
	if err != nil {
		return tools{}, fmt.Errorf("find Patroni, etcd and HAProxy: %w: install Debian's packages patroni, etcd-server and haproxy, and disable their services", err)
	}
	libraries, err := filepath.Glob(root + "/usr/lib/*-linux-gnu*")
	if err != nil {
		return tools{}, fmt.Errorf("find the libraries of HAProxy: %w", err)
	}
	private := tools{
		patroni: root + "/usr/bin/patroni", etcd: root + "/usr/bin/etcd", haproxy: root + "/usr/sbin/haproxy",
		env: []string{
			"PYTHONPATH=" + root + "/usr/lib/python3/dist-packages",
			"PYTHONDONTWRITEBYTECODE=1",
			"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"),
		},
	}
	return private, private.complete()
}

func (t tools) complete() error {
	var missing []error
	for _, path := range []string{t.patroni, t.etcd, t.haproxy} {
		_, err := exec.LookPath(path)
		missing = append(missing, err)
	}
	return errors.Join(missing...)
}

// unpacked returns a directory with the files of the packages, which it downloads the first time.
func unpacked(ctx context.Context) (string, error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("the cluster runs on Debian only")
	}
	cache, err := os.UserCacheDir()
	if err != nil || os.Geteuid() == 0 {
		cache = "/var/tmp" // the account of the servers cannot read root's own directories
	}
	root := filepath.Join(cache, fmt.Sprintf("hookstorm-patroni-%d", os.Geteuid()))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	//nolint:gosec // The account of the servers reads it.
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("make the directory for packages: %w", err)
	}
	work, err := os.MkdirTemp(cache, "hookstorm-patroni-*")
	if err != nil {
		return "", fmt.Errorf("make the directory for packages: %w", err)
	}
	defer os.RemoveAll(work)
	debs, files := filepath.Join(work, "debs"), filepath.Join(work, "root")
	//nolint:gosec // The account of the servers reads them.
	if err := errors.Join(os.Mkdir(debs, 0o755), os.Mkdir(files, 0o755)); err != nil {
		return "", fmt.Errorf("make the directory for packages: %w", err)
	}
	if err := command(ctx, debs, "apt-get", append([]string{"-q", "download"}, packages...)...); err != nil {
		return "", err
	}
	archives, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return "", fmt.Errorf("list the packages: %w", err)
	}
	for _, archive := range archives {
		if err := command(ctx, work, "dpkg-deb", "--extract", archive, files); err != nil {
			return "", err
		}
	}
	// Another run may have created root first.
	if err := os.Rename(files, root); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("keep the packages: %w", err)
	}
	return root, nil
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
