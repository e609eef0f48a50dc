package patroni

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
)

// Roles in the responses of Patroni's REST API.
const (
	rolePrimary     = "leader"
	roleSynchronous = "sync_standby"
)

// state is the state of the whole cluster, as Patroni's REST API returns it.
type state struct {
	Members []struct {
		Name  string `json:"name"`
		Role  string `json:"role"`
		State string `json:"state"`
	} `json:"members"`
}

//go:embed query/standbys.sql
var standbysSQL string

var client = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// look returns the state from the first member that responds. A frozen member does not respond.
func (c *Cluster) look(ctx context.Context) (s state, err error) {
	for _, m := range c.members {
		request, failed := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.api+"/cluster", nil)
		if failed != nil {
			return s, fmt.Errorf("ask Patroni: %w", failed)
		}
		var answer *http.Response
		if answer, err = client.Do(request); err != nil {
			continue
		}
		err = json.NewDecoder(answer.Body).Decode(&s)
		_ = answer.Body.Close() // the body has been read
		if err == nil {
			return s, nil
		}
	}
	return s, fmt.Errorf("ask Patroni: no member answers: %w", err)
}

// inRole returns the members with a role, and the others.
func (c *Cluster) inRole(ctx context.Context, role string) (in, others []*member, err error) {
	s, err := c.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	roles := map[string]string{}
	for _, m := range s.Members {
		roles[m.Name] = m.Role
	}
	for _, m := range c.members {
		if roles[m.name] == role {
			in = append(in, m)
		} else {
			others = append(others, m)
		}
	}
	return in, others, nil
}

// primary returns the primary and the standbys.
func (c *Cluster) primary(ctx context.Context) (*member, []*member, error) {
	in, others, err := c.inRole(ctx, rolePrimary)
	if err != nil {
		return nil, nil, err
	}
	if len(in) != 1 {
		return nil, nil, errors.New("the cluster has no primary now")
	}
	return in[0], others, nil
}

// awaitPrimary waits until a member whose name differs from not is the primary and accepts writes.
func (c *Cluster) awaitPrimary(ctx context.Context, not string) (*member, error) {
	return await(ctx, "a new primary", func(ctx context.Context) (*member, error) {
		m, _, err := c.primary(ctx)
		if err != nil {
			return nil, err
		}
		if m.name == not {
			return nil, errors.New(not + " is still the primary")
		}
		return m, c.writable(ctx, c.url(m.server, "postgres", ""))
	})
}

// AwaitWhole waits until the cluster has a primary, two standbys that follow it and, if it is
// synchronous, a synchronous standby. It returns an error if that takes longer than startTimeout.
func (c *Cluster) AwaitWhole(ctx context.Context) error {
	_, err := await(ctx, "a primary and two standbys", func(ctx context.Context) (*member, error) {
		primary, standbys, err := c.primary(ctx)
		if err != nil {
			return nil, err
		}
		if len(standbys) != size-1 {
			return nil, errors.New("a standby is missing")
		}
		if synchronous, _, err := c.inRole(ctx, roleSynchronous); c.opts.Synchronous && (err != nil || len(synchronous) == 0) {
			return nil, errors.Join(err, errors.New("Patroni has chosen no synchronous standby"))
		}
		var following, synchronous int
		return primary, query(ctx, c.url(primary.server, "postgres", ""), func(conn *pgx.Conn) error {
			err := conn.QueryRow(ctx, standbysSQL).Scan(&following, &synchronous)
			if err == nil && (following != size-1 || c.opts.Synchronous && synchronous == 0) {
				err = fmt.Errorf("%d standbys follow, %d of them synchronously", following, synchronous)
			}
			return err
		})
	})
	return err
}

// awaitProxy waits until HAProxy connects clients to the primary only. At first HAProxy treats
// every server as the primary, and connects clients to each in turn.
func (c *Cluster) awaitProxy(ctx context.Context) error {
	_, err := await(ctx, "a primary behind HAProxy", func(ctx context.Context) (_ *member, err error) {
		for range size {
			err = errors.Join(err, c.writable(ctx, c.ThroughHAProxy("postgres")))
		}
		return nil, err
	})
	return err
}

// writable returns nil if a server accepts writes.
func (c *Cluster) writable(ctx context.Context, url string) error {
	return query(ctx, url, func(conn *pgx.Conn) error {
		var standby bool
		err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby)
		if err == nil && standby {
			err = errors.New("the server is a standby")
		}
		return err
	})
}

// query calls the function use with a connection to the server at url.
func query(ctx context.Context, url string, use func(*pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is not used again
	return use(conn)
}

// await calls the function ask until it returns no error, for at most startTimeout.
func await(ctx context.Context, what string, ask func(context.Context) (*member, error)) (*member, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		m, err := ask(ctx)
		if err == nil {
			return m, nil
		}
		if retry.Wait(ctx, pollPause) != nil {
			return nil, fmt.Errorf("wait for %s: %w", what, err)
		}
	}
}
