package patroni

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// startEtcd starts the members of etcd and returns the addresses for their clients.
func (c *Cluster) startEtcd(ctx context.Context, clients, peers []string) ([]string, error) {
	var all []string
	for i, peer := range peers {
		all = append(all, fmt.Sprintf("etcd%d=http://%s", i+1, peer))
	}
	for i := range clients {
		name := fmt.Sprintf("etcd%d", i+1)
		dir := filepath.Join(c.opts.Dir, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), c.install.Take(dir)); err != nil {
			return nil, fmt.Errorf("make a directory: %w", err)
		}
		client, peer := "http://"+clients[i], "http://"+peers[i]
		e, err := c.program(name, c.tools.etcd,
			"--name", name, "--data-dir", filepath.Join(dir, "data"), "--log-level", "warn", "--enable-v2",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", "new")
		if err != nil {
			return nil, err
		}
		c.etcd = append(c.etcd, e)
		if err := e.Start(ctx); err != nil {
			return nil, err
		}
	}
	return clients, nil
}

// startHAProxy starts the proxy in front of all servers.
func (c *Cluster) startHAProxy(ctx context.Context) error {
	var members []map[string]string
	for _, m := range c.members {
		proxied, err := m.proxied()
		if err != nil {
			return fmt.Errorf("write a configuration: %w", err)
		}
		members = append(members, proxied)
	}
	var text bytes.Buffer
	if err := proxyTemplate.Execute(&text, map[string]any{"Listen": c.proxy, "Members": members}); err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	config := filepath.Join(c.opts.Dir, "haproxy.cfg")
	if err := c.write(config, text.String()); err != nil {
		return err
	}
	var err error
	if c.haproxy, err = c.program("haproxy", c.tools.haproxy, "-db", "-f", config); err != nil {
		return err
	}
	if err := c.haproxy.Start(ctx); err != nil {
		return err
	}
	return c.awaitProxy(ctx)
}
